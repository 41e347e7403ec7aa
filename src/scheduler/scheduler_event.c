/* Events of the registry, whichever process caused them: the order and the
 * picker are caches of the registry. */
#include "scheduler/scheduler_event.h"

#include <inttypes.h>

#include "lib/log.h"
#include "core/reason.h"
#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_follow.h"
#include "scheduler/scheduler_group.h"
#include "scheduler/scheduler_hosted.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_nodes.h"
#include "scheduler/scheduler_offer.h"
#include "scheduler/scheduler_order.h"
#include "scheduler/scheduler_scope.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/scheduler_array.h"
#include "scheduler/scheduler_target.h"
#include "scheduler/target_train.h"
#include "scheduler/scheduler_train_leave.h"

/* If a newcomer supersedes other sets, reports this for the jobs that wait for
 * those. */
static void report_superseded(struct scheduler *scheduler, uint64_t num) {
    struct arena arena = ARENA_INIT;
    struct job_edge *edges;
    size_t count;
    struct err err;
    if (store_edges_from(scheduler->store, num, &arena, &edges, &count, &err))
        for (size_t i = 0; i < count; i++)
            if (edges[i].kind == EDGE_SUPERSEDES &&
                order_watches(scheduler->order, edges[i].to))
                scheduler_order_outside(scheduler, edges[i].to);
    arena_clear(&arena);
}

static void on_admitted(struct scheduler *scheduler,
                        const struct store_event *event) {
    struct arena arena = ARENA_INIT;
    struct job row;
    struct err err;
    const struct job *job = event->job;
    if (!job) {
        if (!store_job(scheduler->store, event->num, &arena, &row, &err)) {
            scheduler_log_read_failure("the row", event->num, &err);
            arena_clear(&arena);
            return;
        }
        job = &row;
    }
    if (job->has_relations && !job_state_is_final(job->state)) {
        scheduler_order_admit(scheduler, job);
        scheduler_offer_rollback(scheduler, job);
        report_superseded(scheduler, job->num);
    } else if (order_watches(scheduler->order, job->id)) {
        scheduler_order_outside(scheduler, job->id);
    }
    if (job->has_relations && job_state_is_final(job->state) &&
        job->state != STATE_DONE && job->state != STATE_ABANDONED)
        scheduler_group_ended(scheduler, job);
    if (job->state == STATE_PENDING)
        scheduler_offer(scheduler, job);
    arena_clear(&arena);
}

static void on_retried(struct scheduler *scheduler,
                       const struct store_event *event) {
    struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    if (!store_job(scheduler->store, event->num, &arena, &job, &err))
        scheduler_log_read_failure("the row", event->num, &err);
    else if (job.has_relations && !job_state_is_final(job.state))
        scheduler_order_admit(scheduler, &job);
    arena_clear(&arena);
}

/* Rollbacks start, get more members and end with moves whose reasons are
 * theirs. */
static void on_rollback(struct scheduler *scheduler,
                        const struct store_event *event) {
    const struct rollback_scope *scope = &scheduler->scope;
    bool by_one = span_is(event->reason, REASON_ROLLBACK);
    if (event->to == STATE_EXECUTING && by_one)
        scheduler_scope_open(scheduler, event->num);
    else if (event->to == STATE_ABANDONED && by_one && scope->num != 0 &&
             rollback_scope_covers(&scheduler->scope, event->num) == STATE_NONE)
        scheduler_scope_open(scheduler, scope->num);
    else if (scope->num == event->num && event->from == STATE_EXECUTING)
        scheduler_scope_close(scheduler, event->at);
}

static void on_move(struct scheduler *scheduler,
                    const struct store_event *event) {
    if (event->from == STATE_NONE) {
        on_admitted(scheduler, event);
        return;
    }
    on_rollback(scheduler, event);
    bool undecided =
        rollback_scope_covers(&scheduler->scope, event->num) != STATE_NONE;
    if (scheduler_group_move(scheduler, event, undecided))
        (void)0; /* the entry of its group moved with it */
    else if (job_state_is_final(event->from) &&
             !order_has(scheduler->order, event->num))
        on_retried(scheduler, event);
    else if (order_has(scheduler->order, event->num))
        order_move(scheduler->order, event->num, event->to, event->at,
                   undecided);
    if (!order_has(scheduler->order, event->num) &&
        order_watches(scheduler->order, event->id))
        scheduler_order_outside(scheduler, event->id);
    if (scheduler->scope.num != 0 && job_state_is_final(event->to))
        scheduler_scope_job_ended(scheduler);
    if (event->to != STATE_PENDING)
        rollback_queue_forget(&scheduler->rollbacks, event->num);
    if (event->from == STATE_PENDING) {
        picker_forget(scheduler->picker, event->num);
        struct tracked_job *tracked = scheduler_job_get(scheduler, event->num);
        if (tracked && !tracked->executing && event->to != STATE_EXECUTING)
            scheduler_job_drop(scheduler, tracked);
    }
    if (event->to == STATE_PENDING &&
        (scheduler->options.parts & SCHEDULER_STARTS)) {
        struct tracked_job *tracked = scheduler_job_get(scheduler, event->num);
        if (!tracked || !tracked->executing)
            scheduler_offer_num(scheduler, event->num);
        /* otherwise: when the end of its last attempt is recorded */
    }
}

