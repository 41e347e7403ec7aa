#include "wire/task_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "lib/time.h"

enum kind { KIND_CHOICE, KIND_MS, KIND_AMOUNT, KIND_TEXT, KIND_LIMITS };

enum { USER_BYTES = 256 };

static const struct row {
    struct task_option option;
    enum kind kind;
    size_t place;
    int64_t least, most;
    const char *choices;
} rows[] = {
#define TASK_OPTION(key, kind, field, usual, least, most, choices, meaning) \
    {{(key), (usual), (meaning), KIND_##kind == KIND_LIMITS},               \
     KIND_##kind,                                                           \
     offsetof(struct task_options, field),                                  \
     (least),                                                               \
     (most),                                                                \
     (choices)},
#include "wire/task_options.def"
#undef TASK_OPTION
};

static const struct {
    const char *name;
    bool bytes;
} limits[TASK_LIMITS] = {
    [TASK_LIMIT_AS] = {"as", true},
    [TASK_LIMIT_CORE] = {"core", true},
    [TASK_LIMIT_CPU] = {"cpu", false},
    [TASK_LIMIT_DATA] = {"data", true},
    [TASK_LIMIT_FSIZE] = {"fsize", true},
    [TASK_LIMIT_MEMLOCK] = {"memlock", true},
    [TASK_LIMIT_NOFILE] = {"nofile", false},
    [TASK_LIMIT_NPROC] = {"nproc", false},
    [TASK_LIMIT_STACK] = {"stack", true},
};

static void *place_of(struct task_options *options, const struct row *row) {
    return (char *)options + row->place;
}

void task_options_init(struct task_options *options) {
    *options = (struct task_options){0};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct task_limits *all = place_of(options, &rows[i]);
        if (rows[i].kind != KIND_TEXT && rows[i].kind != KIND_LIMITS)
            *(int64_t *)place_of(options, &rows[i]) = TASK_UNSAID;
        for (int k = 0; rows[i].kind == KIND_LIMITS && k < TASK_LIMITS; k++)
            all->value[k] = TASK_UNSAID;
    }
}

const struct task_option *task_option_at(size_t index) {
    return index < COUNT(rows) ? &rows[index].option : NULL;
}

static bool refuse(const struct row *row, struct span value, const char *what,
                   struct err *err) {
    return err_set(err, ERR_DATA, "'%s' = '%.*s' is %s", row->option.key,
                   (int)value.len, value.p ? value.p : "", what);
}

static bool is_spelt(struct span value, struct span choice) {
    if (value.len != choice.len)
        return false;
    for (size_t i = 0; i < value.len; i++) {
        char c = value.p[i] == '_' ? '-' : value.p[i];
        if (strncasecmp(&c, &choice.p[i], 1) != 0)
            return false;
    }
    return true;
}

/* Other spellings are accepted too: term_wait_kill, 9, true. */
static bool is_word(struct span value, struct span choice) {
    static const char *const same[][2] = {
        {"9", "KILL"},    {"15", "TERM"}, {"0", "none"}, {"true", "yes"},
        {"true", "on"},   {"yes", "on"},  {"on", "yes"}, {"false", "no"},
        {"false", "off"}, {"no", "off"},  {"off", "no"}};
    if (is_spelt(value, choice))
        return true;
    for (size_t i = 0; i < COUNT(same); i++)
        if (span_is(value, same[i][0]) && span_is(choice, same[i][1]))
            return true;
    return false;
}

static bool set_choice(const struct row *row, struct span value, int64_t *ret,
                       struct err *err) {
    struct span rest = span_of(row->choices), choice;
    for (int64_t i = 0; span_cut(&rest, '|', &choice); i++)
        if (is_word(value, choice)) {
            *ret = i;
            return true;
        }
    char what[128];
    snprintf(what, sizeof what, "not one of %s", row->choices);
    return refuse(row, value, what, err);
}

static bool set_ms(const struct row *row, struct span value, int64_t *ret,
                   struct err *err) {
    uint64_t ms;
    if (span_ends(value, "ms") &&
        span_u64(span_make(value.p, value.len - 2), &ms) &&
        ms <= (uint64_t)row->most)
        *ret = (int64_t)ms;
    else if (!duration_parse(value, ret) || *ret < row->least ||
             *ret > row->most)
        return refuse(row, value, "not a duration such as 10, 500ms, 2m", err);
    return true;
}

static bool set_text(const struct row *row, struct span value, struct span *ret,
                     struct err *err) {
    bool fine = value.len > 0 && value.len <= USER_BYTES;
    for (size_t i = 0; fine && i < value.len; i++)
        fine = (unsigned char)value.p[i] > ' ' && value.p[i] != ':' &&
               value.p[i] != '/';
    if (!fine)
        return refuse(row, value, "not the name of an account", err);
    *ret = value;
    return true;
}

/* Parses "4096", "64K" or "unlimited". */
static bool read_amount(struct span value, bool bytes, int64_t *ret) {
    static const char units[] = "KMGT";
    const char *unit = bytes && value.len > 0
                           ? memchr(units, value.p[value.len - 1], 4)
                           : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    uint64_t number;
    if (span_is(value, "unlimited")) {
        *ret = TASK_UNLIMITED;
        return true;
    }
    value.len -= unit != NULL;
    if (!span_u64(value, &number) || number > (uint64_t)INT64_MAX >> shift)
        return false;
    *ret = (int64_t)(number << shift);
    return true;
}

