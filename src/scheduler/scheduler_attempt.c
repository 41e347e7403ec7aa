#include "scheduler/scheduler_attempt.h"

#include <stdlib.h>

#include "scheduler/scheduler_job.h"
#include "scheduler/node_attempt.h"
#include "scheduler/scheduler_state.h"

/* Numbers of attempts, for the picker, distinct from those of jobs. */
#define SLOT_OF_ATTEMPT (UINT64_C(1) << 63)

uint64_t scheduler_attempt_slot(const struct attempt *attempt) {
    bool shared =
        attempt->of_array || attempt->train != NULL || attempt->node != NULL;
    return shared ? SLOT_OF_ATTEMPT | attempt->handle : attempt->tracked->num;
}

struct attempt *scheduler_attempt_new(struct scheduler *scheduler,
                                      struct tracked_job *tracked,
                                      unsigned number) {
    struct attempt *attempt = mem_alloc(sizeof(*attempt));
    attempt->handle = ++scheduler->next_handle;
    attempt->tracked = tracked;
    attempt->number = number;
    attempt->assigned = scheduler->now;
    list_push(&scheduler->attempts, &attempt->link);
    map_put(&scheduler->by_handle, map_num_key(&attempt->handle), attempt);
    tracked->attempts++;
    scheduler_job_execute(scheduler, tracked);
    return attempt;
}

struct attempt *
scheduler_attempt_adopt(struct scheduler *scheduler,
                        struct tracked_job *tracked,
                        const struct scheduler_running *running) {
    uint64_t next = scheduler->next_handle;
    scheduler->next_handle = running->handle - 1;
    struct attempt *attempt =
        scheduler_attempt_new(scheduler, tracked, running->attempt);
    if (next > scheduler->next_handle)
        scheduler->next_handle = next;
    attempt->assigned = running->assigned;
    attempt->is_started = true;
    scheduler->running++;
    return attempt;
}

struct attempt *scheduler_attempt_await(struct scheduler *scheduler,
                                        struct tracked_job *tracked,
                                        unsigned number, unsigned worker,
                                        struct wall assigned) {
    struct attempt *attempt = scheduler_attempt_new(scheduler, tracked, number);
    attempt->assigned = assigned;
    attempt->worker = worker;
    attempt->is_awaited = true;
    return attempt;
}

const struct scheduler_running *
scheduler_attempt_adopted(const struct scheduler *scheduler, uint64_t num,
                          uint64_t task, unsigned number) {
    for (size_t i = 0; i < scheduler->adopted_count; i++) {
        const struct scheduler_running *it = &scheduler->adopted[i];
        if (it->num == num && it->attempt == number && it->task == task)
            return it;
    }
    return NULL;
}

struct attempt *scheduler_attempt_recover(struct scheduler *scheduler,
                                          struct tracked_job *tracked,
                                          unsigned number,
                                          struct wall assigned) {
    struct attempt *attempt = scheduler_attempt_new(scheduler, tracked, number);
    attempt->assigned = assigned;
    attempt->recovery = true;
    attempt->is_started = attempt->is_ended = true;
    attempt->end = (struct run_end){.handle = attempt->handle,
                                    .exit_code = -1,
                                    .ended = scheduler->now,
                                    .is_durable = true};
    list_remove(&attempt->link);
    list_push(&scheduler->ended, &attempt->link);
    return attempt;
}

unsigned scheduler_attempt_begin(struct scheduler *scheduler, uint64_t num,
                                 struct span reason) {
    struct store_move move = {
        .num = num,
        .from = STATE_PENDING,
        .to = STATE_EXECUTING,
        .reason = reason,
        .begin_attempt = true,
    };
    return store_move(scheduler->batch, &move);
}

unsigned scheduler_attempt_assign(struct scheduler *scheduler, uint64_t num,
                                  struct span node, unsigned number,
                                  bool goes_on) {
    struct store_attempt row = {
        .num = num,
        .node = node,
        .attempt = number,
        .goes_on = goes_on,
        .status = TASK_RUNNING,
        .assigned = scheduler->now,
        .exit_code = -1,
        .worker = worker_table_shard(&scheduler->workers, WORKER_HERE),
    };
    return store_assign(scheduler->batch, &row);
}

void scheduler_attempt_free(struct scheduler *scheduler,
                            struct attempt *attempt) {
    map_remove(&scheduler->by_handle, map_num_key(&attempt->handle));
    if (attempt->probe_handle)
        map_remove(&scheduler->by_handle, map_num_key(&attempt->probe_handle));
    list_remove(&attempt->link);
    attempt->tracked->attempts--;
    for (size_t i = 0; i < attempt->companion_count; i++)
        attempt->companions[i].tracked->attempts--;
    free(attempt->companions);
    free(attempt->landing);
    free(attempt->below);
    free(attempt->end_memory);
    free(attempt->probe_trouble);
    node_attempt_free(attempt->node);
    free(attempt);
}

struct array_task *scheduler_attempt_task(const struct attempt *attempt) {
    return attempt->of_array
               ? &attempt->tracked->array->array.tasks[attempt->task]
               : NULL;
}

/* True if the job lands by this attempt. */
static bool carries(const struct attempt *attempt,
                    const struct tracked_job *tracked) {
    if (attempt->tracked == tracked)
        return true;
    for (size_t i = 0; i < attempt->companion_count; i++)
        if (attempt->companions[i].tracked == tracked)
            return true;
    return false;
}

enum retry_killer scheduler_attempt_killer(const struct attempt *attempt) {
    enum retry_killer killer = attempt->tracked->killer;
    for (size_t i = 0; killer == RETRY_NOBODY && i < attempt->companion_count;
         i++)
        killer = attempt->companions[i].tracked->killer;
    return killer;
}

void scheduler_stop_job(struct scheduler *scheduler,
                        struct tracked_job *tracked, enum run_stop how) {
    LIST_EACH (&scheduler->attempts, link) {
        struct attempt *attempt = LIST_OF(link, struct attempt, link);
        if (carries(attempt, tracked) && attempt->is_started)
            scheduler->runner.stop(scheduler->runner.ctx, attempt->handle, how);
    }
    scheduler->runner.flush(scheduler->runner.ctx);
}

enum run_stop scheduler_stop_kind(const struct tracked_job *tracked) {
    if (tracked->killer == RETRY_ROLLBACK)
        return RUN_STOP_HUP;
    return tracked->kill ? RUN_STOP_KILL : RUN_STOP_TERM;
}
