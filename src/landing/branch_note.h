/* Notes of the branches that existed when a landing looked at them. A note
 * outlives its branch: if a branch is missing but has a note, it was deleted or
 * its repository was damaged, and a landing must not create it again with a
 * history that begins at one set. Each note is a file of two lines, the
 * repository and the branch; its name is their SHA-256. */
#ifndef POINTSMAN_LANDING_BRANCH_NOTE_H
#define POINTSMAN_LANDING_BRANCH_NOTE_H

#include <stdbool.h>

#include "lib/err.h"

/* The branch was read: writes its note durably if it exists. ERR_UNAVAILABLE:
 * it does not, although there is a note. `dir`: the directory of the notes,
 * which need not exist yet; NULL: none are kept. `git`: the path of the
 * repository. */
bool branch_note_meet(const char *dir, const char *git, const char *branch,
                      bool exists, struct err *err);

#endif
