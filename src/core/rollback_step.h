/* The next step of an open rollback before its process starts: the phase
 * "stopping" of doc/design/rollback.md. Pure. */
#ifndef POINTSMAN_CORE_ROLLBACK_STEP_H
#define POINTSMAN_CORE_ROLLBACK_STEP_H

#include <stdbool.h>
#include <stddef.h>

#include "core/retry.h"
#include "core/rollback.h"

struct rollback_situation {
    enum retry_killer killer; /* the request to end the RB, if any */
    /* The present decision; may be NULL if there is a killer. */
    const struct rollback_decision *decision;
    size_t to_abandon; /* waiting members that are not in A yet */
    bool has_members;  /* an earlier decision has added members */
    bool is_late;      /* the grace period of running members is over */
};

enum rollback_step {
    ROLLBACK_STEP_END,     /* end without a process, with a verdict */
    ROLLBACK_STEP_ABANDON, /* put members into A */
    ROLLBACK_STEP_STOP,    /* stop running members and wait for them */
    ROLLBACK_STEP_GIVE_UP, /* a member does not end */
    ROLLBACK_STEP_REVERT   /* no member runs: the process may start */
};

/* *ret_verdict is set for ROLLBACK_STEP_END only. */
enum rollback_step
rollback_step_next(const struct rollback_situation *situation,
                   struct retry_verdict *ret_verdict);

#endif
