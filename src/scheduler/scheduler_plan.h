/* What the batch under way is to bring about. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_PLAN_H
#define POINTSMAN_SCHEDULER_SCHEDULER_PLAN_H

#include <stdbool.h>
#include <stdint.h>

struct scheduler;
struct attempt;

enum plan_kind {
    PLAN_TAKE,      /* a rollback begins */
    PLAN_MORE,      /* it takes more */
    PLAN_REVERT,    /* its process may start */
    PLAN_END,       /* of an attempt */
    PLAN_START,     /* of an attempt */
    PLAN_BEGIN,     /* of an array */
    PLAN_ARRAY_END, /* an array ends without an attempt that ends */
    PLAN_STAGE,     /* what the order proposed */
    PLAN_RANK,      /* the same: another rank */
    PLAN_BACKOFF    /* back-offs that are over */
};

struct plan {
    enum plan_kind kind;
    unsigned op;             /* of the move, or of the only operation */
    struct attempt *attempt; /* END, START */
    uint64_t num;
    bool again; /* END: the job goes on, this was one task of several */
    bool back;  /* END: the job is to be pending again */
};

/* Valid until the next one is added. */
struct plan *scheduler_plan_add(struct scheduler *scheduler,
                                enum plan_kind kind);

#endif
