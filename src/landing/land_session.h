/* What a process keeps from one landing or merge to the next: the git process
 * that reads objects, and which sets are on the branch.
 *
 * It is only a cache. All but the sets of the history of a commit, which never
 * change, is forgotten whenever the repository may have changed
 * in a way that a git process does not notice while it runs (moved away or
 * replaced, packs removed, configuration changed), when that process has ended,
 * and after every landing that did not succeed. */
#ifndef POINTSMAN_LANDING_LAND_SESSION_H
#define POINTSMAN_LANDING_LAND_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "landing/child.h"
#include "landing/git.h"
#include "landing/history.h"

/* The identity of a file of the repository. */
struct land_mark {
    bool exists;
    uintmax_t device, inode;
    int64_t changed_ns; /* 0: it may change */
};

enum { LAND_MARKS = 6 };

/* Zero is a session that keeps nothing. */
struct land_session {
    char *dir, *work; /* as given */
    struct git git;
    struct git_pipe objects; /* reads objects; pid 0: not running */
    struct history_known known;
    struct history_marks sets; /* those of known; kept in any case */
    struct land_mark marks[LAND_MARKS];
};

/* Prepares session->git for a landing on the repository `dir`, with objects
 * apart below `work`, which exists and is empty. Errors: as git_open. */
bool land_session_open(struct land_session *session, const char *dir,
                       const char *work, struct child_stop *stop,
                       struct err *err);
/* Ends a landing or merge, before its work directory is removed. `ok` false:
 * nothing but those sets is kept. */
void land_session_end(struct land_session *session, bool ok);
/* Forgets everything. */
void land_session_clear(struct land_session *session);

#endif
