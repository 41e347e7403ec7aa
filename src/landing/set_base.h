/* The state that the author of a set worked from.
 *
 * It is the commit in ##base, which must be on the branch when the set lands.
 * For a set of a stack (##base-set) whose ##base is not there, because the
 * commit was only in its author's repository, it is the tree that the set below
 * makes of its own base. That tree is rebuilt from the tarball of that set; it
 * must equal ##base-tree. */
#ifndef POINTSMAN_LANDING_SET_BASE_H
#define POINTSMAN_LANDING_SET_BASE_H

#include <stdbool.h>

#include "lib/err.h"
#include "landing/merge.h"
#include "landing/tree.h"

struct set_base {
    char commit[OID_BYTES]; /* "" if there is none, in a stack */
    char tree[OID_BYTES];
};

/* A commit that may be missing. */
struct found_commit {
    char oid[OID_BYTES], tree[OID_BYTES];
    bool exists;
    bool on_branch; /* or an ancestor of merge->tip */
};

/* Reads the commit; if it is missing, all of the branch is read before that is
 * believed. on_branch is not set unless the commit is missing. ERR_UNAVAILABLE:
 * the repository cannot be read completely. */
bool set_base_commit_read(struct merge *merge, struct trees *trees,
                          struct span name, struct found_commit *ret_commit,
                          struct err *err);

/* Finds the base of merge->set, which has ##base or ##base-set. If the set has
 * no valid base, merge->result is MERGE_REFUSED, or MERGE_CONFLICT if the
 * branch was rewritten since the set was admitted; merge->why says what to do.
 */
bool set_base_find(struct merge *merge, struct trees *trees,
                   struct set_base *ret_base, struct err *err);

#endif
