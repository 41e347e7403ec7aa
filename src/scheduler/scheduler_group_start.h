/* One attempt that carries several sets. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_GROUP_START_H
#define POINTSMAN_SCHEDULER_SCHEDULER_GROUP_START_H

#include "lib/text.h"
#include "core/retry.h"
#include "scheduler/scheduler_attempt.h"

/* Plans the start of group_next, all or nothing. */
void scheduler_group_plan_start(struct scheduler *scheduler);
/* It did not begin. */
void scheduler_group_start_failed(struct scheduler *scheduler,
                                  struct attempt *attempt);
/* What the end of the attempt means for one of several. */
struct retry_verdict scheduler_group_verdict(const struct attempt *attempt,
                                             const struct tracked_job *tracked,
                                             const struct retry_verdict *whole,
                                             struct span detail);

#endif
