/* What a set and the branch have both done since the base of the set. The
 * commit of the set does not show it, because it was there already; so a later
 * rollback of the other set would remove it, although this set put it there as
 * well. The commit therefore names the sets it shares changes with, in
 * trailers:
 *
 *     CS-Contains: C1 src/a.c     all that C1 did to this path
 *     CS-Contains-Sum: SUM        which of the sets with this id
 *     CS-Overlaps: C1             some of what C1 did, or too much to list
 *     CS-Overlaps-Sum: SUM
 *
 * Read by revert_replay.c (doc/design/rollback.md, R12). */
#ifndef POINTSMAN_LANDING_MERGE_SHARED_H
#define POINTSMAN_LANDING_MERGE_SHARED_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/map.h"
#include "lib/text.h"
#include "landing/git.h"
#include "landing/path_merge.h"

struct land_base_set;

/* Zero it; clear it with merge_shared_clear. */
struct merge_shared {
    /* Where the set branched off: its base or, in a stack, that of the lowest
     * set below it; "": not known. */
    char base[OID_BYTES];
    /* The sets below it in the stack: what they did is part of its base. If the
     * base is not known, their commits show where to look. */
    const struct land_base_set *stack;
    size_t stack_count;
    struct map paths; /* path -> whether all is contained */
    struct arena arena;
    struct text trailers; /* the result, each with LF */
};

/* Notes a path that was merged cleanly: `merged` from `base`, `ours` and
 * `theirs`. `merge` is the one that made it. */
bool merge_shared_note(struct merge_shared *shared, struct path_merge *merge,
                       struct span path, const struct tree_entry *base,
                       const struct tree_entry *ours,
                       const struct tree_entry *theirs,
                       const struct tree_entry *merged, struct err *err);
/* Makes the trailers: which sets changed these paths between the base and
 * `tip`. Starts git only if there are paths. */
bool merge_shared_find(struct merge_shared *shared, struct git *git,
                       const char *tip, struct err *err);
void merge_shared_clear(struct merge_shared *shared);

#endif
