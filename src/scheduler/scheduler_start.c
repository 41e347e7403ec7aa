/* Picks and starts jobs. An assignment is durable before its start is sent
 * (P3): scheduler_plan_starts adds it to the batch, scheduler_start_committed
 * passes it to the runner. */
#include "scheduler/scheduler_start.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/log.h"
#include "core/reason.h"
#include "scheduler/node_attempt.h"
#include "scheduler/scheduler_array.h"
#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_backoff.h"
#include "scheduler/scheduler_bases.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_node_run.h"
#include "scheduler/scheduler_offer.h"
#include "scheduler/scheduler_plan.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/scheduler_train_run.h"

/* How long slots may be busy before assignments behind them are withdrawn. */
enum { PATIENCE_MS = 50 };

/* ---- arrays ------------------------------------------------------------- */

/* The rows are sorted by node and attempt. */
static const struct store_attempt *
last_attempt(const struct store_attempt *rows, size_t count, struct span node) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (span_compare(rows[middle].node, node) > 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low > 0 && span_equal(rows[low - 1].node, node) ? &rows[low - 1]
                                                           : NULL;
}

/* The back-off of a task began when its last attempt ended, and the clock may
 * have been set back since. */
static void tasks_recall(struct scheduler *scheduler, const struct job *job,
                         struct array *array) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_attempt *rows;
    size_t count;
    struct err err;
    if (array_next_time(array, scheduler->now).ns == WALL_NEVER.ns)
        return;
    if (!store_attempts(scheduler->store, job->num, &arena, &rows, &count,
                        &err)) {
        scheduler_log_read_failure("the attempts", job->num, &err);
        return;
    }
    for (size_t i = 0; i < array->count; i++) {
        struct node_task *task = &array->tasks[i].task;
        const struct store_attempt *last =
            last_attempt(rows, count, array->tasks[i].node);
        if (task->not_before.ns > scheduler->now.ns && last != NULL)
            task->not_before = retry_backoff_end(last->ended, task->not_before,
                                                 scheduler->now);
    }
}

/* NULL with false: the rows could not be read. NULL with true: no array. */
static bool array_load(struct scheduler *scheduler, const struct job *job,
                       struct tracked_array **ret_array) {
    *ret_array = NULL;
    if (!(job->flags & JOB_ARRAY))
        return true;
    struct tracked_array *array = mem_alloc(sizeof(*array));
    list_init(&array->link);
    struct store_task *tasks;
    struct err err;
    if (!store_tasks(scheduler->store, job->num, &array->arena, &tasks,
                     &array->array.count, &err)) {
        scheduler_log_read_failure("the tasks", job->num, &err);
        scheduler_array_free(array);
        return false;
    }
    if (array->array.count == 0 || tasks[0].node.len == 0) {
        scheduler_array_free(array);
        return true;
    }
    array->array.tasks = arena_alloc(
        &array->arena, array->array.count * sizeof(*array->array.tasks));
    for (size_t i = 0; i < array->array.count; i++)
        array->array.tasks[i] = (struct array_task){
            .node = tasks[i].node,
            .task = node_attempt_task(&tasks[i]),
        };
    array->array.limit = job->max_running;
    tasks_recall(scheduler, job, &array->array);
    *ret_array = array;
    return true;
}

/* The most urgent array with a task to start now. */
static struct tracked_array *best_array(struct scheduler *scheduler,
                                        size_t *ret_task) {
    LIST_EACH (&scheduler->arrays, link) {
        struct tracked_array *array = LIST_OF(link, struct tracked_array, link);
        if (!array->begun || array->tracked->killer != RETRY_NOBODY ||
            picker_yields(scheduler->picker, (struct span){0},
                          job_rank(&array->tracked->job)))
            continue;
        *ret_task = array_next(&array->array, scheduler->now);
        if (*ret_task < array->array.count)
            return array;
    }
    return NULL;
}

static void array_insert(struct scheduler *scheduler,
                         struct tracked_array *array) {
    LIST_EACH (&scheduler->arrays, link) {
        struct tracked_array *other = LIST_OF(link, struct tracked_array, link);
        if (span_compare(job_rank(&array->tracked->job),
                         job_rank(&other->tracked->job)) < 0) {
            list_insert_before(link, &array->link);
            return;
        }
    }
    list_push(&scheduler->arrays, &array->link);
}