static void on_hold(struct scheduler *scheduler, uint64_t num) {
    struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    if (!store_job(scheduler->store, num, &arena, &job, &err)) {
        scheduler_log_read_failure("the row", num, &err);
        arena_clear(&arena);
        return;
    }
    if (!scheduler_group_hold(scheduler, num, job.holds))
        order_hold(scheduler->order, num, job.holds);
    scheduler_offer_rollback(scheduler, &job);
    if (job.state == STATE_PENDING && job.holds != 0)
        picker_forget(scheduler->picker, num);
    else if (job.state == STATE_PENDING)
        scheduler_offer(scheduler, &job);
    arena_clear(&arena);
}

/* For a set, its target is tried again too. */
static void on_at_once(struct scheduler *scheduler, uint64_t num) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct tracked_job *tracked = scheduler_job_get(scheduler, num);
    struct job job;
    struct err err;
    if ((scheduler->options.parts & SCHEDULER_STARTS) == 0)
        return;
    if (tracked && tracked->executing) {
        if (tracked->array)
            array_at_once(&tracked->array->array);
        return;
    }
    if (!store_job(scheduler->store, num, &arena, &job, &err)) {
        scheduler_log_read_failure("the row", num, &err);
        return;
    }
    if (job.state != STATE_PENDING)
        return;
    if (job_has(&job, JOB_LANDS))
        target_try(scheduler, job.target);
    target_train_at_once(scheduler, &job);
    scheduler_offer(scheduler, &job);
}

/* A smaller limit ends no task: fewer start from now on. */
static void on_limit(struct scheduler *scheduler,
                     const struct store_event *event) {
    struct tracked_job *tracked = scheduler_job_get(scheduler, event->num);
    uint64_t limit;
    if (!tracked || !span_u64(event->reason, &limit))
        return;
    tracked->job.max_running = (unsigned)limit;
    if (tracked->array)
        tracked->array->array.limit = (size_t)limit;
}

static void on_cancel(struct scheduler *scheduler,
                      const struct store_event *event) {
    struct tracked_job *tracked = scheduler_job_get(scheduler, event->num);
    if (!tracked || !tracked->executing)
        return;
    /* Also for a job that is being stopped for a rollback, or goes back for
     * another reason: once its cancellation is requested it must not start
     * again. */
    tracked->killer = RETRY_OPERATOR;
    tracked->kill |= span_is(event->reason, REASON_KILL);
    scheduler_stop_job(scheduler, tracked, scheduler_stop_kind(tracked));
    scheduler_train_leave_killed(scheduler, tracked);
}

void scheduler_on_event(void *ctx, const struct store_event *event) {
    struct scheduler *scheduler = ctx;
    scheduler->idle = false;
    scheduler_train_leave_event(scheduler, event);
    scheduler_follow_forget(scheduler, event->num);
    scheduler_hosted_event(scheduler, event);
    scheduler_nodes_event(scheduler, event);
    if (event->kind == EVENT_MOVE)
        scheduler_order_count(scheduler, event->id);
    else if (event->kind == EVENT_TASK)
        scheduler_order_tasks_changed(scheduler, event->id);
    if (event->kind == EVENT_MOVE)
        on_move(scheduler, event);
    else if (event->kind == EVENT_HOLD || event->kind == EVENT_RELEASE)
        on_hold(scheduler, event->num);
    else if (event->kind == EVENT_ROLLED_BACK &&
             order_watches(scheduler->order, event->id))
        scheduler_order_outside(scheduler, event->id);
    else if (event->kind == EVENT_AT_ONCE)
        on_at_once(scheduler, event->num);
    else if (event->kind == EVENT_CANCEL)
        on_cancel(scheduler, event);
    else if (event->kind == EVENT_LIMIT)
        on_limit(scheduler, event);
}
