/* The tasks of an array that executes. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_ARRAY_H
#define POINTSMAN_SCHEDULER_SCHEDULER_ARRAY_H

#include "lib/arena.h"
#include "lib/list.h"
#include "lib/text.h"
#include "lib/time.h"
#include "core/job.h"
#include "core/retry.h"

struct tracked_job;

struct array_task {
    struct span node; /* in the array's arena */
    enum task_status status;
    unsigned attempt;
    struct retry_counts counts;
    struct wall not_before;
    bool running;
};

struct array {
    struct list link; /* scheduler.arrays, the most urgent first */
    struct tracked_job *tracked;
    struct arena arena;
    struct array_task *tasks;
    size_t count, first_open; /* all before first_open are final or running */
    size_t running;
    bool begun; /* P -> X is committed */
};

/* NULL is fine. */
void scheduler_array_free(struct array *array);

#endif
