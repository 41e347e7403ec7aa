/* Reverts landed sets, as one attempt of a rollback (RB) in one small process:
 * `pointsman revert`, started by the guard like `land` (doc/design/rollback.md,
 * R3, R8, R9). `rollback --preview` calls revert_run itself.
 *
 * On a git branch it finds each member's commits by their trailers, replays the
 * members' paths without them (landing/revert_replay.h), makes one commit each
 * on top of the other, newest first, in the bare repository without a work
 * tree, and moves the branch once, by compare-and-swap: all members are
 * reverted or none is. If the target is a
 * command, its `revert` command runs for each member in the order given.
 *
 * A commit of a rollback has CS-Id, CS-Sum and CS-Class of the RB, RB-Id (the
 * same id), a line Reverts-CS for each set it puts out of effect and a line
 * Restores-CS for each it puts back in effect, each with the sum of the set in
 * a line Reverts-CS-Sum or Restores-CS-Sum below: reverting what rollback R1
 * did to C1 gives "Reverts-CS: R1" and "Restores-CS: C1"; reverting C1 alone
 * once it is back in effect gives "Reverts-CS: C1". In these lines each set was
 * affected by the one in the line above. The newest commit that names a set
 * says whether the set is in effect, and is the commit that a rollback of it
 * reverts. So an RB of an RB needs no special treatment, at any depth.
 *
 * Its output is a report for people. The result is one last line on the
 * descriptor $POINTSMAN_STATUS_FD, `struct land_status` as text:
 *
 *     done COMMIT [NOTE]      the branch's new tip; NOTE names the members of
 *                             which nothing was left, and who had removed it
 *     done                    all members were rolled back already; or the
 *                             revert commands did it
 *     already-landed COMMIT   this rollback is on the branch already
 *     landed COMMIT           answers --probe: the newest of its commits
 *     not-landed              answers --probe
 *     failed rb-conflict TEXT a later set is in the way; TEXT names it
 *     failed rb-target TEXT   no `revert` command; a checked-out branch
 *     failed rb-absent TEXT   a member's commit is not on the branch any more
 *     failed rb-command TEXT  a revert command failed; TEXT says for which
 *                             member, and which were undone before it
 *                             (commands cannot be all or nothing)
 *     temporary TEXT          try again later (also: out of time)
 *     unavailable TEXT        the target cannot be used (landing/land.h)
 *     permanent TEXT          cannot be executed
 *     stopped                 by TERM or HUP; nothing was moved
 *
 * The point of no return is the move of the branch. A caller that missed the
 * result asks with --probe, so the new tip need not be written into a plan. A
 * target that is a command cannot be asked (`not-landed`); the next attempt
 * continues after the members whose command had succeeded. */
#ifndef POINTSMAN_LANDING_REVERT_H
#define POINTSMAN_LANDING_REVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/err.h"
#include "lib/time.h"
#include "landing/child.h"
#include "landing/git.h"
#include "landing/land.h"

/* A landed set to roll back. */
struct revert_member {
    const char *id, *sum;
    const char *class;   /* "DC"; "RB" for a rollback */
    const char *tarball; /* path; used only by revert commands, otherwise may be
                            NULL */
    struct wall admitted;
    /* Runs the command for this member; NULL = the same account. */
    const char *user;
    /* For a target that is a command, since no commit records it: the set is
     * out of effect, and `command` puts it back in effect because the rollback
     * that put it out is rolled back itself. Oldest first; that rollback is not
     * listed. */
    bool again;
};

/* The caller's request; it owns nothing. */
struct revert_start {
    const char *id, *sum, *target; /* of the RB */
    const char *git, *branch;      /* or: */
    const char *command;           /* for a target that is a command */
    const char *revert;            /* the command that undoes it; NULL: none */
    struct wall admitted;          /* of the RB */
    /* In any order for a branch, whose history shows the order; newest first
     * for a command. */
    const struct revert_member *members;
    size_t member_count;
    const char *because; /* --because, NULL or "": none */
    const char *committer, *submitter;
    const char *work;  /* created, and removed with its contents; its parent
                          stays */
    bool symlinks;     /* allowed by the target; for unpacking members */
    int64_t timeout_s; /* for the whole attempt, 0 = 600; for a target that is a
                          command: for each revert command, 0 = none */
    const char *const *approved_by;
    size_t approved_count;
    bool probe;
    bool preview;  /* do all except moving the branch or running a command */
    FILE *account; /* NULL = stdout */
};

/* Makes one attempt. `stop` NULL: there are no stop requests (a preview). A
 * preview needs a `work` directory as well; its verdict is `done` (COMMIT or
 * nothing) if the rollback would succeed. */
void revert_run(const struct revert_start *start, struct child_stop *stop,
                struct land_status *ret_status);

#endif
