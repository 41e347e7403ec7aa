/* The jobs that an open rollback covers, and where they stand meanwhile
 * (doc/design/rollback.md, R5 and R6). Pure. */
#ifndef POINTSMAN_CORE_ROLLBACK_SCOPE_H
#define POINTSMAN_CORE_ROLLBACK_SCOPE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "core/job.h"
#include "core/rollback.h"

/* {0}: no rollback is open. */
struct rollback_scope {
    struct arena arena; /* holds the arrays below */
    uint64_t num;       /* num of the RB; 0: none is open */
    struct rollback_entry *entries;
    struct span *ids; /* ids, with the same indexes */
    size_t count;
};

/* The state of a covered job before the rollback; STATE_NONE: the job is not
 * covered. No errors. */
enum job_state rollback_scope_covers(const struct rollback_scope *scope,
                                     uint64_t num);
/* The state to which a member in A returns if the rollback is undone (R6): the
 * one it came from, or P if it had been started. */
enum job_state rollback_return_state(enum job_state was);
/* The state by which the order places a job: for a covered job in A the state
 * to which it may return (R5), for any other job its own, P at most. */
enum job_state rollback_scope_stands_as(const struct rollback_scope *scope,
                                        uint64_t num, enum job_state state);

#endif
