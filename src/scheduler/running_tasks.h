/* The tasks of all jobs that are assigned to a worker and have not ended, for
 * GET /api/v1/tasks. */
#ifndef POINTSMAN_SCHEDULER_RUNNING_TASKS_H
#define POINTSMAN_SCHEDULER_RUNNING_TASKS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/arena.h"
#include "lib/text.h"
#include "lib/time.h"

struct scheduler;

struct running_task {
    struct span job;  /* id */
    struct span name; /* of a standing job, else empty */
    struct span node; /* of an array or a standing job, else empty */
    struct span worker;
    unsigned attempt;
    struct wall assigned;
    bool is_awaited; /* its worker has not been heard of yet */
};

/* In the order of assignment, each set of a landing on its own. The list lives
 * in the arena, and its spans until the scheduler's next turn. Costs what is
 * assigned, however many jobs and tasks wait. */
size_t running_tasks(const struct scheduler *scheduler, struct arena *arena,
                     struct running_task **ret_tasks);

#endif
