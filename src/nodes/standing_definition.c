#include "nodes/standing_definition.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/map.h"
#include "lib/pattern.h"
#include "core/node_limits.h"
#include "nodes/node_line.h"
#include "nodes/standing_value.h"

enum {
    SECONDS_MOST = 31536000,
    RUNNING_MOST = 1000000,
    PRIORITY_MOST = 1000000000, /* in thousandths */
    AMOUNTS_MOST = 256,
    FILTERS_MOST = 16,
    ENV_MOST = 1000,
    VALUE_SHOWN = 100
};

/* One key and what it is set to. `path` is the key as written, for errors. */
struct setting {
    struct standing_definition *d;
    struct arena *arena;
    struct text *errors;
    const char *path;
    struct span name, key; /* of a key of an object: filters.NAME.KEY */
    struct lines values;   /* none: the default */
};

void standing_definition_init(struct standing_definition *definition) {
    *definition = (struct standing_definition){.enabled = true,
                                               .priority = STANDING_PRIORITY,
                                               .kill_orphans_after_ms = -1};
    submission_init(&definition->job);
}

static bool complain(struct text *errors, const char *format, ...)
    PRINTF_LIKE(2, 3);
static bool complain(struct text *errors, const char *format, ...) {
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    va_list args;

    va_start(args, format);
    text_addv(&line, format, args);
    va_end(args);
    text_add_printable(errors, text_span(&line));
    text_addc(errors, '\n');
    return false;
}

static int shown(struct span value) {
    return value.len < VALUE_SHOWN ? (int)value.len : VALUE_SHOWN;
}

static bool refuse(const struct setting *s, struct span value,
                   const char *what) {
    return complain(s->errors, "%s: '%.*s' is not %s", s->path, shown(value),
                    value.p == NULL ? "" : value.p, what);
}

/* ---- values -------------------------------------------------------------- */

/* The only value; "" if there is none. */
static bool one_of(const struct setting *s, struct span *ret_value) {
    *ret_value = s->values.count > 0 ? s->values.items[0] : SPAN("");
    return s->values.count <= 1 ||
           complain(s->errors, "%s: one value is expected, not a list",
                    s->path);
}

static bool is_given(const struct setting *s) {
    return s->values.count > 0;
}

static struct lines copy_lines(const struct setting *s) {
    struct lines copy = {.count = s->values.count};

    copy.items = arena_alloc(s->arena, (copy.count + 1) * sizeof(*copy.items));
    for (size_t i = 0; i < copy.count; i++)
        copy.items[i] = arena_span(s->arena, s->values.items[i]);
    return copy;
}

/* A member of a list stands for nothing more if it is there again. */
static bool set_names(const struct setting *s, struct lines *list) {
    struct map seen = MAP_INIT;
    size_t count = 0;

    if (s->values.count > STANDING_LIST)
        return complain(s->errors, "%s: more than %d members", s->path,
                        STANDING_LIST);
    *list = copy_lines(s);
    for (size_t i = 0; i < list->count; i++)
        if (map_put(&seen, list->items[i], list) == NULL)
            list->items[count++] = list->items[i];
    list->count = count;
    map_clear(&seen);
    return true;
}

static bool set_text(const struct setting *s, struct span *text) {
    if (!one_of(s, text))
        return false;
    *text = arena_span(s->arena, *text);
    return true;
}

/* Room for one more item behind `count`. */
static void *grow(struct arena *arena, void *items, size_t count,
                  size_t bytes) {
    void *more;

    if ((count & (count - 1)) != 0)
        return items;
    more = arena_alloc(arena, (count > 0 ? 2 * count : 1) * bytes);
    if (count > 0)
        memcpy(more, items, count * bytes);
    return more;
}

/* ---- keys ---------------------------------------------------------------- */

static bool set_name(const struct setting *s) {
    return set_text(s, &s->d->name) &&
           (!is_given(s) || standing_name_check(s->d->name, s->errors));
}

static bool set_version(const struct setting *s) {
    struct span value;

    if (!one_of(s, &value))
        return false;
    s->d->version = 0;
    return !is_given(s) ||
           (span_u64(value, &s->d->version) && s->d->version > 0) ||
           refuse(s, value, "the number of a version");
}

