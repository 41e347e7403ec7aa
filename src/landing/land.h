/* Landing one change set on its target, as one attempt and one small process:
 * `pointsman land`, started by the guard.
 *
 * Its output is an account for people. What decides is one last line on the
 * descriptor $POINTSMAN_STATUS_FD (wire/land_verdict.h).
 *
 * Of sets that land together (`others`; ##group) all land by one move of the
 * branch, one commit each on top of the other, or none does.
 *
 * The branch moves at most once for a set: every attempt begins by looking for
 * the set's commit on the branch, and a branch somebody moved meanwhile sends
 * it back to that beginning. */
#ifndef POINTSMAN_LANDING_LAND_H
#define POINTSMAN_LANDING_LAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/text.h"
#include "lib/time.h"
#include "landing/child.h"
#include "wire/config.h"
#include "wire/land_verdict.h"

enum { LAND_STATUS_BYTES = 4000, LAND_REASON_BYTES = 32 };

struct land_status {
    enum land_verdict verdict;
    char reason[LAND_REASON_BYTES]; /* of LAND_FAILED: a word */
    char text[LAND_STATUS_BYTES];   /* commit, paths, or a sentence */
};

/* Sets it; other bytes than printable text are escaped, a long one is cut. */
void land_status_set(struct land_status *status, enum land_verdict verdict,
                     const char *reason, struct span text);
/* What an error that is no verdict amounts to; `stopped`: somebody asked. */
void land_status_of_error(struct land_status *status, const struct err *err,
                          bool stopped);
/* 0; 101 conflict and failed; 100 permanent; 111 temporary and unavailable; 102
 * stopped. */
int land_status_exit(const struct land_status *status);

struct land_check {
    const char *name, *command; /* a command line (wire/words.h) */
};

/* $POINTSMAN_STATUS_FD, or -1; children do not get it. */
int land_status_descriptor(void);
/* Writes the line to stdout and to `fd` (-1: none). */
void land_status_send(int fd, const struct land_status *status);

/* What the caller asked for; nothing here is owned. Of `others` only the set
 * itself counts (id, sum, class, tarball, since, admitted, seen, submitter,
 * approvals); they land behind it, in their order. */
struct land_start {
    const char *id, *sum, *class, *target, *tarball;
    const char *git, *branch; /* or: */
    const char *command;      /* of a target that is one */
    enum config_blind blind;
    struct wall since, admitted;
    const char *seen; /* the branch's commit at `since`, "none" when it did not
                         exist; NULL: not known */
    bool symlinks;
    const char *committer, *submitter;
    const char *user; /* of checks and command; NULL = ours */
    const char *work; /* made, and removed with all in it */
    const char
        *branches;     /* directory of landing/branch_note.h; NULL: no notes */
    int64_t timeout_s; /* of each check or the command; 0 = none */
    const char *const *approved_by;
    size_t approved_count;
    const struct land_check *checks;
    size_t check_count;
    bool probe;
    const struct land_start *others;
    size_t other_count;
};

void land_run(const struct land_start *start, struct child_stop *stop,
              struct land_status *ret_status);

#endif
