/* The members that a rollback would have according to the present registry:
 * feeds core/rollback.h from the store. The scheduler acts on the plan, a
 * preview shows it. */
#ifndef POINTSMAN_SCHEDULER_ROLLBACK_PLAN_H
#define POINTSMAN_SCHEDULER_ROLLBACK_PLAN_H

#include "lib/arena.h"
#include "lib/err.h"
#include "core/rollback.h"
#include "store/store.h"

/* A set that would be in effect again. */
struct rollback_return {
    struct job job;
    struct span of; /* the rollback that had rolled it back */
};

struct rollback_plan {
    struct arena arena;
    struct rollback_request request;
    struct rollback *rollback;
    struct rollback_decision decision;
    struct rollback_return *returns; /* in the order of their restoration */
    size_t return_count;
};

struct rollback_plan_limits {
    size_t sets_max;
    bool files; /* closure deps+files */
    /* For an open rollback: since this event no dependent of a member has
     * reached P, so later jobs are still waiting. 0: no such bound. */
    uint64_t since_seq;
};

/* For an admitted RB: its primaries are its edges; ##rb-limit and ##closure of
 * its metadata take precedence over the limits. `entries`: members that its
 * plan has abandoned already count in their former state. Clear the plan in any
 * case. Errors: those of the store; ERR_DATA if the RB's submission cannot be
 * read. */
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

/* The RB's ##message, or empty; lives in the arena. */
struct span rollback_because(const struct job *rb, struct arena *arena);

/* Adds to `batch` the marks that follow from the end of the RB
 * (scheduler/rollback_effects.h). *entries: before, those with the outcome
 * "reverted" are done; afterwards all outcomes are known, and sets that come
 * back in effect, or go out of it again, have entries too. The new array is in
 * the arena. */
bool rollback_marks(struct store *store, struct store_batch *batch,
                    struct span rb_id, struct arena *arena,
                    struct rollback_entry **entries, size_t *count,
                    struct err *err);

#endif
