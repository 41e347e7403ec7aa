/* The configuration as shown to people: every key, its value as written in a
 * file, and where it was set. */
#include <string.h>

#include "wire/config_section.h"

static struct span choice_name(const struct config_key *key, int64_t number) {
    struct span choice, rest = span_of(key->choices);
    while (span_cut(&rest, '|', &choice) && number)
        number--;
    return choice;
}

static struct span bytes_name(struct arena *arena, int64_t bytes) {
    static const char units[] = "TGMK";
    for (int i = 0; i < 4; i++) {
        int shift = 10 * (4 - i);
        if (bytes >> shift && !(bytes & ((INT64_C(1) << shift) - 1)))
            return span_of(arena_printf(arena, "%lld%c",
                                        (long long)(bytes >> shift), units[i]));
    }
    return span_of(arena_printf(arena, "%lld", (long long)bytes));
}

struct span config_value_format(struct arena *arena,
                                const struct config_key *key,
                                const void *section) {
    const void *at = (const char *)section + key->value_at;

    switch (key->kind) {
    case KIND_CHOICE:
        return choice_name(key, *(const int64_t *)at);
    case KIND_TEXT:
        return *(const struct span *)at;
    case KIND_COMMAND:
        return ((const struct config_command *)at)->text;
    case KIND_LIST:
        return ((const struct config_list *)at)->text;
    case KIND_BYTES:
        return bytes_name(arena, *(const int64_t *)at);
    case KIND_OFF_SECONDS:
        if (!*(const int64_t *)at)
            return SPAN("off");
        break;
    case KIND_INT:
    case KIND_SECONDS:
        break;
    }
    return span_of(
        arena_printf(arena, "%lld", (long long)*(const int64_t *)at));
}

/* Entry number `index` of this item. False: it has fewer. */
static bool item_entry(struct config *config,
                       const struct config_section *section, const void *item,
                       size_t index, struct config_entry *ret) {
    const char *at = item;
    *ret = (struct config_entry){.section = section->name};
    if (section->check_label != NULL)
        ret->label = *(const struct span *)item;
    if (index < section->key_count) {
        const struct config_key *key = &section->keys[index];
        ret->key = span_of(key->name);
        ret->value = config_value_format(&config->arena, key, item);
        ret->origin = *(const struct config_origin *)(at + key->origin_at);
        ret->meaning = key->meaning;
        ret->is_command = key->kind == KIND_COMMAND;
        return true;
    }
    if (section->free_key == NULL)
        return false;
    ret->meaning = section->free_key->meaning;
    return section->free_key->entry(config, item, index - section->key_count,
                                    ret);
}

bool config_next(struct config *config, struct config_cursor *cursor,
                 struct config_entry *ret_entry) {
    const struct config_section *section;
    while ((section = config_section_at(cursor->section)) != NULL) {
        const void *item = config_section_item(config, section, cursor->item);
        if (item != NULL &&
            item_entry(config, section, item, cursor->key, ret_entry)) {
            cursor->key++;
            return true;
        }
        cursor->key = 0;
        cursor->item = item != NULL ? cursor->item + 1 : 0;
        cursor->section += item == NULL;
    }
    return false;
}

static void put_section(const struct config_entry *entry, struct text *out) {
    if (entry->label.len)
        text_addf(out, "[%s \"%.*s\"]\n", entry->section, (int)entry->label.len,
                  entry->label.p);
    else
        text_addf(out, "[%s]\n", entry->section);
}

void config_format(struct config *config, struct text *out) {
    struct config_entry entry, last = {0};
    for (struct config_cursor cursor = {0};
         config_next(config, &cursor, &entry);) {
        if (last.section != entry.section ||
            !span_equal(last.label, entry.label)) {
            if (last.section)
                text_addc(out, '\n');
            put_section(&entry, out);
        }
        last = entry;
        size_t start = out->len;
        text_addspan(out, entry.key);
        text_adds(out, " = ");
        text_addspan(out, entry.value);
        while (out->len - start < 40)
            text_addc(out, ' ');
        if (!entry.origin.file)
            text_adds(out, "  default\n");
        else if (entry.origin.line)
            text_addf(out, "  %s:%u\n", entry.origin.file, entry.origin.line);
        else
            text_addf(out, "  %s\n", entry.origin.file);
    }
}
