/* Notes of the branches that existed when a landing looked at them. A note
 * outlives its branch: if a branch is missing but has a note, it was deleted or
 * its repository was damaged, and a landing must not create it again with a
 * history that begins at one set. A reflog that is still there shows the same.
 * If the repository has no commit of the note, it was replaced by another one.
 * Each note is a file of four lines: the repository, the branch, its newest
 * commit when the note was written, and the commit with which it began: the
 * last of its first parents, which a forced push seldom removes. Its name is
 * the SHA-256 of the first two. Earlier versions wrote two or three lines; the
 * last is also missing as long as the repository is shallow. */
#ifndef POINTSMAN_LANDING_BRANCH_NOTE_H
#define POINTSMAN_LANDING_BRANCH_NOTE_H

#include <stdbool.h>

#include "lib/err.h"
#include "landing/git.h"

/* The branch was read: writes its note durably if there is none, or adds what
 * it lacks. `tip`: its newest commit, "": it does not exist. ERR_UNAVAILABLE:
 * it does not exist although there is a note or a reflog, or the repository has
 * no commit of the note. `dir`: the directory of the notes, which need not
 * exist yet; NULL: none are kept. `objects`: a git that reads the repository.
 */
bool branch_note_meet(const char *dir, struct git *git, const char *branch,
                      const char *tip, struct git_pipe *objects,
                      struct err *err);

/* True if the branch has a note: if it is missing now, it is away. `git`: a git
 * directory, or a work tree with .git inside. Also true if that cannot be found
 * out. Starts no git. */
bool branch_note_exists(const char *dir, const char *git, struct span branch);

#endif
