/* Picks and starts jobs. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_START_H
#define POINTSMAN_SCHEDULER_SCHEDULER_START_H

#include "lib/arena.h"
#include "lib/time.h"
#include "scheduler/runner.h"
#include "scheduler/scheduler_plan.h"

struct scheduler;
struct tracked_job;

/* Picks jobs for the free slots and adds their assignments to the batch. */
void scheduler_plan_starts(struct scheduler *scheduler);
/* A job of this target is about to become ready, or may be once a step of this
 * turn is recorded: nothing less urgent starts on the target before, and
 * nothing less urgent at all if it is an emergency. `urgency` is the first byte
 * of its rank. */
void scheduler_yield(struct scheduler *scheduler, struct span target,
                     unsigned char urgency, uint64_t num);
/* Withdraws assignments that were made ahead of free slots: `count` attempts,
 * the youngest first. */
void scheduler_withdraw_ahead(struct scheduler *scheduler, unsigned count);
/* Does so if the slots turn out to be busy for long, but not at once: they may
 * become free before the jobs could be assigned again. Returns when to check
 * again (WALL_NEVER: time alone changes nothing). */
struct wall scheduler_withdraw_excess(struct scheduler *scheduler);
/* The assignment was written (`ok`) and the attempt is started, or it failed
 * and the job is offered to the picker again. */
void scheduler_start_committed(struct scheduler *scheduler,
                               const struct plan *plan, bool ok);
/* The same for the step of a whole array to X, before its first task. */
void scheduler_array_begun(struct scheduler *scheduler, const struct plan *plan,
                           bool ok);

/* The array was executing when this program was executed; it goes on. NULL: its
 * tasks cannot be read, or it is none. */
struct tracked_array *scheduler_array_adopt(struct scheduler *scheduler,
                                            struct tracked_job *tracked);

#endif
