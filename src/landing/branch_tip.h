/* Finds and reads the tip of a branch from the files of its repository without
 * starting git: for a process that never forks and needs the answer at once. */
#ifndef POINTSMAN_LANDING_BRANCH_TIP_H
#define POINTSMAN_LANDING_BRANCH_TIP_H

#include <stdbool.h>

#include "lib/text.h"
#include "landing/git.h"

/* Appends the directory where the branches are: that of the repository, also
 * for one of its work trees. `git` as below. False: there is no repository. */
bool branch_tip_directory(const char *git, struct text *ret_dir);
/* Appends the full name of the branch, "refs/heads/main", or of the reference
 * that it leads to as a symbolic ref. `git` as below. False: there is no
 * repository, or the symbolic refs lead nowhere. */
bool branch_tip_ref(const char *git, struct span branch, struct text *ret_ref);
/* `git`: a git directory, or a work tree with .git inside. ret_oid "": there is
 * no such branch. False: the files do not give an answer (no repository, a
 * symbolic ref, refs stored in another way); git itself may. */
bool branch_tip_read(const char *git, struct span branch,
                     char ret_oid[OID_BYTES]);

#endif
