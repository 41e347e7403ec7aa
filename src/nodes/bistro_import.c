#include "nodes/bistro_import.h"

#include <inttypes.h>

#include "lib/json.h"
#include "lib/map.h"
#include "core/node_limits.h"
#include "nodes/bistro_nodes.h"
#include "nodes/standing_definition.h"

#define JOB_PREFIX "bistro_job->"

struct import {
    struct arena arena;
    struct text *sections, *jobs, *errors;
    struct json_value level, task, kill; /* for jobs that do not say it */
    size_t job_count;
};

/* ---- values -------------------------------------------------------------- */

/* A word or a number as text; "" for anything else. */
static struct span word_of(struct import *import, struct json_value value) {
    struct span word;

    if (json_get_string(value, &import->arena, &word))
        return word;
    return value.type == JSON_ARRAY || value.type == JSON_OBJECT ||
                   value.type == JSON_NULL
               ? SPAN("")
               : value.raw;
}

static bool is_object(struct import *import, const char *path,
                      struct json_value value) {
    if (value.type == JSON_OBJECT)
        return true;
    text_addf(import->errors, "%s: an object is expected\n", path);
    return false;
}

static void note(struct import *import, const char *path) {
    text_addf(import->sections, "# %s has no counterpart\n", path);
}

static void wrong(struct import *import, const char *path,
                  struct json_value value, const char *what) {
    struct span word = word_of(import, value);

    text_addf(import->errors, "%s: '%.*s' is not %s\n", path, (int)word.len,
              word.p == NULL ? "" : word.p, what);
}

/* True is 0 seconds; false and negative numbers are never; fractions are
 * rounded up. */
static struct span orphans_of(struct import *import, const char *path,
                              struct json_value value) {
    struct span rest = word_of(import, value), whole;
    uint64_t s;

    if (value.type == JSON_TRUE)
        return SPAN("0");
    if (value.type == JSON_FALSE || span_starts(rest, "-"))
        return SPAN("never");
    (void)span_cut(&rest, '.', &whole);
    if (!span_u64(whole, &s) || s > 31536000) {
        wrong(import, path, value, "a number of seconds");
        return SPAN("never");
    }
    for (size_t i = 0; i < rest.len; i++)
        if (rest.p[i] != '0') {
            s++;
            break;
        }
    return span_of(arena_printf(&import->arena, "%" PRIu64, s));
}

/* ---- settings ------------------------------------------------------------ */

static void line_of(struct import *import, struct text *out, const char *key,
                    const char *path, struct json_value value,
                    const char *const *from, const char *const *to) {
    struct span word = word_of(import, value);

    for (size_t i = 0; from[i] != NULL; i++)
        if (span_is(word, from[i])) {
            text_addf(out, "%s = %s\n", key, to[i]);
            return;
        }
    wrong(import, path, value, "known");
}

static const char *const policies[] = {
    "roundrobin", "ranked_priority", "randomized_priority", "long_tail", NULL};
static const char *const our_policies[] = {"round_robin", "ranked_priority",
                                           "randomized_priority", "long_tail"};
static const char *const selectors[] = {"roundrobin", "busiest", NULL};
static const char *const our_selectors[] = {"round_robin", "busiest"};
static const char *const orders[] = {"random", "original", "lexicographic",
                                     NULL};

static void put_backoff(struct import *import, struct text *out,
                        struct json_value value) {
    struct json_value item;
    size_t cursor = 0, count = 0;

    if (value.type != JSON_ARRAY) {
        wrong(import, "bistro_settings.backoff", value, "a list");
        return;
    }
    text_adds(out, "backoff =");
    while (json_next(value, &cursor, &import->arena, NULL, &item)) {
        struct span word = word_of(import, item);
        text_addf(out, "%s %.*s", count++ > 0 ? "," : "", (int)word.len,
                  word.p);
    }
    text_addc(out, '\n');
}

static void put_resource(struct import *import, struct span level,
                         struct span name, struct json_value value) {
    const char *path =
        arena_printf(&import->arena, "bistro_settings.resources.%.*s.%.*s",
                     (int)level.len, level.p, (int)name.len, name.p);
    struct json_value inner;
    struct span key;
    size_t cursor = 0;

    if (!is_object(import, path, value))
        return;
    text_addf(import->sections, "\n[resource \"%.*s\"]\nlevel = %.*s\n",
              (int)name.len, name.p, (int)level.len, level.p);
    while (json_next(value, &cursor, &import->arena, &key, &inner)) {
        struct span word = word_of(import, inner);
        if (span_is(key, "default") || span_is(key, "limit") ||
            span_is(key, "weight"))
            text_addf(import->sections, "%.*s = %.*s\n", (int)key.len, key.p,
                      (int)word.len, word.p);
        else
            text_addf(import->errors, "%s: unknown key '%.*s'\n", path,
                      (int)key.len, key.p);
    }
}

