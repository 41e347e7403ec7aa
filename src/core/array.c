#include "core/array.h"

#include "core/reason.h"

#include <assert.h>
#include <stdio.h>

size_t array_next(struct array *array, struct wall now) {
    if (array->held.hold != 0 ||
        (array->limit != 0 && array->running >= array->limit))
        return array->count;
    while (array->first_open < array->count &&
           !node_task_is_open(&array->tasks[array->first_open].task))
        array->first_open++;
    for (size_t i = array->first_open; i < array->count; i++)
        if (node_task_is_open(&array->tasks[i].task) &&
            array->tasks[i].task.not_before.ns <= now.ns)
            return i;
    return array->count;
}

struct wall array_next_time(const struct array *array, struct wall now) {
    struct wall next = WALL_NEVER;
    for (size_t i = array->first_open; i < array->count; i++) {
        const struct node_task *task = &array->tasks[i].task;
        if (node_task_is_open(task) && task->not_before.ns > now.ns &&
            task->not_before.ns < next.ns)
            next = task->not_before;
    }
    return next;
}

void array_at_once(struct array *array) {
    for (size_t i = 0; i < array->count; i++)
        array->tasks[i].task.not_before = (struct wall){0};
}

void array_set_back(struct array *array, int64_t ms) {
    for (size_t i = 0; i < array->count; i++)
        array->tasks[i].task.not_before =
            wall_set_back(array->tasks[i].task.not_before, ms);
}

/* A task before first_open may start again. */
static void reopen(struct array *array, size_t at) {
    if (at < array->first_open)
        array->first_open = at;
}

struct node_task array_task_start(struct array *array, size_t at,
                                  struct wall now) {
    struct node_task before = array->tasks[at].task;
    node_task_start(&array->tasks[at].task, now);
    array->running++;
    return before;
}

void array_task_start_failed(struct array *array, size_t at,
                             const struct node_task *before) {
    array->tasks[at].task = *before;
    array->running--;
    reopen(array, at);
}

void array_task_adopt(struct array *array, size_t at, unsigned attempt) {
    struct node_task *task = &array->tasks[at].task;
    assert(task->status != TASK_RUNNING);
    task->status = TASK_RUNNING;
    task->attempt = attempt;
    task->not_before = (struct wall){0};
    array->running++;
}

struct node_task array_task_end(struct array *array, size_t at,
                                const struct retry_end *end,
                                const struct node_rules *rules, struct wall now,
                                uint64_t seed,
                                struct retry_verdict *ret_verdict) {
    struct node_task *task = &array->tasks[at].task;
    struct node_task before = *task;
    bool judged =
        node_task_end(task, task->attempt, end, rules, now, seed, ret_verdict);
    assert(judged);
    (void)judged;
    array->running--;
    if (ret_verdict->hold != 0)
        array->held = *ret_verdict;
    reopen(array, at);
    return before;
}

void array_task_end_failed(struct array *array, size_t at,
                           const struct node_task *before) {
    array->tasks[at].task = *before;
    array->held.hold = 0; /* it is decided again, with the end */
    array->running++;
}

bool array_is_over(const struct array *array, bool killed) {
    bool stops = killed || array->held.hold != 0;
    if (array->running > 0)
        return false;
    for (size_t i = array->first_open; !stops && i < array->count; i++)
        if (node_task_is_open(&array->tasks[i].task))
            return false;
    return true;
}

struct retry_verdict array_verdict(const struct array *array,
                                   enum retry_killer killer) {
    char text[80];
    size_t failed = 0;
    if (killer == RETRY_OPERATOR)
        return retry_verdict_make(STATE_TERMINATED, REASON_OPERATOR, SPAN(""));
    if (killer == RETRY_STOP)
        return retry_verdict_make(STATE_PENDING, REASON_RETURNED, SPAN(""));
    if (array->held.hold != 0)
        return array->held;
    for (size_t i = 0; i < array->count; i++)
        failed += array->tasks[i].task.status == TASK_FAILED;
    if (failed == 0)
        return retry_verdict_make(STATE_DONE, REASON_OK, SPAN(""));
    snprintf(text, sizeof(text), "%zu of %zu tasks failed", failed,
             array->count);
    return retry_verdict_make(STATE_FAILED, "failed", span_of(text));
}
