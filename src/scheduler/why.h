/* The sentences of `why`, each reason by name. The code that knows a reason
 * (the scheduler while it runs, the API from the registry alone) adds it here,
 * so that the wording is the same everywhere. */
#ifndef POINTSMAN_SCHEDULER_WHY_H
#define POINTSMAN_SCHEDULER_WHY_H

#include "lib/arena.h"
#include "lib/time.h"
#include "core/job.h"
#include "core/order.h"
#include "scheduler/scheduler.h"

enum {
    WHY_REASONS = 64
}; /* maximum; the last one says how many more there
      are */

struct why {
    struct arena *arena;
    struct scheduler_reason *reasons;
    size_t count, cap;
};

/* The order's reasons: precursor, dependency, record. Without its holds. */
void why_order(struct why *why, const struct order *order, struct store *store,
               uint64_t num, struct wall now);
void why_holds(struct why *why, const struct job *job);
/* `behind`: an id of length 0 if it is unknown. */
void why_lane(struct why *why, struct span target, const struct job *behind);
void why_group(struct why *why, struct span sentence);
void why_slot(struct why *why, unsigned busy, unsigned slots);
/* Its submitter named the time. */
void why_begins(struct why *why, struct wall at);
void why_time(struct why *why, const struct job *job, struct wall until);
/* Of an array that executes: says when and why its next task is tried again, if
 * all tasks that have not ended back off. */
bool why_tasks(struct why *why, struct store *store, const struct job *job,
               struct wall now, struct err *err);
void why_turn(struct why *why, struct span next);
/* A rollback waits for the open one. */
void why_rollback(struct why *why, struct span under_way);
/* A reason that only the kind of the job knows; the text is copied. */
void why_add_text(struct why *why, const char *kind, struct span text);
/* It follows another job; the text is copied. */
void why_follows(struct why *why, struct span id, struct span text, bool open);
/* Its target is unavailable; `again` 0: the time of the next try is unknown. */
void why_unavailable(struct why *why, struct span target, struct wall since,
                     struct span sentence, struct wall again);
/* No process has the role that would handle it. */
void why_no_role(struct why *why, const char *role);

#endif
