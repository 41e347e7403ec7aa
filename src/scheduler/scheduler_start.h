/* Picking and starting. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_START_H
#define POINTSMAN_SCHEDULER_SCHEDULER_START_H

#include "lib/arena.h"
#include "lib/time.h"
#include "scheduler/runner.h"
#include "scheduler/scheduler_plan.h"

struct scheduler;

void scheduler_plan_starts(struct scheduler *scheduler);
/* Takes back what was assigned ahead of slots: `count` attempts, the youngest
 * first. */
void scheduler_withdraw_ahead(struct scheduler *scheduler, unsigned count);
/* Does so when the slots turn out to be long busy, not at once: they may be
 * free before what was taken back could be assigned anew. Result: when to look
 * again (WALL_NEVER: time alone changes nothing). */
struct wall scheduler_withdraw_excess(struct scheduler *scheduler);
void scheduler_start_committed(struct scheduler *scheduler,
                               const struct plan *plan, bool ok);
void scheduler_array_begun(struct scheduler *scheduler, const struct plan *plan,
                           bool ok);
/* Who approved a change, for its trailers. */
void scheduler_read_approvals(struct scheduler *scheduler, struct arena *arena,
                              const struct job *job, struct run_set *ret_set);

#endif