static void plan_task(struct scheduler *scheduler, struct tracked_array *array,
                      size_t at) {
    struct tracked_job *tracked = array->tracked;
    struct array_task *task = &array->array.tasks[at];
    struct attempt *attempt =
        scheduler_attempt_new(scheduler, tracked, task->task.attempt + 1);
    attempt->of_array = true;
    attempt->task = at;
    attempt->before = array_task_start(&array->array, at, scheduler->now);
    picker_assigned(scheduler->picker, scheduler_attempt_slot(attempt),
                    (struct span){0});
    struct plan *plan = scheduler_plan_add(scheduler, PLAN_START);
    plan->attempt = attempt;
    plan->op = scheduler_attempt_assign(scheduler, tracked->num, task->node,
                                        attempt->number, false);
}

/* ---- jobs --------------------------------------------------------------- */

static void plan_job(struct scheduler *scheduler, struct tracked_job *tracked) {
    struct attempt *attempt =
        scheduler_attempt_new(scheduler, tracked, tracked->job.attempt + 1);
    struct plan *plan = scheduler_plan_add(scheduler, PLAN_START);
    plan->attempt = attempt;
    plan->op =
        scheduler_attempt_begin(scheduler, tracked->num, SPAN(REASON_START));
    scheduler_attempt_assign(scheduler, tracked->num, SPAN(""), attempt->number,
                             false);
}

/* The array executes from here on; its tasks are picked alongside other
 * jobs. */
static void plan_array(struct scheduler *scheduler, struct tracked_job *tracked,
                       struct tracked_array *array) {
    picker_ended(scheduler->picker, tracked->num, -1);
    scheduler_job_execute(scheduler, tracked);
    tracked->array = array;
    array->tracked = tracked;
    array_insert(scheduler, array);
    struct plan *plan = scheduler_plan_add(scheduler, PLAN_BEGIN);
    plan->num = tracked->num;
    plan->op =
        scheduler_attempt_begin(scheduler, tracked->num, SPAN(REASON_START));
}

struct tracked_array *scheduler_array_adopt(struct scheduler *scheduler,
                                            struct tracked_job *tracked) {
    struct tracked_array *array;
    if (!array_load(scheduler, &tracked->job, &array) || array == NULL)
        return NULL;
    for (size_t i = 0; i < array->array.count; i++)
        if (array->array.tasks[i].task.status == TASK_RUNNING)
            array->array.tasks[i].task.status = TASK_UNSTARTED;
    scheduler_job_execute(scheduler, tracked);
    tracked->array = array;
    array->tracked = tracked;
    array->begun = true;
    array_insert(scheduler, array);
    return array;
}

void scheduler_array_begun(struct scheduler *scheduler, const struct plan *plan,
                           bool ok) {
    struct tracked_job *tracked = scheduler_job_get(scheduler, plan->num);
    if (ok && store_batch_result(scheduler->batch, plan->op) == STORE_DONE) {
        tracked->array->begun = true;
        return;
    }
    scheduler_job_drop(scheduler, tracked);
    scheduler_offer_num(scheduler, plan->num);
}

static void refill_once(struct scheduler *scheduler) {
    struct span after_rank;
    uint64_t after_num;
    size_t limit, count;
    while (picker_needs_refill(scheduler->picker, scheduler->now, &after_rank,
                               &after_num, &limit)) {
        struct arena arena = ARENA_INIT;
        struct job *jobs;
        struct err err;
        if (!store_ready(scheduler->store, scheduler->now, after_rank,
                         after_num, limit, &arena, &jobs, &count, &err)) {
            log_error("cannot read the jobs that are ready: %s", err.text);
            arena_clear(&arena);
            return;
        }
        for (size_t i = 0; i < count; i++) {
            struct tracked_job *tracked =
                scheduler_job_get(scheduler, jobs[i].num);
            if (!tracked || !tracked->executing)
                scheduler_offer(scheduler, &jobs[i]);
        }
        picker_refilled(scheduler->picker, count,
                        count > 0 ? job_rank(&jobs[count - 1]) : SPAN(""),
                        count > 0 ? jobs[count - 1].num : 0);
        arena_clear(&arena);
    }
}

/* What was read may show that jobs passed over before may start after all. */
static void refill(struct scheduler *scheduler) {
    do {
        if (scheduler->hosted_grew)
            picker_restart(scheduler->picker);
        scheduler->hosted_grew = false;
        refill_once(scheduler);
    } while (scheduler->hosted_grew);
}

