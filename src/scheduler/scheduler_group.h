/* Sets that land together, as the order sees them. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_GROUP_H
#define POINTSMAN_SCHEDULER_SCHEDULER_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/job.h"
#include "core/order.h"
#include "scheduler/scheduler_entry.h"
#include "store/store.h"

struct scheduler;
struct why;

/* Admits a job of a group to the order as part of its group. False: the job has
 * no group and must be admitted alone. */
bool scheduler_group_take(struct scheduler *scheduler, const struct job *job,
                          const struct job_relations *relations);
/* Reports to its group a job that ended without landing before its admission
 * was read; nothing if it has no group. */
void scheduler_group_ended(struct scheduler *scheduler, const struct job *job);
/* Handles a committed step in place of order_move. False: the job has no
 * group. */
bool scheduler_group_move(struct scheduler *scheduler,
                          const struct store_event *event, bool undecided);
bool scheduler_group_hold(struct scheduler *scheduler, uint64_t num,
                          unsigned holds);
/* Applies the order's proposals for the entry of a group to each member. False:
 * the job has no group. */
bool scheduler_group_effect(struct scheduler *scheduler,
                            const struct order_effect *effect);
/* The proposals were committed or not, and their events have been handled: sets
 * that came meanwhile join the groups that did not become ready. */
void scheduler_group_settle(struct scheduler *scheduler);
/* The sets that land with a pending one, itself included, in the order in which
 * they land. 0: not now. */
size_t scheduler_group_sets(struct scheduler *scheduler, uint64_t num,
                            struct arena *arena, uint64_t **ret_nums);
/* Plans the failure of members that fail with another. */
void scheduler_group_plan_fails(struct scheduler *scheduler);
void scheduler_group_why(struct scheduler *scheduler, const struct job *job,
                         struct why *why);

#endif
