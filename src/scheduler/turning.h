/* What goes out of effect, and what comes in again, once a rollback is over. A
 * member goes out; one that is a rollback itself lets in again what it had
 * taken out, and so on, at any depth (spec/change-queue.md §8, "rolling back an
 * RB reverts the reverts").
 *
 * They are turned one after the other, as the process that reverts does it on a
 * branch: the newest first when they go out, the oldest first when they come
 * in. One that is out by another already is left to that one. */
#ifndef POINTSMAN_SCHEDULER_TURNING_H
#define POINTSMAN_SCHEDULER_TURNING_H

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/map.h"
#include "store/store.h"

/* A set and its mark: the rollback by which it is out of effect, or empty. */
struct turn {
    struct job job;
    struct span was, now;
    uint64_t at; /* the later it was turned, the more */
};

struct turning {
    struct arena arena;
    struct map by_num;   /* all that were looked at */
    struct turn **turns; /* those whose mark changes, in the order of turning */
    size_t count;
    uint64_t clock;
};

/* The registry must say that all of `nums` are done. Nothing is changed by it.
 * Clear it in any case. Errors: of the store; ERR_DATA when the plan of a
 * former rollback is damaged. */
bool turning_make(struct store *store, struct span rb_id, const uint64_t *nums,
                  size_t count, struct turning *ret_turning, struct err *err);
void turning_clear(struct turning *turning);

/* What was found of it; NULL: nothing, it stays as it is. */
const struct turn *turning_of(const struct turning *turning, uint64_t num);
/* Was it this rollback itself that put it out? Else it was out already, or went
 * with another member. */
bool turning_put_out(const struct turning *turning, struct span rb_id,
                     uint64_t num);

/* Adds the marks to `batch`. */
void turning_mark(const struct turning *turning, struct span rb_id,
                  struct store_batch *batch);
/* The detail of the event of such a mark: a set is out by `by` (empty: it is in
 * again) because of that rollback. */
void turning_detail(struct span by, struct span because, struct text *out);
/* By whom a set is out, and because of which rollback: the two ids in the
 * detail of such an event. False: it is none. */
bool turning_read_event(const struct store_event *event, struct span *ret_by,
                        struct span *ret_because);

#endif
