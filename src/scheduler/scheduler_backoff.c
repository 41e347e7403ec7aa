/* Jobs with a not-before time that has come.
 *
 * The registry keeps them apart, sorted by that time: a query for ready jobs
 * has to sort all that are overdue. Therefore a job that does not start when
 * its time comes loses the mark (store_due), in batches, and then stands in the
 * registry's order of ready jobs like any other: each is sorted once, not for
 * each query. A job that starts at once needs no write of its own, and one
 * without a back-off none at all. */
#include "scheduler/scheduler_backoff.h"

#include "lib/log.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_offer.h"
#include "scheduler/scheduler_plan.h"
#include "scheduler/scheduler_state.h"

enum { DUE_FEW = 16, AGAIN_AFTER_FAILURE_MS = 1000 };

struct wall scheduler_backoff_next(const struct scheduler *scheduler) {
    /* Overdue jobs are those that could not be handled yet: something else has
     * to happen first, and causes a turn. */
    return scheduler->due_at.ns > scheduler->now.ns ? scheduler->due_at
                                                    : WALL_NEVER;
}

/* Soonest first. Usually few are due, and those behind them are not read. */
static bool due_read(struct scheduler *scheduler, struct arena *arena,
                     struct job **ret_jobs, size_t *ret_count,
                     struct err *err) {
    struct store_list list = {.states = STATE_BIT(STATE_PENDING),
                              .with_not_before = true,
                              .with_spec = true,
                              .limit = DUE_FEW};
    for (;;) {
        if (!store_jobs(scheduler->store, &list, arena, ret_jobs, ret_count,
                        err))
            return false;
        size_t count = *ret_count;
        if (list.limit == BACKOFF_MAX || count < list.limit ||
            (*ret_jobs)[count - 1].not_before.ns > scheduler->now.ns)
            return true;
        list.limit = BACKOFF_MAX;
    }
}

static void due_take(struct scheduler *scheduler, const struct job *job) {
    const struct tracked_job *tracked = scheduler_job_get(scheduler, job->num);
    scheduler->due[scheduler->due_count++] = job->num;
    if (!tracked || !tracked->executing)
        scheduler_offer(scheduler, job);
}

/* Soonest first is not the order of the jobs: if there are too many, the most
 * urgent may be offered only later. They are then read in their order, once. */
static void due_crowd_set(struct scheduler *scheduler, bool crowd) {
    if (crowd && !scheduler->due_crowd)
        picker_restart(scheduler->picker);
    scheduler->due_crowd = crowd;
}

static void due_take_all(struct scheduler *scheduler, const struct job *jobs,
                         size_t count) {
    struct wall next = count < BACKOFF_MAX ? WALL_NEVER : scheduler->now;
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].not_before.ns > scheduler->now.ns) {
            next = jobs[i].not_before;
            break;
        }
        due_take(scheduler, &jobs[i]);
    }
    scheduler->due_at = next;
    due_crowd_set(scheduler, next.ns <= scheduler->now.ns);
}

void scheduler_backoff_offer(struct scheduler *scheduler) {
    struct arena arena = ARENA_INIT;
    struct job *jobs;
    size_t count;
    struct err err;
    scheduler->due_count = 0;
    if (scheduler->due_at.ns > scheduler->now.ns)
        return;
    if (due_read(scheduler, &arena, &jobs, &count, &err)) {
        due_take_all(scheduler, jobs, count);
    } else {
        log_error("cannot read the jobs that are due: %s", err.text);
        scheduler->due_at = wall_add_ms(scheduler->now, AGAIN_AFTER_FAILURE_MS);
    }
    arena_clear(&arena);
}

static bool due_plan(struct scheduler *scheduler, uint64_t num) {
    struct tracked_job *tracked = scheduler_job_get(scheduler, num);
    if (tracked && tracked->executing)
        return false;
    if (tracked)
        tracked->job.not_before = (struct wall){0};
    store_due(scheduler->batch, num);
    return true;
}

void scheduler_backoff_clear(struct scheduler *scheduler) {
    bool any = false;
    for (size_t i = 0; i < scheduler->due_count; i++)
        any |= due_plan(scheduler, scheduler->due[i]);
    if (any)
        scheduler_plan_add(scheduler, PLAN_BACKOFF);
}

void scheduler_backoff_committed(struct scheduler *scheduler, bool ok) {
    if (!ok)
        scheduler->due_at = scheduler->now;
}
