/* Attempts that carry several sets. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_GROUP_START_H
#define POINTSMAN_SCHEDULER_SCHEDULER_GROUP_START_H

#include "scheduler/scheduler_attempt.h"

/* Plans the start of group_next, all or nothing. */
void scheduler_group_plan_start(struct scheduler *scheduler);
/* The attempt did not start. */
void scheduler_group_start_failed(struct scheduler *scheduler,
                                  struct attempt *attempt);

#endif
