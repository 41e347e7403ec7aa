/* Rows of attempts that have ended. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_ROW_H
#define POINTSMAN_SCHEDULER_SCHEDULER_ROW_H

#include "core/retry.h"
#include "scheduler/scheduler_attempt.h"

/* The node of its task; empty: the job is not an array. */
struct span scheduler_row_node(const struct attempt *attempt);
/* Adds the end of the attempt of one of its jobs to the batch. */
void scheduler_row_end(struct scheduler *scheduler,
                       const struct attempt *attempt,
                       const struct tracked_job *tracked, unsigned number,
                       const struct retry_verdict *verdict);

/* The task of an array or a standing job as it is recorded with the attempt. */
struct store_task scheduler_row_task(const struct attempt *attempt);

#endif
