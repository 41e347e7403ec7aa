#include "scheduler/scheduler.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "lib/log.h"
#include "core/reason.h"
#include "scheduler/scheduler_array.h"
#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_backoff.h"
#include "scheduler/scheduler_clock.h"
#include "scheduler/scheduler_end.h"
#include "scheduler/scheduler_event.h"
#include "scheduler/scheduler_follow.h"
#include "scheduler/scheduler_group.h"
#include "scheduler/scheduler_hosted.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_load.h"
#include "scheduler/scheduler_node_run.h"
#include "scheduler/scheduler_nodes.h"
#include "scheduler/scheduler_offer.h"
#include "scheduler/scheduler_order.h"
#include "scheduler/scheduler_plan.h"
#include "scheduler/scheduler_recover.h"
#include "scheduler/scheduler_rollback.h"
#include "scheduler/scheduler_start.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/scheduler_target.h"
#include "scheduler/scheduler_train.h"
#include "scheduler/scheduler_train_end.h"
#include "scheduler/scheduler_train_run.h"
#include "scheduler/target_train.h"

enum { AGAIN_AFTER_FAILURE_MS = 1000, AHEAD_MAX = 256, PAGE_RUNNING = 1000 };

/* ---- life --------------------------------------------------------------- */

static unsigned ahead_max(unsigned slots) {
    unsigned twice = 2 * slots;
    return twice < AHEAD_MAX ? AHEAD_MAX : twice;
}

static void apply_limits(struct scheduler *scheduler) {
    const struct scheduler_options *options = &scheduler->options;
    order_set_limits(
        scheduler->order,
        &(struct order_limits){.wait_for_dep_ms = options->wait_for_dep_ms});
    picker_set_limits(scheduler->picker,
                      &(struct picker_limits){
                          .slots = options->slots,
                          .ahead_max = ahead_max(options->slots),
                          .age_step_ms = options->age_step_ms,
                      });
    for (size_t i = 0; i < options->target_count; i++)
        picker_set_lanes(scheduler->picker, options->targets[i].name,
                         options->targets[i].lanes);
}

static void take_options(struct scheduler *scheduler,
                         const struct scheduler_options *options) {
    struct arena names = ARENA_INIT;
    struct scheduler_target *targets =
        arena_alloc(&names, (options->target_count + 1) * sizeof(*targets));
    for (size_t i = 0; i < options->target_count; i++)
        targets[i] = (struct scheduler_target){
            .name = arena_span(&names, options->targets[i].name),
            .lanes = options->targets[i].lanes,
            .by_command = options->targets[i].by_command,
            .train = options->targets[i].train,
            .environment = arena_span(&names, options->targets[i].environment),
        };
    for (size_t i = 0; i < options->target_count; i++)
        target_train_copy_key(&names, &options->targets[i].key,
                              &targets[i].key);
    scheduler->options = *options;
    scheduler->options.actor = arena_span(&names, options->actor);
    scheduler->options.targets = targets;
    arena_clear(&scheduler->names);
    scheduler->names = names;
}

struct scheduler *scheduler_new(struct store *store,
                                const struct scheduler_options *options,
                                const struct runner *runner) {
    struct scheduler *scheduler = mem_alloc(sizeof(*scheduler));
    scheduler->store = store;
    scheduler->runner = *runner;
    worker_table_init(&scheduler->workers, options->worker);
    take_options(scheduler, options);
    scheduler->order = order_new(
        &(struct order_limits){.wait_for_dep_ms = options->wait_for_dep_ms});
    scheduler->picker =
        picker_new(&(struct picker_limits){.slots = options->slots});
    scheduler->groups = groups_new();
    random_init(&scheduler->random, options->seed);
    list_init(&scheduler->waiting);
    list_init(&scheduler->attempts);
    list_init(&scheduler->ended);
    list_init(&scheduler->arrays);
    list_init(&scheduler->trains);
    rollback_queue_init(&scheduler->rollbacks);
    scheduler_nodes_init(&scheduler->nodes);
    picker_close(scheduler->picker, rollback_queue_lane, UINT64_MAX);
    apply_limits(scheduler);
    if (options->parts & SCHEDULER_STARTS)
        target_trains_configure(scheduler);
    return scheduler;
}

