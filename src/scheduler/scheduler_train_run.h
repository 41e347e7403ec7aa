/* The processes of merge trains: they merge, check and land. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_TRAIN_RUN_H
#define POINTSMAN_SCHEDULER_SCHEDULER_TRAIN_RUN_H

#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_plan.h"
#include "scheduler/target_train.h"

/* ---- proposals of the train ---------------------------------------------- */

void scheduler_train_merge(struct scheduler *scheduler,
                           struct target_train *target,
                           const struct train_effect *effect);
/* Starts a process that reads the tip, unless one is under way. */
void scheduler_train_read_tip(struct scheduler *scheduler,
                              struct target_train *target);
/* Notes the landing, which begins in a batch of its own. */
void scheduler_train_land(struct target_train *target,
                          const struct train_effect *effect);
void scheduler_train_stop_landing(struct scheduler *scheduler,
                                  struct target_train *target);
/* Ends the run of the unit; 0: of the tip. */
void scheduler_train_stop(struct scheduler *scheduler,
                          struct target_train *target, uint64_t num);
/* Ends all runs that belong to the sets of the unit. */
void scheduler_train_stop_unit(struct scheduler *scheduler,
                               struct target_train *target,
                               struct target_unit *unit);
/* True if no attempt of its sets is assigned or under way. */
bool scheduler_train_is_quiet(const struct scheduler *scheduler,
                              const struct target_train *target,
                              const struct target_unit *unit);

/* ---- starts -------------------------------------------------------------- */

/* The run that is to start next among all trains. *ret_rank: it competes with
 * this rank; empty: it comes after all other work. NULL: none. */
struct target_train *scheduler_train_best(struct scheduler *scheduler,
                                          struct train_run *ret_run,
                                          struct arena *arena,
                                          struct span *ret_rank);
/* Plans the start. False: it needs a batch of its own, or cannot start now. */
bool scheduler_train_plan_run(struct scheduler *scheduler,
                              struct target_train *target,
                              const struct train_run *run);
/* No slot is free: asks for the end of runs that are worth less than what
 * waits. */
void scheduler_train_spare(struct scheduler *scheduler);
/* Plans a landing, or the first run of a group, in an empty batch. True: the
 * batch is all or nothing, and nothing else may be added. */
bool scheduler_train_plan_alone(struct scheduler *scheduler);
/* Plans the next landing of each train whose last one ends in this batch, if it
 * is that of one set and nothing else happens in the batch. */
void scheduler_train_plan_next(struct scheduler *scheduler);
void scheduler_train_start_committed(struct scheduler *scheduler,
                                     const struct plan *plan, bool ok);

/* Frees an attempt for a train, which forgets it. */
void scheduler_train_attempt_free(struct scheduler *scheduler,
                                  struct attempt *attempt);
/* The ids of the sets of a unit; NULL: none. */
struct span *scheduler_train_ids(struct scheduler *scheduler,
                                 const struct target_unit *unit,
                                 struct arena *arena, size_t *ret_count);

#endif
