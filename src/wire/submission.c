#include "wire/submission.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/map.h"

enum {
    ARG_BYTES = 128 << 10,   /* longest argument that Linux accepts */
    COMMAND_BYTES = 2 << 20, /* all arguments together */
    KEY_BYTES = 4096,        /* of --touches */
    TIMEOUT_S_MOST = 31536000
};

struct reader {
    enum submission_form form;
    struct arena *arena;
    struct submission *submission;
    struct err *err;
};

void submission_init(struct submission *submission) {
    *submission = (struct submission){
        .class = SET_DC, .sub_priority = SET_SUB_PRIORITY, .umask = -1};
    task_options_init(&submission->task);
}

static bool refuse(struct err *err, const char *key, const char *what) {
    return err_set(err, ERR_DATA, "'%s' %s", key, what);
}

static bool read_text(struct reader *reader, const char *key,
                      struct json_value value, struct span *ret) {
    return json_get_string(value, reader->arena, ret) ||
           refuse(reader->err, key, "is not a string (without NUL)");
}

static bool read_flag(struct reader *reader, const char *key,
                      struct json_value value, bool *ret) {
    return json_get_bool(value, ret) ||
           refuse(reader->err, key, "is neither true nor false");
}

static bool read_list(struct reader *reader, const char *key,
                      struct json_value value, struct lines *ret) {
    struct json_value item;
    size_t count = 0;
    if (value.type != JSON_ARRAY)
        return refuse(reader->err, key, "is not a list of strings");
    for (size_t at = 0; json_next(value, &at, reader->arena, NULL, &item);)
        if (++count > SUBMISSION_LIST)
            return refuse(reader->err, key, "has too many members");
    ret->items = arena_alloc(reader->arena, (count + 1) * sizeof *ret->items);
    ret->count = 0;
    for (size_t at = 0; json_next(value, &at, reader->arena, NULL, &item);)
        if (!json_get_string(item, reader->arena, &ret->items[ret->count++]))
            return refuse(reader->err, key,
                          "has a member that is not a string (without NUL)");
    return true;
}

static bool read_texts(struct reader *reader, const char *key,
                       struct json_value value, size_t most,
                       struct submission_env **ret, size_t *ret_count) {
    struct json_value item;
    struct span name;
    size_t count = 0;
    if (value.type != JSON_OBJECT)
        return refuse(reader->err, key, "is not an object of strings");
    for (size_t at = 0; json_next(value, &at, reader->arena, NULL, &item);)
        if (++count > most)
            return refuse(reader->err, key, "has too many members");
    *ret = arena_alloc(reader->arena, (count + 1) * sizeof **ret);
    *ret_count = 0;
    for (size_t at = 0; json_next(value, &at, reader->arena, &name, &item);) {
        (*ret)[*ret_count].name = name;
        if (!json_get_string(item, reader->arena,
                             &(*ret)[(*ret_count)++].value))
            return refuse(reader->err, key,
                          "has a value that is not a string (without NUL)");
    }
    return true;
}

static bool read_class(struct reader *reader, struct json_value value) {
    struct span text;
    return (json_get_string(value, reader->arena, &text) &&
            set_priority_parse(text, &reader->submission->class,
                               &reader->submission->sub_priority)) ||
           refuse(reader->err, "class",
                  "is not one of RB, EM, BF, DC, optionally with a priority as "
                  "in EM.200");
}

static bool read_retries(struct reader *reader, struct json_value value) {
    int64_t number;
    if (!json_get_i64(value, &number) || number < 0 ||
        number > SUBMISSION_RETRIES)
        return refuse(reader->err, "retries", "is not a number from 0 to 1000");
    reader->submission->retries = (unsigned)number;
    return true;
}

static bool read_max_running(struct reader *reader, struct json_value value) {
    int64_t number;
    if (!json_get_i64(value, &number) || number < 0 ||
        number > SUBMISSION_RUNNING)
        return refuse(reader->err, "max_running",
                      "is not a number from 0 to 1000000");
    reader->submission->max_running = (unsigned)number;
    return true;
}