static bool set_enabled(const struct setting *s) {
    struct span value;

    if (!one_of(s, &value))
        return false;
    s->d->enabled = true;
    return !is_given(s) || standing_flag_read(value, &s->d->enabled) ||
           refuse(s, value, "yes or no");
}

static bool set_owner(const struct setting *s) {
    return set_text(s, &s->d->owner);
}

static bool set_priority(const struct setting *s) {
    struct span value;
    uint64_t number = STANDING_PRIORITY;

    if (!one_of(s, &value))
        return false;
    if (is_given(s) &&
        (!standing_decimal_read(value, 3, PRIORITY_MOST, &number) ||
         number == 0))
        return refuse(s, value, "a number from 0.001 to 1000000");
    s->d->priority = (uint32_t)number;
    return true;
}

static bool set_level(const struct setting *s) {
    return set_text(s, &s->d->level);
}

static bool set_max_running(const struct setting *s) {
    struct span value;
    uint64_t number = 0;

    if (!one_of(s, &value))
        return false;
    if (is_given(s) && (!span_u64(value, &number) || number > RUNNING_MOST))
        return refuse(s, value, "a number from 0 to 1000000");
    s->d->max_running = (unsigned)number;
    return true;
}

static bool set_backoff(const struct setting *s) {
    struct standing_definition *d = s->d;
    const char *why;

    d->has_backoff = is_given(s);
    d->backoff_count = 0;
    if (s->values.count > STANDING_LIST)
        return complain(s->errors, "%s: more than %d members", s->path,
                        STANDING_LIST);
    if (!is_given(s) ||
        standing_backoff_read(&s->values, s->arena, &d->backoff_s,
                              &d->backoff_count, &d->backoff_fails, &why))
        return true;
    return complain(s->errors, "%s: not %s", s->path, why);
}

static bool set_job_names(const struct setting *s, struct lines *list) {
    bool ok = set_names(s, list);

    for (size_t i = 0; ok && i < list->count; i++)
        ok = standing_name_check(list->items[i], s->errors);
    return ok;
}

static bool set_depends_on(const struct setting *s) {
    return set_job_names(s, &s->d->depends_on);
}

static bool set_after_nodes(const struct setting *s) {
    return set_job_names(s, &s->d->after_all_nodes_of);
}

static bool set_host(const struct setting *s) {
    return set_text(s, &s->d->host);
}

static bool set_host_level(const struct setting *s) {
    return set_text(s, &s->d->host_level);
}

static bool set_kill_orphans(const struct setting *s) {
    struct standing_definition *d = s->d;
    struct span value;

    if (!one_of(s, &value))
        return false;
    d->has_kill_orphans = is_given(s);
    d->kill_orphans_after_ms = -1;
    return !is_given(s) ||
           standing_orphans_read(value, &d->kill_orphans_after_ms) ||
           refuse(s, value, "never or a time such as 90, 15m, 2h");
}

static bool set_amount(const struct setting *s) {
    struct standing_definition *d = s->d;
    struct span value;
    uint64_t number = 0;
    size_t at = 0;

    if (!one_of(s, &value))
        return false;
    if (is_given(s) &&
        (!span_u64(value, &number) || number > STANDING_AMOUNT_MOST))
        return refuse(s, value, "a number from 0 to 2^53");
    while (at < d->amount_count && !span_equal(d->amounts[at].name, s->name))
        at++;
    if (!is_given(s)) {
        if (at < d->amount_count)
            d->amounts[at] = d->amounts[--d->amount_count];
        return true;
    }
    if (at == d->amount_count) {
        if (at == AMOUNTS_MOST)
            return complain(s->errors, "resources: more than %d", AMOUNTS_MOST);
        d->amounts = grow(s->arena, d->amounts, at, sizeof(*d->amounts));
        d->amounts[d->amount_count++].name = arena_span(s->arena, s->name);
    }
    d->amounts[at].amount = (int64_t)number;
    return true;
}

/* NULL: there are too many. */
static struct standing_filter *filter_of(const struct setting *s) {
    struct standing_definition *d = s->d;
    size_t count = d->filter_count;

