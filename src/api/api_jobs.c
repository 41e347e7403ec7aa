#include "api/api_call.h"
#include "api/api_handlers.h"

#include "api/array_progress.h"
#include "api/job_json.h"
#include "base/base.h"
#include "api/job_match.h"
#include "scheduler/rollback_status.h"
#include "scheduler/target_outage.h"
#include "scheduler/runner.h"

/* ---- lists --------------------------------------------------------------- */

enum { LIST_DEFAULT = 1000, LIST_MOST = 1000000 };

struct listing {
    struct api_walk walk;
    struct job_match match;
    uint64_t left;
};

static bool list_job(struct api_call *call, const struct job *job,
                     struct arena *arena, struct err *err) {
    struct listing *listing = call->state;
    bool matches;
    struct json json;
    if (!job_match_test(&listing->match, call->api->options.store, job,
                        api_now(call), arena, &matches, err))
        return false;
    if (!matches)
        return true;
    json_open(&json, &call->out);
    job_json(&json, job, arena);
    text_addc(&call->out, '\n');
    if (--listing->left == 0)
        api_end(call);
    return true;
}

/* ?filter= &limit= &after= (num of the last one seen) &order=newest|oldest */
void api_list(struct api_call *call) {
    static const char *const keys[] = {"filter", "limit", "after", "order",
                                       NULL};
    struct listing *listing = arena_alloc(&call->arena, sizeof *listing);
    struct store_list *list = &listing->walk.list;
    struct span order = api_query(call, "order");
    struct err err = {0};

    listing->left = LIST_DEFAULT;
    list->with_spec = true;
    if (!api_query_check(call, keys) ||
        !api_query_u64(call, "limit", LIST_MOST, &listing->left) ||
        !api_query_u64(call, "after", UINT64_MAX, &list->after_num))
        return;
    list->newest_first = span_is(order, "newest");
    if (order.p != NULL && !list->newest_first && !span_is(order, "oldest")) {
        err_set(&err, ERR_USAGE, "'order' is newest or oldest, not '%.*s'",
                (int)order.len, order.p);
        api_fail(call, &err);
        return;
    }
    if (!job_match_parse(api_query(call, "filter"), &call->arena,
                         &listing->match, &err)) {
        api_fail(call, &err);
        return;
    }
    list->states = listing->match.states;
    list->owed_only = listing->match.owed_only;
    listing->walk.visit = list_job;
    api_walk(call, &listing->walk);
    api_reply(call, 200, api_lines);
    if (listing->left == 0 || listing->match.states == 0)
        api_end(call);
}

/* Normalized like the paths of sets: "./src//x/../main.c" is "src/main.c". */
static struct span plain_path(struct span path, struct arena *arena) {
    char *plain = arena_alloc(arena, path.len + 1);
    size_t len = 0;
    struct span part;
    while (span_cut(&path, '/', &part)) {
        if (part.len == 0 || span_is(part, "."))
            continue;
        if (span_is(part, "..")) {
            while (len > 0 && plain[--len] != '/')
                ;
            continue;
        }
        if (len > 0)
            plain[len++] = '/';
        memcpy(plain + len, part.p, part.len);
        len += part.len;
    }
    return span_make(plain, len);
}

/* A --touches key may be any string, so an exact match is tried before a
 * path. */
static bool touching(struct api_call *call, struct span path, uint64_t limit,
                     struct job **ret_jobs, size_t *ret_count,
                     struct err *err) {
    struct store *store = call->api->options.store;
    struct arena *arena = &call->arena;
    if (!store_touching(store, path, limit, arena, ret_jobs, ret_count, err))
        return false;
    struct span plain = plain_path(path, arena);
    return *ret_count > 0 || plain.len == 0 || span_equal(plain, path) ||
           store_touching(store, plain, limit, arena, ret_jobs, ret_count, err);
}

/* ?path= &limit= */
void api_files(struct api_call *call) {
    static const char *const keys[] = {"path", "limit", NULL};
    uint64_t limit = LIST_DEFAULT;
    struct job *jobs;
    size_t count;
    struct err err = {0};
    struct span path = api_query(call, "path");

    if (!api_query_check(call, keys) ||
        !api_query_u64(call, "limit", LIST_MOST, &limit))
        return;
    if (path.len == 0) {
        err_set(&err, ERR_USAGE, "'path' is missing");
        api_fail(call, &err);
        return;
    }
    if (!touching(call, path, limit, &jobs, &count, &err)) {
        api_fail(call, &err);
        return;
    }
    /* Those rows lack the submission, from which the job is described. */
    for (size_t i = 0; i < count; i++)
        if (!store_job(call->api->options.store, jobs[i].num, &call->arena,
                       &jobs[i], &err)) {
            api_fail(call, &err);
            return;
        }
    api_reply(call, 200, api_lines);
    for (size_t i = 0; i < count; i++) {
        struct json json;
        json_open(&json, &call->out);
        job_json(&json, &jobs[i], &call->arena);
        text_addc(&call->out, '\n');
    }
    api_end(call);
}

