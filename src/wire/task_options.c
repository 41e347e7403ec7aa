#include "wire/task_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "base/time.h"

enum kind { KIND_CHOICE, KIND_MS };

static const struct row {
    struct task_option option;
    enum kind kind;
    size_t place;
    int64_t least, most;
    const char *choices;
} rows[] = {
#define TASK_OPTION(key, kind, field, usual, least, most, choices, meaning) \
    {{(key), (usual), (meaning)},                                           \
     KIND_##kind,                                                           \
     offsetof(struct task_options, field),                                  \
     (least),                                                               \
     (most),                                                                \
     (choices)},
#include "wire/task_options.def"
#undef TASK_OPTION
};

static int64_t *number_at(struct task_options *options, const struct row *row) {
    return (int64_t *)(void *)((char *)options + row->place);
}

void task_options_init(struct task_options *options) {
    for (size_t i = 0; i < COUNT(rows); i++)
        *number_at(options, &rows[i]) = TASK_UNSAID;
}

const struct task_option *task_option_at(size_t index) {
    return index < COUNT(rows) ? &rows[index].option : NULL;
}

static bool refuse(const struct row *row, struct span value, const char *what,
                   struct err *err) {
    return err_set(err, ERR_DATA, "'%s' = '%.*s' is %s", row->option.key,
                   (int)value.len, value.p ? value.p : "", what);
}

/* The seed's spellings are fine too: term_wait_kill, 9, true. */
static bool is_word(struct span value, struct span choice) {
    static const char *const same[][2] = {
        {"9", "KILL"}, {"15", "TERM"},  {"0", "none"}, {"true", "yes"},
        {"on", "yes"}, {"false", "no"}, {"off", "no"}};
    for (size_t i = 0; i < COUNT(same); i++)
        if (span_is(value, same[i][0]))
            value = span_of(same[i][1]);
    if (value.len != choice.len)
        return false;
    for (size_t i = 0; i < value.len; i++) {
        char c = value.p[i] == '_' ? '-' : value.p[i];
        if (strncasecmp(&c, &choice.p[i], 1) != 0)
            return false;
    }
    return true;
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
    snprintf(what, sizeof what, "none of %s", row->choices);
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

static bool set_row(struct task_options *options, const struct row *row,
                    struct span value, struct err *err) {
    int64_t *at = number_at(options, row);
    switch (row->kind) {
    case KIND_CHOICE:
        return set_choice(row, value, at, err);
    case KIND_MS:
        return set_ms(row, value, at, err);
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

bool task_option_read(struct task_options *options, struct span key,
                      struct json_value value, struct arena *arena,
                      struct err *err) {
    struct span text = value.raw;
    if (value.type == JSON_STRING && !json_get_string(value, arena, &text))
        text = (struct span){0};
    return task_option_set(options, key, text, err);
}

bool task_options_check(const struct task_options *options, struct err *err) {
    if (options->process_group_leader == TASK_NO &&
        options->kill_to == TASK_TO_GROUP)
        return err_set(err, ERR_DATA,
                       "'kill_to' = 'group' needs 'process_group_leader': "
                       "without a group of its own the task's group is ours");
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

void task_options_format(const struct task_options *options,
                         struct json *json) {
    struct task_options copy = *options;
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t number = *number_at(&copy, &rows[i]);
        if (number == TASK_UNSAID)
            continue;
        json_key(json, rows[i].option.key);
        if (rows[i].kind == KIND_CHOICE)
            put_choice(json, &rows[i], number);
        else
            put_ms(json, number);
    }
}