static bool read_timeout(struct reader *reader, struct json_value value) {
    struct submission *s = reader->submission;
    struct span text;
    int64_t number;
    if (json_get_i64(value, &number) && number >= 0 &&
        number <= TIMEOUT_S_MOST) {
        s->timeout_ms = number * 1000;
        return true;
    }
    if (json_get_string(value, reader->arena, &text) &&
        duration_parse(text, &s->timeout_ms))
        return true;
    return refuse(reader->err, "timeout",
                  "is neither seconds nor a duration such as \"15m\"");
}

static bool read_begin(struct reader *reader, struct json_value value) {
    struct span text;
    return (json_get_string(value, reader->arena, &text) &&
            wall_parse(text, &reader->submission->begin) &&
            reader->submission->begin.ns > 0) ||
           refuse(reader->err, "begin",
                  "is not a time after 1970 such as "
                  "\"2026-12-01T02:00:00+01:00\"");
}

static bool read_umask(struct reader *reader, struct json_value value) {
    struct span text;
    int mask = 0;
    bool fine = json_get_string(value, reader->arena, &text) && text.len &&
                text.len <= 4;
    for (size_t i = 0; fine && i < text.len; i++) {
        fine = text.p[i] >= '0' && text.p[i] <= '7';
        mask = mask * 8 + (text.p[i] - '0');
    }
    if (!fine || mask > 0777)
        return refuse(reader->err, "umask",
                      "is not a string of octal digits up to 777");
    reader->submission->umask = mask;
    return true;
}

enum key {
    KEY_ID,
    KEY_COMMAND,
    KEY_CLASS,
    KEY_AFTER,
    KEY_AFTER_ANY,
    KEY_AFTER_FAILED,
    KEY_SINGLETON,
    KEY_TOUCHES,
    KEY_RETRIES,
    KEY_TIMEOUT,
    KEY_NODE,
    KEY_ENV,
    KEY_DIR,
    KEY_BEGIN,
    KEY_TEMPLATE,
    KEY_PARAMS,
    KEYS_OF_LINE,
    KEY_CLEAN = KEYS_OF_LINE,
    KEY_AT_MOST_ONCE,
    KEY_UMASK,
    KEY_ARRAY,
    KEY_MAX_RUNNING,
    KEY_HOLD,
    KEYS_OF_BODY
};

static const char *const key_names[KEYS_OF_BODY] = {
    "id",           "command",   "class",        "after",   "after_any",
    "after_failed", "singleton", "touches",      "retries", "timeout",
    "node",         "env",       "dir",          "begin",   "template",
    "params",       "clean",     "at_most_once", "umask",   "array",
    "max_running",  "hold"};

static bool read_key(struct reader *reader, enum key key,
                     struct json_value value) {
    struct submission *s = reader->submission;
    const char *name = key_names[key];
    switch (key) {
    case KEY_ID:
        return read_text(reader, name, value, &s->id);
    case KEY_COMMAND:
        return read_list(reader, name, value, &s->command);
    case KEY_CLASS:
        return read_class(reader, value);
    case KEY_AFTER:
        return read_list(reader, name, value, &s->after);
    case KEY_AFTER_ANY:
        return read_list(reader, name, value, &s->after_any);
    case KEY_AFTER_FAILED:
        return read_list(reader, name, value, &s->after_failed);
    case KEY_SINGLETON:
        return read_text(reader, name, value, &s->singleton);
    case KEY_TOUCHES:
        return read_list(reader, name, value, &s->touches);
    case KEY_RETRIES:
        return read_retries(reader, value);
    case KEY_TIMEOUT:
        return read_timeout(reader, value);
    case KEY_NODE:
        return read_text(reader, name, value, &s->node);
    case KEY_ENV:
        return read_texts(reader, name, value, SUBMISSION_LIST, &s->env,
                          &s->env_count);
    case KEY_DIR:
        return read_text(reader, name, value, &s->dir);
    case KEY_BEGIN:
        return read_begin(reader, value);
    case KEY_TEMPLATE:
        return read_text(reader, name, value, &s->template);
    case KEY_PARAMS:
        return read_texts(reader, name, value, SUBMISSION_PARAMS, &s->params,
                          &s->param_count);
    case KEY_CLEAN:
        return read_flag(reader, name, value, &s->clean);
    case KEY_AT_MOST_ONCE:
        return read_flag(reader, name, value, &s->at_most_once);
    case KEY_UMASK:
        return read_umask(reader, value);
    case KEY_ARRAY:
        return read_list(reader, name, value, &s->array);
    case KEY_MAX_RUNNING:
        return read_max_running(reader, value);
    case KEY_HOLD:
        return read_flag(reader, name, value, &s->hold);
    case KEYS_OF_BODY:
        break;
    }
    return false;
}

