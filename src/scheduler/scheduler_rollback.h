/* Doing a rollback. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_ROLLBACK_H
#define POINTSMAN_SCHEDULER_SCHEDULER_ROLLBACK_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/time.h"
#include "core/rollback.h"
#include "core/retry.h"
#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_plan.h"

/* The rollback this process does: one at a time. */
struct rollback_run {
    struct arena arena;      /* since it began */
    struct attempt *attempt; /* of the RB; NULL: none */
    struct rollback_entry *entries;
    size_t count;
    struct run_member *reverts; /* of a run that is about to start */
    size_t revert_count;
    struct span because;
    struct wall begun, give_up; /* when members have had their time */
    bool verdict_known;         /* it ends without a process */
    struct retry_verdict verdict;
};

void scheduler_rollback_clear(struct scheduler *scheduler);
/* An RB found executing at the start: its target stays closed. */
void scheduler_rollback_recover(struct scheduler *scheduler,
                                struct attempt *attempt);
/* Begins, goes on with or ends a rollback. True: the batch is its own, and all
 * or nothing. */
bool scheduler_rollback_plan(struct scheduler *scheduler);
void scheduler_rollback_committed(struct scheduler *scheduler,
                                  const struct plan *plan, bool ok);
/* What is recorded beside the end of an RB's attempt. */
void scheduler_rollback_plan_end(struct scheduler *scheduler,
                                 struct attempt *attempt,
                                 const struct retry_verdict *verdict);
void scheduler_rollback_ended(struct scheduler *scheduler,
                              const struct attempt *attempt);
struct wall scheduler_rollback_next(const struct scheduler *scheduler);

#endif
