/* Moving a branch by compare-and-swap, the point of no return of a landing.
 *
 * git takes lock files to move a ref (BRANCH.lock, and HEAD.lock when HEAD
 * names the branch). Killed alone at that moment it leaves them behind, and
 * nobody could move the branch again. So a note is on the disk before: which
 * locks, and the commit that was to be written into them. A later landing
 * removes exactly those that are provably the dead git's: same file as noted,
 * or that very commit in it, or taken before one that is, or still empty long
 * after. Any other lock is somebody else's and is respected. */
#ifndef POINTSMAN_LANDING_REF_MOVE_H
#define POINTSMAN_LANDING_REF_MOVE_H

#include <stdbool.h>

#include "lib/err.h"
#include "landing/git.h"

enum ref_moved {
    REF_MOVED,
    REF_LOST,   /* somebody moved it first */
    REF_STOPPED /* asked to stop, nothing was moved */
};

/* Sets `branch` from `old` ("" = it must not exist) to commit `to`, durably.
 * The branch gets a reflog, which tells later landings where it was when.
 * `notes`: the directory for the note. Not stopped by signals once it began to
 * write. Errors: the ref is as it was. */
bool ref_move(struct git *git, const char *notes, const char *branch,
              const char *old, const char *to, const char *message,
              enum ref_moved *ret_moved, struct err *err);

/* A work tree on the branch would be left behind what the branch says, and its
 * owner's next commit would undo what we did: `why` says where there is one,
 * and stays empty when there is none. */
bool ref_checked_out(struct git *git, const char *branch, struct text *why,
                     struct err *err);

/* Removes locks a dead git of ours left, by the note. Says what it did. */
bool ref_unlock_stale(struct git *git, const char *notes, const char *branch,
                      struct err *err);

#endif
