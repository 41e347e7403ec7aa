/* Reads a configuration using the rows of its sections: where a value lies, how
 * it is read, which labels are valid. This file knows no section by name. */
#include "wire/config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "wire/config_section.h"
#include "wire/ini.h"
#include "wire/words.h"

static const struct config_section *const sections[] = {
    &config_queue_section,
    &config_serve_section,
    &config_target_section,
    &config_access_section,
};
static const struct config_section *const *added_sections;
static size_t added_count;
static struct text *collected; /* NULL: reading stops at the first error */
enum { SECTIONS_MOST = 64, KEYS_MOST = 128 };

/* Sections that the manual already describes, but that are not implemented yet.
 */
static const char *const later_sections[] = {"fleet", "intake", NULL};

void config_sections_use(const struct config_section *const *rows,
                         size_t count) {
    assert(count <= CONFIG_ADDED_MOST);
    added_sections = rows;
    added_count = count;
}

const struct config_section *config_section_at(size_t index) {
    if (index < COUNT(sections))
        return sections[index];
    index -= COUNT(sections);
    return index < added_count ? added_sections[index] : NULL;
}

bool config_refuse(const struct config_spot *spot, const char *format, ...) {
    va_list args;
    va_start(args, format);
    err_vset(spot->err, ERR_CONFIG, format, args);
    va_end(args);
    if (spot->line)
        return err_wrap(spot->err, "%s:%u", spot->file, spot->line);
    return err_wrap(spot->err, "%s", spot->file);
}

struct config_spot config_spot_of(struct config_origin key,
                                  struct config_origin section,
                                  struct err *err) {
    const struct config_origin *origin = key.file ? &key : &section;
    return (struct config_spot){origin->file, origin->line, err};
}

/* ---- values -------------------------------------------------------------- */

static bool number_with_suffix(struct span value, int64_t *ret) {
    static const char units[] = "KMGT";
    unsigned shift = 0;
    const char *unit =
        value.len ? memchr(units, value.p[value.len - 1], 4) : NULL;
    if (unit) {
        shift = 10 * (unsigned)(unit - units + 1);
        value.len--;
    }
    uint64_t number;
    if (!span_u64(value, &number) || number > (uint64_t)INT64_MAX >> shift)
        return false;
    *ret = (int64_t)(number << shift);
    return true;
}

static bool whole_seconds(struct span value, int64_t *ret) {
    int64_t ms;
    if (!duration_parse(value, &ms) || ms % 1000)
        return false;
    *ret = ms / 1000;
    return true;
}

static bool read_number(const struct config_key *key, struct span value,
                        int64_t *ret, const struct config_spot *spot) {
    static const char *const forms[] = {
        [KIND_INT] = "a number",
        [KIND_SECONDS] = "a duration such as 90, 15m, 2h",
        [KIND_OFF_SECONDS] = "off or a duration such as 90, 15m, 2h",
        [KIND_BYTES] = "a size such as 4096, 256M, 2G"};
    bool fine = key->kind == KIND_INT     ? span_i64(value, ret)
                : key->kind == KIND_BYTES ? number_with_suffix(value, ret)
                                          : whole_seconds(value, ret);
    if (!fine)
        return config_refuse(spot, "%s = '%.*s' is not %s%s", key->name,
                             (int)value.len, value.p, forms[key->kind],
                             memchr(value.p, '#', value.len) != NULL ||
                                     memchr(value.p, ';', value.len) != NULL
                                 ? "; a comment needs a line of its own"
                                 : "");
    if (*ret < key->least || *ret > key->most)
        return config_refuse(spot, "%s = '%.*s' is out of range, %lld to %lld",
                             key->name, (int)value.len, value.p,
                             (long long)key->least, (long long)key->most);
    return true;
}

static bool is_off(struct span value) {
    return span_is(value, "off") || span_is(value, "no") ||
           span_is(value, "false");
}

static bool read_choice(const struct config_key *key, struct span value,
                        int64_t *ret, const struct config_spot *spot) {
    struct span choice, rest = span_of(key->choices);
    for (int64_t number = 0; span_cut(&rest, '|', &choice); number++) {
        if (span_equal(choice, value)) {
            *ret = number;
            return true;
        }
    }
    return config_refuse(spot, "%s = '%.*s' is not one of %s", key->name,
                         (int)value.len, value.p, key->choices);
}