    for (size_t i = 0; i < count; i++)
        if (span_equal(d->filters[i].level, s->name))
            return &d->filters[i];
    if (count == FILTERS_MOST)
        return NULL;
    d->filters = grow(s->arena, d->filters, count, sizeof(*d->filters));
    d->filters[count].level = arena_span(s->arena, s->name);
    d->filter_count++;
    return &d->filters[count];
}

static bool set_regex(const struct setting *s, struct span *regex) {
    struct pattern *pattern = NULL;
    struct err err;

    if (!set_text(s, regex))
        return false;
    if (regex->len > 0 && !pattern_new(*regex, false, &pattern, &err))
        return complain(s->errors, "%s: %s", s->path, err.text);
    pattern_free(pattern);
    return true;
}

static bool set_fraction(const struct setting *s, uint32_t *fraction) {
    struct span value;
    uint64_t number = 0;

    if (!one_of(s, &value))
        return false;
    if (is_given(s) &&
        (!standing_decimal_read(value, 6, STANDING_WHOLE, &number) ||
         number == 0))
        return refuse(s, value, "a fraction from 0.000001 to 1");
    *fraction = (uint32_t)number;
    return true;
}

static const char *const filter_keys[] = {
    "whitelist",       "blacklist",       "tags",
    "whitelist_regex", "blacklist_regex", "fraction"};

static bool refuse_key(const struct setting *s, struct span key,
                       const char *const *known, size_t count) {
    CLEANUP(text_free_string) char *copy = span_string(key);
    const char *near = text_nearest(copy, known, count);

    if (near != NULL)
        return complain(s->errors, "unknown key '%s', did you mean '%s'?",
                        s->path, near);
    return complain(s->errors, "unknown key '%s'", s->path);
}

static bool set_filter(const struct setting *s) {
    struct standing_filter *f;

    if (s->key.p == NULL)
        return complain(s->errors,
                        "%s: what is filtered? For example filters.%.*s.tags",
                        s->path, (int)s->name.len, s->name.p);
    f = filter_of(s);
    if (f == NULL)
        return complain(s->errors, "filters: more than %d levels",
                        FILTERS_MOST);
    if (span_is(s->key, "whitelist"))
        return set_names(s, &f->whitelist);
    if (span_is(s->key, "blacklist"))
        return set_names(s, &f->blacklist);
    if (span_is(s->key, "tags"))
        return set_names(s, &f->tags);
    if (span_is(s->key, "whitelist_regex"))
        return set_regex(s, &f->whitelist_regex);
    if (span_is(s->key, "blacklist_regex"))
        return set_regex(s, &f->blacklist_regex);
    if (span_is(s->key, "fraction"))
        return set_fraction(s, &f->fraction);
    return refuse_key(s, s->key, filter_keys, COUNT(filter_keys));
}

/* ---- keys of the submission ---------------------------------------------- */

static bool set_command(const struct setting *s) {
    s->d->job.command = copy_lines(s);
    return true;
}

static bool set_class(const struct setting *s) {
    struct submission *job = &s->d->job;
    struct span value;

    if (!one_of(s, &value))
        return false;
    job->class = SET_DC;
    job->sub_priority = SET_SUB_PRIORITY;
    return !is_given(s) ||
           (set_priority_parse(value, &job->class, &job->sub_priority) &&
            job->class != SET_RB) ||
           refuse(s, value,
                  "EM, BF or DC, optionally with a priority as in "
                  "EM.200");
}

static bool set_timeout(const struct setting *s) {
    struct submission *job = &s->d->job;
    struct span value;

    if (!one_of(s, &value))
        return false;
    job->timeout_ms = 0;
    return !is_given(s) ||
           (duration_parse(value, &job->timeout_ms) &&
            job->timeout_ms <= INT64_C(1000) * SECONDS_MOST) ||
           refuse(s, value, "a time such as 90, 15m, 2h");
}

static bool set_dir(const struct setting *s) {
    return set_text(s, &s->d->job.dir);
}

