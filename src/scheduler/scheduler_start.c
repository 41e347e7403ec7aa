/* Picking and starting. An assignment is durable before its start leaves
 * (DESIGN §8.8): plan_starts adds it to the batch, start_committed hands it to
 * the runner. */
#include <inttypes.h>
#include <stdlib.h>

#include "lib/log.h"
#include "scheduler/scheduler_inner.h"

/* How long slots may be busy before what waits behind them is taken back. */
enum { PATIENCE_MS = 50 };

/* Numbers of attempts, for the schedule, beside those of jobs. */
#define SLOT_OF_ATTEMPT (UINT64_C(1) << 63)

uint64_t attempt_slot(const struct attempt *attempt) {
    return attempt->of_array ? SLOT_OF_ATTEMPT | attempt->handle
                             : attempt->card->num;
}

struct attempt *attempt_new(struct scheduler *scheduler, struct card *card,
                            unsigned number) {
    struct attempt *attempt = mem_alloc(sizeof(*attempt));
    attempt->handle = ++scheduler->next_handle;
    attempt->card = card;
    attempt->number = number;
    attempt->assigned = scheduler->now;
    list_push(&scheduler->attempts, &attempt->link);
    map_put(&scheduler->by_handle, num_key(&attempt->handle), attempt);
    card->attempts++;
    card_execute(scheduler, card);
    return attempt;
}

void attempt_free(struct scheduler *scheduler, struct attempt *attempt) {
    map_remove(&scheduler->by_handle, num_key(&attempt->handle));
    if (attempt->probe_handle)
        map_remove(&scheduler->by_handle, num_key(&attempt->probe_handle));
    list_remove(&attempt->link);
    attempt->card->attempts--;
    for (size_t i = 0; i < attempt->rider_count; i++)
        attempt->riders[i].card->attempts--;
    free(attempt->riders);
    free(attempt->landing);
    free(attempt->end_memory);
    free(attempt);
}

void array_free(struct array *array) {
    if (!array)
        return;
    list_remove(&array->link);
    arena_clear(&array->arena);
    free(array);
}

/* ---- arrays ------------------------------------------------------------- */

static bool may_be_array(const struct job *job) {
    return memmem(job->spec.p, job->spec.len, "\"array\"", 7) != NULL;
}

/* NULL with false: the rows could not be read. NULL with true: no array. */
static bool array_load(struct scheduler *scheduler, const struct job *job,
                       struct array **ret_array) {
    *ret_array = NULL;
    if (job->kind != JOB_COMMAND || !may_be_array(job))
        return true;
    struct array *array = mem_alloc(sizeof(*array));
    list_init(&array->link);
    struct store_task *tasks;
    struct err err;
    if (!store_tasks(scheduler->store, job->num, &array->arena, &tasks,
                     &array->count, &err)) {
        log_read_failure("the tasks", job->num, &err);
        array_free(array);
        return false;
    }
    if (array->count == 0 || tasks[0].node.len == 0) {
        array_free(array);
        return true;
    }
    array->tasks =
        arena_alloc(&array->arena, array->count * sizeof(*array->tasks));
    for (size_t i = 0; i < array->count; i++)
        array->tasks[i] = (struct array_task){
            .node = tasks[i].node,
            .status = tasks[i].status,
            .attempt = tasks[i].attempt,
            .not_before = tasks[i].not_before,
        };
    *ret_array = array;
    return true;
}

static bool task_is_open(const struct array_task *task) {
    return !task->running && task->status != TASK_DONE &&
           task->status != TASK_FAILED;
}

/* The next task that may start now; count when there is none. */
static size_t array_next(struct array *array, struct wall now) {
    while (array->first_open < array->count &&
           !task_is_open(&array->tasks[array->first_open]))
        array->first_open++;
    for (size_t i = array->first_open; i < array->count; i++)
        if (task_is_open(&array->tasks[i]) &&
            array->tasks[i].not_before.ns <= now.ns)
            return i;
    return array->count;
}

static struct span rank_of(const struct job *job) {
    return job->rank.len ? job->rank : job->key;
}

/* The most urgent array that has a task to start now. */
static struct array *best_array(struct scheduler *scheduler, size_t *ret_task) {
    LIST_EACH (&scheduler->arrays, link) {
        struct array *array = LIST_OF(link, struct array, link);
        if (!array->begun || array->card->killer != RETRY_NOBODY)
            continue;
        *ret_task = array_next(array, scheduler->now);
        if (*ret_task < array->count)
            return array;
    }
    return NULL;
}

static void array_insert(struct scheduler *scheduler, struct array *array) {
    LIST_EACH (&scheduler->arrays, link) {
        struct array *other = LIST_OF(link, struct array, link);
        if (span_compare(rank_of(&array->card->job),
                         rank_of(&other->card->job)) < 0) {
            list_insert_before(link, &array->link);
            return;
        }
    }
    list_push(&scheduler->arrays, &array->link);
}

