/* An executing array job. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_ARRAY_H
#define POINTSMAN_SCHEDULER_SCHEDULER_ARRAY_H

#include "lib/arena.h"
#include "lib/list.h"
#include "core/array.h"

struct tracked_job;

struct tracked_array {
    struct list link; /* scheduler.arrays, most urgent first */
    struct tracked_job *tracked;
    struct arena arena;
    struct array array;
    bool begun; /* P -> X is committed */
};

/* NULL is fine. */
void scheduler_array_free(struct tracked_array *array);

#endif
