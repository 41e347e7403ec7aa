/* Executes rollbacks. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_ROLLBACK_H
#define POINTSMAN_SCHEDULER_SCHEDULER_ROLLBACK_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/time.h"
#include "core/rollback.h"
#include "core/retry.h"
#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_plan.h"

/* The rollback that this process executes: one at a time. */
struct rollback_run {
    struct arena arena;      /* lives for this rollback */
    struct attempt *attempt; /* attempt of the RB; NULL: none */
    struct rollback_entry *entries;
    size_t count;
    struct run_member *reverts; /* for a process that is about to start */
    size_t revert_count;
    struct span because;
    struct wall begun, give_up; /* when the members' grace period is over */
    bool verdict_known;         /* it ends without a process */
    struct retry_verdict verdict;
};

void scheduler_rollback_clear(struct scheduler *scheduler);
/* For an RB found executing at start-up: its target stays closed. */
void scheduler_rollback_recover(struct scheduler *scheduler,
                                struct attempt *attempt);
/* Starts, continues or ends a rollback. True: the batch belongs to the rollback
 * alone, and is all or nothing. */
bool scheduler_rollback_plan(struct scheduler *scheduler);
/* Keeps sets from starting on the targets of rollbacks that wait for another
 * one to end, or that cannot be decided now. */
void scheduler_rollback_yield(struct scheduler *scheduler);
void scheduler_rollback_committed(struct scheduler *scheduler,
                                  const struct plan *plan, bool ok);
/* A conflict of the open rollback is no failure if sets have landed since the
 * plan was made that belong to it now (closure = deps+files): it is planned
 * again. */
void scheduler_rollback_reconsider(struct scheduler *scheduler,
                                   const struct attempt *attempt,
                                   struct retry_verdict *verdict);
/* Plans what is recorded beside the end of an RB's attempt. */
void scheduler_rollback_plan_end(struct scheduler *scheduler,
                                 struct attempt *attempt,
                                 const struct retry_verdict *verdict);
void scheduler_rollback_ended(struct scheduler *scheduler,
                              const struct attempt *attempt);
struct wall scheduler_rollback_next(const struct scheduler *scheduler);

#endif