/* ---- one job ------------------------------------------------------------- */

static void edges_json(struct json *json, const struct job_edge *edges,
                       size_t count) {
    json_key(json, "relations");
    json_array(json);
    for (size_t i = 0; i < count; i++) {
        json_object(json);
        json_key(json, "relation");
        json_string(json, job_edge_kind_word(edges[i].kind));
        json_key(json, "id");
        json_span(json, edges[i].to);
        if (edges[i].share > 0) {
            json_key(json, "share");
            json_i64(json, edges[i].share);
        }
        json_end(json);
    }
    json_end(json);
}

static void touches_json(struct json *json, const struct job_touch *touches,
                         size_t count) {
    struct span key, singleton = {0};
    json_key(json, "touches");
    json_array(json);
    for (size_t i = 0; i < count; i++) {
        if (job_singleton_key(touches[i].path, &key)) {
            singleton = key;
            continue;
        }
        json_object(json);
        json_key(json, "path");
        json_span(json, touches[i].path);
        json_key(json, "deleted");
        json_bool(json, touches[i].deleted);
        json_end(json);
    }
    json_end(json);
    json_key(json, "singleton");
    if (singleton.len > 0)
        json_span(json, singleton);
    else
        json_null(json);
}

static void members_json(struct json *json,
                         const struct rollback_fated *members, size_t count) {
    json_key(json, "members");
    json_array(json);
    for (size_t i = 0; i < count; i++) {
        json_object(json);
        json_key(json, "id");
        json_span(json, members[i].job.id);
        json_key(json, "state");
        json_string(json, job_state_word(members[i].job.state));
        json_key(json, "fate");
        json_string(json, members[i].fate);
        json_end(json);
    }
    json_end(json);
}

/* What the job reports and uses now, if a role in this process runs it. */
static void usage_json(struct api_call *call, struct json *json,
                       const struct job *job) {
    const struct api_roles *roles = call->api->options.roles;
    struct run_usage usage = {0};
    if (job->state == STATE_EXECUTING && roles != NULL && roles->usage != NULL)
        roles->usage(roles->ctx, job->num, &usage);
    json_key(json, "live");
    if (usage.running == 0) {
        json_null(json);
        return;
    }
    json_object(json);
    json_key(json, "running");
    json_i64(json, usage.running);
    json_key(json, "progress");
    json_span(json, usage.progress);
    json_key(json, "cpu_us");
    json_i64(json, (int64_t)usage.cpu_us);
    json_key(json, "memory_kib");
    json_i64(json, (int64_t)usage.memory_kib);
    json_key(json, "procs");
    json_i64(json, (int64_t)usage.procs);
    json_end(json);
}

enum { LOSS_FILES = 1000 }; /* looked at; fsck looks at all */

/* Output of its attempts that is lost, with the newest reason. */
static void lost_json(struct api_call *call, struct json *json,
                      const struct store_attempt *attempts, size_t count) {
    struct output_loss all = {0}, one;
    for (size_t i = 0; i < count; i++) {
        output_loss_find(count - i <= LOSS_FILES ? call->api->options.output
                                                 : NULL,
                         &attempts[i], &one);
        if (!one.any || (one.origins && all.any && !all.origins))
            continue;
        one.bytes += all.bytes;
        all = one;
    }
    job_loss_json(json, &all);
}

/* All its attempts together; for memory, the highest use of one attempt. */
static void used_json(struct json *json, const struct store_attempt *attempts,
                      size_t count) {
    uint64_t cpu_us = 0, peak_kib = 0;
    for (size_t i = 0; i < count; i++) {
        cpu_us += attempts[i].cpu_us;
        if (attempts[i].peak_kib > peak_kib)
            peak_kib = attempts[i].peak_kib;
    }
    json_key(json, "cpu_us");
    json_i64(json, (int64_t)cpu_us);
    json_key(json, "peak_kib");
    json_i64(json, (int64_t)peak_kib);
}

/* Everything known about the job; `exit_code` once it has ended, `members` of a
 * rollback. */
