/* The commit that a branch of a target names, and whether it can be read. What
 * cannot be read is never the fault of a set: ERR_UNAVAILABLE. */
#ifndef POINTSMAN_LANDING_TIP_H
#define POINTSMAN_LANDING_TIP_H

#include <stdbool.h>

#include "lib/err.h"
#include "landing/git.h"

/* The commit and its tree; both "" if there is no such branch. ERR_UNAVAILABLE:
 * the branch names something else than a commit, or a commit that is missing or
 * damaged. */
bool tip_read(struct git_pipe *objects, const char *branch,
              char ret_oid[OID_BYTES], char ret_tree[OID_BYTES],
              struct err *err);

enum tip_part {
    TIP_CHANGE, /* what the commit adds to its parents */
    TIP_TREE,   /* all its directories and files */
    TIP_NAMES   /* the same, but of files only that they are there */
};

/* Reads the commit and that part of its objects. ERR_UNAVAILABLE: at least one
 * of them is missing or damaged. */
bool tip_verify(struct git *git, const char *commit, enum tip_part part,
                struct err *err);

#endif