static void plan_task(struct scheduler *scheduler, struct array *array,
                      size_t at) {
    struct card *card = array->card;
    struct array_task *task = &array->tasks[at];
    struct attempt *attempt = attempt_new(scheduler, card, task->attempt + 1);
    attempt->of_array = true;
    attempt->task = at;
    task->running = true;
    array->running++;
    schedule_assigned(scheduler->schedule, attempt_slot(attempt),
                      (struct span){0});
    struct store_attempt row = {
        .num = card->num,
        .node = task->node,
        .attempt = attempt->number,
        .status = TASK_RUNNING,
        .assigned = scheduler->now,
        .exit_code = -1,
        .worker = scheduler->options.worker,
    };
    struct plan *plan = plan_add(scheduler, PLAN_START);
    plan->attempt = attempt;
    plan->op = store_assign(scheduler->batch, &row);
}

/* ---- jobs --------------------------------------------------------------- */

static unsigned plan_begin(struct scheduler *scheduler, struct card *card) {
    struct store_move move = {
        .num = card->num,
        .from = STATE_PENDING,
        .to = STATE_EXECUTING,
        .reason = SPAN("start"),
        .begin_attempt = true,
    };
    return store_move(scheduler->batch, &move);
}

static void plan_job(struct scheduler *scheduler, struct card *card) {
    struct attempt *attempt =
        attempt_new(scheduler, card, card->job.attempt + 1);
    struct store_attempt row = {
        .num = card->num,
        .attempt = attempt->number,
        .status = TASK_RUNNING,
        .assigned = scheduler->now,
        .exit_code = -1,
        .worker = scheduler->options.worker,
    };
    struct plan *plan = plan_add(scheduler, PLAN_START);
    plan->attempt = attempt;
    plan->op = plan_begin(scheduler, card);
    store_assign(scheduler->batch, &row);
}

/* An array executes from here on; its tasks are picked beside other jobs. */
static void plan_array(struct scheduler *scheduler, struct card *card,
                       struct array *array) {
    schedule_ended(scheduler->schedule, card->num, -1);
    card_execute(scheduler, card);
    card->array = array;
    array->card = card;
    array_insert(scheduler, array);
    struct plan *plan = plan_add(scheduler, PLAN_BEGIN);
    plan->num = card->num;
    plan->op = plan_begin(scheduler, card);
}

void array_begun(struct scheduler *scheduler, const struct plan *plan,
                 bool ok) {
    struct card *card = card_get(scheduler, plan->num);
    if (ok && store_batch_result(scheduler->batch, plan->op) == STORE_DONE) {
        card->array->begun = true;
        return;
    }
    card_drop(scheduler, card);
    offer_num(scheduler, plan->num);
}

static void refill(struct scheduler *scheduler) {
    struct span after_rank;
    uint64_t after_num;
    size_t limit, count;
    while (schedule_needs_refill(scheduler->schedule, scheduler->now,
                                 &after_rank, &after_num, &limit)) {
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
            struct card *card = card_get(scheduler, jobs[i].num);
            if (!card || !card->executing)
                offer_job(scheduler, &jobs[i]);
        }
        schedule_refilled(scheduler->schedule, count);
        arena_clear(&arena);
    }
}

static void put_back(struct scheduler *scheduler, struct card *card) {
    schedule_ended(scheduler->schedule, card->num, -1);
    struct job job = card->job;
    offer_job(scheduler, &job);
}

static bool may_start(const struct scheduler *scheduler) {
    uint64_t limit = scheduler->options.job_limit;
    return !scheduler->draining && (limit == 0 || scheduler->started < limit);
}

/* One more start, of a task or of a job: whichever is more urgent. */
static bool plan_one(struct scheduler *scheduler) {
    size_t task;
    uint64_t num;
    struct array *array = best_array(scheduler, &task);
    struct card *card = NULL;
    if (schedule_pick(scheduler->schedule, scheduler->now, &num)) {
        card = card_pending(scheduler, num);
        if (!card) { /* it changed under us: its events tell the rest */
            schedule_ended(scheduler->schedule, num, -1);
            return true;
        }
    }
    if (array && card &&
        span_compare(rank_of(&array->card->job), rank_of(&card->job)) <= 0) {
        put_back(scheduler, card);
        card = NULL;
    }
    if (card && together_has(scheduler->together, num)) {
        if (!group_may_offer(scheduler, num)) {
            schedule_ended(scheduler->schedule, num, -1);
            return true;
        }
        scheduler->started++;
        scheduler->group_next = card;
        card_execute(scheduler, card);
        return false; /* its start is a batch of its own */
    }
    if (card) {
        struct array *loaded;
        scheduler->started++;
        if (!array_load(scheduler, &card->job, &loaded)) {
            schedule_ended(scheduler->schedule, num, -1);
            return false;
        }
        if (loaded)
            plan_array(scheduler, card, loaded);
        else
            plan_job(scheduler, card);
        return true;
    }
    if (!array)
        return false;
    plan_task(scheduler, array, task);
    return true;
}

