/* Merge trains: sets of a branch with several lanes are checked at once, each
 * on the tree it will land on (doc/design/train.md). These sets do not pass
 * through the picker: core/train decides about them, and these functions carry
 * that out.
 *
 *     scheduler_train.c       who is on a train; events; what it proposes
 *     scheduler_train_run.c   processes that merge, check and land
 *     scheduler_train_end.c   their ends
 *     scheduler_train_leave.c events that make sets leave
 *     target_train.c          the data */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_TRAIN_H
#define POINTSMAN_SCHEDULER_SCHEDULER_TRAIN_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/time.h"
#include "core/job.h"
#include "scheduler/runner.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_plan.h"
#include "scheduler/why.h"
#include "store/store.h"

struct scheduler;
struct attempt;

/* ---- input --------------------------------------------------------------- */

/* The pending jobs of trains that were just created. */
bool scheduler_train_load(struct scheduler *scheduler, struct err *err);
/* A set was executing before this start: it joins before others. True: no
 * attempt of it is without an end. */
bool scheduler_train_recall(struct scheduler *scheduler, const struct job *job);
/* ---- a turn -------------------------------------------------------------- */

/* What follows for all trains. */
void scheduler_train_plan(struct scheduler *scheduler);
/* Adds the events of kind `train`. */
void scheduler_train_notes(struct scheduler *scheduler);
void scheduler_train_leave_committed(struct scheduler *scheduler,
                                     const struct plan *plan, bool ok);
struct wall scheduler_train_next(const struct scheduler *scheduler);
/* True if a process merges, or sets of a train have to leave X. */
bool scheduler_train_is_busy(const struct scheduler *scheduler);
/* True if sets of a train are in X, perhaps between two attempts. */
bool scheduler_train_executes(const struct scheduler *scheduler);

/* ---- explanations -------------------------------------------------------- */

/* Adds why the job, on a train, is not decided yet. False: it is on none. */
bool scheduler_train_why(struct scheduler *scheduler, const struct job *job,
                         struct wall now, struct why *why);

#endif
