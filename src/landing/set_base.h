/* The state that the author of a set worked from: the commit in ##base, which
 * must be on the branch when the set lands. */
#ifndef POINTSMAN_LANDING_SET_BASE_H
#define POINTSMAN_LANDING_SET_BASE_H

#include <stdbool.h>

#include "lib/err.h"
#include "landing/merge.h"
#include "landing/tree.h"

struct set_base {
    char commit[OID_BYTES];
    char tree[OID_BYTES];
};

/* Finds the base of merge->set. If the set has no valid base, merge->result is
 * MERGE_REFUSED, or MERGE_CONFLICT if the branch was rewritten since the set
 * was admitted; merge->why says what to do. */
bool set_base_find(struct merge *merge, struct trees *trees,
                   struct set_base *ret_base, struct err *err);

#endif
