/* Which sets are in effect on a branch, and by which rollback each of the
 * others is out of effect, as the trailers of its commits say
 * (doc/design/rollback.md, R9). Used only by revert_replay.c. */
#ifndef POINTSMAN_LANDING_BRANCH_SETS_H
#define POINTSMAN_LANDING_BRANCH_SETS_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/map.h"
#include "lib/text.h"
#include "landing/history.h"

/* A set that commits name; it may be a rollback. */
struct branch_set {
    struct span id;
    struct span by;     /* out of effect by this set; empty: in effect */
    const char *newest; /* the newest commit that names it; NULL: none so far */
    bool is_sought;     /* a rollback names it: its own commit is needed */
    bool is_landed;     /* its own commit was met */
    /* What it has put out of effect as a rollback, oldest first. */
    struct span *members;
    size_t count, cap;
};

struct branch_sets {
    struct arena arena;
    struct map by_id;
    size_t open; /* sets that are sought and have not been met */
};

void branch_sets_clear(struct branch_sets *sets);
/* The next older commit of the branch, from its tip. Its spans and the commit
 * itself must live as long as `sets`. */
void branch_sets_add(struct branch_sets *sets,
                     const struct history_commit *commit, bool by_rollback);
/* NULL: no commit names it. */
struct branch_set *branch_sets_find(const struct branch_sets *sets,
                                    struct span id);

/* One way along which a rollback takes effect: the lines Reverts-CS and
 * Restores-CS, each set affected by the one in the line above. */
typedef void branch_sets_visit(void *ctx, const struct branch_set *last,
                               struct span lines);
/* Puts the set out of effect by `rollback`, and what follows from it: a
 * rollback that goes out of effect restores what it had put out of effect,
 * unless that is out of effect by another one, and so on. Calls `visit` for
 * each way, down to the last set on it. Nothing, if it is out of effect
 * already. */
void branch_sets_roll_back(struct branch_sets *sets, struct span id,
                           struct span rollback, branch_sets_visit *visit,
                           void *ctx);

#endif
