/* What another process is about to stage. A process that only starts jobs runs
 * the same order and so knows the steps that the other will take; a lane that
 * becomes free is kept for them as if both were one process (O19). */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_FOLLOW_H
#define POINTSMAN_SCHEDULER_SCHEDULER_FOLLOW_H

#include <stdint.h>

#include "lib/time.h"

struct scheduler;

/* Keeps lanes and slots for the steps that are to come. */
void scheduler_follow_plan(struct scheduler *scheduler);
/* The step of this job was taken, or something else happened to it. */
void scheduler_follow_forget(struct scheduler *scheduler, uint64_t num);
/* When the first step has been waited for long enough; WALL_NEVER: none. */
struct wall scheduler_follow_next(const struct scheduler *scheduler);
/* The clock was set back by so much. */
void scheduler_follow_set_back(struct scheduler *scheduler, int64_t ms);
void scheduler_follow_clear(struct scheduler *scheduler);

#endif
