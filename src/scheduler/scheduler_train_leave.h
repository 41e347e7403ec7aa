/* Sets that leave the merge train of their target before it decides. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_TRAIN_LEAVE_H
#define POINTSMAN_SCHEDULER_SCHEDULER_TRAIN_LEAVE_H

#include "scheduler/scheduler_job.h"
#include "scheduler/target_train.h"
#include "store/store.h"

/* Events of the registry, before the groups and the order see them. */
void scheduler_train_leave_event(struct scheduler *scheduler,
                                 const struct store_event *event);
/* Its end was requested (tracked->killer). */
void scheduler_train_leave_killed(struct scheduler *scheduler,
                                  const struct tracked_job *tracked);
/* It leaves the train now, and X when nothing of it runs any more. */
void scheduler_train_leave_unit(struct scheduler *scheduler,
                                struct target_train *target,
                                struct target_unit *unit,
                                enum train_departure how, const char *reason,
                                struct span detail);

#endif
