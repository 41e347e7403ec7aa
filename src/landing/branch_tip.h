/* Where a branch is, read from the files of its repository without starting a
 * git: for a process that never forks and must know it now. */
#ifndef POINTSMAN_LANDING_BRANCH_TIP_H
#define POINTSMAN_LANDING_BRANCH_TIP_H

#include <stdbool.h>

#include "lib/text.h"
#include "landing/git.h"

/* `git`: a git directory, or a work tree with .git inside. ret_oid "": there
 * is no such branch. False: these files do not tell (no repository, a symbolic
 * ref, refs kept in another way); git itself may know. */
bool branch_tip_read(const char *git, struct span branch,
                     char ret_oid[OID_BYTES]);

#endif
