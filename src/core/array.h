/* The tasks of an array job: which one starts next, and what the end of a task
 * means for the job (doc/design/processes.md). What becomes of a task itself is
 * decided by core/node_status.h, as for tasks of standing jobs. Pure. */
#ifndef POINTSMAN_CORE_ARRAY_H
#define POINTSMAN_CORE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/text.h"
#include "lib/time.h"
#include "core/job.h"
#include "core/node_status.h"
#include "core/retry.h"

struct array_task {
    struct span node; /* its line of the array; the owner's memory */
    struct node_task task;
};

/* Filled in by its owner with the tasks as the registry has them. */
struct array {
    struct array_task *tasks;
    size_t count;
    size_t first_open; /* all tasks before it are final or running */
    size_t running;
    size_t limit; /* no task starts while so many are running; 0: no limit */
    struct retry_verdict held; /* its hold is not 0: a task may not run here, so
                                  no other one starts and the job is held */
};

/* The first task that may start at `now`; array->count: none. */
size_t array_next(struct array *array, struct wall now);
/* When the next back-off of a task ends; WALL_NEVER: no task is waiting. */
struct wall array_next_time(const struct array *array, struct wall now);

/* Ends the back-offs of all tasks. */
void array_at_once(struct array *array);
/* The clock was set back by so much. */
void array_set_back(struct array *array, int64_t ms);

/* The next attempt of the task is assigned. Returns the task as it was, for
 * array_task_start_failed. */
struct node_task array_task_start(struct array *array, size_t at,
                                  struct wall now);
/* The assignment was not recorded: restores the task. */
void array_task_start_failed(struct array *array, size_t at,
                             const struct node_task *before);
/* This attempt runs already, at a start of the program. The task must not be
 * running. */
void array_task_adopt(struct array *array, size_t at, unsigned attempt);
/* The attempt of the running task ended, which another process cannot have
 * taken. An assignment that was withdrawn is no attempt. Equal seeds draw equal
 * waits. Returns the task as it was, for array_task_end_failed. */
struct node_task array_task_end(struct array *array, size_t at,
                                const struct retry_end *end,
                                const struct node_rules *rules, struct wall now,
                                uint64_t seed,
                                struct retry_verdict *ret_verdict);
/* The end was not recorded: restores the task. */
void array_task_end_failed(struct array *array, size_t at,
                           const struct node_task *before);

/* True if no task is running and none will start. After a kill, or once the job
 * is to be held, tasks that have not started will not. */
bool array_is_over(const struct array *array, bool killed);
/* The verdict on the job once the array is over. */
struct retry_verdict array_verdict(const struct array *array,
                                   enum retry_killer killer);

#endif
