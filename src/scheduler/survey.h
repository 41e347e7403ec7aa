/* What a rollback would take, as the registry is now: core/rollback.h fed from
 * the store. The scheduler acts on it, a preview shows it. */
#ifndef POINTSMAN_SCHEDULER_SURVEY_H
#define POINTSMAN_SCHEDULER_SURVEY_H

#include "lib/arena.h"
#include "lib/err.h"
#include "core/rollback.h"
#include "store/store.h"

struct survey {
    struct arena arena;
    struct rollback_order order;
    struct rollback *rollback;
    struct rollback_decision decision;
};

struct survey_limits {
    size_t sets_max;
    bool files; /* closure deps+files */
    /* Of one under way: since this event nothing that depends on a member gets
     * as far as P, so whoever came later waits. 0: there is no such fence. */
    uint64_t fence_seq;
};

/* For an RB that was admitted: its primaries are its edges, ##rb-limit and
 * ##closure of its meta come before the limits. `entries`: what its plan has
 * abandoned already counts as it was. Clear the survey in any case. Errors:
 * of the store; ERR_DATA when the RB's submission cannot be read. */
bool survey_rollback(struct store *store, const struct job *rb,
                     const struct survey_limits *limits,
                     const struct rollback_entry *entries, size_t entry_count,
                     struct survey *ret_survey, struct err *err);
/* For a preview, before there is an RB. */
bool survey_preview(struct store *store, const struct span *ids, size_t count,
                    const struct survey_limits *limits,
                    struct survey *ret_survey, struct err *err);
void survey_clear(struct survey *survey);

/* What the RB's ##message says, or empty; lives in the arena. */
struct span rollback_because(const struct job *rb, struct arena *arena);

/* Adds to `batch` what follows for marks from the RB being over
 * (scheduler/turning.h). `reverted` of an entry: it is done; afterwards: it was
 * this rollback that put it out, and will put it in again when it is taken
 * back. */
bool rollback_marks(struct store *store, struct store_batch *batch,
                    struct span rb_id, struct rollback_entry *entries,
                    size_t count, struct err *err);

#endif
