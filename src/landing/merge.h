/* Computes the tree that results from a set and its branch
 * (doc/design/landing.md, L5). With ##base each path that the set lists is
 * merged separately from base, branch and set (landing/path_merge.h); no other
 * path changes. Without it the set's files are taken as they are, if the target
 * allows that. */
#ifndef POINTSMAN_LANDING_MERGE_H
#define POINTSMAN_LANDING_MERGE_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/map.h"
#include "landing/git.h"
#include "landing/history.h"
#include "landing/land.h"
#include "landing/merge_shared.h"
#include "landing/set_blobs.h"
#include "landing/tree.h"

enum merge_result {
    MERGE_CLEAN,
    MERGE_CONFLICT, /* `why`: the paths, then in parentheses the reasons */
    MERGE_REFUSED   /* `why`: a sentence */
};

struct merge {
    struct git *git;
    struct trees trees; /* opened when first needed */
    const struct land_start *start;
    const struct set_blobs *set;
    char tip[OID_BYTES];      /* "" = the branch does not exist */
    char tip_tree[OID_BYTES]; /* "" if the branch does not exist */
    char tree[OID_BYTES];     /* of a clean merge */
    enum merge_result result;
    struct text why;
    struct merge_shared shared; /* of a clean merge */
    /* Trees that base sets make, by id (landing/set_base.h). */
    struct map rebuilt;
    /* The ##base of the lowest set of the stack that was read; "": of none. */
    char root[OID_BYTES];
    const struct history_known *known; /* of the branch; NULL: nothing */
    struct arena arena;
};

/* Reads the branch into merge->tip and ->tip_tree. */
bool merge_read_tip(struct merge *merge, struct err *err);
/* Makes the tree and prints notes for people on stdout. ERR_UNAVAILABLE: the
 * branch existed when the set was made or admitted, and is gone. */
bool merge_make(struct merge *merge, struct err *err);
void merge_clear(struct merge *merge);
/* Sets the result and `why`; returns true. */
bool merge_end(struct merge *merge, enum merge_result result,
               const char *format, ...) PRINTF_LIKE(3, 4);

#endif
