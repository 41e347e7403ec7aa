/* Starts and ends of tasks of standing jobs. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_NODE_RUN_H
#define POINTSMAN_SCHEDULER_SCHEDULER_NODE_RUN_H

#include <stdbool.h>

#include "lib/text.h"

struct attempt;
struct plan;
struct scheduler;

/* The rank of the next task, to be compared with those of other work; in
 * `bytes`. Empty: there is none. */
struct span scheduler_node_rank(struct scheduler *scheduler, char bytes[2]);
/* The next task, which there must be, is about to start. */
void scheduler_node_plan_start(struct scheduler *scheduler);
void scheduler_node_start_committed(struct scheduler *scheduler,
                                    const struct plan *plan, bool ok);
/* An attempt at such a task has ended. */
void scheduler_node_plan_end(struct scheduler *scheduler,
                             struct attempt *attempt);

#endif
