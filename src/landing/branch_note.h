/* Notes of the branches that existed when a landing looked at them. A note
 * outlives its branch: if a branch is missing but has a note, it was deleted or
 * its repository was damaged, and a landing must not create it again with a
 * history that begins at one set. Each note is a file of two lines, the
 * repository and the branch; its name is their SHA-256. */
#ifndef POINTSMAN_LANDING_BRANCH_NOTE_H
#define POINTSMAN_LANDING_BRANCH_NOTE_H

#include <stdbool.h>

#include "lib/err.h"

/* `dir`: the directory of the notes; it need not exist yet. `git`: the path
 * of the repository. */
bool branch_note_exists(const char *dir, const char *git, const char *branch,
                        bool *ret_exists, struct err *err);
/* Writes the note durably, unless it exists. */
bool branch_note_write(const char *dir, const char *git, const char *branch,
                       struct err *err);

#endif
