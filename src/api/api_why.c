/* The reasons that hold a job back. Roles that run in this process are
 * asked; otherwise a scheduler is built from the registry, asked once and
 * dropped. */
#include "api/api_call.h"
#include "api/api_handlers.h"

#include "core/reason.h"
#include "base/base.h"
#include "base/role.h"
#include "scheduler/estimate.h"
#include "api/job_json.h"
#include "scheduler/rollback_status.h"
#include "scheduler/why.h"
#include "scheduler/work_kind.h"

/* ---- without roles ------------------------------------------------------- */

static void flush_nothing(void *ctx) {
    (void)ctx;
}

static struct scheduler *passing_scheduler(struct api_call *call) {
    static const struct runner nobody = {.flush = flush_nothing};
    const struct base *base = call->api->options.base;
    struct config config;
    struct scheduler_options options = {0};

    config_init(&config);
    const struct config *known = base == NULL ? &config : &base->config;
    struct scheduler_target *targets =
        arena_alloc(&call->arena, known->target_count * sizeof *targets);
    for (size_t i = 0; i < known->target_count; i++)
        targets[i] = (struct scheduler_target){
            known->targets[i].name, (unsigned)known->targets[i].lanes};
    options.targets = targets;
    options.target_count = known->target_count;
    options.slots = (unsigned)known->queue.concurrency;
    options.wait_for_dep_ms = known->queue.wait_for_dep_s * 1000;
    struct scheduler *scheduler =
        scheduler_new(call->api->options.store, &options, &nobody);
    config_clear(&config);
    return scheduler;
}

static bool from_registry(struct api_call *call, const struct job *job,
                          struct why *why, struct err *err) {
    struct scheduler *scheduler = passing_scheduler(call);
    struct wall now = api_now(call);
    const struct role *role =
        role_of_state(call->api->options.tables->roles, job->state);
    const struct base *base = call->api->options.base;
    bool ok = scheduler_start_why(scheduler, job, now, err) &&
              scheduler_why(scheduler, job, now, &call->arena, &why->reasons,
                            &why->count, err);

    scheduler_free(scheduler);
    why->cap = why->count;
    if (ok && role != NULL &&
        (base == NULL || !base_role_is_held(base, role->name)))
        why_no_role(why, role->name);
    return ok;
}

/* ---- a job that does not wait ---------------------------------------------
 */

/* False: the process that ran it is gone, and no other has taken over yet. */
static bool is_looked_after(const struct api_call *call) {
    const struct role *role =
        role_of_state(call->api->options.tables->roles, STATE_PENDING);
    const struct base *base = call->api->options.base;
    return call->api->options.roles != NULL || role == NULL || base == NULL ||
           base_role_is_held(base, role->name);
}

static void add_run(struct api_call *call, const struct job *job,
                    struct text *text) {
    struct store *store = call->api->options.store;
    struct job rollback = {0};
    if (!job_has(job, JOB_ON_NODES))
        text_addf(text, ", attempt %u", job->attempt);
    if (job->cancel_asked)
        text_adds(text, ", cancel requested");
    if (!is_looked_after(call))
        text_adds(text, ", interrupted: its server has ended, and the next one "
                        "decides what happens to it");
    if (job_has(job, JOB_ROLLS_BACK))
        (void)rollback_status_describe(store, job, &call->arena, text, NULL);
    else
        (void)rollback_status_stopped_by(store, job, &call->arena, &rollback,
                                         NULL);
    if (rollback.num != 0)
        text_addf(text, ", stopped by rollback %.*s", (int)rollback.id.len,
                  rollback.id.p);
}