static bool set_amount(const struct row *row, struct span value, int64_t *ret,
                       struct err *err) {
    bool bytes = *row->choices != '\0';
    int64_t amount;
    if (!read_amount(value, bytes, &amount) || amount < row->least ||
        amount > row->most)
        return refuse(row, value,
                      bytes ? "not a size such as 4096, 64M, 2G"
                            : "not a number in its range",
                      err);
    *ret = amount;
    return true;
}

static bool set_limit(struct task_limits *all, struct span name,
                      struct span value, struct err *err) {
    for (size_t i = 0; i < TASK_LIMITS; i++) {
        if (!span_is(name, limits[i].name))
            continue;
        if (read_amount(value, limits[i].bytes, &all->value[i]))
            return true;
        return err_set(err, ERR_DATA,
                       "limit '%s' = '%.*s' is neither a number%s nor "
                       "unlimited",
                       limits[i].name, (int)value.len, value.p ? value.p : "",
                       limits[i].bytes ? " (64K, 2G)" : "");
    }
    return err_set(err, ERR_DATA,
                   "unknown limit '%.*s'; the limits are as, core, cpu, data, "
                   "fsize, memlock, nofile, nproc and stack",
                   (int)name.len, name.p ? name.p : "");
}

static bool set_row(struct task_options *options, const struct row *row,
                    struct span value, struct err *err) {
    void *at = place_of(options, row);
    struct span name;
    switch (row->kind) {
    case KIND_CHOICE:
        return set_choice(row, value, at, err);
    case KIND_MS:
        return set_ms(row, value, at, err);
    case KIND_AMOUNT:
        return set_amount(row, value, at, err);
    case KIND_TEXT:
        return set_text(row, value, at, err);
    case KIND_LIMITS:
        if (!span_cut(&value, '=', &name) || value.p == NULL)
            return refuse(row, name, "not NAME=VALUE", err);
        return set_limit(at, name, value, err);
    }
    return false;
}

static const struct row *find(struct span key) {
    for (size_t i = 0; i < COUNT(rows); i++)
        if (span_is(key, rows[i].option.key))
            return &rows[i];
    return NULL;
}

bool task_option_is_known(struct span key) {
    return find(key) != NULL;
}

bool task_option_set(struct task_options *options, struct span key,
                     struct span value, struct err *err) {
    return set_row(options, find(key), value, err);
}

/* The value as text: the content of a string, or other values as written. */
static struct span text_of(struct json_value value, struct arena *arena) {
    struct span text = value.raw;
    if (value.type == JSON_STRING && !json_get_string(value, arena, &text))
        text = (struct span){0};
    return text;
}

bool task_option_read(struct task_options *options, struct span key,
                      struct json_value value, struct arena *arena,
                      struct err *err) {
    const struct row *row = find(key);
    struct json_value item;
    struct span name;
    if (row->kind != KIND_LIMITS)
        return set_row(options, row, text_of(value, arena), err);
    if (value.type != JSON_OBJECT)
        return err_set(err, ERR_DATA, "'%s' is not an object", row->option.key);
    for (size_t at = 0; json_next(value, &at, arena, &name, &item);)
        if (!set_limit(place_of(options, row), name, text_of(item, arena), err))
            return false;
    return true;
}

bool task_options_check(const struct task_options *options, struct err *err) {
    if (options->process_group_leader == TASK_NO &&
        options->kill_to == TASK_TO_GROUP)
        return err_set(
            err, ERR_DATA,
            "'kill_to' = 'group' needs 'process_group_leader': without its own "
            "group, the task is in the group of the supervisor");
    if (options->kill_method == TASK_TERM && options->kill_wait_ms >= 0)
        return err_set(err, ERR_DATA,
                       "'kill_wait' has no meaning with 'kill_method' = "
                       "'term': there is no KILL to wait for");
    return true;
}

static void put_choice(struct json *json, const struct row *row,
                       int64_t number) {
    struct span rest = span_of(row->choices), choice;
    while (span_cut(&rest, '|', &choice) && number > 0)
        number--;
    json_span(json, choice);
}

static void put_ms(struct json *json, int64_t ms) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64 "ms", ms);
    if (ms % 1000 == 0)
        json_i64(json, ms / 1000);
    else
        json_string(json, text);
}

static void put_limits(struct json *json, const struct row *row,
                       const struct task_limits *all) {
    bool any = false;
    for (size_t i = 0; i < TASK_LIMITS; i++) {
        if (all->value[i] == TASK_UNSAID)
            continue;
        if (!any) {
            json_key(json, row->option.key);
            json_object(json);
        }
        any = true;
        json_key(json, limits[i].name);
        if (all->value[i] == TASK_UNLIMITED)
            json_string(json, "unlimited");
        else
            json_i64(json, all->value[i]);
    }
    if (any)
        json_end(json);
}

static void put_row(struct json *json, const struct row *row, const void *at) {
    const int64_t *number = at;
    const struct span *text = at;
    if (row->kind == KIND_LIMITS) {
        put_limits(json, row, at);
        return;
    }
    bool unsaid =
        row->kind == KIND_TEXT ? text->len == 0 : *number == TASK_UNSAID;
    if (unsaid)
        return;
    json_key(json, row->option.key);
    if (row->kind == KIND_TEXT)
        json_span(json, *text);
    else if (row->kind == KIND_CHOICE)
        put_choice(json, row, *number);
    else if (row->kind == KIND_AMOUNT)
        json_i64(json, *number);
    else
        put_ms(json, *number);
}

void task_options_format(const struct task_options *options,
                         struct json *json) {
    for (size_t i = 0; i < COUNT(rows); i++)
        put_row(json, &rows[i], (const char *)options + rows[i].place);
}
