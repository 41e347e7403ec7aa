#include "scheduler/scheduler_recover.h"

#include "core/reason.h"
#include "core/retry.h"

void scheduler_recover_attempt(struct store_attempt *row, struct wall now,
                               struct store_batch *batch) {
    row->status = TASK_LOST;
    row->ended = now;
    row->reason = SPAN(REASON_RECOVERED);
    row->trace = SPAN("cut"); /* wire/attempt_trace.h */
    store_end(batch, row);
}

static bool end_attempts(struct store *store, uint64_t num, struct wall now,
                         struct store_batch *batch, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_attempt *rows;
    size_t count;
    if (!store_attempts(store, num, &arena, &rows, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (rows[i].ended.ns == 0)
            scheduler_recover_attempt(&rows[i], now, batch);
    return true;
}

/* Tasks that must not be started again have failed. */
static bool open_tasks(struct store *store, uint64_t num, bool once,
                       struct store_batch *batch, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_task *tasks;
    size_t count;
    if (!store_tasks(store, num, &arena, &tasks, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (tasks[i].status == TASK_RUNNING && tasks[i].node.len > 0)
            store_task_set(batch, num, tasks[i].node,
                           once ? TASK_FAILED : TASK_LOST, (struct wall){0});
    return true;
}

bool scheduler_recover_job(struct store *store, const struct job *job,
                           bool once, struct wall now,
                           struct store_batch *batch, struct err *err) {
    struct store_move move = {.num = job->num,
                              .from = STATE_EXECUTING,
                              .to = STATE_PENDING,
                              .reason = SPAN(REASON_RECOVERED)};
    if (!end_attempts(store, job->num, now, batch, err) ||
        !open_tasks(store, job->num, once, batch, err))
        return false;
    if (job->cancel_asked) {
        move.to = STATE_TERMINATED;
        move.reason = SPAN(REASON_OPERATOR);
    } else if (once && job->tasks <= 1) {
        move.to = STATE_FAILED;
        move.reason = SPAN(REASON_AT_MOST_ONCE);
        move.detail = SPAN(RETRY_ONCE_DETAIL);
    }
    store_move(batch, &move);
    return true;
}
