/* What a rollback would take, as the registry is now: core/rollback.h fed from
 * the store. The scheduler acts on it, a preview shows it. */
#ifndef POINTSMAN_SCHEDULER_ROLLBACK_PLAN_H
#define POINTSMAN_SCHEDULER_ROLLBACK_PLAN_H

#include "lib/arena.h"
#include "lib/err.h"
#include "core/rollback.h"
#include "store/store.h"

struct rollback_plan {
    struct arena arena;
    struct rollback_request request;
    struct rollback *rollback;
    struct rollback_decision decision;
};

struct rollback_plan_limits {
    size_t sets_max;
    bool files; /* closure deps+files */
    /* Of one under way: since this event nothing that depends on a member gets
     * as far as P, so whoever came later waits. 0: there is no such bound. */
    uint64_t since_seq;
};

/* For an RB that was admitted: its primaries are its edges, ##rb-limit and
 * ##closure of its meta come before the limits. `entries`: what its plan has
 * abandoned already counts as it was. Clear the plan in any case. Errors:
 * of the store; ERR_DATA when the RB's submission cannot be read. */
bool rollback_plan_make(struct store *store, const struct job *rb,
                        const struct rollback_plan_limits *limits,
                        const struct rollback_entry *entries,
                        size_t entry_count,
                        struct rollback_plan *ret_rollback_plan,
                        struct err *err);
/* For a preview, before there is an RB. */
bool rollback_plan_preview(struct store *store, const struct span *ids,
                           size_t count,
                           const struct rollback_plan_limits *limits,
                           struct rollback_plan *ret_rollback_plan,
                           struct err *err);
void rollback_plan_clear(struct rollback_plan *plan);

/* What the RB's ##message says, or empty; lives in the arena. */
struct span rollback_because(const struct job *rb, struct arena *arena);

/* Adds to `batch` what follows for marks from the RB being over
 * (scheduler/rollback_effects.h). `reverted` of an entry: it is done;
 * afterwards: it was this rollback that put it out, and will put it in again
 * when it is taken back. */
bool rollback_marks(struct store *store, struct store_batch *batch,
                    struct span rb_id, struct rollback_entry *entries,
                    size_t count, struct err *err);

#endif