static bool refuse_key(struct reader *reader, struct span name, size_t count) {
    CLEANUP(text_free_string) char *copy = span_string(name);
    const char *known[KEYS_OF_BODY + TASK_KEYS_MAX];
    const struct task_option *option;
    memcpy(known, key_names, count * sizeof *known);
    for (size_t i = 0; (option = task_option_at(i)) != NULL; i++)
        known[count++] = option->key;
    const char *near = text_nearest(copy, known, count);
    if (near)
        return err_set(reader->err, ERR_DATA,
                       "unknown key '%s', did you mean '%s'?", copy, near);
    return err_set(reader->err, ERR_DATA, "unknown key '%s'", copy);
}

static bool read_member(struct reader *reader, struct span name,
                        struct json_value value) {
    size_t known = reader->form == SUBMISSION_BODY ? (size_t)KEYS_OF_BODY
                                                   : (size_t)KEYS_OF_LINE;
    for (size_t key = 0; key < known; key++)
        if (name.len > 0 && name.p[0] == *key_names[key] &&
            span_is(name, key_names[key]))
            return value.type == JSON_NULL ||
                   read_key(reader, (enum key)key, value);
    if (!task_option_is_known(name))
        return refuse_key(reader, name, known);
    return value.type == JSON_NULL ||
           task_option_read(&reader->submission->task, name, value,
                            reader->arena, reader->err);
}

bool submission_open(struct span text, struct json_value *ret_object,
                     struct err *err) {
    if (text.len > SUBMISSION_BYTES)
        return err_set(err, ERR_DATA, "more than %d bytes of JSON",
                       SUBMISSION_BYTES);
    return json_parse_object(text, ret_object, err);
}

bool submission_parse(struct span text, enum submission_form form,
                      struct arena *arena, struct submission *ret_submission,
                      struct err *err) {
    struct reader reader = {form, arena, ret_submission, err};
    struct json_value whole, value;
    struct span name;
    submission_init(ret_submission);
    if (!submission_open(text, &whole, err))
        return false;
    for (size_t at = 0; json_next(whole, &at, arena, &name, &value);)
        if (!read_member(&reader, name, value))
            return false;
    return submission_check(ret_submission, err);
}

static bool has_nul(struct span span) {
    return span.len && memchr(span.p, '\0', span.len);
}

static bool check_command(const struct submission *s, struct err *err) {
    size_t bytes = 0;
    if (!s->command.count && s->template.len > 0)
        return true; /* that of the template */
    if (!s->command.count || !s->command.items[0].len)
        return err_set(err, ERR_DATA, "a command is missing");
    for (size_t i = 0; i < s->command.count; i++) {
        struct span word = s->command.items[i];
        bytes += word.len + 1;
        if (has_nul(word) || word.len >= ARG_BYTES || bytes > COMMAND_BYTES)
            return refuse(err, "command", "is longer than the system allows");
    }
    return true;
}

static bool env_name_is_valid(struct span name) {
    if (!name.len || (name.p[0] >= '0' && name.p[0] <= '9'))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || c == '_'))
            return false;
    }
    return true;
}

static bool check_env(const struct submission *s, struct err *err) {
    for (size_t i = 0; i < s->env_count; i++) {
        struct span name = s->env[i].name;
        if (!env_name_is_valid(name))
            return err_set(err, ERR_DATA,
                           "'%.*s' is not the name of an environment "
                           "variable",
                           (int)name.len, name.p ? name.p : "");
        if (has_nul(s->env[i].value) || s->env[i].value.len >= ARG_BYTES)
            return refuse(err, "env",
                          "has a value that the system does not allow");
    }
    return true;
}

bool submission_share_parse(struct span text, struct span *ret_id,
                            unsigned *ret_share) {
    struct span rest = text, number;
    uint64_t share;
    *ret_id = text;
    *ret_share = 0;
    if (!span_ends(text, "%]"))
        return set_csid_is_valid(text);
    if (!span_cut(&rest, '[', ret_id) || rest.len < 3 ||
        !set_csid_is_valid(*ret_id))
        return false;
    number = span_make(rest.p, rest.len - 2);
    if (number.len > 3 || !span_u64(number, &share) || share < 1 || share > 100)
        return false;
    *ret_share = (unsigned)share;
    return true;
}