static void put_resources(struct import *import, struct json_value value) {
    struct json_value level, resource;
    struct span level_name, name;
    size_t cursor = 0;

    if (!is_object(import, "bistro_settings.resources", value))
        return;
    while (json_next(value, &cursor, &import->arena, &level_name, &level)) {
        size_t at = 0;
        if (!is_object(import, "bistro_settings.resources", level))
            continue;
        while (json_next(level, &at, &import->arena, &name, &resource))
            put_resource(import, level_name, name, resource);
    }
}

/* The limits of one worker, whose name may have a port. */
static void put_worker(struct import *import, struct span host,
                       struct json_value value) {
    struct span rest = host, name = host;
    struct json_value amount;
    size_t cursor = 0, count = 0;
    uint64_t port;

    if (!is_object(import, "bistro_settings.worker_resources_override", value))
        return;
    if (span_cut(&rest, ':', &name) && rest.p != NULL && !span_u64(rest, &port))
        name = host;
    text_addf(import->sections,
              "\n[worker-limits \"%.*s\"]\nlimits =", (int)name.len, name.p);
    while (json_next(value, &cursor, &import->arena, &name, &amount)) {
        struct span word = word_of(import, amount);
        text_addf(import->sections, "%s %.*s=%.*s", count++ > 0 ? "," : "",
                  (int)name.len, name.p, (int)word.len, word.p);
    }
    text_addc(import->sections, '\n');
}

static void put_workers(struct import *import, struct json_value value) {
    struct json_value worker;
    struct span name;
    size_t cursor = 0;

    if (!is_object(import, "bistro_settings.worker_resources_override", value))
        return;
    while (json_next(value, &cursor, &import->arena, &name, &worker))
        put_worker(import, name, worker);
}

/* `out`: the keys of [nodes]; the other sections follow it. */
static void put_setting(struct import *import, struct text *out,
                        struct span key, struct json_value value) {
    static const char *const without[] = {
        "working_wait", "idle_wait", "physical_resources",
        "CAUTION_exit_initial_wait_before_timestamp"};
    const char *path = arena_printf(&import->arena, "bistro_settings.%.*s",
                                    (int)key.len, key.p);

    for (size_t i = 0; i < COUNT(without); i++)
        if (span_is(key, without[i])) {
            note(import, path);
            return;
        }
    if (span_is(key, "enabled")) {
        if (value.type != JSON_TRUE)
            text_adds(import->sections,
                      "# bistro_settings.enabled: disable the jobs instead\n");
    } else if (span_is(key, "scheduler")) {
        line_of(import, out, "policy", path, value, policies, our_policies);
    } else if (span_is(key, "remote_worker_selector")) {
        line_of(import, out, "worker-selector", path, value, selectors,
                our_selectors);
    } else if (span_is(key, "backoff")) {
        put_backoff(import, out, value);
    } else if (span_is(key, "kill_orphan_tasks_after_sec")) {
        struct span after = orphans_of(import, path, value);
        text_addf(out, "kill-orphans-after = %.*s\n", (int)after.len, after.p);
    } else if (span_is(key, "level_for_tasks")) {
        import->level = value;
    } else if (span_is(key, "task_subprocess")) {
        import->task = value;
    } else if (span_is(key, "kill_subprocess") ||
               span_is(key, "kill_request")) {
        import->kill = value;
    } else if (!span_is(key, "nodes") && !span_is(key, "resources") &&
               !span_is(key, "worker_resources_override")) {
        text_addf(import->errors, "unknown key '%s'\n", path);
    }
}

static void put_settings(struct import *import, struct json_value settings) {
    CLEANUP(text_clear) struct text keys = TEXT_INIT;
    CLEANUP(text_clear) struct text sources = TEXT_INIT;
    struct json_value value, order;
    struct span key;
    size_t cursor = 0;

    if (!is_object(import, "bistro_settings", settings))
        return;
    while (json_next(settings, &cursor, &import->arena, &key, &value))
        put_setting(import, &keys, key, value);
    text_adds(import->sections, "[nodes]\n");
    if (!json_member(settings, "nodes", &value)) {
        text_adds(import->errors, "bistro_settings.nodes is missing\n");
    } else if (is_object(import, "bistro_settings.nodes", value)) {
        bistro_nodes_put(value, &import->arena, import->sections, &sources,
                         import->errors);
        if (json_member(value, "node_order", &order))
            line_of(import, &keys, "order", "bistro_settings.nodes.node_order",
                    order, orders, orders);
    }
    text_addspan(import->sections, text_span(&keys));
    if (json_member(settings, "resources", &value))
        put_resources(import, value);
    if (json_member(settings, "worker_resources_override", &value))
        put_workers(import, value);
    text_addspan(import->sections, text_span(&sources));
}

