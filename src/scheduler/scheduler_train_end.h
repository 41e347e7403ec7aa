/* The ends of the processes of merge trains, and what follows from them. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_TRAIN_END_H
#define POINTSMAN_SCHEDULER_SCHEDULER_TRAIN_END_H

#include <stdbool.h>

#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_plan.h"
#include "scheduler/target_train.h"

/* From the runner. False: the handle is not that of a merge. */
bool scheduler_train_merge_ended(struct scheduler *scheduler,
                                 const struct run_end *end);
/* Reports the answer of a merge that ended to the train. */
void scheduler_train_merge_take(struct scheduler *scheduler,
                                struct target_train *target);
/* Adds the end of an attempt for a train to the batch. */
void scheduler_train_plan_end(struct scheduler *scheduler,
                              struct attempt *attempt);
void scheduler_train_end_committed(struct scheduler *scheduler,
                                   const struct plan *plan, bool ok);

#endif
