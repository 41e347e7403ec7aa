/* Inside revert*.c only. */
#ifndef POINTSMAN_LANDING_REVERT_PARTS_H
#define POINTSMAN_LANDING_REVERT_PARTS_H

#include "landing/land_work.h"
#include "landing/revert.h"
#include "landing/tree.h"

/* One attempt. A step answers true to go on; false ends the attempt, with
 * `status` set or, when `settled` is false, with `err` saying why. */
struct reverting {
    const struct revert_start *start;
    struct child_stop *stop;
    struct land_status *status;
    bool finished;
    struct revert_steps *steps;
    FILE *account;
    struct mono begun;
    struct land_work work;
    struct git git;
    struct trees trees;
    char tip[OID_BYTES], tip_tree[OID_BYTES]; /* the branch */
    char at[OID_BYTES], at_tree[OID_BYTES];   /* the chain on top of it */
};

bool revert_finish(struct reverting *reverting, enum land_verdict verdict,
                   const char *reason, struct span text);
/* False when somebody asked to stop, or the time is over. */
bool revert_go_on(struct reverting *reverting);
struct revert_step *revert_step_add(struct revert_steps *steps,
                                    const struct revert_member *member,
                                    enum revert_result result, const char *of);

/* Which commits are to be reverted: all steps, newest first (revert_find.c). */
bool revert_find(struct reverting *reverting, struct err *err);
/* Reverts step `i` on top of the chain (revert_step.c). */
bool revert_one(struct reverting *reverting, size_t i, struct err *err);
/* A target that is a command, whole (revert_command.c). */
bool revert_by_command(struct reverting *reverting, struct err *err);

#endif
