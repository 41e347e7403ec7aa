/* The ends of attempts and what follows from them. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_END_H
#define POINTSMAN_SCHEDULER_SCHEDULER_END_H

#include <stdbool.h>

#include "lib/time.h"
#include "scheduler/scheduler_plan.h"

struct attempt;
struct scheduler;

/* plan: adds the operations to the batch of this turn. committed: the batch was
 * written (`ok`), or failed and the step has to be planned again. */

/* Arrays that have nothing left to run, although no attempt ended. */
void scheduler_plan_array_ends(struct scheduler *scheduler);
void scheduler_array_end_committed(struct scheduler *scheduler,
                                   const struct plan *plan, bool ok);
/* Attempts that have ended: the next state of their jobs. */
/* Some of the attempt's output, if it has any, may be lost. `sys`: errno, or 0.
 */
void scheduler_end_lossy(struct attempt *attempt, int sys);
void scheduler_plan_ends(struct scheduler *scheduler);
void scheduler_end_committed(struct scheduler *scheduler,
                             const struct plan *plan, bool ok);
/* True if the scheduler is being stopped and the target could not say whether
 * the set landed: the set stays executing, and the next start asks again. */
bool scheduler_end_is_left(const struct scheduler *scheduler,
                           const struct attempt *attempt);
/* When the target of a landing with an unclear end is asked again; WALL_NEVER:
 * no such landing. */
struct wall scheduler_probes_next(const struct scheduler *scheduler);

#endif