bool config_command_read(struct config *config, struct span value,
                         struct config_command *ret, const char *key,
                         const struct config_spot *spot) {
    struct err inner = {0};
    ret->text = value;
    if (!words_split(value, &config->arena, &ret->words, &ret->count, &inner))
        return config_refuse(spot, "%s: %s", key, inner.text);
    return true;
}

static bool read_value(struct config *config, const struct config_key *key,
                       struct span value, void *at,
                       const struct config_spot *spot) {
    switch (key->kind) {
    case KIND_OFF_SECONDS:
        if (is_off(value)) {
            *(int64_t *)at = 0;
            return true;
        }
        return read_number(key, value, at, spot);
    case KIND_INT:
    case KIND_SECONDS:
    case KIND_BYTES:
        return read_number(key, value, at, spot);
    case KIND_CHOICE:
        return read_choice(key, value, at, spot);
    case KIND_TEXT:
        *(struct span *)at = value;
        return true;
    case KIND_COMMAND:
        return config_command_read(config, value, at, key->name, spot);
    case KIND_LIST:
        return config_list_read(config, value, at, key->name, spot);
    }
    return false;
}

static void put_defaults(struct config *config,
                         const struct config_section *section, char *item) {
    struct config_spot spot = {"default", 0, NULL};
    for (size_t k = 0; k < section->key_count; k++) {
        const struct config_key *key = &section->keys[k];
        read_value(config, key, span_of(key->usual), item + key->value_at,
                   &spot);
    }
}

/* ---- sections ------------------------------------------------------------ */

/* The structs of a section with labels lie in an array of their own type. */
static struct config_items items_of(const struct config *config,
                                    const struct config_section *section) {
    const char *at = (const char *)config;
    struct config_items found = {.section = section};
    for (size_t i = 0; i < CONFIG_ADDED_MOST; i++)
        if (config->added[i].section == section)
            return config->added[i];
    memcpy(&found.items, at + section->at, sizeof(found.items));
    memcpy(&found.count, at + section->count_at, sizeof(found.count));
    return found;
}

static void put_items(struct config *config, struct config_items items) {
    char *at = (char *)config;
    for (size_t i = 0; i < CONFIG_ADDED_MOST; i++) {
        if (config->added[i].section == items.section) {
            config->added[i] = items;
            return;
        }
    }
    memcpy(at + items.section->at, &items.items, sizeof(items.items));
    memcpy(at + items.section->count_at, &items.count, sizeof(items.count));
}

static bool is_added(const struct config_section *section) {
    for (size_t i = 0; i < added_count; i++)
        if (added_sections[i] == section)
            return true;
    return false;
}

void *config_section_item(struct config *config,
                          const struct config_section *section, size_t index) {
    if (section->check_label == NULL && !is_added(section))
        return index == 0 ? (char *)config + section->at : NULL;
    struct config_items found = items_of(config, section);
    return index < found.count ? found.items + index * section->bytes : NULL;
}

const void *config_added(const struct config *config,
                         const struct config_section *section, size_t index) {
    if (!is_added(section))
        return NULL;
    struct config_items found = items_of(config, section);
    return index < found.count ? found.items + index * section->bytes : NULL;
}

/* The label comes last, so that no two pairs share a key. */
static struct span label_key(const struct config_section *section,
                             struct span label, struct text *text) {
    text_addf(text, "%s ", section->name);
    text_addspan(text, label);
    return text_span(text);
}

/* The index of the item with that label, + 1; 0: there is none. */
static size_t find_label(const struct config *config,
                         const struct config_section *section,
                         struct span label) {
    CLEANUP(text_clear) struct text key = TEXT_INIT;
    return (size_t)(uintptr_t)map_get(&config->labels,
                                      label_key(section, label, &key));
}

const void *config_added_find(const struct config *config,
                              const struct config_section *section,
                              struct span label) {
    size_t place = find_label(config, section, label);
    return place == 0 ? NULL : config_added(config, section, place - 1);
}

static char *grow_items(struct config *config,
                        const struct config_section *section) {
    struct config_items found = items_of(config, section);
    found.items = mem_grow(found.items, found.count + 1, section->bytes);
    char *item = found.items + found.count++ * section->bytes;
    memset(item, 0, section->bytes);
    put_items(config, found);
    return item;
}