/* One relation to an id would replace the other. */
static bool check_twice_after(const struct lines *after, struct err *err) {
    for (size_t i = 0; i < after->count; i++) {
        struct span one, other;
        unsigned share, other_share;
        (void)submission_share_parse(after->items[i], &one, &share);
        for (size_t k = 0; share > 0 && k < after->count; k++) {
            (void)submission_share_parse(after->items[k], &other, &other_share);
            if (k != i && span_equal(one, other))
                return err_set(err, ERR_DATA, "after: '%.*s' is there twice",
                               (int)one.len, one.p);
        }
    }
    return true;
}

static bool check_after(const struct submission *s, const char *key,
                        const struct lines *list, bool shares,
                        struct err *err) {
    for (size_t i = 0; i < list->count; i++) {
        struct span item = list->items[i], id;
        unsigned share;
        bool fine = submission_share_parse(item, &id, &share);
        if (!fine && shares && span_ends(item, "%]"))
            return err_set(err, ERR_DATA,
                           "%s: '%.*s' is not an id with a share from 1 to "
                           "100, such as ID[60%%]",
                           key, (int)item.len, item.p);
        if (!fine || (share > 0 && !shares))
            return err_set(err, ERR_DATA, "%s: '%.*s' is not an id", key,
                           (int)item.len, item.p ? item.p : "");
        if (span_equal(id, s->id))
            return refuse(err, key, "names the job itself");
    }
    return true;
}

static bool check_ids(const struct submission *s, struct err *err) {
    if (s->id.p && !set_csid_is_valid(s->id))
        return err_set(err, ERR_DATA,
                       "'%.*s' is not an id (a letter or digit, then letters, "
                       "digits, '.', '-', 64 at most)",
                       (int)s->id.len, s->id.p);
    return check_after(s, "after", &s->after, true, err) &&
           check_after(s, "after_any", &s->after_any, false, err) &&
           check_after(s, "after_failed", &s->after_failed, false, err) &&
           check_twice_after(&s->after, err);
}

/* A task is identified by job and node: two of the same name would be one. */
static bool check_twice(const struct lines *array, struct err *err) {
    struct map seen = MAP_INIT;
    bool ok = true;
    for (size_t i = 0; ok && i < array->count; i++) {
        struct span node = array->items[i];
        if (map_put(&seen, node, &seen) != NULL)
            ok = err_set(err, ERR_DATA,
                         "'array' has '%.*s' twice; the lines of an array must "
                         "be unique",
                         (int)(node.len < 200 ? node.len : 200), node.p);
    }
    map_clear(&seen);
    return ok;
}

static bool is_key(struct span key) {
    return key.len > 0 && key.len <= KEY_BYTES && !has_nul(key) &&
           !memchr(key.p, '\n', key.len);
}

static bool check_lists(const struct submission *s, struct err *err) {
    if (s->singleton.p != NULL && !is_key(s->singleton))
        return refuse(err, "singleton",
                      "is a key that is empty, longer than 4096 bytes or more "
                      "than a line");
    for (size_t i = 0; i < s->touches.count; i++) {
        if (!is_key(s->touches.items[i]))
            return refuse(err, "touches",
                          "has a key that is empty, longer than 4096 bytes or "
                          "more than a line");
    }
    for (size_t i = 0; i < s->array.count; i++) {
        struct span node = s->array.items[i];
        if (!node.len || node.len > KEY_BYTES || has_nul(node) ||
            memchr(node.p, '\n', node.len))
            return refuse(err, "array",
                          "has an element that is empty, longer than 4096 "
                          "bytes or more than a line");
    }
    if (s->max_running > 0 && s->array.count == 0)
        return refuse(err, "max_running", "is only for arrays");
    return check_twice(&s->array, err);
}

