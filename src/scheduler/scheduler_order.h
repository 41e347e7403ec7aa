/* Input for the order. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_ORDER_H
#define POINTSMAN_SCHEDULER_SCHEDULER_ORDER_H

#include "lib/text.h"
#include "core/job.h"

struct scheduler;

/* Admits a job with relations to the order, with its edges and touches. */
void scheduler_order_admit(struct scheduler *scheduler, const struct job *job);
/* Counts the tasks of the job for the order, if that waits for a share of
 * them. */
void scheduler_order_count(struct scheduler *scheduler, struct span id);
/* Does so once before the next scan. */
void scheduler_order_tasks_changed(struct scheduler *scheduler, struct span id);
/* Passes the registry's facts about an id outside the order. */
void scheduler_order_outside(struct scheduler *scheduler, struct span id);
/* Does so for all ids that the order asks about. */
void scheduler_order_answer(struct scheduler *scheduler);

#endif