void api_job_show(struct api_call *call) {
    static const char *const keys[] = {NULL};
    struct store *store = call->api->options.store;
    struct job job;
    struct job_edge *edges;
    struct job_touch *touches;
    struct store_attempt *attempts;
    struct rollback_fated *members = NULL;
    size_t edge_count, touch_count, attempt_count, member_count = 0;
    struct array_progress progress;
    struct err err = {0};
    int code = 0;
    bool ended;

    if (!api_query_check(call, keys) || !api_job(call, &job))
        return;
    if (!rollback_status_of(store, &job, &call->arena, &ended, NULL, &err) ||
        !store_edges_from(store, job.num, &call->arena, &edges, &edge_count,
                          &err) ||
        !store_touches(store, job.num, &call->arena, &touches, &touch_count,
                       &err) ||
        !store_attempts(store, job.num, &call->arena, &attempts, &attempt_count,
                        &err) ||
        !array_progress_find(store, &job, api_now(call), &progress, &err) ||
        (job_has(&job, JOB_ROLLS_BACK) &&
         !rollback_status_members(store, &job, &call->arena, &members,
                                  &member_count, &err)) ||
        (ended && !job_exit_code(store, &job, &call->arena, &code, &err))) {
        api_fail(call, &err);
        return;
    }
    api_reply(call, 200, api_json);
    struct json json;
    json_open(&json, &call->out);
    json_object(&json);
    job_json_members(&json, &job, &call->arena);
    json_key(&json, "name");
    json_span(&json, job.name);
    json_key(&json, "cause");
    json_span(&json, job.cause);
    json_key(&json, "sum");
    json_span(&json, job.sum);
    json_key(&json, "size");
    json_u64_string(&json, job.size_bytes);
    json_key(&json, "cancel_asked");
    json_bool(&json, job.cancel_asked);
    edges_json(&json, edges, edge_count);
    if (job_has(&job, JOB_ROLLS_BACK))
        members_json(&json, members, member_count);
    touches_json(&json, touches, touch_count);
    used_json(&json, attempts, attempt_count);
    lost_json(call, &json, attempts, attempt_count);
    usage_json(call, &json, &job);
    json_key(&json, "progress");
    if ((job.flags & JOB_ARRAY) != 0) {
        json_object(&json);
        array_progress_json(&json, &progress);
        json_end(&json);
    } else {
        json_null(&json);
    }
    json_key(&json, "exit_code");
    if (ended)
        json_i64(&json, code);
    else
        json_null(&json);
    json_key(&json, "submission");
    job_submission_json(&json, job.spec, api_sees_values(call, &job), &call->arena);
    json_end(&json);
    text_addc(&call->out, '\n');
    api_end(call);
}

/* ---- counts -------------------------------------------------------------- */

void api_counts(struct api_call *call) {
    const struct store_list owing = {.owed_only = true};
    struct store_tally tally;
    struct target_outage *outages;
    struct job *jobs;
    size_t owed_count, outage_count;
    struct span restored = {0};
    struct err err = {0};

    if (!target_outages_read(call->api->options.store, &call->arena, &outages,
                             &outage_count, &err) ||
        !store_count(call->api->options.store, &tally, &err) ||
        !store_setting(call->api->options.store, SPAN(BASE_RESTORED),
                       &call->arena, &restored, &err) ||
        !store_jobs(call->api->options.store, &owing, &call->arena, &jobs,
                    &owed_count, &err)) {
        api_fail(call, &err);
        return;
    }
    api_reply(call, 200, api_json);
    struct json json;
    json_open(&json, &call->out);
    json_object(&json);
    for (unsigned state = 0; state < JOB_STATES; state++) {
        json_key(&json, job_state_word((enum job_state)state));
        json_i64(&json, (int64_t)tally.count[state]);
    }
    json_key(&json, "held");
    json_i64(&json, (int64_t)tally.held);
    json_key(&json, "owed");
    json_i64(&json, (int64_t)owed_count);
    json_key(&json, "restored");
    if (restored.len > 0)
        json_span(&json, restored);
    else
        json_null(&json);
    json_key(&json, "unavailable");
    json_array(&json);
    for (size_t i = 0; i < outage_count; i++) {
        json_object(&json);
        json_key(&json, "target");
        json_span(&json, outages[i].target);
        json_key(&json, "reason");
        json_span(&json, outages[i].why);
        json_end(&json);
    }
    json_end(&json);
    json_key(&json, "seq");
    json_u64_string(&json, store_seq(call->api->options.store));
    json_key(&json, "served");
    json_bool(&json, call->api->options.roles != NULL);
    const struct base *base = call->api->options.base;
    if (base != NULL && base->refused[0] != '\0') {
        json_key(&json, "config_refused");
        json_string(&json, base->refused);
    }
    const struct api_roles *roles = call->api->options.roles;
    if (roles != NULL && roles->upgrade_waits_for != NULL) {
        json_key(&json, "upgrade_waits_for");
        json_string(&json, roles->upgrade_waits_for(roles->ctx, &call->arena));
    }
    json_end(&json);
    text_addc(&call->out, '\n');
    api_end(call);
}
