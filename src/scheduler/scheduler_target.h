/* Targets that cannot be used. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_TARGET_H
#define POINTSMAN_SCHEDULER_SCHEDULER_TARGET_H

#include <stdbool.h>

#include "lib/text.h"
#include "lib/time.h"
#include "core/job.h"

struct scheduler;
struct why;

/* A landing found that; it is recorded and the target's queue held. */
void target_unavailable(struct scheduler *scheduler, struct span target,
                        struct span why);
/* An attempt had its answer from the target. */
void target_usable(struct scheduler *scheduler, struct span target);
/* When the target is tried again; 0: it can be used. */
struct wall target_again(const struct scheduler *scheduler, struct span target);
/* Notes what a job that was loaded says of its target. */
void target_recall(struct scheduler *scheduler, const struct job *job);
/* Adds why the job waits for its target. False: it does not. */
bool target_why(const struct scheduler *scheduler, const struct job *job,
                struct why *why);
/* Tries all of them at the next turn: what was wrong may have been mended. */
void targets_try(struct scheduler *scheduler);
void targets_clear(struct scheduler *scheduler);

#endif