static void attempts_free(struct scheduler *scheduler, struct list *attempts) {
    while (!list_empty(attempts))
        scheduler_attempt_free(scheduler,
                               LIST_OF(attempts->next, struct attempt, link));
}

void scheduler_dismiss(struct scheduler *scheduler) {
    scheduler->dismissed = true;
    store_unlisten(scheduler->store, scheduler_on_event, scheduler);
}

void scheduler_free(struct scheduler *scheduler) {
    if (!scheduler)
        return;
    store_unlisten(scheduler->store, scheduler_on_event, scheduler);
    attempts_free(scheduler, &scheduler->attempts);
    attempts_free(scheduler, &scheduler->ended);
    scheduler_nodes_clear(scheduler);
    scheduler_jobs_clear(scheduler);
    scheduler_rollback_clear(scheduler);
    targets_clear(scheduler);
    target_trains_clear(scheduler);
    scheduler_follow_clear(scheduler);
    map_clear(&scheduler->by_handle);
    map_clear(&scheduler->hosted);
    map_clear(&scheduler->tasks_changed);
    order_free(scheduler->order);
    groups_free(scheduler->groups);
    picker_free(scheduler->picker);
    arena_clear(&scheduler->names);
    worker_table_clear(&scheduler->workers);
    free(scheduler->plans);
    free(scheduler);
}

void scheduler_configure(struct scheduler *scheduler,
                         const struct scheduler_options *options) {
    struct err err;
    target_trains_note_changes(scheduler, options);
    LIST_EACH (&scheduler->trains, link)
        LIST_OF(link, struct target_train, link)->target = NULL;
    take_options(scheduler, options);
    apply_limits(scheduler);
    targets_try(scheduler);
    if (scheduler->settling)
        targets_rest(scheduler);
    if (options->parts & SCHEDULER_STARTS) {
        target_trains_configure(scheduler);
        picker_restart(scheduler->picker);
        scheduler->nodes.to_build = true;
        if (!scheduler_train_load(scheduler, &err))
            log_error("cannot read the sets that are pending: %s", err.text);
    }
    scheduler->idle = false;
}

/* ---- recovery ----------------------------------------------------------- */

static void recover_one(struct scheduler *scheduler, const struct job *job) {
    struct tracked_job *tracked = scheduler_job_keep(scheduler, job);
    struct attempt *attempt =
        scheduler_attempt_recover(scheduler, tracked, job->attempt, job->since);
    attempt->row_ended = scheduler_train_recall(scheduler, job);
    if (!job_has(job, JOB_ROLLS_BACK))
        picker_assigned(scheduler->picker, tracked->num, job->target);
    if (job->cancel_asked)
        tracked->killer = RETRY_OPERATOR;
    if (job_has(job, JOB_ROLLS_BACK))
        scheduler_rollback_recover(scheduler, attempt);
}

/* What it was assigned with is held, as if this program had assigned it. */
static void hold(struct scheduler *scheduler, struct attempt *attempt,
                 size_t task, bool is_lasting) {
    struct tracked_job *tracked = attempt->tracked;
    if (tracked->array != NULL) {
        attempt->of_array = true;
        attempt->task = task;
        array_task_adopt(&tracked->array->array, task, attempt->number);
    }
    if (tracked->job.cancel_asked)
        tracked->killer = RETRY_OPERATOR;
    picker_assigned(scheduler->picker, scheduler_attempt_slot(attempt),
                    (struct span){0});
    if (is_lasting)
        (void)scheduler_lasting(scheduler, attempt->handle);
}

/* It runs, as if this program had started it. */
static void adopt(struct scheduler *scheduler, struct tracked_job *tracked,
                  const struct scheduler_running *running) {
    hold(scheduler, scheduler_attempt_adopt(scheduler, tracked, running),
         running->task, running->is_lasting);
}

/* It may run on another worker. */
static void await(struct scheduler *scheduler, struct tracked_job *tracked,
                  const struct store_attempt *row, size_t task) {
    unsigned worker = worker_table_number(&scheduler->workers, row->worker);
    hold(scheduler,
         scheduler_attempt_await(scheduler, tracked, row->attempt, worker,
                                 row->assigned),
         task, true);
}

