/* What a rollback under way does next, before its process starts: the phase
 * "stopping" of doc/design/rollback.md. Pure. */
#ifndef POINTSMAN_CORE_ROLLBACK_STEP_H
#define POINTSMAN_CORE_ROLLBACK_STEP_H

#include <stdbool.h>
#include <stddef.h>

#include "core/retry.h"
#include "core/rollback.h"

struct rollback_situation {
    enum retry_killer killer; /* who asked for the end of the RB */
    /* What it would take now; may be NULL if there is a killer. */
    const struct rollback_decision *decision;
    size_t to_abandon; /* waiting members that are not in A yet */
    bool has_members;  /* an earlier decision has taken some */
    bool is_late;      /* running members have had their time */
};

enum rollback_step {
    ROLLBACK_STEP_END,     /* without a process, with a verdict */
    ROLLBACK_STEP_ABANDON, /* put members into A */
    ROLLBACK_STEP_STOP,    /* stop members that run, and wait for them */
    ROLLBACK_STEP_GIVE_UP, /* a member does not end */
    ROLLBACK_STEP_REVERT   /* nothing of it runs: its process may start */
};

/* *ret_verdict is set for ROLLBACK_STEP_END only. */
enum rollback_step
rollback_step_next(const struct rollback_situation *situation,
                   struct retry_verdict *ret_verdict);

#endif
