/* Which tree comes out when a set meets its branch (doc/design/landing.md, L5).
 * With ##base each path that the set lists is merged by itself from base,
 * branch and set (landing/path_merge.h); no other path changes. Without, the
 * set's files as they are, where the target allows it. */
#ifndef POINTSMAN_LANDING_MERGE_H
#define POINTSMAN_LANDING_MERGE_H

#include <stdbool.h>

#include "lib/err.h"
#include "landing/git.h"
#include "landing/land.h"
#include "landing/set_blobs.h"

enum merge_result {
    MERGE_CLEAN,
    MERGE_CONFLICT, /* `why`: the paths, then in parentheses the reasons */
    MERGE_REFUSED   /* `why`: a sentence */
};

struct merge {
    struct git *git;
    const struct land_start *start;
    const struct set_blobs *set;
    char tip[OID_BYTES];      /* "" = the branch does not exist */
    char tip_tree[OID_BYTES]; /* "" likewise */
    char tree[OID_BYTES];     /* result of a clean one */
    enum merge_result result;
    struct text why;
};

/* Reads the branch into merge->tip and ->tip_tree. */
bool merge_read_tip(struct merge *merge, struct err *err);
/* Makes the tree. Says on stdout what people should know. ERR_UNAVAILABLE: the
 * branch existed when the set was made or admitted, and is gone. */
bool merge_make(struct merge *merge, struct err *err);
void merge_clear(struct merge *merge);

#endif