/* Was it assigned to another worker? After a restart, only attempts of the
 * worker in this process have certainly ended (P6). */
static bool is_elsewhere(struct scheduler *scheduler,
                         const struct store_attempt *row) {
    return row->ended.ns == 0 &&
           worker_table_number(&scheduler->workers, row->worker) != WORKER_HERE;
}

/* An array whose tasks were all waiting for their next attempts also goes on.
 */
static bool adopt_array(struct scheduler *scheduler, const struct job *job,
                        const struct store_attempt *attempts, size_t count,
                        struct store_batch *batch, struct err *err) {
    struct tracked_job *tracked = scheduler_job_keep(scheduler, job);
    struct tracked_array *array = scheduler_array_adopt(scheduler, tracked);
    if (array == NULL)
        return err_set(err, ERR_UNAVAILABLE, "cannot read the tasks of a job");
    for (size_t i = 0; i < count; i++) {
        struct store_attempt row = attempts[i];
        size_t task = 0;
        if (row.ended.ns != 0)
            continue;
        while (task < array->array.count &&
               !span_equal(array->array.tasks[task].node, row.node))
            task++;
        if (task == array->array.count)
            continue;
        const struct scheduler_running *running =
            scheduler_attempt_adopted(scheduler, job->num, task, row.attempt);
        if (running != NULL) {
            adopt(scheduler, tracked, running);
            continue;
        }
        if (is_elsewhere(scheduler, &row)) {
            await(scheduler, tracked, &row, task);
            continue;
        }
        enum task_status status =
            (job->flags & JOB_AT_MOST_ONCE) != 0 ? TASK_FAILED : TASK_LOST;
        scheduler_recover_attempt(&row, scheduler->now, batch);
        store_task_set(batch, job->num, row.node, status, (struct wall){0});
        array->array.tasks[task].task.status = (uint8_t)status;
    }
    return true;
}

/* True if the job was left running by the program before. */
static bool is_adopted(struct scheduler *scheduler, const struct job *job) {
    const struct scheduler_running *running =
        scheduler_attempt_adopted(scheduler, job->num, 0, job->attempt);
    if (running == NULL)
        return false;
    adopt(scheduler, scheduler_job_keep(scheduler, job), running);
    return true;
}

