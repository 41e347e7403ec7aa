/* Moving a branch by compare-and-swap, the point of no return of a landing.
 *
 * A move takes lock files (BRANCH.lock, and HEAD.lock if HEAD refers to the
 * branch), whether git makes it or ref_plain.h. A process that is killed at
 * that moment leaves them behind, and the branch could never be moved again. So
 * a note is written to disk first: the commit that is to be written into them,
 * and, of git, which they are. A later landing removes only locks that provably
 * belong to the dead process: the same file as noted, or one that holds exactly
 * that commit, or one that was made before such a lock, or one that is still
 * empty long after. Any other lock is respected. */
#ifndef POINTSMAN_LANDING_REF_MOVE_H
#define POINTSMAN_LANDING_REF_MOVE_H

#include <stdbool.h>

#include "lib/err.h"
#include "landing/git.h"

enum ref_moved {
    REF_MOVED,
    REF_LOST,   /* the branch was moved by someone else first */
    REF_STOPPED /* stopped on request, nothing was moved */
};

/* A move that was begun. Zero: none. */
struct ref_mover {
    char *message;
    struct git_pipe pipe; /* git, if it has been started; or pid 0 */
};

/* Starts the git that ref_move will use, so that it need not wait for it; none
 * if the branch can be moved without git (landing/ref_plain.h). `message` is
 * for the reflog. After an error, ref_move_drop is needed too. */
bool ref_move_begin(struct git *git, const char *branch, const char *message,
                    struct ref_mover *ret_begun, struct err *err);
/* Moves nothing. Zero is fine. */
void ref_move_drop(struct ref_mover *begun);
/* Publishes the objects apart, then moves `branch` from `old` ("" = it must not
 * exist) to commit `to`, durably. The branch gets a reflog, from which later
 * landings learn where it was at a given time. `notes`: the directory for the
 * note; with `sync_later` the caller syncs its file system before he relies on
 * the move, and a repository on it is not synced again after the move. Once
 * writing has begun, signals do not stop it. After an error the ref is
 * unchanged. `begun` is used up. */
bool ref_move(struct git *git, struct ref_mover *begun, const char *notes,
              bool sync_later, const char *branch, const char *old,
              const char *to, enum ref_moved *ret_moved, struct err *err);

/* True if no work tree has the branch checked out: it would fall behind the
 * branch, and its owner's next commit would undo ours. ERR_UNAVAILABLE with the
 * place and what to do; errors of git. */
bool ref_is_free(struct git *git, const char *branch, struct err *err);

/* Removes the locks that the note proves were left by a dead git of ours, and
 * prints what it did. */
bool ref_unlock_stale(struct git *git, const char *notes, const char *branch,
                      struct err *err);

#endif
