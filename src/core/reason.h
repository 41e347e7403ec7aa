/* Words of causes and reasons that more than one place spells: the code that
 * records them and the code that compares them. The reasons of steps are listed
 * in life.def. */
#ifndef POINTSMAN_CORE_REASON_H
#define POINTSMAN_CORE_REASON_H

/* ---- steps -------------------------------------------------------------- */

#define REASON_ADMITTED "admitted"
#define REASON_START "start"
#define REASON_OK "ok"
#define REASON_ALREADY_LANDED "already-landed"
#define REASON_NO_CHANGE                                 \
    "no-change" /* its content was on the branch already \
                 */
#define REASON_CONFLICT "conflict"
#define REASON_PERM "perm"   /* it will not be retried */
#define REASON_TEMP "temp"   /* a temporary failure */
#define REASON_CRASH "crash" /* it ended in an unknown way */
/* A set that it depends on has landed, but is no longer on the branch. */
#define REASON_BASE_LOST "base-lost"
#define REASON_UNAVAILABLE                                                 \
    "unavailable"                    /* its target cannot be used; also of \
                                        EVENT_TARGET */
#define REASON_FORBIDDEN "forbidden" /* it may not run here */
#define REASON_RECOVERED "recovered" /* its worker is gone */
#define REASON_AT_MOST_ONCE "at-most-once"
#define REASON_RETURNED "returned" /* its worker gave it back */
#define REASON_IDLE "idle"         /* no task of a standing job runs */
#define REASON_OPERATOR "operator" /* somebody cancelled it */
#define REASON_ROLLBACK "rollback"
#define REASON_RB_NOTHING "rb-nothing"   /* all of it was rolled back already */
#define REASON_RB_CONFLICT "rb-conflict" /* other sets are in the way */
#define REASON_RB_EMPTY "rb-empty" /* done; nothing was left of a member */
#define REASON_RB "rb"             /* a rollback waits for nothing in Q */
#define REASON_HELD "held"         /* it left the merge train of its target */
#define REASON_LEFT "left" /* the same, because something else has left it */

/* ---- attempts on a merge train ------------------------------------------ */

#define REASON_STOPPED "stopped" /* a check that was not wanted any more */
#define REASON_TIP "tip"         /* a check of the tip, not of the set */

/* ---- other events ------------------------------------------------------- */

/* EVENT_ROLLED_BACK */
#define REASON_ROLLED_BACK "rolled-back"
#define REASON_REINSTATED "reinstated"
/* EVENT_CANCEL */
#define REASON_ASKED "asked"
#define REASON_KILL "kill" /* end it without grace; also of EVENT_SIGNAL */
/* EVENT_SIGNAL */
#define REASON_HUP "hup"

/* EVENT_TRAIN of a target, by an operator; the others are in train_note.def */
#define REASON_RECHECK "recheck"
#define REASON_FORGOTTEN "forgotten"
#define REASON_ENVIRONMENT "environment" /* by the scheduler */

/* ---- causes of jobs ----------------------------------------------------- */

#define CAUSE_PERSON "person"
#define CAUSE_RUN "run"            /* `run` waits for it */
#define CAUSE_SCHEDULE "schedule " /* followed by its name and more */
#define CAUSE_LATE " s late"       /* ends that of a firing that was missed */

#endif