static bool set_clean(const struct setting *s) {
    struct span value;

    if (!one_of(s, &value))
        return false;
    s->d->job.clean = false;
    return !is_given(s) || standing_flag_read(value, &s->d->job.clean) ||
           refuse(s, value, "yes or no");
}

static bool set_umask(const struct setting *s) {
    struct span value;
    int mask = 0;

    if (!one_of(s, &value))
        return false;
    for (size_t i = 0; i < value.len; i++) {
        if (value.len > 4 || value.p[i] < '0' || value.p[i] > '7')
            mask = 01000;
        else
            mask = mask * 8 + (value.p[i] - '0');
    }
    if (mask > 0777)
        return refuse(s, value, "octal digits up to 777");
    s->d->job.umask = is_given(s) ? mask : -1;
    return true;
}

static bool set_env(const struct setting *s) {
    struct submission *job = &s->d->job;
    struct span value;
    size_t at = 0;

    if (!one_of(s, &value))
        return false;
    while (at < job->env_count && !span_equal(job->env[at].name, s->name))
        at++;
    if (!is_given(s)) {
        if (at < job->env_count)
            job->env[at] = job->env[--job->env_count];
        return true;
    }
    if (at == job->env_count) {
        if (at == ENV_MOST)
            return complain(s->errors, "env: more than %d", ENV_MOST);
        job->env = grow(s->arena, job->env, at, sizeof(*job->env));
        job->env[job->env_count++].name = arena_span(s->arena, s->name);
    }
    job->env[at].value = arena_span(s->arena, value);
    return true;
}

/* Makes the options anew, without this one. */
static bool reset_option(const struct setting *s, struct span key) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct task_options *options = &s->d->job.task;
    struct json_value object, value;
    struct span name, kept;
    struct json json;
    size_t cursor = 0;

    json_open(&json, &text);
    json_object(&json);
    task_options_format(options, &json);
    json_end(&json);
    task_options_init(options);
    kept = arena_span(s->arena, text_span(&text));
    if (!json_parse_object(kept, &object, NULL))
        return false;
    while (json_next(object, &cursor, s->arena, &name, &value))
        if (!span_equal(name, key))
            (void)task_option_read(options, name, value, s->arena, NULL);
    return true;
}

static bool set_option(const struct setting *s, struct span key) {
    struct span value;
    struct err err;

    if (!one_of(s, &value))
        return false;
    if (!is_given(s))
        return reset_option(s, key);
    if (span_is(key, "limit"))
        value = span_of(arena_printf(s->arena, "%.*s=%.*s", (int)s->name.len,
                                     s->name.p, (int)value.len, value.p));
    else
        value = arena_span(s->arena, value);
    return task_option_set(&s->d->job.task, key, value, &err) ||
           complain(s->errors, "%s", err.text);
}

/* ---- the table ----------------------------------------------------------- */

enum shape { ONE, LIST, OBJECT };

static const struct row {
    const char *key;
    bool (*set)(const struct setting *s);
    enum shape shape;
    unsigned depth; /* of an OBJECT: names behind the key */
} rows[] = {
    {"name", set_name, ONE, 0},
    {"version", set_version, ONE, 0},
    {"enabled", set_enabled, ONE, 0},
    {"owner", set_owner, ONE, 0},
    {"priority", set_priority, ONE, 0},
    {"level", set_level, ONE, 0},
    {"max_running", set_max_running, ONE, 0},
    {"resources", set_amount, OBJECT, 1},
    {"filters", set_filter, OBJECT, 2},
    {"backoff", set_backoff, LIST, 0},
    {"depends_on", set_depends_on, LIST, 0},
    {"after_all_nodes_of", set_after_nodes, LIST, 0},
    {"host", set_host, ONE, 0},
    {"host_level", set_host_level, ONE, 0},
    {"kill_orphans_after", set_kill_orphans, ONE, 0},
    {"command", set_command, LIST, 0},
    {"class", set_class, ONE, 0},
    {"timeout", set_timeout, ONE, 0},
    {"dir", set_dir, ONE, 0},
    {"env", set_env, OBJECT, 1},
    {"clean", set_clean, ONE, 0},
    {"umask", set_umask, ONE, 0},
};