static char *add_item(struct config *config,
                      const struct config_section *section, struct span label,
                      const struct config_spot *spot) {
    CLEANUP(text_clear) struct text key = TEXT_INIT;
    char *item = grow_items(config, section);
    map_put(&config->labels, label_key(section, label, &key),
            (void *)(uintptr_t)items_of(config, section).count);
    *(struct span *)item = arena_span(&config->arena, label);
    *(struct config_origin *)(item + section->origin_at) =
        (struct config_origin){spot->file, spot->line};
    put_defaults(config, section, item);
    return item;
}

static char *refuse_second(const struct config_section *section,
                           const char *item, const struct config_spot *spot) {
    const struct config_origin *origin =
        (const struct config_origin *)(item + section->origin_at);
    const struct span *label = (const struct span *)item;
    config_refuse(spot, "%s '%.*s' is defined twice; the first is at %s:%u",
                  section->name, (int)label->len, label->p, origin->file,
                  origin->line);
    return NULL;
}

/* The struct of a section line; the first line with a label creates it. */
static char *open_item(struct config *config,
                       const struct config_section *section, struct span label,
                       bool is_section_line, const struct config_spot *spot) {
    if (section->check_label == NULL) {
        if (label.len == 0)
            return config_section_item(config, section, 0);
        config_refuse(spot, "section [%s] takes no label", section->name);
        return NULL;
    }
    size_t place = find_label(config, section, label);
    char *item =
        place == 0 ? NULL : config_section_item(config, section, place - 1);
    if (item != NULL)
        return is_section_line && section->is_unique
                   ? refuse_second(section, item, spot)
                   : item;
    return section->check_label(label, spot)
               ? add_item(config, section, label, spot)
               : NULL;
}

void config_init(struct config *config) {
    const struct config_section *section;
    *config = (struct config){.arena = ARENA_INIT};
    for (size_t i = 0; i < added_count; i++) {
        config->added[i].section = added_sections[i];
        if (added_sections[i]->check_label == NULL)
            grow_items(config, added_sections[i]);
    }
    for (size_t s = 0; (section = config_section_at(s)) != NULL; s++)
        if (section->check_label == NULL)
            put_defaults(config, section,
                         config_section_item(config, section, 0));
}

void config_clear(struct config *config) {
    const struct config_section *section;
    for (size_t s = 0; (section = config_section_at(s)) != NULL; s++) {
        char *item;
        for (size_t i = 0;
             section->clear != NULL &&
             (item = config_section_item(config, section, i)) != NULL;
             i++)
            section->clear(item);
        if (section->check_label != NULL || is_added(section))
            free(items_of(config, section).items);
    }
    map_clear(&config->labels);
    arena_clear(&config->arena);
    *config = (struct config){0};
}

/* ---- reading ------------------------------------------------------------- */

static bool is_among(struct span word, const char *const *list) {
    while (list != NULL && *list != NULL)
        if (span_is(word, *list++))
            return true;
    return false;
}

static bool refuse_unknown(const struct config_spot *spot, const char *what,
                           struct span word, const char *const *known,
                           size_t count) {
    CLEANUP(text_free_string) char *copy = span_string(word);
    const char *near = text_nearest(copy, known, count);
    if (near)
        return config_refuse(spot, "unknown %s '%s', did you mean '%s'?", what,
                             copy, near);
    return config_refuse(spot, "unknown %s '%s'", what, copy);
}

static const struct config_section *
find_section(struct span name, const struct config_spot *spot) {
    const struct config_section *section;
    const char *known[SECTIONS_MOST];
    size_t count = 0;
    for (; (section = config_section_at(count)) != NULL; count++) {
        if (span_is(name, section->name))
            return section;
        assert(count < SECTIONS_MOST);
        known[count] = section->name;
    }
    if (is_among(name, later_sections))
        config_refuse(spot, "section [%.*s] is not available in this version",
                      (int)name.len, name.p);
    else
        refuse_unknown(spot, "section", name, known, count);
    return NULL;
}

