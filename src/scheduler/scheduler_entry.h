/* The entry of one job in the order. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_ENTRY_H
#define POINTSMAN_SCHEDULER_SCHEDULER_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/job.h"
#include "lib/arena.h"
#include "lib/err.h"

struct scheduler;

struct job_relations {
    struct job_edge *edges;
    size_t edge_count;
    bool inherits; /* see struct order_entry */
    struct job_touch *touches;
    size_t touch_count;
};

/* Reads what the registry has recorded, into the arena. False: it cannot be
 * read. */
bool scheduler_entry_read(struct scheduler *scheduler, const struct job *job,
                          struct arena *arena,
                          struct job_relations *ret_relations, struct err *err);
/* Admits the job to the order by itself. */
void scheduler_entry_admit(struct scheduler *scheduler, const struct job *job,
                           const struct job_relations *relations);

#endif
