/* Sets that follow others onto a merge train (doc/design/ordering.md, O20):
 * what core/order knows of one set, for the sets that land together. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_TRAIN_FOLLOW_H
#define POINTSMAN_SCHEDULER_SCHEDULER_TRAIN_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "core/train.h"
#include "scheduler/target_train.h"
#include "scheduler/why.h"

struct scheduler;

/* What these sets, which land together, wait for besides each other, in the
 * arena. False: not known yet. As long as they wait and are on no train,
 * ORDER_OFFER says when to ask again. */
bool scheduler_train_follow_read(struct scheduler *scheduler,
                                 const uint64_t *nums, size_t count,
                                 struct arena *arena,
                                 struct train_follow **ret_follows,
                                 size_t *ret_count);
/* True if a pending job has to wait for others. */
bool scheduler_train_follow_waits(struct scheduler *scheduler,
                                  const struct job *job);
/* Others may follow the unit from now on, or may not. */
void scheduler_train_follow_ride(struct scheduler *scheduler,
                                 const struct target_unit *unit, bool rides);
/* Adds what a pending job waits for. False: nothing. */
bool scheduler_train_follow_why(struct scheduler *scheduler,
                                const struct job *job, struct why *why);

#endif
