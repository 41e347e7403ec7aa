/* Moving a branch that is a plain file, by the rules of git and without
 * starting it: BRANCH.lock (and HEAD.lock, if HEAD refers to the branch), the
 * old value compared while they are held, rename, a line in each reflog.
 *
 * git writes the new value after it has taken the lock, so the value needs a
 * sync of its own behind that of the objects. Here it is written to a temporary
 * file beside the objects and synced with them. The locks are links to that
 * file: from the first moment they have the content that shows whose they are
 * (landing/ref_move.h), and the rename can only install a value that is on the
 * disk.
 *
 * Whatever is not plain is left to git: a branch that does not exist, is packed
 * or has no reflog, a lock of somebody else, another kind of storage. So
 * nothing here sets an error. */
#ifndef POINTSMAN_LANDING_REF_PLAIN_H
#define POINTSMAN_LANDING_REF_PLAIN_H

#include <limits.h>
#include <stdbool.h>

#include "landing/git.h"

struct ref_plain {
    const struct git *git;
    char ref[PATH_MAX], log[PATH_MAX], lock[PATH_MAX]; /* in the repository */
    char fresh[PATH_MAX]; /* the file with the new value; "" = none */
    bool has_head;        /* HEAD refers to the branch */
    bool locked, head_locked;
};

/* True if the branch can be moved in this way, as far as a look at the
 * repository shows. */
bool ref_plain_is(const struct git *git, const char *branch);

/* Writes the file with the value `to`; it is durable with the next sync of the
 * file system. False: leave it to git. Call ref_plain_end in any case. */
bool ref_plain_open(const struct git *git, const char *branch, const char *to,
                    struct ref_plain *ret_plain);
/* Takes the locks; the file must be durable. False: leave it to git, also if
 * the branch is not at `old` now, or HEAD refers to another branch than
 * before. */
bool ref_plain_lock(struct ref_plain *plain, const char *old);
/* Moves the branch that was locked. `message` is for the reflog. False: it has
 * not moved; leave it to git. */
bool ref_plain_commit(struct ref_plain *plain, const char *old, const char *to,
                      const char *message);
/* Removes the locks and the file, if they are still there. */
void ref_plain_end(struct ref_plain *plain);

#endif