static bool recover_array(struct scheduler *scheduler, const struct job *job,
                          struct store_batch *batch, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_attempt *rows;
    size_t count;
    bool goes_on = scheduler->adopted != NULL;
    if (!store_attempts(scheduler->store, job->num, &arena, &rows, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        goes_on |= is_elsewhere(scheduler, &rows[i]);
    return goes_on ? adopt_array(scheduler, job, rows, count, batch, err)
                   : scheduler_recover_job(scheduler->store, job,
                                           (job->flags & JOB_AT_MOST_ONCE) != 0,
                                           scheduler->now, batch, err);
}

/* A job with one attempt. */
static bool recover_single(struct scheduler *scheduler, const struct job *job,
                           struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_attempt *rows;
    size_t count = 0;
    if (is_adopted(scheduler, job))
        return true;
    /* A branch changes only here. */
    if (!job_has(job, JOB_LANDS) && !job_has(job, JOB_ROLLS_BACK) &&
        !store_attempts(scheduler->store, job->num, &arena, &rows, &count, err))
        return false;
    if (count > 0 && is_elsewhere(scheduler, &rows[count - 1]))
        await(scheduler, scheduler_job_keep(scheduler, job), &rows[count - 1],
              0);
    else
        recover_one(scheduler, job);
    return true;
}

static bool recover(struct scheduler *scheduler, struct err *err) {
    struct store_list list = {.states = STATE_BIT(STATE_EXECUTING),
                              .with_spec = true,
                              .limit = PAGE_RUNNING};
    for (;;) {
        struct arena arena = ARENA_INIT;
        struct job *jobs;
        size_t count;
        if (!store_jobs(scheduler->store, &list, &arena, &jobs, &count, err)) {
            arena_clear(&arena);
            return err_wrap(err, "cannot read which jobs were executing");
        }
        struct store_batch *batch = store_batch_new(scheduler->store);
        store_batch_actor(batch, scheduler->now, scheduler->options.actor);
        bool ok = true;
        for (size_t i = 0; ok && i < count; i++) {
            struct arena tasks = ARENA_INIT;
            struct store_task *rows;
            size_t row_count = 0;
            list.after_num = jobs[i].num;
            if (job_has(&jobs[i], JOB_ON_NODES))
                continue; /* scheduler_nodes_load */
            ok = store_tasks(scheduler->store, jobs[i].num, &tasks, &rows,
                             &row_count, err);
            /* A single task has a row without a node. */
            bool array = ok && row_count > 0 && rows[0].node.len > 0;
            arena_clear(&tasks);
            if (!ok)
                break;
            ok = array ? recover_array(scheduler, &jobs[i], batch, err)
                       : recover_single(scheduler, &jobs[i], err);
        }
        ok = ok && (store_batch_count(batch) == 0 || store_write(batch, err));
        store_batch_free(batch);
        arena_clear(&arena);
        if (!ok || count < PAGE_RUNNING)
            return ok;
    }
}

bool scheduler_start(struct scheduler *scheduler, struct wall now,
                     bool recover_running, struct err *err) {
    scheduler->now = now;
    if (!store_poll(scheduler->store, err))
        return false;
    if (!scheduler_clock_recall(scheduler, err))
        return false;
    store_listen(scheduler->store, scheduler_on_event, scheduler);
    if (!scheduler_load(scheduler, err))
        return false;
    bool ok = scheduler_hosted_load(scheduler, err) &&
              (!recover_running || recover(scheduler, err)) &&
              (!scheduler_nodes_run(scheduler) ||
               scheduler_nodes_load(scheduler, err)) &&
              scheduler_train_load(scheduler, err);
    if (ok && scheduler->running != scheduler->adopted_count)
        ok = err_set(err, ERR_DATA,
                     "an attempt that runs on is not executing according to "
                     "the registry");
    scheduler->adopted = NULL;
    scheduler->adopted_count = 0;
    return ok;
}

/* ---- another program in this process ------------------------------------- */

void scheduler_adopt(struct scheduler *scheduler,
                     const struct scheduler_running *running, size_t count) {
    scheduler->adopted = running;
    scheduler->adopted_count = count;
    for (size_t i = 0; i < count; i++)
        if (running[i].handle > scheduler->next_handle)
            scheduler->next_handle = running[i].handle;
}

void scheduler_settle(struct scheduler *scheduler) {
    scheduler->settling = true;
    scheduler->idle = false; /* sets of trains go back to P */
    targets_rest(scheduler);
}

static bool any_lands(const struct list *attempts) {
    LIST_EACH ((struct list *)(uintptr_t)attempts, link)
        if (job_has(&LIST_OF(link, struct attempt, link)->tracked->job,
                    JOB_LANDS))
            return true;
    return false;
}

bool scheduler_has_settled(const struct scheduler *scheduler) {
    return !any_lands(&scheduler->attempts) && !any_lands(&scheduler->ended) &&
           !scheduler_train_is_busy(scheduler) &&
           !scheduler_train_executes(scheduler);
}

bool scheduler_may_leave(const struct scheduler *scheduler) {
    if (scheduler->in_flight || !list_empty(&scheduler->ended) ||
        scheduler_train_is_busy(scheduler) ||
        scheduler_train_executes(scheduler))
        return false;
    LIST_EACH (&((struct scheduler *)(uintptr_t)scheduler)->attempts, link) {
        const struct attempt *attempt = LIST_OF(link, struct attempt, link);
        if (!attempt->is_started && !attempt->is_awaited)
            return false;
    }
    return !any_lands(&scheduler->attempts);
}

size_t scheduler_list_running(const struct scheduler *scheduler,
                              struct arena *arena,
                              struct scheduler_running **ret_running) {
    size_t count = 0;
    *ret_running = arena_alloc(arena, (scheduler->running + 1) *
                                          sizeof(struct scheduler_running));
    LIST_EACH (&((struct scheduler *)(uintptr_t)scheduler)->attempts, link) {
        const struct attempt *attempt = LIST_OF(link, struct attempt, link);
        if (attempt->is_awaited)
            continue;
        assert(count < scheduler->running);
        (*ret_running)[count++] = (struct scheduler_running){
            .handle = attempt->handle,
            .num = attempt->tracked->num,
            .task = attempt->task,
            .attempt = attempt->number,
            .assigned = attempt->assigned,
            .is_lasting = attempt->is_lasting,
        };
    }
    return count;
}

void scheduler_proceed(struct scheduler *scheduler) {
    struct err err;
    scheduler->draining = scheduler->settling = false;
    scheduler->idle = false;
    targets_rest(scheduler);
    if ((scheduler->options.parts & SCHEDULER_STARTS) == 0)
        return;
    picker_restart(scheduler->picker);
    if (!scheduler_train_load(scheduler, &err))
        log_error("cannot read the sets that are pending: %s", err.text);
}

/* ---- a turn ------------------------------------------------------------- */

static void plan_effect(struct scheduler *scheduler,
                        const struct order_effect *effect) {
    struct store_batch *batch = scheduler->batch;
    if (effect->kind == ORDER_OFFER) {
        scheduler_offer_again(scheduler, effect->num);
        return;
    }
    if (effect->kind != ORDER_SPLICE)
        scheduler_yield(scheduler, effect->target, effect->urgency,
                        effect->num);
    if (scheduler_group_effect(scheduler, effect))
        return;
    bool record = effect->kind == ORDER_STAGE || effect->kind == ORDER_SPLICE;
    struct plan *plan = scheduler_plan_add(
        scheduler, effect->kind == ORDER_RANK ? PLAN_RANK : PLAN_STAGE);
    plan->num = effect->num;
    if (effect->kind == ORDER_RANK) {
        plan->op = store_rank(batch, effect->num, effect->rank);
        return;
    }
    if (record && effect->kind == ORDER_STAGE)
        store_record(batch, effect->num, effect->precursors,
                     effect->precursor_count);
    if (effect->kind == ORDER_SPLICE) {
        plan->op = store_splice(batch, effect->num, effect->precursors,
                                effect->precursor_count);
        return;
    }
    static const enum job_state to[] = {
        [ORDER_STAGE] = STATE_STAGED,  [ORDER_TO_PENDING_RB] = STATE_PENDING,
        [ORDER_READY] = STATE_PENDING, [ORDER_FOLLOW] = STATE_PENDING,
        [ORDER_FAIL] = STATE_FAILED,   [ORDER_RECOMPUTE] = STATE_QUEUED,
    };
    struct store_move move = {
        .num = effect->num,
        .from = effect->from,
        .to = to[effect->kind],
        .reason = effect->reason,
        .detail = effect->detail,
    };
    plan->op = store_move(batch, &move);
}

static void plan_stages(struct scheduler *scheduler) {
    struct arena arena = ARENA_INIT;
    struct order_effect *effects;
    scheduler_order_answer(scheduler);
    scheduler_group_plan_fails(scheduler);
    size_t count =
        order_scan(scheduler->order, scheduler->now, &arena, &effects);
    for (size_t i = 0; i < count; i++)
        plan_effect(scheduler, &effects[i]);
    arena_clear(&arena);
}

static void stage_committed(struct scheduler *scheduler,
                            const struct plan *plan, bool ok) {
    if (!ok)
        order_again(scheduler->order, plan->num);
    else if (plan->kind == PLAN_RANK)
        scheduler_offer_num(scheduler, plan->num);
}

static void on_committed(void *ctx, struct store_batch *batch, bool ok,
                         const struct err *err) {
    struct scheduler *scheduler = ctx;
    scheduler->in_flight = false;
    if (scheduler->dismissed)
        return;
    scheduler->idle = false;
    if (!ok) {
        log_error("cannot record decisions, trying again: %s", err->text);
        /* A lost output is recorded with the ends, the registry is fine. */
        scheduler->failed =
            err->kind != ERR_TEMPORARY && !store_batch_unsynced(batch);
        scheduler->store_err = *err;
        scheduler->again_at =
            wall_add_ms(scheduler->now, AGAIN_AFTER_FAILURE_MS);
    }
    /* Ends first: an array's last end drops what its starts would need. */
    for (size_t i = 0; i < scheduler->plan_count; i++) {
        const struct plan *plan = &scheduler->plans[i];
        switch (plan->kind) {
        case PLAN_END:
            scheduler_end_committed(scheduler, plan, ok);
            break;
        case PLAN_START:
            scheduler_start_committed(scheduler, plan, ok);
            break;
        case PLAN_NODE_START:
            scheduler_node_start_committed(scheduler, plan, ok);
            break;
        case PLAN_NODES_IDLE:
            scheduler_nodes_idle_committed(scheduler, plan, ok);
            break;
        case PLAN_FORGIVE:
            scheduler->nodes.to_build |= !ok;
            break;
        case PLAN_BEGIN:
            scheduler_array_begun(scheduler, plan, ok);
            break;
        case PLAN_ARRAY_END:
            scheduler_array_end_committed(scheduler, plan, ok);
            break;
        case PLAN_TAKE:
        case PLAN_MORE:
        case PLAN_REVERT:
            scheduler_rollback_committed(scheduler, plan, ok);
            break;
        case PLAN_STAGE:
        case PLAN_RANK:
            stage_committed(scheduler, plan, ok);
            break;
        case PLAN_BACKOFF:
            scheduler_backoff_committed(scheduler, ok);
            break;
        case PLAN_SET_BACK:
            scheduler_clock_committed(scheduler, (int64_t)plan->num, ok);
            break;
        case PLAN_TRAIN_START:
            scheduler_train_start_committed(scheduler, plan, ok);
            break;
        case PLAN_TRAIN_END:
            scheduler_train_end_committed(scheduler, plan, ok);
            break;
        case PLAN_TRAIN_LEAVE:
            scheduler_train_leave_committed(scheduler, plan, ok);
            break;
        }
    }
    scheduler_group_settle(scheduler);
    scheduler->plan_count = 0;
    scheduler->batch = NULL;
    scheduler->runner.flush(scheduler->runner.ctx);
}

/* Rollbacks come before everything else. Then what ends and what is staged,
 * until nothing more is: a lane or a slot that becomes free must not go to
 * another job while a more urgent one is on its way to it (O17). */
static void plan_all(struct scheduler *scheduler) {
    unsigned parts = scheduler->options.parts;
    if (scheduler_clock_plan(scheduler))
        return;
    picker_proceed(scheduler->picker);
    if (parts & SCHEDULER_STARTS && scheduler_rollback_plan(scheduler))
        return;
    if (parts & SCHEDULER_STARTS && !scheduler->awaits_rollback &&
        scheduler_train_plan_alone(scheduler))
        return;
    if (parts & SCHEDULER_STARTS) {
        scheduler_nodes_plan(scheduler);
        scheduler_plan_array_ends(scheduler);
        scheduler_plan_ends(scheduler);
    }
    if (parts & SCHEDULER_STAGES)
        plan_stages(scheduler);
    else
        scheduler_follow_plan(scheduler);
    if (parts & SCHEDULER_STARTS) {
        scheduler_train_plan(scheduler);
        if (!scheduler->awaits_rollback) {
            scheduler_rollback_yield(scheduler);
            scheduler_train_plan_next(scheduler);
            scheduler_plan_starts(scheduler);
        }
        scheduler_nodes_plan_idle(scheduler);
        if (store_batch_count(scheduler->batch) == 0 &&
            !scheduler->awaits_rollback &&
            scheduler_train_plan_alone(scheduler))
            return;
        scheduler_train_notes(scheduler);
    }
}

static void look(struct scheduler *scheduler) {
    scheduler->batch = store_batch_new(scheduler->store);
    store_batch_actor(scheduler->batch, scheduler->now,
                      scheduler->options.actor);
    plan_all(scheduler);
    if (store_batch_count(scheduler->batch) == 0) {
        store_batch_free(scheduler->batch);
        scheduler->batch = NULL;
        scheduler->idle = true;
        return;
    }
    scheduler->in_flight = true;
    store_submit(scheduler->batch, on_committed, scheduler);
}

static struct wall earlier(struct wall a, struct wall b) {
    return a.ns < b.ns ? a : b;
}

static struct wall arrays_next(struct scheduler *scheduler) {
    struct wall next = WALL_NEVER;
    LIST_EACH (&scheduler->arrays, link) {
        const struct tracked_array *array =
            LIST_OF(link, struct tracked_array, link);
        next = earlier(next, array_next_time(&array->array, scheduler->now));
    }
    return next;
}

bool scheduler_turn(struct scheduler *scheduler, struct wall now,
                    struct wall *ret_next, struct err *err) {
    scheduler->now = now;
    if (scheduler->failed) {
        *err = scheduler->store_err;
        return err_wrap(err, "the registry refuses to record a decision");
    }
    if (scheduler->again_at.ns > now.ns) {
        *ret_next = scheduler->again_at;
        return true;
    }
    struct wall next = scheduler_withdraw_excess(scheduler);
    if (!scheduler->in_flight)
        look(scheduler);
    next = earlier(next, scheduler_probes_next(scheduler));
    if (scheduler->options.parts & SCHEDULER_STAGES) {
        next = earlier(next, order_next_time(scheduler->order));
        next =
            earlier(next, groups_next_time(scheduler->groups,
                                           scheduler->options.wait_for_dep_ms));
    }
    if (scheduler->options.parts & SCHEDULER_STARTS) {
        next = earlier(next, picker_next_time(scheduler->picker));
        next = earlier(next, scheduler_backoff_next(scheduler));
        next = earlier(next, arrays_next(scheduler));
        next = earlier(next, scheduler_nodes_next(scheduler));
        next = earlier(next, scheduler_rollback_next(scheduler));
        next = earlier(next, scheduler_train_next(scheduler));
        next = earlier(next, scheduler_follow_next(scheduler));
    }
    *ret_next = next;
    return true;
}

/* ---- ending ------------------------------------------------------------- */

void scheduler_await_rollback(struct scheduler *scheduler, bool awaits) {
    if (scheduler->awaits_rollback == awaits)
        return;
    scheduler->awaits_rollback = awaits;
    scheduler->idle = false;
}

void scheduler_follow(struct scheduler *scheduler, bool follows) {
    if (scheduler->follows == follows)
        return;
    scheduler->follows = follows;
    scheduler->idle = false;
}

void scheduler_drain(struct scheduler *scheduler) {
    scheduler->draining = true;
    scheduler->idle = false; /* sets of trains go back to P */
    scheduler_withdraw_ahead(scheduler, UINT_MAX);
}

void scheduler_return(struct scheduler *scheduler, bool kill) {
    scheduler->draining = scheduler->returning = true;
    LIST_EACH (&scheduler->attempts, link) {
        struct attempt *attempt = LIST_OF(link, struct attempt, link);
        if (attempt->tracked->killer == RETRY_NOBODY)
            attempt->tracked->killer = RETRY_STOP;
        if (attempt->is_started)
            scheduler->runner.stop(scheduler->runner.ctx, attempt->handle,
                                   kill ? RUN_STOP_KILL : RUN_STOP_RETURN);
    }
    LIST_EACH (&scheduler->arrays, link) {
        struct tracked_array *array = LIST_OF(link, struct tracked_array, link);
        if (array->tracked->killer == RETRY_NOBODY)
            array->tracked->killer = RETRY_STOP;
    }
    scheduler->idle = false;
    scheduler->runner.flush(scheduler->runner.ctx);
}

unsigned scheduler_running(const struct scheduler *scheduler) {
    return (unsigned)scheduler->running;
}

static bool nothing_runs(const struct scheduler *scheduler) {
    LIST_EACH (&((struct scheduler *)(uintptr_t)scheduler)->attempts, link)
        if (!LIST_OF(link, struct attempt, link)->is_awaited)
            return false;
    LIST_EACH (&((struct scheduler *)(uintptr_t)scheduler)->ended, link) {
        if (!scheduler_end_is_left(scheduler,
                                   LIST_OF(link, struct attempt, link)))
            return false;
    }
    return true;
}

bool scheduler_idle(const struct scheduler *scheduler) {
    return scheduler->idle && !scheduler->in_flight &&
           nothing_runs(scheduler) && !scheduler_train_is_busy(scheduler) &&
           store_is_idle(scheduler->store);
}

bool scheduler_used_up(const struct scheduler *scheduler) {
    uint64_t limit = scheduler->options.job_limit;
    return limit > 0 && scheduler->started >= limit && !scheduler->in_flight &&
           nothing_runs(scheduler) &&
           (!scheduler_train_executes(scheduler) || scheduler_idle(scheduler));
}
