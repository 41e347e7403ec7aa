/* Targets that are unavailable. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_TARGET_H
#define POINTSMAN_SCHEDULER_SCHEDULER_TARGET_H

#include <stdbool.h>

#include "lib/text.h"
#include "lib/time.h"
#include "core/job.h"

struct scheduler;
struct why;

/* A landing found the target unavailable: records this and holds its queue. */
void target_unavailable(struct scheduler *scheduler, struct span target,
                        struct span why);
/* An attempt got an answer from the target. */
void target_usable(struct scheduler *scheduler, struct span target);
/* When the target is tried again; 0: it is available. */
struct wall target_again(const struct scheduler *scheduler, struct span target);
/* Why it is unavailable; empty: it is available. */
struct span target_trouble(const struct scheduler *scheduler,
                           struct span target);
/* Notes the state of the target as the last step of a loaded job shows it. */
void target_recall(struct scheduler *scheduler, const struct job *job);
/* Adds why the job waits for its target. False: it does not wait for it. */
bool target_why(const struct scheduler *scheduler, const struct job *job,
                struct why *why);
/* Tries all of them at the next turn: the cause may have been repaired. */
void targets_try(struct scheduler *scheduler);
/* The same for one. */
void target_try(struct scheduler *scheduler, struct span target);
/* Pauses the lanes of all targets while the scheduler settles, and not for that
 * otherwise. */
void targets_rest(struct scheduler *scheduler);
/* The clock was set back by so much. */
void targets_set_back(struct scheduler *scheduler, int64_t ms);
void targets_clear(struct scheduler *scheduler);

#endif
