#include "core/node_status.h"

#include <assert.h>

static_assert(sizeof(struct node_task) == 24, "there are millions of tasks");

bool node_task_is_open(const struct node_task *task) {
    return task->status != TASK_RUNNING && task->status != TASK_DONE &&
           task->status != TASK_FAILED;
}

void node_task_start(struct node_task *task, struct wall now) {
    assert(node_task_is_open(task));
    if (task->attempt == 0 || task->begun_s == 0)
        task->begun_s = (uint32_t)wall_s(now);
    task->attempt++;
    task->status = TASK_RUNNING;
    task->not_before = (struct wall){0};
    task->flags &= (uint8_t)~NODE_TASK_STORED;
}

/* ---- the end of an attempt ---------------------------------------------- */

static struct retry_counts counts_of(const struct node_task *task) {
    return (struct retry_counts){.temps = task->temps,
                                 .crashes = task->crashes,
                                 .fails = task->fails,
                                 .incompletes = task->incompletes,
                                 .first_begun = wall_from_s(task->begun_s)};
}

static uint16_t sum_of(uint16_t count, unsigned more) {
    return count + more < UINT16_MAX ? (uint16_t)(count + more) : UINT16_MAX;
}

/* What the table of retry_after() says about jobs, for a task of one: the end
 * of a task never ends its job. */
static enum task_status status_after(const struct retry_verdict *verdict) {
    if (verdict->action == RETRY_UNCOUNT)
        return TASK_UNSTARTED;
    return verdict->to == STATE_TERMINATED || verdict->to == STATE_ABANDONED
               ? TASK_FAILED
               : verdict->task;
}

static void count(struct node_task *task, const struct retry_end *end,
                  const struct retry_verdict *verdict) {
    bool incomplete = end->status == RETRY_STATUS_INCOMPLETE;
    unsigned crashes = task->crashes + verdict->crashes;

    if (verdict->action == RETRY_UNCOUNT) {
        task->attempt--;
        return;
    }
    task->temps = sum_of(task->temps, verdict->temps);
    task->fails = sum_of(task->fails, verdict->fails);
    task->crashes = (uint8_t)(crashes < UINT8_MAX ? crashes : UINT8_MAX);
    if (incomplete)
        task->incompletes =
            (uint8_t)(task->incompletes + (task->incompletes < UINT8_MAX));
    else if (verdict->task != TASK_UNSTARTED && verdict->task != TASK_LOST)
        task->incompletes = 0;
    if (verdict->clear_counts)
        task->temps = task->fails = task->crashes = 0;
}

/* Whether the end of the job or of this task was requested, its next start is
 * the same: it waits, and nothing is counted. If it had not started yet, or its
 * supervisor died, it is as if nobody had asked. */
static void excuse_kill(struct retry_end *end) {
    bool answered = end->status != RETRY_STATUS_NONE ||
                    (end->exit_code == 0 && end->signal == 0);

    if (end->killer == RETRY_NOBODY ||
        (end->result != RETRY_RAN && end->killer == RETRY_STOP))
        return;
    end->killer = RETRY_NOBODY;
    if (end->result == RETRY_RAN && !answered)
        end->status = RETRY_STATUS_INCOMPLETE_BACKOFF;
}

/* A limit that a count cannot reach would be none. */
static struct retry_limits limits_within_counts(struct retry_limits limits) {
    if (limits.max_temp > UINT16_MAX)
        limits.max_temp = UINT16_MAX;
    if (limits.max_crash > UINT8_MAX)
        limits.max_crash = UINT8_MAX;
    return limits;
}

/* A worker that is not heard of may run the task until it ends itself. */
static void wait_for_worker(struct node_task *task, int64_t wait_ms,
                            struct wall now) {
    struct wall safe = wall_add_ms(now, wait_ms);

    if (task->not_before.ns < safe.ns)
        task->not_before = safe;
    task->flags |= NODE_TASK_STORED;
}

bool node_task_end(struct node_task *task, uint32_t attempt,
                   const struct retry_end *end, const struct node_rules *rules,
                   struct wall now, uint64_t seed,
                   struct retry_verdict *ret_verdict) {
    bool assumed = (task->flags & NODE_TASK_ASSUMED) != 0;
    struct retry_end judged = *end;
    struct retry_limits limits = limits_within_counts(rules->limits);
    struct retry_counts counts;
    struct random random;

    if (attempt != task->attempt || (task->status != TASK_RUNNING &&
                                     !(assumed && end->result == RETRY_RAN)))
        return false;
    if (assumed && task->fails > 0)
        task->fails--; /* the loss counted; this end counts in its place */
    if (rules->killed_waits)
        excuse_kill(&judged);
    random_init(&random, seed);
    counts = counts_of(task);
    *ret_verdict = retry_after(&judged, &counts, &limits, now, &random);
    if (ret_verdict->action == RETRY_NOTHING)
        return false;
    count(task, &judged, ret_verdict);
    task->flags &= (uint8_t)~NODE_TASK_STORED;
    task->status = (uint8_t)status_after(ret_verdict);
    task->not_before = ret_verdict->not_before;
    if (judged.result == RETRY_LOST)
        wait_for_worker(task, rules->lost_wait_ms, now);
    return true;
}

bool node_task_forgive(struct node_task *task) {
    bool was_running = task->status == TASK_RUNNING;

    if (task->status == TASK_DONE ||
        (task->status == TASK_UNSTARTED && task->not_before.ns == 0))
        return false;
    task->temps = task->fails = 0;
    task->crashes = task->incompletes = 0;
    if (was_running)
        return true;
    if (task->flags & NODE_TASK_SAFETY) {
        task->status = TASK_LOST;
        return true;
    }
    task->status = TASK_UNSTARTED;
    task->not_before = (struct wall){0};
    return true;
}
