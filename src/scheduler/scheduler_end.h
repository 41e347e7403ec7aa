/* The ends of attempts and what follows from them. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_END_H
#define POINTSMAN_SCHEDULER_SCHEDULER_END_H

#include <stdbool.h>

#include "lib/time.h"
#include "scheduler/scheduler_plan.h"

struct scheduler;

/* Handles arrays that have nothing left to run, although no attempt ended. */
void scheduler_plan_array_ends(struct scheduler *scheduler);
void scheduler_array_end_committed(struct scheduler *scheduler,
                                   const struct plan *plan, bool ok);
void scheduler_plan_ends(struct scheduler *scheduler);
void scheduler_end_committed(struct scheduler *scheduler,
                             const struct plan *plan, bool ok);
struct wall scheduler_probes_next(const struct scheduler *scheduler);

#endif