/* ---- jobs ---------------------------------------------------------------- */

/* Keys whose values mean the same here. */
static const char *const same_keys[][2] = {
    {"owner", "owner"},
    {"enabled", "enabled"},
    {"priority", "priority"},
    {"command", "command"},
    {"resources", "resources"},
    {"backoff", "backoff"},
    {"depends_on", "depends_on"},
    {"run_only_after_all_nodes_are_done_for", "after_all_nodes_of"},
    {"level_for_tasks", "level"},
};

static void put_filter(struct import *import, struct json *json,
                       struct json_value filter, const char *path) {
    struct json_value value;
    struct span key;
    size_t cursor = 0;

    json_object(json);
    while (json_next(filter, &cursor, &import->arena, &key, &value)) {
        struct span word = word_of(import, value);
        if (span_is(key, "tag_whitelist")) {
            json_key(json, "tags");
            json_raw(json, value.raw);
        } else if (span_is(key, "fraction_of_nodes")) {
            if (span_starts(word, "-") || span_is(word, "0"))
                continue; /* all */
            json_key(json, "fraction");
            json_raw(json, value.raw);
        } else if (span_is(key, "whitelist") || span_is(key, "blacklist") ||
                   span_is(key, "whitelist_regex") ||
                   span_is(key, "blacklist_regex")) {
            json_key(json, arena_string(&import->arena, key));
            json_raw(json, value.raw);
        } else {
            text_addf(import->errors, "%s: unknown key '%.*s'\n", path,
                      (int)key.len, key.p);
        }
    }
    json_end(json);
}

static void put_filters(struct import *import, struct json *json,
                        struct json_value filters, const char *path) {
    struct json_value filter;
    struct span level;
    size_t cursor = 0;

    if (!is_object(import, path, filters))
        return;
    json_key(json, "filters");
    json_object(json);
    while (json_next(filters, &cursor, &import->arena, &level, &filter)) {
        if (!is_object(import, path, filter))
            continue;
        json_key(json, arena_string(&import->arena, level));
        put_filter(import, json, filter, path);
    }
    json_end(json);
}

/* A member of the job's own object, or of that for all jobs. */
static bool inherited(struct json_value own, struct json_value all,
                      const char *key, struct json_value *ret_value) {
    return (own.type == JSON_OBJECT && json_member(own, key, ret_value)) ||
           (all.type == JSON_OBJECT && json_member(all, key, ret_value));
}

static void put_task(struct import *import, struct json *json,
                     struct json_value own) {
    struct json_value value;

    if (inherited(own, import->task, "parent_death_signal", &value)) {
        json_key(json, "parent_death_signal");
        json_raw(json, value.raw);
    }
    if (inherited(own, import->task, "process_group_leader", &value)) {
        json_key(json, "process_group_leader");
        json_raw(json, value.raw);
    }
    if (inherited(own, import->task, "use_canary_pipe", &value)) {
        json_key(json, "canary_pipe");
        json_raw(json, value.raw);
    }
}

static void put_kill(struct import *import, struct json *json,
                     struct json_value own) {
    struct json_value value;
    bool waits = false;
    int64_t ms;

    if (inherited(own, import->kill, "method", &value)) {
        json_key(json, "kill_method");
        json_raw(json, value.raw);
        waits = span_is(word_of(import, value), "term_wait_kill");
    }
    if (waits && inherited(own, import->kill, "kill_wait_ms", &value)) {
        json_key(json, "kill_wait");
        if (json_get_i64(value, &ms) && ms >= 0)
            json_string(json,
                        arena_printf(&import->arena, "%" PRId64 "ms", ms));
        else
            json_raw(json, value.raw);
    }
}

static bool is_empty_object(struct import *import, struct json_value value) {
    struct json_value member;
    struct span key;
    size_t cursor = 0;

    return value.type == JSON_OBJECT &&
           !json_next(value, &cursor, &import->arena, &key, &member);
}

