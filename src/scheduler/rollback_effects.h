/* The sets that are rolled back, and those that are in effect again, once a
 * rollback is over. A member is rolled back; a member that is a rollback itself
 * restores the sets that it had rolled back, and so on, at any depth
 * (doc/design/rollback.md, R9: rolling back an RB reverts the reverts).
 *
 * The changes are made one after the other, as the reverting process makes them
 * on a branch: newest first when rolling back, oldest first when restoring. A
 * set is as old as the event that last put it in effect: it landed, or a
 * rollback restored it. A set that another rollback has rolled back already is
 * left to that one. */
#ifndef POINTSMAN_SCHEDULER_ROLLBACK_EFFECTS_H
#define POINTSMAN_SCHEDULER_ROLLBACK_EFFECTS_H

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/map.h"
#include "store/store.h"

/* A set and its mark: the rollback that has rolled it back, or empty. */
struct rollback_effect {
    struct job job;
    struct span was, now;
    struct span between; /* the last one that has rolled it back meanwhile */
    uint64_t at;         /* grows with the time of its last change; 0: none */
    uint64_t since;      /* used to sort: the event that put it in effect */
};

struct rollback_effects {
    struct arena arena;
    struct map by_num; /* all sets that were examined */
    /* Sets whose mark changes, in the order of the changes. */
    struct rollback_effect **changed;
    size_t count;
    /* The same, and sets whose mark changes and changes back. */
    struct rollback_effect **turned;
    size_t turned_count;
    uint64_t clock;
};

/* All of `nums` must be done according to the registry, which is not changed.
 * Clear the result in any case. Errors: those of the store; ERR_DATA if the
 * plan of an earlier rollback is damaged. */
bool rollback_effects_make(struct store *store, struct span rb_id,
                           const uint64_t *nums, size_t count,
                           struct rollback_effects *ret_rollback_effects,
                           struct err *err);
void rollback_effects_clear(struct rollback_effects *effects);

/* Sorts the numbers of sets that are done and in effect: the one that came into
 * effect last is first. Errors: those of the store. */
bool rollback_effects_sort(struct store *store, uint64_t *nums, size_t count,
                           struct err *err);

/* The effect on the set; NULL: none, it stays as it is. */
const struct rollback_effect *
rollback_effects_find(const struct rollback_effects *effects, uint64_t num);
/* True if the set was in effect and this rollback itself rolls it back (rb_id
 * as given to rollback_effects_make). False if the set stays as it is, was
 * rolled back before, is restored, or is rolled back by an earlier rollback
 * that this one restores. */
bool rollback_effects_put_out(const struct rollback_effects *effects,
                              struct span rb_id, uint64_t num);

/* Adds the marks to `batch`. */
void rollback_effects_mark(const struct rollback_effects *effects,
                           struct span rb_id, struct store_batch *batch);
/* The detail of the event for such a mark: the set is rolled back by `by`
 * (empty: in effect again) because of rollback `because`. */
void rollback_effects_detail(struct span by, struct span because,
                             struct text *out);

#endif