static const struct row option_row = {NULL, NULL, ONE, 0};
static const struct row limit_row = {NULL, NULL, OBJECT, 1};

/* NULL: unknown. */
static const struct row *row_of(struct span key) {
    for (size_t i = 0; i < COUNT(rows); i++)
        if (span_is(key, rows[i].key))
            return &rows[i];
    if (span_is(key, "limit"))
        return &limit_row;
    return task_option_is_known(key) ? &option_row : NULL;
}

static bool refuse_top_key(const struct setting *s, struct span key) {
    const char *known[COUNT(rows) + TASK_KEYS_MAX];
    const struct task_option *option;
    size_t count = 0;

    for (; count < COUNT(rows); count++)
        known[count] = rows[count].key;
    for (size_t i = 0; (option = task_option_at(i)) != NULL; i++)
        known[count++] = option->key;
    return refuse_key(s, key, known, count);
}

static bool set_row(const struct row *row, const struct setting *s,
                    struct span key) {
    struct err err;

    if (row->shape == OBJECT && !span_is(s->name, NODE_INSTANCE) &&
        !node_line_check_name(s->name, &err))
        return complain(s->errors, "%s: %s", s->path, err.text);
    return row->set != NULL ? row->set(s) : set_option(s, key);
}

/* ---- options ------------------------------------------------------------- */

static struct lines split(struct span value, enum shape shape,
                          struct arena *arena) {
    struct lines list = {0};
    size_t most = 1;
    struct span part;

    if (value.len == 0)
        return list;
    for (size_t i = 0; shape == LIST && i < value.len; i++)
        most += value.p[i] == ',';
    list.items = arena_alloc(arena, most * sizeof(*list.items));
    if (shape != LIST) {
        list.items[list.count++] = value;
        return list;
    }
    while (span_cut(&value, ',', &part))
        if (span_trim(part).len > 0)
            list.items[list.count++] = span_trim(part);
    return list;
}

/* Dashes as in options of other commands mean underscores; names keep them. */
static struct span plain_key(struct span key, struct arena *arena) {
    char *copy = arena_string(arena, key);

    for (size_t i = 0; i < key.len; i++)
        if (copy[i] == '-')
            copy[i] = '_';
    return span_make(copy, key.len);
}

static bool is_filter_list(struct span key) {
    return span_is(key, "whitelist") || span_is(key, "blacklist") ||
           span_is(key, "tags");
}

bool standing_definition_set(struct standing_definition *definition,
                             struct span key, struct span value,
                             struct arena *arena, struct text *errors) {
    struct span rest = key, top;
    struct setting s = {.d = definition,
                        .arena = arena,
                        .errors = errors,
                        .path = arena_string(arena, key)};
    const struct row *row;
    enum shape shape;

    (void)span_cut(&rest, '.', &top);
    top = plain_key(top, arena);
    row = row_of(top);
    if (row == NULL)
        return refuse_top_key(&s, top);
    if (row->set == set_command)
        return complain(errors, "command: it stands behind --, as in `job add "
                                "NAME level=host -- ./clean {}`");
    shape = row->shape;
    if (shape == OBJECT && row->depth > 1) {
        (void)span_cut(&rest, '.', &s.name);
        s.key = rest.p == NULL ? rest : plain_key(rest, arena);
        shape = is_filter_list(s.key) ? LIST : ONE;
    } else if (shape == OBJECT) {
        s.name = rest;
    } else if (rest.p != NULL) {
        return refuse_top_key(&s, top);
    }
    if (row->shape == OBJECT && s.name.len == 0)
        return complain(errors, "%s: a name is missing, as in %.*s.NAME",
                        s.path, (int)top.len, top.p);
    s.values = split(value, shape, arena);
    return set_row(row, &s, top);
}

/* ---- JSON ---------------------------------------------------------------- */

static bool text_read(const struct setting *s, struct json_value value,
                      struct span *ret_text) {
    *ret_text = value.raw;
    if (value.type == JSON_STRING)
        return json_get_string(value, s->arena, ret_text) ||
               complain(s->errors, "%s: the text contains a NUL", s->path);
    return (value.type != JSON_ARRAY && value.type != JSON_OBJECT &&
            value.type != JSON_NULL) ||
           complain(s->errors, "%s: a word or a number is expected", s->path);
}

