/* Merge trains: what the role that runs work knows of them, what the registry
 * says about their past, and the commands on recorded results. */
#include "api/api_call.h"
#include "api/api_handlers.h"

#include <string.h>

#include "core/reason.h"
#include "core/train.h"
#include "base/base.h"
#include "scheduler/check_result.h"

static const struct config_target *find_target(const struct api_call *call) {
    const struct base *base = call->api->options.base;
    return base != NULL ? config_target(&base->config, call->params[0]) : NULL;
}

static bool need_target(struct api_call *call) {
    const struct config_target *target = find_target(call);
    struct err err = {0};
    if (target != NULL && target->git.len > 0)
        return true;
    err_set(&err, ERR_DATA, "there is no target '%.*s' with a git branch",
            (int)call->params[0].len, call->params[0].p);
    api_fail_status(call, 404, &err);
    return false;
}

/* ---- the past ------------------------------------------------------------ */

enum { ENDS = 20, DAY_MS = 24 * 3600 * 1000 };

struct past_end {
    struct wall at;
    struct span id, reason, detail;
    unsigned attempts;
};

struct past_ends {
    struct past_end items[ENDS]; /* the newest first */
    size_t count;
};

/* A walk over all sets, which the registry knows for ever. */
struct past {
    struct api_walk walk;
    struct span target;
    struct wall since; /* of the figures */
    uint64_t landed, failed, runs, reused, flaky;
    int64_t stopped_ms;        /* checks that were stopped */
    struct past_ends landings; /* the last ones */
    struct past_ends failures; /* of the last 24 hours */
};

static void past_add_end(struct past_ends *ends, const struct job *job,
                         struct arena *arena) {
    size_t at = ends->count;
    while (at > 0 && ends->items[at - 1].at.ns <= job->since.ns)
        at--;
    if (at == ENDS)
        return;
    if (ends->count < ENDS)
        ends->count++;
    memmove(&ends->items[at + 1], &ends->items[at],
            (ends->count - at - 1) * sizeof(ends->items[0]));
    ends->items[at] = (struct past_end){
        job->since, arena_span(arena, job->id), arena_span(arena, job->reason),
        arena_span(arena, job->detail), job->attempt};
}

static bool past_add_events(struct api_call *call, const struct job *job,
                            struct arena *arena, struct err *err) {
    struct past *past = call->state;
    struct store_event *events;
    size_t count;
    if (!store_events(call->api->options.store, 0, job->num, 0, arena, &events,
                      &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind != EVENT_TRAIN || events[i].at.ns < past->since.ns)
            continue;
        past->runs +=
            span_is(events[i].reason, train_note_word(TRAIN_NOTE_RUN));
        past->reused +=
            span_is(events[i].reason, train_note_word(TRAIN_NOTE_REUSED));
        past->flaky +=
            span_is(events[i].reason, train_note_word(TRAIN_NOTE_FLAKY));
    }
    return true;
}