/* "check" or "checks.unit" for "check.NAME". */
static bool is_nearly_free(const struct config_free_key *free_key,
                           struct span name) {
    struct span rest = name, word = name;
    if (free_key == NULL)
        return false;
    (void)span_cut(&rest, '.', &word);
    CLEANUP(text_free_string) char *copy = span_string(word);
    return text_nearest(copy, &free_key->prefix, 1) != NULL;
}

static const struct config_key *find_key(const struct config_section *section,
                                         struct span name,
                                         const struct config_spot *spot) {
    const char *known[KEYS_MOST];
    size_t count = 0;
    assert(section->key_count < KEYS_MOST);
    for (; count < section->key_count; count++) {
        if (span_is(name, section->keys[count].name))
            return &section->keys[count];
        known[count] = section->keys[count].name;
    }
    if (is_nearly_free(section->free_key, name)) {
        config_refuse(spot, "unknown key '%.*s', did you mean '%s'?",
                      (int)name.len, name.p, section->free_key->name);
        return NULL;
    }
    if (is_among(name, section->later))
        config_refuse(spot, "key '%.*s' is not available in this version",
                      (int)name.len, name.p);
    else
        refuse_unknown(spot, "key", name, known, count);
    return NULL;
}

static bool set_key_of(struct config *config,
                       const struct config_section *section, char *item,
                       struct span name, struct span value,
                       const struct config_spot *spot) {
    const struct config_free_key *free_key = section->free_key;
    if (free_key != NULL && span_starts(name, free_key->prefix))
        return free_key->set(config, item, name, value, spot);
    const struct config_key *key = find_key(section, name, spot);
    if (key == NULL)
        return false;
    *(struct config_origin *)(item + key->origin_at) =
        (struct config_origin){spot->file, spot->line};
    return (section->check_value == NULL ||
            section->check_value(key, value, spot)) &&
           read_value(config, key, value, item + key->value_at, spot);
}

static bool set_item(struct config *config, const struct ini_item *line,
                     const struct config_spot *spot) {
    const struct config_section *section = find_section(line->section, spot);
    if (section == NULL)
        return false;
    char *item =
        open_item(config, section, line->label, line->key.len == 0, spot);
    if (item == NULL)
        return false;
    return line->key.len == 0 ||
           set_key_of(config, section, item, line->key, line->value, spot);
}

void config_collect(struct text *errors) {
    collected = errors;
}

/* True if reading goes on: the error is one line more. */
static bool collect(const struct err *each, struct err *err) {
    if (collected == NULL && err != NULL)
        *err = *each;
    if (collected != NULL)
        text_addf(collected, "%s\n", each->text);
    return collected != NULL;
}

bool config_read(struct config *config, struct span text, const char *file,
                 struct err *err) {
    struct ini ini;
    struct err each = {0};
    const char *name = arena_string(&config->arena, span_of(file));
    if (!ini_parse(text, name, &config->arena, &ini, &each))
        return collect(&each, err);
    for (size_t i = 0; i < ini.count; i++) {
        struct config_spot spot = {name, ini.items[i].line, &each};
        if (!set_item(config, &ini.items[i], &spot) && !collect(&each, err))
            return false;
    }
    return true;
}

bool config_set(struct config *config, struct span section, struct span label,
                struct span key, struct span value, const char *file,
                unsigned line, struct err *err) {
    struct ini_item item = {section, label, key,
                            arena_span(&config->arena, span_trim(value)), line};
    struct config_spot spot = {arena_string(&config->arena, span_of(file)),
                               line, err};
    if (!key.len)
        return config_refuse(&spot, "no key given");
    return set_item(config, &item, &spot);
}

bool config_finish(struct config *config, struct err *err) {
    const struct config_section *section;
    struct err each = {0};
    for (size_t s = 0; (section = config_section_at(s)) != NULL; s++) {
        const void *item;
        for (size_t i = 0;
             section->finish != NULL &&
             (item = config_section_item(config, section, i)) != NULL;
             i++)
            if (!section->finish(config, item, &each) && !collect(&each, err))
                return false;
    }
    if (collected == NULL || collected->len == 0)
        return true;
    struct span rest = text_span(collected), first;
    (void)span_cut(&rest, '\n', &first);
    return err_set(err, ERR_CONFIG, "%.*s", (int)first.len, first.p);
}
