/* The result that a landing or a revert reports: one last line on the
 * descriptor $POINTSMAN_STATUS_FD. src/landing/ writes it, the scheduler reads
 * it.
 *
 *     done COMMIT              on the branch now; for a command, no COMMIT
 *     done COMMIT ID:COMMIT... the same for sets that land together: the
 *                              branch's tip, then the commit of each set;
 *                              ID=COMMIT: it was there before; ID~COMMIT: its
 *                              content was, and the commit changes nothing
 *     already-landed COMMIT    it was there before this attempt
 *     landed COMMIT            answers --probe
 *     not-landed               answers --probe
 *     conflict PATHS...        then, in parentheses, who changed what
 *     failed REASON TEXT       check-failed, timeout, policy, exit-N, signal-N,
 *                              and the rb-* reasons of life.def
 *     temporary TEXT           try again later
 *     unavailable TEXT         the target cannot be used: its repository or
 *                              branch is missing, damaged, checked out, not
 *                              writable or locked by somebody else, or a
 *                              program cannot be started; the set is not the
 *                              cause
 *     base-lost TEXT           a set that this one depends on landed, but is no
 *                              longer on the branch
 *     forbidden TEXT           the account of its checks or its command may not
 *                              work here; the set is not the cause
 *     permanent TEXT           cannot be executed
 *     stopped                  by TERM or HUP; nothing landed
 *
 * For a merge train (doc/design/train.md):
 *
 *     merged COMMIT TREE TREE... [conflict|policy TEXT]
 *                              the tip of the branch and its tree ("none" twice
 *                              if there is no branch), then the tree after each
 *                              step, up to the first that cannot be merged
 *     passed [SUM]             all checks of the tree; or the command
 *                              `environment`, whose output has this SHA-256
 *     moved COMMIT             the branch is not where the landing expected it
 *     changed TEXT             a merge did not give the expected tree, or the
 *                              tree to be checked is not there
 *
 * If several sets land together, a conflict or failure of one of them begins
 * with the id of that set and a colon. */
#ifndef POINTSMAN_WIRE_LAND_VERDICT_H
#define POINTSMAN_WIRE_LAND_VERDICT_H

#include "lib/text.h"
#include "core/land_verdict.h"

/* "" for LAND_NONE. */
const char *land_verdict_word(enum land_verdict verdict);
/* The parts of the result point into `line`. */
struct land_verdict_line land_verdict_parse(struct span line);

#endif
