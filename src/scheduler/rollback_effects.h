/* What goes out of effect, and what comes in again, once a rollback is over. A
 * member goes out; one that is a rollback itself lets in again what it had
 * taken out, and so on, at any depth (doc/design/rollback.md, R9: rolling back
 * an RB reverts the reverts).
 *
 * They are turned one after the other, as the process that reverts does it on a
 * branch: the newest first when they go out, the oldest first when they come
 * in. One that is out by another already is left to that one. */
#ifndef POINTSMAN_SCHEDULER_ROLLBACK_EFFECTS_H
#define POINTSMAN_SCHEDULER_ROLLBACK_EFFECTS_H

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/map.h"
#include "store/store.h"

/* A set and its mark: the rollback by which it is out of effect, or empty. */
struct rollback_effect {
    struct job job;
    struct span was, now;
    uint64_t at; /* the later it was turned, the more */
};

struct rollback_effects {
    struct arena arena;
    struct map by_num; /* all that were looked at */
    struct rollback_effect *
        *turns; /* those whose mark changes, in the order in which it changes */
    size_t count;
    uint64_t clock;
};

/* The registry must say that all of `nums` are done. Nothing is changed by it.
 * Clear it in any case. Errors: of the store; ERR_DATA when the plan of a
 * former rollback is damaged. */
bool rollback_effects_make(struct store *store, struct span rb_id,
                           const uint64_t *nums, size_t count,
                           struct rollback_effects *ret_rollback_effects,
                           struct err *err);
void rollback_effects_clear(struct rollback_effects *effects);

/* What was found of it; NULL: nothing, it stays as it is. */
const struct rollback_effect *
rollback_effects_find(const struct rollback_effects *effects, uint64_t num);
/* Was it this rollback itself that put it out? Else it was out already, or went
 * with another member. */
bool rollback_effects_put_out(const struct rollback_effects *effects,
                              struct span rb_id, uint64_t num);

/* Adds the marks to `batch`. */
void rollback_effects_mark(const struct rollback_effects *effects,
                           struct span rb_id, struct store_batch *batch);
/* The detail of the event of such a mark: a set is out by `by` (empty: it is in
 * again) because of that rollback. */
void rollback_effects_detail(struct span by, struct span because,
                             struct text *out);

#endif