bool submission_check(const struct submission *submission, struct err *err) {
    if (!check_command(submission, err) || !check_ids(submission, err) ||
        !check_lists(submission, err) || !check_env(submission, err))
        return false;
    if (submission->dir.len &&
        (submission->dir.p[0] != '/' || has_nul(submission->dir) ||
         submission->dir.len > KEY_BYTES))
        return refuse(err, "dir", "is not an absolute path");
    if (submission->node.len > KEY_BYTES || has_nul(submission->node))
        return refuse(err, "node", "is longer than 4096 bytes");
    if (submission->timeout_ms < 0 ||
        submission->timeout_ms > INT64_C(1000) * TIMEOUT_S_MOST)
        return refuse(err, "timeout", "is longer than a year");
    return task_options_check(&submission->task, err);
}

bool submission_check_node(const struct submission *submission,
                           struct err *err) {
    struct span node = submission->node;
    return node.p == NULL || span_is(node, "local") ||
           err_set(err, ERR_DATA, "no node '%.*s': this base has only 'local'",
                   (int)(node.len < 200 ? node.len : 200), node.p);
}

static void put_list(struct json *json, const char *key,
                     const struct lines *list) {
    if (!list->count)
        return;
    json_key(json, key);
    json_array(json);
    for (size_t i = 0; i < list->count; i++)
        json_span(json, list->items[i]);
    json_end(json);
}

static void put_class(struct json *json, const struct submission *s) {
    char text[16];
    if (s->class == SET_DC && s->sub_priority == SET_SUB_PRIORITY)
        return;
    if (s->sub_priority == SET_SUB_PRIORITY)
        snprintf(text, sizeof text, "%s", set_class_name(s->class));
    else
        snprintf(text, sizeof text, "%s.%03u", set_class_name(s->class),
                 s->sub_priority % 1000);
    json_key(json, "class");
    json_string(json, text);
}

static void put_timeout(struct json *json, int64_t timeout_ms) {
    if (!timeout_ms)
        return;
    json_key(json, "timeout");
    json_i64(json, (timeout_ms + 999) / 1000);
}

static void put_texts(struct json *json, const char *key,
                      const struct submission_env *texts, size_t count) {
    if (!count)
        return;
    json_key(json, key);
    json_object(json);
    for (size_t i = 0; i < count; i++) {
        CLEANUP(text_free_string) char *name = span_string(texts[i].name);
        json_key(json, name);
        json_span(json, texts[i].value);
    }
    json_end(json);
}

void submission_format(const struct submission *submission, struct text *out) {
    struct json json;
    json_open(&json, out);
    json_object(&json);
    json_put_text(&json, "id", submission->id);
    json_put_text(&json, "template", submission->template);
    put_texts(&json, "params", submission->params, submission->param_count);
    put_list(&json, "command", &submission->command);
    put_class(&json, submission);
    put_list(&json, "after", &submission->after);
    put_list(&json, "after_any", &submission->after_any);
    put_list(&json, "after_failed", &submission->after_failed);
    json_put_text(&json, "singleton", submission->singleton);
    put_list(&json, "touches", &submission->touches);
    if (submission->retries) {
        json_key(&json, "retries");
        json_i64(&json, submission->retries);
    }
    put_timeout(&json, submission->timeout_ms);
    json_put_text(&json, "node", submission->node);
    put_texts(&json, "env", submission->env, submission->env_count);
    json_put_text(&json, "dir", submission->dir);
    if (submission->begin.ns > 0) {
        char when[WALL_TEXT_BYTES];
        json_key(&json, "begin");
        json_string(&json, wall_format(submission->begin, when));
    }
    json_put_flag(&json, "clean", submission->clean);
    json_put_flag(&json, "at_most_once", submission->at_most_once);
    if (submission->umask >= 0) {
        char text[16];
        snprintf(text, sizeof text, "%03o", (unsigned)submission->umask);
        json_key(&json, "umask");
        json_string(&json, text);
    }
    put_list(&json, "array", &submission->array);
    if (submission->max_running > 0) {
        json_key(&json, "max_running");
        json_i64(&json, submission->max_running);
    }
    json_put_flag(&json, "hold", submission->hold);
    task_options_format(&submission->task, &json);
    json_end(&json);
}

void submission_touch(struct submission *submission, struct arena *arena,
                      struct span key) {
    const struct lines *old = &submission->touches;
    struct span *items = arena_alloc(arena, (old->count + 1) * sizeof *items);
    for (size_t i = 0; i < old->count; i++) {
        items[i] = old->items[i];
        if (span_equal(items[i], key))
            return;
    }
    items[old->count] = key;
    submission->touches.items = items;
    submission->touches.count++;
}