static void start_all(struct scheduler *scheduler) {
    refill(scheduler);
    while (schedule_room(scheduler->schedule) > 0) {
        size_t task;
        if (!may_start(scheduler)) {
            /* The tasks of what has begun are still its own to start. */
            struct array *array =
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

void plan_starts(struct scheduler *scheduler) {
    due_offer(scheduler);
    start_all(scheduler);
    due_clear(scheduler);
}

void withdraw_ahead(struct scheduler *scheduler, unsigned count) {
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

struct wall withdraw_excess(struct scheduler *scheduler) {
    unsigned excess = schedule_excess(scheduler->schedule);
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
    withdraw_ahead(scheduler, excess);
    return WALL_NEVER;
}

bool scheduler_lasting(struct scheduler *scheduler, uint64_t handle) {
    struct attempt *attempt = map_get(&scheduler->by_handle, num_key(&handle));
    if (!attempt || attempt->is_ended || handle != attempt->handle)
        return false;
    attempt->is_lasting = true;
    schedule_lasting(scheduler->schedule, attempt_slot(attempt));
    return schedule_excess(scheduler->schedule) > 0;
}

/* ---- after the commit --------------------------------------------------- */

static void start_failed(struct scheduler *scheduler, struct attempt *attempt) {
    if (attempt->landing) {
        group_start_failed(scheduler, attempt);
        return;
    }
    struct card *card = attempt->card;
    struct array *array = card->array;
    schedule_ended(scheduler->schedule, attempt_slot(attempt), -1);
    if (attempt->of_array) {
        array->tasks[attempt->task].running = false;
        array->running--;
        if (attempt->task < array->first_open)
            array->first_open = attempt->task;
        attempt_free(scheduler, attempt);
        return;
    }
    uint64_t num = card->num;
    attempt_free(scheduler, attempt);
    card_drop(scheduler, card);
    offer_num(scheduler, num);
}

static bool is_among(struct span name, const struct span *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (span_equal(names[i], name))
            return true;
    return false;
}

/* Who approved a change, for its trailers: from its events, each once. */
void take_approvals(struct scheduler *scheduler, struct arena *arena,
                    const struct job *job, struct run_set *set) {
    struct store_event *events;
    size_t count, kept = 0;
    struct err err;
    *set = (struct run_set){.job = job};
    if (job->kind != JOB_CHANGE)
        return;
    if (!store_events(scheduler->store, 0, job->num, 0, arena, &events, &count,
                      &err)) {
        log_read_failure("the approvals", job->num, &err);
        return;
    }
    struct span *names = arena_alloc(arena, (count + 1) * sizeof(*names));
    for (size_t i = 0; i < count; i++)
        if (events[i].kind == EVENT_APPROVED &&
            !is_among(events[i].actor, names, kept))
            names[kept++] = events[i].actor;
    set->approved_by = names;
    set->approved_count = kept;
}

/* Those that land together, each with who approved it. */
static void take_sets(struct scheduler *scheduler, struct attempt *attempt,
                      struct arena *arena, struct run_order *order) {
    size_t count = attempt->landing ? attempt->rider_count + 1 : 0;
    struct run_set *sets = arena_alloc(arena, (count + 1) * sizeof(*sets));
    take_approvals(scheduler, arena, order->job, &sets[0]);
    order->approved_by = sets[0].approved_by;
    order->approved_count = sets[0].approved_count;
    for (size_t i = 0; i < attempt->rider_count; i++)
        attempt->riders[i].card->job.attempt = attempt->riders[i].number;
    for (size_t i = 0; i < count; i++)
        take_approvals(scheduler, arena,
                       &card_get(scheduler, attempt->landing[i])->job,
                       &sets[i]);
    order->sets = sets;
    order->set_count = count;
}

void start_committed(struct scheduler *scheduler, const struct plan *plan,
                     bool ok) {
    struct attempt *attempt = plan->attempt;
    if (!ok || store_batch_result(scheduler->batch, plan->op) != STORE_DONE) {
        start_failed(scheduler, attempt);
        return;
    }
    struct card *card = attempt->card;
    struct array_task *task =
        attempt->of_array ? &card->array->tasks[attempt->task] : NULL;
    if (task)
        task->attempt = attempt->number;
    else
        card->job.attempt = attempt->number;
    struct run_order order = {
        .handle = attempt->handle,
        .job = &card->job,
        .node = task ? task->node : (struct span){0},
        .task = attempt->task,
        .attempt = attempt->number,
    };
    attempt->is_started = true;
    scheduler->running++;
    struct arena arena = ARENA_INIT;
    take_sets(scheduler, attempt, &arena, &order);
    scheduler->runner.start(scheduler->runner.ctx, &order);
    arena_clear(&arena);
    if (attempt_killer(attempt) !=
        RETRY_NOBODY) /* cancelled while it was assigned */
        scheduler->runner.stop(scheduler->runner.ctx, attempt->handle,
                               stop_of(card));
}
