/* The verdict on the end of an attempt. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_VERDICT_H
#define POINTSMAN_SCHEDULER_SCHEDULER_VERDICT_H

#include "core/retry.h"
#include "scheduler/scheduler_attempt.h"

struct retry_verdict scheduler_decide_end(struct scheduler *scheduler,
                                          struct attempt *attempt,
                                          const struct retry_end *end);

#endif
