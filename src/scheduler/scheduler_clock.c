#include "scheduler/scheduler_clock.h"

#include "lib/log.h"
#include "core/array.h"
#include "scheduler/scheduler_array.h"
#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_follow.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_nodes.h"
#include "scheduler/scheduler_plan.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/scheduler_target.h"

/* Usually nothing backs off, and a start need not write. */
static bool any_backs_off(struct scheduler *scheduler, bool *ret_any,
                          struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list list = {.with_not_before = true, .limit = 1};
    struct job *jobs;
    size_t count = 0;
    bool ok = store_jobs(scheduler->store, &list, &arena, &jobs, &count, err);
    *ret_any = count > 0;
    return ok;
}

bool scheduler_clock_recall(struct scheduler *scheduler, struct err *err) {
    bool any;
    if ((scheduler->options.parts & SCHEDULER_STARTS) == 0)
        return true;
    if (!any_backs_off(scheduler, &any, err))
        return err_wrap(err, "cannot read the back-offs");
    if (!any)
        return true;
    struct store_batch *batch = store_batch_new(scheduler->store);
    store_batch_actor(batch, scheduler->now, scheduler->options.actor);
    store_set_back(batch, 0);
    bool ok = store_write(batch, err);
    store_batch_free(batch);
    return ok || err_wrap(err, "cannot examine the back-offs");
}

/* ---- in memory ----------------------------------------------------------- */

static void set_back(struct wall *planned, int64_t ms) {
    *planned = wall_set_back(*planned, ms);
}

static void attempts_set_back(struct scheduler *scheduler, int64_t ms) {
    LIST_EACH (&scheduler->ended, link)
        set_back(&LIST_OF(link, struct attempt, link)->probe_again, ms);
    LIST_EACH (&scheduler->arrays, link)
        array_set_back(&LIST_OF(link, struct tracked_array, link)->array, ms);
}

static void trains_set_back(struct scheduler *scheduler, int64_t ms) {
    LIST_EACH (&scheduler->trains, link) {
        struct target_train *target = LIST_OF(link, struct target_train, link);
        LIST_EACH (&target->waiting, at)
            set_back(&LIST_OF(at, struct target_waiting, link)->not_before, ms);
        set_back(&target->tip_again, ms);
        set_back(&target->tip_run_again, ms);
        set_back(&target->prune_at, ms);
        set_back(&target->environment.due, ms);
        train_set_back(target->train, ms);
    }
}

/* What waits for other jobs. No time of these comes from a batch in progress,
 * and what arrives from now on is of the new clock. */
static void waits_set_back(struct scheduler *scheduler, int64_t ms) {
    order_set_back(scheduler->order, ms);
    groups_set_back(scheduler->groups, ms);
    scheduler_follow_set_back(scheduler, ms);
}

static void starts_set_back(struct scheduler *scheduler, int64_t ms) {
    picker_set_back(scheduler->picker, ms);
    rollback_queue_set_back(&scheduler->rollbacks, ms);
    scheduler_nodes_set_back(scheduler, ms);
    set_back(&scheduler->rollback_run.give_up, ms);
    targets_set_back(scheduler, ms);
    attempts_set_back(scheduler, ms);
    trains_set_back(scheduler, ms);
    scheduler->due_at = scheduler->now;
}

/* ---- in the registry ----------------------------------------------------- */

static void plan_tasks(struct scheduler *scheduler,
                       const struct tracked_array *array) {
    for (size_t i = 0; i < array->array.count; i++) {
        const struct node_task *task = &array->array.tasks[i].task;
        if (task->not_before.ns <= scheduler->now.ns)
            continue;
        store_task_set(scheduler->batch, array->tracked->num,
                       array->array.tasks[i].node,
                       (enum task_status)task->status,
                       wall_set_back(task->not_before, scheduler->set_back_ms));
    }
}

bool scheduler_clock_plan(struct scheduler *scheduler) {
    if (scheduler->set_back_ms == 0)
        return false;
    store_set_back(scheduler->batch, scheduler->set_back_ms);
    LIST_EACH (&scheduler->arrays, link)
        plan_tasks(scheduler, LIST_OF(link, struct tracked_array, link));
    scheduler_plan_add(scheduler, PLAN_SET_BACK)->num =
        (uint64_t)scheduler->set_back_ms;
    return true;
}

void scheduler_clock_committed(struct scheduler *scheduler, int64_t ms,
                               bool ok) {
    if (!ok)
        return;
    scheduler->set_back_ms -= ms;
    starts_set_back(scheduler, ms);
}

/* A start that was decided before, and is being recorded, counts too: it is in
 * memory when that batch has been written. */
void scheduler_set_back(struct scheduler *scheduler, struct wall now,
                        int64_t ms) {
    scheduler->idle = false;
    scheduler->now = now;
    set_back(&scheduler->again_at, ms);
    waits_set_back(scheduler, ms);
    if (scheduler->options.parts & SCHEDULER_STARTS)
        scheduler->set_back_ms += ms;
    else
        starts_set_back(scheduler, ms);
}