static struct scheduler_reason present(struct api_call *call,
                                       const struct job *job) {
    struct arena *arena = &call->arena;
    char since[WALL_TEXT_BYTES];
    struct text text = TEXT_INIT;
    bool runs = job->state == STATE_EXECUTING, ended = true;
    struct job rollback = {0};

    (void)rollback_status_of(call->api->options.store, job, arena, &ended,
                             &rollback, NULL);
    text_addf(&text, "%s since %s", job_state_word(job->state),
              wall_format(job->since, since));
    if (runs)
        add_run(call, job, &text);
    else
        text_addf(&text, ": %.*s", (int)job->reason.len, job->reason.p);
    if (rollback.num != 0)
        text_addf(&text,
                  ": %.*s has not ended; if it fails, this job is restored",
                  (int)rollback.id.len, rollback.id.p);
    else if (!runs && job->detail.len > 0)
        text_addf(&text, ": %.*s", (int)job->detail.len, job->detail.p);
    if (job->state == STATE_DONE && job->rolled_back_by.len > 0)
        text_addf(&text, "; rolled back by %.*s", (int)job->rolled_back_by.len,
                  job->rolled_back_by.p);
    struct scheduler_reason reason = {
        .kind = runs     ? "running"
                : !ended ? "rollback"
                         : "ended",
        .id = rollback.id,
        .text = arena_span(arena, text_span(&text)),
    };
    text_clear(&text);
    return reason;
}

/* Puts its state before the other reasons. */
static void add_present(struct api_call *call, const struct job *job,
                        struct why *why) {
    struct scheduler_reason *reasons =
        arena_alloc(&call->arena, (why->count + 1) * sizeof(*reasons));
    reasons[0] = present(call, job);
    memcpy(reasons + 1, why->reasons, why->count * sizeof(*reasons));
    why->reasons = reasons;
    why->cap = ++why->count;
}

static void reason_json(struct api_call *call, const struct job *job,
                        const struct scheduler_reason *reason) {
    struct json json;

    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "job");
    json_span(&json, job->id);
    json_key(&json, "kind");
    json_string(&json, reason->kind);
    json_key(&json, "id");
    if (reason->id.len > 0)
        json_span(&json, reason->id);
    else
        json_null(&json);
    json_key(&json, "text");
    json_span(&json, reason->text);
    json_end(&json);
    text_addc(&call->out, '\n');
}

/* Past runs allow an estimate only if nothing but other sets holds it back. A
 * rollback does not wait in line. */
static bool can_estimate(const struct job *job, const struct why *why) {
    bool can = job_has(job, JOB_LANDS) && !job_has(job, JOB_ROLLS_BACK) &&
               job->holds == 0;
    for (size_t i = 0; i < why->count; i++)
        can = can && !why->reasons[i].is_open_ended;
    return can;
}

/* When it may start. */
static bool why_estimate(struct api_call *call, const struct job *job,
                         struct why *why) {
    struct estimate estimate;
    struct err err = {0};
    char when[WALL_TEXT_BYTES];
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    if (!estimate_make(call->api->options.store, job, api_now(call), &estimate,
                       &err)) {
        api_fail(call, &err);
        return false;
    }
    if (estimate.each_ms < 0 || estimate.ahead == 0)
        return true;
    text_addf(&text,
              "expected to start %s %s: %s%zu of its target before it, %.1f "
              "s each",
              estimate.more ? "not before" : "about",
              wall_format(estimate.start, when),
              estimate.more ? "at least " : "", estimate.ahead,
              (double)estimate.each_ms / 1000);
    why_add_text(why, "estimate", text_span(&text));
    return true;
}

