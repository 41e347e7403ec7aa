/* Explains why a job waits, in sentences with names. */
#include <inttypes.h>

#include "lib/log.h"
#include "scheduler/why.h"
#include "scheduler/scheduler_train_follow.h"
#include "scheduler/scheduler_group.h"
#include "scheduler/scheduler_load.h"
#include "scheduler/scheduler_node_why.h"
#include "scheduler/scheduler_order.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/scheduler_target.h"
#include "scheduler/scheduler_train.h"

/* More than the maximum number of slots. */
enum { EXECUTING_MAX = 8192 };

static void why_scheduled(struct scheduler *scheduler, const struct job *job,
                          struct wall now, struct why *why) {
    struct picker_job offer = {
        .num = job->num,
        .rank = job_rank(job),
        .job_class = job->job_class,
        .target = job->target,
        .admitted = job->admitted,
        .not_before = job->not_before,
    };
    struct picker_why reason = picker_why(scheduler->picker, &offer, now);
    struct job behind = {0};
    struct err err;
    if (reason.behind &&
        !store_job(scheduler->store, reason.behind, why->arena, &behind, &err))
        behind = (struct job){0};
    switch (reason.reason) {
    case PICKER_LANE:
        why_lane(why, job->target, &behind);
        break;
    case PICKER_SLOT:
        why_slot(why, reason.busy, reason.slots);
        break;
    case PICKER_NOT_BEFORE:
        why_time(why, job, reason.until);
        break;
    case PICKER_BEHIND:
        why_turn(why, behind.id);
        break;
    case PICKER_NEXT:
    default:
        break;
    }
}

/* Executions of other processes take lanes and slots too. */
static void count_executing(struct scheduler *scheduler) {
    struct arena arena = ARENA_INIT;
    struct store_list list = {.states = STATE_BIT(STATE_EXECUTING),
                              .limit = EXECUTING_MAX};
    struct job *jobs;
    size_t count = 0;
    struct err err;
    if (!store_jobs(scheduler->store, &list, &arena, &jobs, &count, &err))
        log_error("cannot see what is executing: %s", err.text);
    for (size_t i = 0; i < count; i++)
        picker_assigned(scheduler->picker, jobs[i].num, jobs[i].target);
    arena_clear(&arena);
}

bool scheduler_start_why(struct scheduler *scheduler, const struct job *job,
                         struct wall now, struct err *err) {
    struct arena arena = ARENA_INIT;
    struct order_effect *effects;
    scheduler->now = now;
    if (!scheduler_load_for(scheduler, job, err))
        return false;
    count_executing(scheduler);
    scheduler_order_answer(scheduler);
    (void)order_scan(scheduler->order, now, &arena, &effects);
    scheduler_order_answer(scheduler);
    arena_clear(&arena);
    return true;
}

/* Rollbacks run one at a time, and before everything else. */
static void why_another(struct scheduler *scheduler, const struct job *job,
                        struct wall now, struct why *why) {
    struct job other;
    struct err err;
    if (job->not_before.ns > now.ns)
        why_time(why, job, job->not_before);
    else if (scheduler->scope.num != 0 &&
             store_job(scheduler->store, scheduler->scope.num, why->arena,
                       &other, &err))
        why_rollback(why, other.id);
}

/* A dependency had landed, or was waiting, before a rollback took it. */
static void why_rollback_scope(struct scheduler *scheduler, struct why *why) {
    const struct rollback_scope *scope = &scheduler->scope;
    struct job rb;
    struct err err;
    if (scope->num == 0 ||
        !store_job(scheduler->store, scope->num, why->arena, &rb, &err))
        return;
    for (size_t i = 0; i < why->count; i++)
        for (size_t k = 0; k < scope->count; k++)
            if (strcmp(why->reasons[i].kind, "dependency") == 0 &&
                span_equal(why->reasons[i].id, scope->ids[k])) {
                why->reasons[i].is_open_ended = true;
                why->reasons[i].text = span_of(
                    arena_printf(why->arena,
                                 "dependency %.*s is rolled back by %.*s, "
                                 "which has not ended",
                                 (int)scope->ids[k].len, scope->ids[k].p,
                                 (int)rb.id.len, rb.id.p));
            }
}

bool scheduler_why(struct scheduler *scheduler, const struct job *job,
                   struct wall now, struct arena *arena,
                   struct scheduler_reason **ret_reasons, size_t *ret_count,
                   struct err *err) {
    struct why why = {.arena = arena};
    (void)err;
    if (job_has(job, JOB_ON_NODES)) {
        why_holds(&why, job);
        scheduler_node_why(scheduler, job, &why);
        *ret_reasons = why.reasons;
        *ret_count = why.count;
        return true;
    }
    if (job->state == STATE_EXECUTING) {
        (void)target_why(scheduler, job, &why);
        (void)scheduler_train_why(scheduler, job, now, &why);
        *ret_reasons = why.reasons;
        *ret_count = why.count;
        return true;
    }
    scheduler_order_answer(scheduler);
    uint64_t entry = groups_entry(scheduler->groups, job->num);
    if (entry == 0)
        entry = job->num;
    if (job->state != STATE_PENDING && order_has(scheduler->order, entry))
        why_order(&why, scheduler->order, scheduler->store, entry, now);
    why_rollback_scope(scheduler, &why);
    scheduler_group_why(scheduler, job, &why);
    why_holds(&why, job);
    if (job_begins(job) && job->not_before.ns > now.ns)
        why_begins(&why, job->not_before);
    bool ready = job->state == STATE_PENDING && job->holds == 0 &&
                 !(job_begins(job) && job->not_before.ns > now.ns);
    if (ready && scheduler->settling && job_has(job, JOB_LANDS))
        why_add_text(&why, "upgrade",
                     SPAN("the server is about to be upgraded, and no set "
                          "starts until then"));
    else if (ready && target_why(scheduler, job, &why))
        (void)0; /* nothing else counts until it is available */
    else if (job_has(job, JOB_ROLLS_BACK) && ready)
        why_another(scheduler, job, now, &why);
    else if (scheduler_train_why(scheduler, job, now, &why))
        (void)0; /* its train decides */
    else if (job->state == STATE_PENDING &&
             scheduler_train_follow_why(scheduler, job, &why))
        (void)0; /* it is not looked at before */
    else if (ready)
        why_scheduled(scheduler, job, now, &why);
    *ret_reasons = why.reasons;
    *ret_count = why.count;
    return true;
}
