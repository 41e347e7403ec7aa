/* The sentences of `why`, each reason by name. Whoever knows a reason (the
 * scheduler while it runs, the API from the registry alone) adds it here, so
 * that the words are the same everywhere. */
#ifndef POINTSMAN_SCHEDULER_WHY_H
#define POINTSMAN_SCHEDULER_WHY_H

#include "lib/arena.h"
#include "lib/time.h"
#include "core/job.h"
#include "core/order.h"
#include "scheduler/scheduler.h"

enum { WHY_REASONS = 64 }; /* at most; a last one says how many more */

struct why {
    struct arena *arena;
    struct scheduler_reason *reasons;
    size_t count, cap;
};

/* What the order says: precursor, dependency, record. Not its holds. */
void why_order(struct why *why, const struct order *order, uint64_t num,
               struct wall now);
void why_holds(struct why *why, const struct job *job);
void why_lane(struct why *why, struct span target, struct span behind);
void why_group(struct why *why, struct span sentence);
void why_slot(struct why *why, unsigned busy, unsigned slots);
void why_time(struct why *why, const struct job *job, struct wall until);
void why_turn(struct why *why, struct span next);
/* A rollback waits for the one under way. */
void why_rollback(struct why *why, struct span under_way);
/* A reason that only the kind of the job knows; the text is copied. */
void why_add_text(struct why *why, const char *kind, struct span text);
/* Its target cannot be used; `again` 0: that is not known. */
void why_unavailable(struct why *why, struct span target, struct wall since,
                     struct span sentence, struct wall again);
/* Nobody is there to take it on: no role runs. */
void why_no_role(struct why *why, const char *role);

#endif