static bool values_read(struct setting *s, struct json_value value) {
    struct json_value item;
    size_t cursor = 0, count = 0;

    if (value.type != JSON_ARRAY) {
        s->values.items = arena_alloc(s->arena, sizeof(*s->values.items));
        s->values.count = 1;
        return text_read(s, value, &s->values.items[0]);
    }
    while (json_next(value, &cursor, s->arena, NULL, &item))
        count++;
    s->values.items =
        arena_alloc(s->arena, (count + 1) * sizeof(*s->values.items));
    for (cursor = 0; json_next(value, &cursor, s->arena, NULL, &item);)
        if (!text_read(s, item, &s->values.items[s->values.count++]))
            return false;
    return true;
}

/* A key of the object, or of an object in it. */
static bool member_read(const struct setting *outer, const struct row *row,
                        struct span key, unsigned depth,
                        struct json_value value) {
    struct setting s = *outer;
    struct json_value inner;
    struct span name;
    size_t cursor = 0;
    bool ok = true;

    if (value.type == JSON_NULL)
        return true;
    if (depth == 0)
        return values_read(&s, value) && set_row(row, &s, key);
    if (value.type != JSON_OBJECT)
        return complain(s.errors, "%s: an object is expected", s.path);
    while (json_next(value, &cursor, s.arena, &name, &inner)) {
        struct setting each = s;
        each.path =
            arena_printf(s.arena, "%s.%.*s", s.path, (int)name.len, name.p);
        each.key = depth == row->depth ? s.key : name;
        each.name = depth == row->depth ? name : s.name;
        ok = member_read(&each, row, key, depth - 1, inner) && ok;
    }
    return ok;
}

bool standing_definition_parse(struct span text, struct arena *arena,
                               struct standing_definition *ret_definition,
                               struct text *errors) {
    struct setting s = {.d = ret_definition, .arena = arena, .errors = errors};
    struct json_value whole, value;
    struct span key;
    struct err err;
    size_t cursor = 0;
    bool ok = true;

    standing_definition_init(ret_definition);
    if (text.len > STANDING_BYTES)
        return complain(errors, "the definition has more than %d bytes",
                        STANDING_BYTES);
    if (!json_parse_object(text, &whole, &err))
        return complain(errors, "%s", err.text);
    while (json_next(whole, &cursor, arena, &key, &value)) {
        const struct row *row = row_of(key);
        s.path = arena_string(arena, key);
        ok = (row != NULL ? member_read(&s, row, key, row->depth, value)
                          : refuse_top_key(&s, key)) &&
             ok;
    }
    return standing_definition_check(ret_definition, errors) && ok;
}

/* ---- checks -------------------------------------------------------------- */

bool standing_name_check(struct span name, struct text *errors) {
    static const char more[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ._-";
    bool ok = name.len > 0 && name.len <= STANDING_NAME_BYTES;

    for (size_t i = 0; ok && i < name.len; i++)
        ok = memchr(more, name.p[i], sizeof(more) - (i > 0 ? 1 : 4)) != NULL;
    return ok || complain(errors,
                          "'%.*s' is not the name of a job: a letter or "
                          "digit, then letters, digits, '.', '_' and '-', %d "
                          "at most",
                          shown(name), name.p == NULL ? "" : name.p,
                          STANDING_NAME_BYTES);
}

bool standing_definition_check(const struct standing_definition *definition,
                               struct text *errors) {
    const struct standing_definition *d = definition;
    bool ok = true;
    struct err err;

    if (d->host.len > 0 && d->host_level.len > 0)
        ok = complain(errors, "host and host_level: only one of them can say "
                              "where tasks run");
    if (d->host.len > NODE_NAME_MOST)
        ok = complain(errors, "host: longer than %d bytes", NODE_NAME_MOST);
    if (d->owner.len > 0 && !node_line_check_name(d->owner, &err))
        ok = complain(errors, "owner: %s", err.text);
    return (submission_check(&d->job, &err) ||
            complain(errors, "%s", err.text)) &&
           ok;
}
