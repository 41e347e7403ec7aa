/* What a landing is told of its sets: their approvers, the sets of the stack
 * below each (##base-set), and its dependencies. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_BASES_H
#define POINTSMAN_SCHEDULER_SCHEDULER_BASES_H

#include "lib/arena.h"
#include "scheduler/runner.h"

struct scheduler;

enum { BASES_MAX = 1000 }; /* sets that are looked up below one */

/* Sets set->bases, from the set that set->job names downwards. The list ends at
 * a set that is not known here, and if the registry cannot be read, which is
 * logged. The landing refuses a set if it needs a base that is not listed. */
void scheduler_bases_read(struct scheduler *scheduler, struct arena *arena,
                          struct run_set *set);
/* The approvers of a change, for its trailers. */
void scheduler_read_approvals(struct scheduler *scheduler, struct arena *arena,
                              const struct job *job, struct run_set *ret_set);

/* Sets set->needs: the landed sets of its target that set->job depends on or is
 * stacked on, or that have superseded those. An error of the registry is
 * logged. */
void scheduler_needs_read(struct scheduler *scheduler, struct arena *arena,
                          struct run_set *set);

#endif