static void put_back(struct scheduler *scheduler, struct tracked_job *tracked) {
    picker_ended(scheduler->picker, tracked->num, -1);
    struct job job = tracked->job;
    scheduler_offer(scheduler, &job);
}

static bool may_start(const struct scheduler *scheduler) {
    uint64_t limit = scheduler->options.job_limit;
    return !scheduler->draining && (limit == 0 || scheduler->started < limit);
}

/* A set that is being staged, or that will be staged because another one
 * leaves, may be more urgent than a run of its train. */
static bool stages(const struct scheduler *scheduler) {
    for (size_t i = 0; i < scheduler->plan_count; i++) {
        const struct plan *plan = &scheduler->plans[i];
        if (plan->kind == PLAN_STAGE || plan->kind == PLAN_TRAIN_LEAVE ||
            (plan->kind == PLAN_TRAIN_END && !plan->attempt->checks))
            return true;
    }
    return false;
}

/* A rank comes before one that is not known. */
static bool comes_before(struct span rank, struct span other) {
    return rank.len > 0 && (other.len == 0 || span_compare(rank, other) < 0);
}

/* The next task of a standing job, if it comes before the job and the task. */
static bool plan_node(struct scheduler *scheduler,
                      const struct tracked_array *array,
                      struct tracked_job *tracked, struct span node) {
    if (node.len == 0 ||
        (array != NULL &&
         !comes_before(node, job_rank(&array->tracked->job))) ||
        (tracked != NULL && !comes_before(node, job_rank(&tracked->job))))
        return false;
    if (tracked != NULL)
        put_back(scheduler, tracked);
    scheduler_node_plan_start(scheduler);
    return true;
}

/* Starts the next run of a train if it comes before the job, the task, and the
 * task of a standing job. */
static bool plan_train_run(struct scheduler *scheduler,
                           const struct tracked_array *array,
                           struct tracked_job *tracked, struct span node) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct train_run run;
    struct span rank;
    if (stages(scheduler))
        return false;
    struct target_train *target =
        scheduler_train_best(scheduler, &run, &arena, &rank);
    if (target == NULL || comes_before(node, rank) ||
        (array != NULL &&
         (rank.len == 0 ||
          span_compare(job_rank(&array->tracked->job), rank) < 0)) ||
        (tracked != NULL &&
         (rank.len == 0 || span_compare(job_rank(&tracked->job), rank) < 0)))
        return false;
    if (tracked != NULL)
        put_back(scheduler, tracked);
    return scheduler_train_plan_run(scheduler, target, &run);
}

/* Plans one more start, of a task or of a job: whichever is more urgent. */
static bool plan_one(struct scheduler *scheduler) {
    size_t task;
    uint64_t num;
    struct tracked_array *array = best_array(scheduler, &task);
    struct tracked_job *tracked = NULL;
    if (picker_next(scheduler->picker, scheduler->now, &num)) {
        tracked = scheduler_job_pending(scheduler, num);
        if (!tracked) { /* it has changed: its events report the rest */
            picker_ended(scheduler->picker, num, -1);
            return true;
        }
    }
    char bytes[2];
    struct span node = scheduler_node_rank(scheduler, bytes);
    bool of_train = plan_train_run(scheduler, array, tracked, node);
    if (!of_train && plan_node(scheduler, array, tracked, node))
        return true;
    scheduler->nodes.is_behind = false;
    if (of_train)
        return true;
    if (array && tracked &&
        span_compare(job_rank(&array->tracked->job), job_rank(&tracked->job)) <=
            0) {
        put_back(scheduler, tracked);
        tracked = NULL;
    }
    if (tracked) {
        struct tracked_array *loaded;
        scheduler->started++;
        if (!array_load(scheduler, &tracked->job, &loaded)) {
            picker_ended(scheduler->picker, num, -1);
            return false;
        }
        if (loaded)
            plan_array(scheduler, tracked, loaded);
        else
            plan_job(scheduler, tracked);
        return true;
    }
    if (!array)
        return false;
    plan_task(scheduler, array, task);
    return true;
}

static void start_all(struct scheduler *scheduler) {
    refill(scheduler);
    while (picker_room(scheduler->picker) > 0) {
        size_t task;
        if (!may_start(scheduler)) {
            /* No further job may start, but arrays that have begun still start
             * their tasks unless the scheduler is draining. */
            struct tracked_array *array =
                scheduler->draining ? NULL : best_array(scheduler, &task);
            if (!array)
                return;
            plan_task(scheduler, array, task);
            continue;
        }
        if (!plan_one(scheduler))
            return;
        refill(scheduler);
    }
}

