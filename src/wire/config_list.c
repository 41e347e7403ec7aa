/* Values that are lists: items separated by commas, on one line or on several
 * lines with the same key. */
#include "wire/config_section.h"

static bool refuse_item(const struct config_spot *spot, const char *key,
                        struct span value, const char *fault) {
    return config_refuse(spot, "%s = '%.*s': %s", key, (int)value.len, value.p,
                         fault);
}

/* Cuts a quoted item off the front of *rest, which begins behind its first
 * quote. False: the closing quote is missing. */
static bool cut_quoted(struct span *rest, struct text *out) {
    size_t at = 0;
    for (; at < rest->len && rest->p[at] != '"'; at++) {
        if (rest->p[at] == '\\' && at + 1 < rest->len)
            at++;
        text_addc(out, rest->p[at]);
    }
    if (at == rest->len)
        return false;
    *rest = span_trim(span_make(rest->p + at + 1, rest->len - at - 1));
    return true;
}

/* Returns what is wrong with the item at the front of *rest, or NULL; *rest is
 * what follows its comma, and *ret_last says that there is none. */
static const char *cut_item(struct span *rest, struct text *out,
                            bool *ret_quoted, bool *ret_last) {
    struct span part;
    *rest = span_trim(*rest);
    *ret_quoted = rest->len > 0 && rest->p[0] == '"';
    if (*ret_quoted) {
        *rest = span_make(rest->p + 1, rest->len - 1);
        if (!cut_quoted(rest, out))
            return "a closing quote is missing";
        if (rest->len > 0 && rest->p[0] != ',')
            return "there must be a comma between two items";
        *ret_last = rest->len == 0;
        if (!*ret_last)
            *rest = span_make(rest->p + 1, rest->len - 1);
    } else {
        (void)span_cut(rest, ',', &part);
        *ret_last = rest->p == NULL;
        part = span_trim(part);
        text_addspan(out, part);
        if (part.len > 0 && memchr(part.p, '"', part.len) != NULL)
            return "an item that contains a quote is written in quotes, "
                   "\"a\\\"b\"";
    }
    return out->len == 0 ? "an item of the list is empty" : NULL;
}

static void add_item(struct config *config, struct config_list *list,
                     struct span text, bool is_quoted) {
    size_t count = list->count;
    if ((count & (count - 1)) == 0) { /* full: 0, 1, 2, 4, ... */
        struct config_list_item *items = arena_alloc(
            &config->arena, (count > 0 ? 2 * count : 1) * sizeof(*items));
        for (size_t i = 0; i < count; i++)
            items[i] = list->items[i];
        list->items = items;
    }
    list->items[list->count++] =
        (struct config_list_item){arena_span(&config->arena, text), is_quoted};
}

bool config_list_read(struct config *config, struct span value,
                      struct config_list *list, const char *key,
                      const struct config_spot *spot) {
    struct span rest = value = span_trim(value);
    bool is_quoted, is_last = value.len == 0;
    if (is_last)
        *list = (struct config_list){0};
    while (!is_last) {
        CLEANUP(text_clear) struct text item = TEXT_INIT;
        const char *fault = cut_item(&rest, &item, &is_quoted, &is_last);
        if (fault != NULL)
            return refuse_item(spot, key, value, fault);
        add_item(config, list, text_span(&item), is_quoted);
    }
    if (list->text.len == 0)
        list->text = value;
    else if (value.len > 0)
        list->text = span_of(arena_printf(&config->arena, "%.*s, %.*s",
                                          (int)list->text.len, list->text.p,
                                          (int)value.len, value.p));
    return true;
}
