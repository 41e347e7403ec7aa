/* The intended results of the batch in progress. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_PLAN_H
#define POINTSMAN_SCHEDULER_SCHEDULER_PLAN_H

#include <stdbool.h>
#include <stdint.h>

struct scheduler;
struct attempt;
struct target_train;

enum plan_kind {
    PLAN_TAKE,        /* a rollback starts */
    PLAN_MORE,        /* a rollback gets more members */
    PLAN_REVERT,      /* the process of a rollback may start */
    PLAN_END,         /* of an attempt */
    PLAN_START,       /* of an attempt */
    PLAN_NODE_START,  /* of an attempt at a task of a standing job */
    PLAN_NODES_IDLE,  /* a standing job of which nothing runs */
    PLAN_FORGIVE,     /* requests to forgive tasks */
    PLAN_BEGIN,       /* of an array */
    PLAN_ARRAY_END,   /* an array ends although no attempt ended */
    PLAN_STAGE,       /* a proposal of the order */
    PLAN_RANK,        /* a proposal of the order: another rank */
    PLAN_BACKOFF,     /* back-offs that have ended */
    PLAN_SET_BACK,    /* the clock was set back */
    PLAN_TRAIN_START, /* of an attempt for a merge train */
    PLAN_TRAIN_END,   /* of such an attempt */
    PLAN_TRAIN_LEAVE  /* the sets of a unit leave X, or fail in P */
};

struct plan {
    enum plan_kind kind;
    unsigned op;             /* index of the move, or of the only operation */
    struct attempt *attempt; /* for END, START */
    uint64_t num;
    struct target_train *train; /* for TRAIN_... */
    bool again; /* END: the job goes on, this was one of several tasks */
    bool back;  /* END: the job will be pending again */
};

/* Valid until the next one is added. */
struct plan *scheduler_plan_add(struct scheduler *scheduler,
                                enum plan_kind kind);

#endif