void scheduler_plan_starts(struct scheduler *scheduler) {
    scheduler_backoff_offer(scheduler);
    start_all(scheduler);
    if (picker_room(scheduler->picker) == 0)
        scheduler_train_spare(scheduler);
    scheduler_backoff_clear(scheduler);
}

void scheduler_yield(struct scheduler *scheduler, struct span target,
                     unsigned char urgency, uint64_t num) {
    if (target.len > 0)
        picker_yield(scheduler->picker, target, urgency, num);
    if (urgency <= CLASS_EM)
        picker_yield_all(scheduler->picker, urgency);
}

void scheduler_withdraw_ahead(struct scheduler *scheduler, unsigned count) {
    struct list *head = &scheduler->attempts;
    bool any = false;
    for (struct list *at = head->prev; at != head && count > 0; at = at->prev) {
        struct attempt *attempt = LIST_OF(at, struct attempt, link);
        if (!attempt->is_started || attempt->is_lasting)
            continue;
        count--;
        if (attempt->is_withdrawn)
            continue;
        attempt->is_withdrawn = any = true;
        scheduler->runner.stop(scheduler->runner.ctx, attempt->handle,
                               RUN_STOP_WITHDRAW);
    }
    if (any)
        scheduler->runner.flush(scheduler->runner.ctx);
}

struct wall scheduler_withdraw_excess(struct scheduler *scheduler) {
    unsigned excess = picker_excess(scheduler->picker);
    struct wall now = scheduler->now, *since = &scheduler->excess_since;
    if (excess == 0) {
        *since = (struct wall){0};
        return WALL_NEVER;
    }
    if (since->ns == 0 || since->ns > now.ns)
        *since = now;
    struct wall due = wall_add_ms(*since, PATIENCE_MS);
    if (due.ns > now.ns)
        return due;
    scheduler_withdraw_ahead(scheduler, excess);
    return WALL_NEVER;
}

bool scheduler_lasting(struct scheduler *scheduler, uint64_t handle) {
    struct attempt *attempt =
        map_get(&scheduler->by_handle, map_num_key(&handle));
    if (!attempt || attempt->is_ended || handle != attempt->handle)
        return false;
    attempt->is_lasting = true;
    picker_lasting(scheduler->picker, scheduler_attempt_slot(attempt));
    return picker_excess(scheduler->picker) > 0;
}

/* ---- after the commit --------------------------------------------------- */

static void start_failed(struct scheduler *scheduler, struct attempt *attempt) {
    struct tracked_job *tracked = attempt->tracked;
    picker_ended(scheduler->picker, scheduler_attempt_slot(attempt), -1);
    if (attempt->of_array) {
        array_task_start_failed(&tracked->array->array, attempt->task,
                                &attempt->before);
        scheduler_attempt_free(scheduler, attempt);
        return;
    }
    uint64_t num = tracked->num;
    scheduler_attempt_free(scheduler, attempt);
    scheduler_job_drop(scheduler, tracked);
    scheduler_offer_num(scheduler, num);
}

void scheduler_start_committed(struct scheduler *scheduler,
                               const struct plan *plan, bool ok) {
    struct attempt *attempt = plan->attempt;
    if (!ok || store_batch_result(scheduler->batch, plan->op) != STORE_DONE) {
        start_failed(scheduler, attempt);
        return;
    }
    struct tracked_job *tracked = attempt->tracked;
    const struct array_task *task = scheduler_attempt_task(attempt);
    if (!task)
        tracked->job.attempt = attempt->number;
    struct run_start start = {
        .handle = attempt->handle,
        .job = &tracked->job,
        .node = task ? task->node : (struct span){0},
        .task = attempt->task,
        .attempt = attempt->number,
    };
    attempt->is_started = true;
    scheduler->running++;
    start.set.job = start.job;
    scheduler->runner.start(scheduler->runner.ctx, &start);
    if (scheduler_attempt_killer(attempt) !=
        RETRY_NOBODY) /* cancelled while it was assigned */
        scheduler->runner.stop(scheduler->runner.ctx, attempt->handle,
                               scheduler_stop_kind(tracked));
}