static bool past_add_attempts(struct api_call *call, const struct job *job,
                              struct arena *arena, struct err *err) {
    struct past *past = call->state;
    struct store_attempt *attempts;
    size_t count;
    if (!store_attempts(call->api->options.store, job->num, arena, &attempts,
                        &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (span_is(attempts[i].reason, REASON_STOPPED) &&
            attempts[i].started.ns != 0 &&
            attempts[i].ended.ns >= past->since.ns)
            past->stopped_ms +=
                wall_ms_since(attempts[i].ended, attempts[i].started);
    return true;
}

static bool past_add(struct api_call *call, const struct job *job,
                     struct arena *arena, struct err *err) {
    struct past *past = call->state;
    bool waits = job->state == STATE_PENDING || job->state == STATE_EXECUTING;
    bool is_new = job->since.ns >= past->since.ns;
    if (!span_equal(job->target, past->target) || job_has(job, JOB_ROLLS_BACK))
        return true;
    if (job->state == STATE_DONE) {
        past_add_end(&past->landings, job, &call->arena);
        past->landed += is_new;
    } else if (job->state == STATE_FAILED && is_new) {
        past_add_end(&past->failures, job, &call->arena);
        past->failed++;
    }
    return (!waits && !is_new) || (past_add_events(call, job, arena, err) &&
                                   past_add_attempts(call, job, arena, err));
}

static void past_end_line(const char *kind, const struct past_end *end,
                          struct text *out) {
    char at[WALL_TEXT_BYTES];
    struct json json;
    json_open(&json, out);
    json_object(&json);
    json_key(&json, "kind");
    json_string(&json, kind);
    json_key(&json, "at");
    json_string(&json, wall_format(end->at, at));
    json_key(&json, "id");
    json_span(&json, end->id);
    json_put_i64(&json, "attempts", end->attempts);
    json_key(&json, "reason");
    json_span(&json, end->reason);
    json_key(&json, "detail");
    json_span(&json, end->detail);
    json_end(&json);
    text_addc(out, '\n');
}

static void past_print(struct api_call *call) {
    const struct past *past = call->state;
    struct json json;
    for (size_t i = 0; i < past->landings.count; i++)
        past_end_line("landing", &past->landings.items[i], &call->out);
    for (size_t i = 0; i < past->failures.count; i++)
        past_end_line("failure", &past->failures.items[i], &call->out);
    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "kind");
    json_string(&json, "day");
    json_put_i64(&json, "landed", (int64_t)past->landed);
    json_put_i64(&json, "failed", (int64_t)past->failed);
    json_put_i64(&json, "runs", (int64_t)past->runs);
    json_put_i64(&json, "reused", (int64_t)past->reused);
    json_put_i64(&json, "flaky", (int64_t)past->flaky);
    json_put_i64(&json, "stopped_ms", past->stopped_ms);
    json_end(&json);
    text_addc(&call->out, '\n');
}

/* The last landings, and the failures and figures of the last 24 hours. */
static void past_walk(struct api_call *call) {
    struct past *past = arena_alloc(&call->arena, sizeof(*past));
    past->walk = (struct api_walk){.list = {.kinds = job_kinds_with(JOB_LANDS)},
                                   .visit = past_add,
                                   .last = past_print};
    past->target = call->params[0];
    past->since = wall_add_ms(api_now(call), -DAY_MS);
    api_walk(call, &past->walk);
}

/* ---- requests ------------------------------------------------------------ */

void api_train(struct api_call *call) {
    static const char *const keys[] = {NULL};
    const struct api_roles *roles = call->api->options.roles;
    struct err err = {0};
    if (!api_query_check(call, keys) ||
        (call->params[0].len > 0 && !need_target(call)))
        return;
    if (roles == NULL || roles->train == NULL) {
        err_set(&err, ERR_UNAVAILABLE,
                "only a running server knows the merge trains; start "
                "`pointsman serve`");
        api_fail(call, &err);
        return;
    }
    if (!roles->train(roles->ctx, call->params[0], &call->out) &&
        call->params[0].len > 0) {
        err_set(&err, ERR_DATA,
                "target '%.*s' has no merge train: it has only one lane",
                (int)call->params[0].len, call->params[0].p);
        api_fail_status(call, 404, &err);
        return;
    }
    api_reply(call, 200, api_lines);
    if (call->params[0].len > 0)
        past_walk(call);
    else
        api_end(call);
}

static bool has_checks(const struct api_call *call) {
    const struct config_target *target = find_target(call);
    return target != NULL && target->check_count > 0;
}

/* Results of checks that it had before may still be there. */
static void reply_changed(struct api_call *call) {
    struct json json;
    api_reply(call, 200, api_json);
    json_open(&json, &call->out);
    json_object(&json);
    if (!has_checks(call)) {
        json_key(&json, "note");
        json_string(&json,
                    arena_printf(&call->arena,
                                 "target '%.*s' has no checks: only results "
                                 "of former ones were dropped",
                                 (int)call->params[0].len, call->params[0].p));
    }
    json_end(&json);
    text_addc(&call->out, '\n');
    api_end(call);
}

static void on_written(void *ctx, struct store_batch *batch, bool ok,
                       const struct err *err) {
    struct api_call *call = ctx;
    (void)batch;
    if (!api_unhold(call))
        return;
    if (!ok) {
        api_fail(call, err);
    } else {
        api_trigger(call->api);
        reply_changed(call);
    }
    api_poke(call);
}

static void change_results(struct api_call *call,
                           unsigned (*operation)(struct store_batch *batch,
                                                 struct span target)) {
    static const char *const none[] = {NULL};
    struct json_value object;
    if (!api_query_check(call, none) || !need_target(call) ||
        !api_body_object(call, none, &object))
        return;
    struct store_batch *batch = store_batch_new(call->api->options.store);
    store_batch_actor(batch, api_now(call), api_actor(call));
    operation(batch, call->params[0]);
    api_hold(call);
    store_submit(batch, on_written, call);
}

void api_train_recheck(struct api_call *call) {
    struct err err = {0};
    if (!need_target(call))
        return;
    if (has_checks(call)) {
        change_results(call, check_result_settle);
        return;
    }
    err_set(&err, ERR_REFUSED,
            "target '%.*s' has no checks, so there is nothing to run on its "
            "tip; see check.NAME in pointsman.conf(5)",
            (int)call->params[0].len, call->params[0].p);
    api_fail(call, &err);
}

void api_train_forget(struct api_call *call) {
    change_results(call, check_result_forget);
}
