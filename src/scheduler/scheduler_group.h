/* Sets that land together, as the order sees them. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_GROUP_H
#define POINTSMAN_SCHEDULER_SCHEDULER_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/job.h"
#include "core/order.h"
#include "store/store.h"

struct scheduler;
struct why;

/* A job of a group enters the order by its group. False: it enters alone. */
bool scheduler_group_take(struct scheduler *scheduler, const struct job *job,
                          const struct job_edge *edges, size_t edge_count);
/* The step was committed; instead of order_move. False: it is of none. */
bool scheduler_group_move(struct scheduler *scheduler,
                          const struct store_event *event, bool undecided);
bool scheduler_group_hold(struct scheduler *scheduler, uint64_t num,
                          unsigned holds);
/* Proposals of the order for the one that stands for its group are made for
 * each member. False: it is of none. */
bool scheduler_group_effect(struct scheduler *scheduler,
                            const struct order_effect *effect);
/* Members that fail with another. */
void scheduler_group_plan_fails(struct scheduler *scheduler);
void scheduler_group_why(struct scheduler *scheduler, const struct job *job,
                         struct why *why);

#endif
