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

/* A process found the target unavailable: no set is the cause. */
void scheduler_train_unavailable(struct scheduler *scheduler,
                                 struct target_train *target,
                                 enum target_step step, struct span why);
/* A process got an answer from the target. */
void scheduler_train_usable(struct scheduler *scheduler,
                            struct target_train *target, enum target_step step);
/* While the target is unavailable its sets wait in P. */
void scheduler_train_leave_outage(struct scheduler *scheduler,
                                  struct target_train *target);

#endif