/* What the registry says of the task: nobody here starts it. */
static bool task_from_registry(struct api_call *call, const struct job *job,
                               struct span node, struct why *why,
                               struct err *err) {
    const struct role *role =
        role_of_state(call->api->options.tables->roles, STATE_PENDING);
    char when[WALL_TEXT_BYTES];
    struct store_task task;
    bool found;

    if (!job_has(job, JOB_ON_NODES))
        return err_set(err, ERR_REFUSED, "job '%.*s' has no tasks on nodes",
                       (int)job->id.len, job->id.p);
    if (!store_task_find(call->api->options.store, job->num, node, &call->arena,
                         &task, &found, err))
        return false;
    why_add_text(
        why, "tasks",
        !found ? SPAN("never started")
               : span_of(arena_printf(
                     &call->arena, "%s at attempt %u%s%s",
                     job_task_status_word(task.status), task.attempt,
                     task.not_before.ns > 0 ? ", not before " : "",
                     task.not_before.ns > 0 ? wall_format(task.not_before, when)
                                            : "")));
    if (role != NULL && !is_looked_after(call))
        why_no_role(why, role->name);
    return true;
}

static void reply_task(struct api_call *call, const struct job *job,
                       struct span node) {
    const struct api_roles *roles = call->api->options.roles;
    struct why why = {.arena = &call->arena};
    struct err err = {0};
    bool ok =
        roles != NULL && roles->why_task != NULL
            ? roles->why_task(roles->ctx, job, node, api_now(call),
                              &call->arena, &why.reasons, &why.count, &err)
            : task_from_registry(call, job, node, &why, &err);

    if (!ok) {
        api_fail(call, &err);
        return;
    }
    api_reply(call, 200, api_lines);
    for (size_t i = 0; i < why.count; i++)
        reason_json(call, job, &why.reasons[i]);
    api_end(call);
}

void api_why(struct api_call *call) {
    static const char *const keys[] = {"node", NULL};
    const struct api_roles *roles = call->api->options.roles;
    const struct work_kind *kind;
    struct why why = {.arena = &call->arena};
    struct scheduler_reason one;
    struct job job;
    struct err err = {0};

    if (!api_query_check(call, keys) || !api_job(call, &job))
        return;
    if (api_query(call, "node").len > 0) {
        reply_task(call, &job, api_query(call, "node"));
        return;
    }
    bool waits = (STATES_WAITING & STATE_BIT(job.state)) != 0;
    /* Between its checks a set on a merge train waits too. */
    bool asks =
        waits || (job.state == STATE_EXECUTING &&
                  (job_has(&job, JOB_LANDS) || job_has(&job, JOB_ON_NODES)));
    bool ok = true;
    if (asks && roles != NULL && roles->why != NULL)
        ok = roles->why(roles->ctx, &job, api_now(call), &call->arena,
                        &why.reasons, &why.count, &err);
    else if (waits)
        ok = from_registry(call, &job, &why, &err);
    why.cap = why.count;
    if (ok && job.state == STATE_EXECUTING && job.tasks > 1)
        ok = why_tasks(&why, call->api->options.store, &job, api_now(call),
                       &err);
    if (!ok) {
        api_fail(call, &err);
        return;
    }
    why.cap = why.count;
    if (!waits && why.count > 0)
        add_present(call, &job, &why);
    if (waits && can_estimate(&job, &why) && !why_estimate(call, &job, &why))
        return;
    if (why.count == 0) {
        one = waits ? (struct scheduler_reason){
                          .kind = "next",
                          .text = SPAN("nothing holds it back; it is about "
                                       "to start"),
                      }
                    : present(call, &job);
        why.reasons = &one;
        why.count = 1;
    }
    why.cap = why.count; /* no room: adding a reason copies the array */
    kind = work_kind_find(call->api->options.tables->kinds, &job, NULL);
    if (kind != NULL && kind->explain != NULL &&
        !kind->explain(call, &job, waits, &why))
        return;
    api_reply(call, 200, api_lines);
    for (size_t i = 0; i < why.count; i++)
        reason_json(call, &job, &why.reasons[i]);
    if (span_starts(job.cause, CAUSE_SCHEDULE)) {
        one = (struct scheduler_reason){.kind = "cause"};
        one.text = span_of(arena_printf(&call->arena, "made by %.*s",
                                        (int)job.cause.len, job.cause.p));
        reason_json(call, &job, &one);
    }
    api_end(call);
}
