/* Lands one change set on its target, as one attempt in one small process:
 * `pointsman land`, started by the guard.
 *
 * Its output is a report for people. The result is one last line on the
 * descriptor $POINTSMAN_STATUS_FD (wire/land_verdict.h).
 *
 * Sets that land together (`others`; ##group) all land by a single move of the
 * branch, one commit each on top of the other, or none does.
 *
 * The branch moves at most once for a set: every attempt begins by looking for
 * the set's commit on the branch, and starts again from there if the branch was
 * moved by someone else meanwhile. */
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

struct land_session;

enum { LAND_REASON_BYTES = 32 };

struct land_status {
    enum land_verdict verdict;
    char reason[LAND_REASON_BYTES]; /* a word, for LAND_FAILED */
    char text[LAND_STATUS_BYTES];   /* commit, paths, or a sentence */
};

/* Sets it; bytes other than printable text are escaped, a long text is
 * truncated. */
void land_status_set(struct land_status *status, enum land_verdict verdict,
                     const char *reason, struct span text);
/* Translates an error that is not a verdict; `stopped`: a stop was requested.
 */
void land_status_of_error(struct land_status *status, const struct err *err,
                          bool stopped);
/* 0; 101 conflict and failed; 100 permanent; 111 temporary, unavailable,
 * base-lost and forbidden; 102 stopped, by HUP 103. */
int land_status_exit(const struct land_status *status,
                     const struct child_stop *stop);

struct land_check {
    const char *name, *command; /* a command line (wire/words.h) */
};

/* A set of a stack, below the one that lands (##base-set). */
struct land_base_set {
    const char *id, *sum, *tarball;
    const char
        *archived; /* path of the tarball if `tarball` is gone; or NULL */
    bool landed;   /* its own base was verified when it landed */
};

/* A set that must be on the branch: the one that lands depends on it. */
struct land_need {
    const char *id, *sum;
};

/* The number in $POINTSMAN_STATUS_FD, or -1; children do not inherit it. */
int land_status_descriptor(void);
/* Appends the line, without LF. */
void land_status_format(const struct land_status *status, struct text *out);
/* Writes the line to stdout and to `fd` (-1: none). */
void land_status_send(int fd, const struct land_status *status);

/* The caller's request; it owns nothing. For `others` only the fields of the
 * set itself count (id, sum, class, tarball, since, admitted, seen, submitter,
 * approvals, bases, needs); they land after it, in their order. */
struct land_start {
    const char *id, *sum, *class, *target, *tarball;
    const char *git, *branch; /* or: */
    const char *command;      /* for a target that is a command */
    enum config_blind blind;
    struct wall since, admitted;
    const char *seen; /* the branch's commit at `admitted`, "none" if it did not
                         exist; NULL: not known */
    bool symlinks;
    bool filters; /* the tree for the checks is made with the filters of the
                     repository and the conversions of .gitattributes */
    const char *committer, *submitter;
    const char *user; /* runs checks and command; NULL = the same account */
    const char *work; /* created, and removed with its contents */
    const char
        *branches;     /* directory of landing/branch_note.h; NULL: no notes */
    int64_t timeout_s; /* for each check or the command; 0 = none */
    const char *const *approved_by;
    size_t approved_count;
    const struct land_base_set *bases; /* the nearest first */
    size_t base_count;
    const struct land_need *needs;
    size_t need_count;
    const struct land_check *checks;
    size_t check_count;
    bool probe;
    /* For the merge train of a target (doc/design/train.md). `joined` and
     * `tree` are fields of each set. */
    const char *apart; /* directory of the objects of candidates; created */
    bool fresh;        /* it is emptied first */
    bool merge;        /* merge the sets and report the trees; nothing lands */
    const char *onto;  /* for `merge`: the first tree, "none": an empty one;
                          NULL: only the tip is reported */
    bool aside;        /* for `merge`: each step onto that tree */
    bool joined;       /* a step of `merge` with the set behind it */
    const char *check; /* check this tree; nothing lands */
    const char *tip;   /* land only if the branch is at this commit, "none":
                          if it does not exist */
    const char *tree;  /* land only if the set results in this tree */
    bool sync_later;   /* before it records the end, the caller syncs the file
                          system that `work` is on */
    /* Run only this command, and report the SHA-256 of what it prints. */
    const char *environment;
    const struct land_start *others;
    size_t other_count;
};

/* Does what the start says: lands, probes, merges or checks. */
void land_run(const struct land_start *start, struct land_session *session,
              struct child_stop *stop, struct land_status *ret_status);

#endif
