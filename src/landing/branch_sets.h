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

/* A set that commits name; it may be a rollback. Sets of several bases may have
 * one id. A line of an earlier version has no sum and names all of them that
 * are older than its commit; it is about a set without a sum, which stands for
 * them. */
struct branch_set {
    struct span id, sum;
    const struct branch_set *by; /* out of effect by this set; NULL: in effect
                                  */
    const char *newest; /* the newest commit that names it; NULL: none so far */
    bool is_sought;     /* its own commit is needed */
    size_t landed;      /* place of its oldest own commit, from the tip; 0: none
                           was met */
    /* What it has put out of effect as a rollback, oldest first. */
    struct branch_set **members;
    size_t count, cap;
    struct branch_set *next; /* of those with this id; the first has no sum */
};

struct branch_sets {
    struct arena arena;
    struct map by_id;
    size_t met;  /* commits */
    size_t open; /* sets that are sought and have not been met */
    /* Commits that lines without a sum are about, and have not been met. The
     * branch may have been rewritten since. */
    struct map sought;
};

void branch_sets_clear(struct branch_sets *sets);
/* The next older commit of the branch, from its tip. Its spans and the commit
 * itself must live as long as `sets`. */
void branch_sets_add(struct branch_sets *sets,
                     const struct history_commit *commit, bool by_rollback);
/* The set's own commit is needed. Before any is added. */
void branch_sets_seek(struct branch_sets *sets, struct span id,
                      struct span sum);
/* False: no older commits are needed. */
bool branch_sets_need_more(const struct branch_sets *sets);
/* NULL: no commit names it. */
struct branch_set *branch_sets_find(const struct branch_sets *sets,
                                    struct span id, struct span sum);

/* One way along which a rollback takes effect: the lines of its effects
 * (landing/history.h), each set affected by the one above it. */
typedef void branch_sets_visit(void *ctx, const struct branch_set *last,
                               struct span lines);
/* Puts the set out of effect by a new rollback, and what follows from it: one
 * that goes out of effect restores what it had put out of effect,
 * unless that is out of effect by another one, and so on. Calls `visit` for
 * each way, down to the last set on it. Nothing, if it is out of effect
 * already. */
void branch_sets_roll_back(struct branch_sets *sets, struct span id,
                           struct span sum, branch_sets_visit *visit,
                           void *ctx);

#endif
