/* Used only by revert*.c. */
#ifndef POINTSMAN_LANDING_REVERT_PARTS_H
#define POINTSMAN_LANDING_REVERT_PARTS_H

#include "landing/land_work.h"
#include "landing/revert.h"
#include "landing/revert_replay.h"
#include "landing/tree.h"

enum revert_result {
    REVERT_UNTRIED,  /* the attempt ended before this step */
    REVERT_MADE,     /* reverted; in a preview: can be reverted */
    REVERT_EMPTY,    /* nothing of it is left; its commit changes nothing */
    REVERT_OUT,      /* already reverted: nothing was done */
    REVERT_CONFLICT, /* this step has a conflict */
    REVERT_ABSENT,   /* its commit is not on the branch */
    REVERT_FAILED    /* its revert command failed */
};

/* The result for one commit of a member, or what it would be, in the order in
 * which they are reverted, newest first. A set has one commit; a rollback may
 * have several or, if nothing was left to revert, none (REVERT_EMPTY). */
struct revert_step {
    const struct revert_member *member;
    enum revert_result result;
    char of[OID_BYTES];     /* the commit to revert; "" = none */
    char commit[OID_BYTES]; /* the commit that reverts it; "" = none */
    struct span effects; /* its lines, as the replay found them; empty: those of
                            the commit, turned */
};

struct revert_steps {
    struct revert_step *p;
    size_t count, cap;
};

/* One attempt. A step returns true to go on; false ends the attempt, with
 * `status` set or, if `settled` is false, with the reason in `err`. */
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
    struct replay replay;
    struct text note; /* what was found empty, and who had removed it */
    char tip[OID_BYTES], tip_tree[OID_BYTES]; /* the branch */
    char at[OID_BYTES], at_tree[OID_BYTES]; /* the chain of reverts on top of it
                                             */
};

bool revert_finish(struct reverting *reverting, enum land_verdict verdict,
                   const char *reason, struct span text);
struct revert_step *revert_step_add(struct revert_steps *steps,
                                    const struct revert_member *member,
                                    enum revert_result result, const char *of);

/* False, with the attempt finished, if a stop was requested or the time is
 * over. */
bool revert_go_on(struct reverting *reverting);

/* The sets and pushes that prevent a rollback; zero it and set `steps`. */
struct revert_culprits {
    const struct revert_steps *steps;
    struct text names; /* " C9 C12": sets that could be rolled back too */
    struct text said;  /* "C9 (done), commit 0123456789ab by Ann" */
    size_t count;
};
void revert_culprits_clear(struct revert_culprits *culprits);
/* A history_visit; false: no more of them will be named. Commits that are
 * reverted are ignored. */
bool revert_culprit_add(void *ctx, const struct history_commit *commit);
/* Names the sets that a merge by others, added last, brought to the branch with
 * their changes to this path. Starts git. */
bool revert_culprit_merged(struct revert_culprits *culprits, struct git *git,
                           const struct history_commit *merge,
                           struct span path, struct err *err);
/* Appends the sentence about this path. */
void revert_culprits_say(const struct revert_culprits *culprits,
                         struct span path, struct text *why);

/* Finds the commits to revert: adds all steps, newest first (revert_find.c). */
bool revert_find(struct reverting *reverting, struct err *err);
/* Reverts step `i` on top of the chain (revert_step.c). */
bool revert_one(struct reverting *reverting, size_t i, struct err *err);
/* The whole attempt for a target that is a command (revert_command.c). */
bool revert_by_command(struct reverting *reverting, struct err *err);

#endif