/* Keys with a meaning of their own are taken up by put_job. */
static void put_job_key(struct import *import, struct json *json,
                        struct span key, struct json_value value) {
    static const char *const others[] = {
        "filters",         "host_placement",  "level_for_host_placement",
        "task_subprocess", "kill_subprocess", "kill_request",
        "create_time",     "modify_time",     "version_id",
        "errors"};
    const char *path = arena_string(&import->arena, key);

    if (value.type == JSON_NULL)
        return;
    for (size_t i = 0; i < COUNT(same_keys); i++)
        if (span_is(key, same_keys[i][0])) {
            json_key(json, same_keys[i][1]);
            json_raw(json, value.raw);
            return;
        }
    for (size_t i = 0; i < COUNT(others); i++)
        if (span_is(key, others[i]))
            return;
    if (span_is(key, "kill_orphan_tasks_after_sec")) {
        json_put_span(json, "kill_orphans_after",
                      orphans_of(import, path, value));
    } else if (!span_is(key, "config")) {
        text_addf(import->errors, "unknown key '%s'\n", path);
    } else if (!is_empty_object(import, value)) {
        text_adds(import->errors,
                  "config: it has no counterpart; give its values to the "
                  "command as arguments\n");
    }
}

static void put_place(struct import *import, struct json *json,
                      struct json_value job) {
    struct json_value value;
    struct span word = SPAN("");

    if (json_member(job, "host_placement", &value))
        word = word_of(import, value);
    if (word.len > 0)
        json_put_span(json, "host", word);
    else if (json_member(job, "level_for_host_placement", &value))
        json_put_text(json, "host_level", word_of(import, value));
}

static void put_job(struct import *import, struct span name,
                    struct json_value job, struct text *out) {
    struct json_value value, own;
    struct span key;
    struct json json;
    size_t cursor = 0;

    json_open(&json, out);
    json_object(&json);
    json_put_span(&json, "name", name);
    while (json_next(job, &cursor, &import->arena, &key, &value))
        put_job_key(import, &json, key, value);
    if (!json_member(job, "level_for_tasks", &value) &&
        import->level.type == JSON_STRING) {
        json_key(&json, "level");
        json_raw(&json, import->level.raw);
    }
    if (json_member(job, "filters", &value))
        put_filters(import, &json, value, "filters");
    put_place(import, &json, job);
    (void)json_member(job, "task_subprocess", &own);
    put_task(import, &json, own);
    if (!json_member(job, "kill_subprocess", &own))
        (void)json_member(job, "kill_request", &own);
    put_kill(import, &json, own);
    /* The commands expect the arguments that they had. */
    json_key(&json, "argv_style");
    json_string(&json, "bistro");
    json_end(&json);
}

/* Converts the job, and reads it as the server will. */
static void add_job(struct import *import, struct span name,
                    struct json_value job) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    CLEANUP(text_clear) struct text errors = TEXT_INIT;
    struct text *all = import->errors;
    struct standing_definition definition;
    struct span rest, line;

    import->errors = &errors;
    if (is_object(import, "the job", job)) {
        put_job(import, name, job, &out);
        (void)standing_definition_parse(text_span(&out), &import->arena,
                                        &definition, &errors);
    }
    import->errors = all;
    rest = text_span(&errors);
    while (span_cut(&rest, '\n', &line))
        if (line.len > 0)
            text_addf(all, "job '%.*s': %.*s\n", (int)name.len, name.p,
                      (int)line.len, line.p);
    if (import->job_count++ > 0)
        text_addc(import->jobs, ',');
    text_addspan(import->jobs, text_span(&out));
}

static void add_jobs(struct import *import, struct json_value whole) {
    struct json_value value;
    struct span key;
    size_t cursor = 0;

    while (json_next(whole, &cursor, &import->arena, &key, &value)) {
        size_t prefix = strlen(JOB_PREFIX);
        if (span_starts(key, JOB_PREFIX))
            add_job(import, span_make(key.p + prefix, key.len - prefix), value);
        else if (!span_is(key, "bistro_settings"))
            text_addf(import->errors, "unknown key '%.*s'\n", (int)key.len,
                      key.p);
    }
}

bool bistro_import(struct span text, struct text *sections, struct text *jobs,
                   struct text *errors) {
    struct import import = {
        .sections = sections, .jobs = jobs, .errors = errors};
    struct json_value whole, settings;
    size_t before = errors->len;
    struct err err;

    if (text.len > BISTRO_BYTES) {
        text_addf(errors, "more than %d bytes of JSON\n", BISTRO_BYTES);
    } else if (!json_parse_object(text, &whole, &err)) {
        text_addf(errors, "%s\n", err.text);
    } else {
        if (json_member(whole, "bistro_settings", &settings))
            put_settings(&import, settings);
        else
            text_adds(errors, "bistro_settings is missing\n");
        add_jobs(&import, whole);
    }
    arena_clear(&import.arena);
    return errors->len == before;
}
