/* Candidates of a merge train (doc/design/train.md, M3): merges whose result is
 * not landed, and the checks of such a tree. Their objects lie in a directory
 * apart from the repository, which may be deleted at any time. */
#ifndef POINTSMAN_LANDING_LAND_CANDIDATE_H
#define POINTSMAN_LANDING_LAND_CANDIDATE_H

#include <stdbool.h>

#include "lib/err.h"
#include "landing/child.h"
#include "landing/land.h"

/* Merges (start->merge) or checks (start->check). False: `err` says why there
 * is no verdict. start->work is open. The session is opened for a merge, and
 * shows which sets are on the branch. */
bool land_candidate(const struct land_start *start,
                    struct land_session *session, struct child_stop *stop,
                    struct land_status *ret_status, struct err *err);

#endif
