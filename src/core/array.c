#include "core/array.h"

#include "core/reason.h"

#include <stdio.h>

static bool task_is_open(const struct array_task *task) {
    return !task->running && task->status != TASK_DONE &&
           task->status != TASK_FAILED;
}

size_t array_next(struct array *array, struct wall now) {
    if (array->held.hold != 0 ||
        (array->limit != 0 && array->running >= array->limit))
        return array->count;
    while (array->first_open < array->count &&
           !task_is_open(&array->tasks[array->first_open]))
        array->first_open++;
    for (size_t i = array->first_open; i < array->count; i++)
        if (task_is_open(&array->tasks[i]) &&
            array->tasks[i].not_before.ns <= now.ns)
            return i;
    return array->count;
}

struct wall array_next_time(const struct array *array, struct wall now) {
    struct wall next = WALL_NEVER;
    for (size_t i = array->first_open; i < array->count; i++) {
        const struct array_task *task = &array->tasks[i];
        if (task_is_open(task) && task->not_before.ns > now.ns &&
            task->not_before.ns < next.ns)
            next = task->not_before;
    }
    return next;
}

void array_at_once(struct array *array) {
    for (size_t i = 0; i < array->count; i++)
        array->tasks[i].not_before = (struct wall){0};
}

void array_set_back(struct array *array, int64_t ms) {
    for (size_t i = 0; i < array->count; i++)
        array->tasks[i].not_before =
            wall_set_back(array->tasks[i].not_before, ms);
}

/* A task before first_open may start again. */
static void reopen(struct array *array, size_t at) {
    if (at < array->first_open)
        array->first_open = at;
}

void array_task_start(struct array *array, size_t at) {
    array->tasks[at].running = true;
    array->running++;
}

void array_task_start_failed(struct array *array, size_t at) {
    array->tasks[at].running = false;
    array->running--;
    reopen(array, at);
}

static enum task_status status_after(const struct retry_verdict *verdict,
                                     bool killed) {
    if (verdict->action != RETRY_MOVE)
        return TASK_UNSTARTED;
    /* A task that is given up ends alone; its job goes on with the others. */
    if (verdict->to == STATE_TERMINATED && !killed)
        return TASK_FAILED;
    return verdict->task;
}

struct array_task array_task_end(struct array *array, size_t at,
                                 const struct retry_verdict *verdict,
                                 bool killed) {
    struct array_task *task = &array->tasks[at];
    struct array_task before = *task;
    array->running--;
    task->running = false;
    task->attempt -= verdict->action == RETRY_UNCOUNT;
    task->counts.temps += verdict->temps;
    task->counts.crashes += verdict->crashes;
    task->counts.fails += verdict->fails;
    task->not_before = verdict->not_before;
    task->status = status_after(verdict, killed);
    if (verdict->hold != 0)
        array->held = *verdict;
    reopen(array, at);
    return before;
}

void array_task_end_failed(struct array *array, size_t at,
                           const struct array_task *before) {
    array->tasks[at] = *before;
    array->held.hold = 0; /* it is decided again, with the end */
    array->running++;
}

bool array_is_over(const struct array *array, bool killed) {
    bool stops = killed || array->held.hold != 0;
    if (array->running > 0)
        return false;
    for (size_t i = array->first_open; !stops && i < array->count; i++)
        if (task_is_open(&array->tasks[i]))
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
        failed += array->tasks[i].status == TASK_FAILED;
    if (failed == 0)
        return retry_verdict_make(STATE_DONE, REASON_OK, SPAN(""));
    snprintf(text, sizeof(text), "%zu of %zu tasks failed", failed,
             array->count);
    return retry_verdict_make(STATE_FAILED, "failed", span_of(text));
}
