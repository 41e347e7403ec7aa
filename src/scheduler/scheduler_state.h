/* The whole state of the scheduler; for scheduler_*.c only. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_STATE_H
#define POINTSMAN_SCHEDULER_SCHEDULER_STATE_H

#include "lib/arena.h"
#include "lib/list.h"
#include "lib/map.h"
#include "lib/random.h"
#include "core/groups.h"
#include "core/order.h"
#include "core/picker.h"
#include "core/rollback_queue.h"
#include "core/rollback_scope.h"
#include "scheduler/scheduler.h"
#include "scheduler/scheduler_nodes.h"
#include "scheduler/scheduler_plan.h"
#include "scheduler/scheduler_rollback.h"
#include "scheduler/target_train.h"
#include "scheduler/worker_table.h"

/* Maximum number of back-offs handled at a time. */
enum { BACKOFF_MAX = 512 };

struct scheduler {
    struct store *store;
    struct scheduler_options options;
    struct arena names; /* strings of options */
    struct runner runner;
    struct worker_table workers;
    struct order *order;
    struct picker *picker;
    struct groups *groups;
    struct random random;
    struct wall now;

    struct map tasks_changed; /* ids of jobs of whose tasks a share is waited
                                 for, and whose tasks have changed */

    struct map jobs; /* num -> struct tracked_job */
    struct list waiting;
    size_t waiting_count;
    struct list attempts, ended; /* of struct attempt.link */
    struct map by_handle;
    struct list arrays;
    struct scheduler_nodes nodes;
    uint64_t next_handle;
    uint64_t started;
    size_t running; /* number of attempts assigned and not ended */

    struct store_batch *batch; /* in progress, or being built */
    bool in_flight;
    bool dismissed; /* decisions are still recorded, but not acted on */
    struct plan *plans;
    size_t plan_count, plan_cap;

    struct list trains;  /* of struct target_train.link */
    struct map unusable; /* target -> struct unusable */

    struct rollback_queue rollbacks;
    struct rollback_scope scope; /* whichever process executes it: from its
                                    events */
    struct rollback_run rollback_run;

    struct map hosted; /* its keys are nums; see scheduler_hosted.h */
    bool hosted_grew;  /* by a pending job, which may not have been offered */
    bool awaits_rollback; /* see scheduler_await_rollback */
    bool follows;         /* see scheduler_follow */
    struct map followed;  /* num -> struct followed */
    bool draining, returning;
    bool settling;                           /* see scheduler_settle */
    const struct scheduler_running *adopted; /* until scheduler_start is done */
    size_t adopted_count;
    bool idle; /* the last turn found nothing to do */
    bool failed;
    struct wall again_at;     /* after a batch that failed */
    struct wall excess_since; /* more is assigned than will start soon; 0: no */
    struct wall due_at;       /* when the next back-off ends, if known */
    int64_t set_back_ms;      /* by which the clock was set back since what is
                                 planned was planned */
    uint64_t due[BACKOFF_MAX]; /* handled this time */
    size_t due_count;
    bool due_crowd; /* more are due than are handled at a time */
    struct err store_err;
};

/* True if no further set is landed, checked or rolled back. */
static inline bool scheduler_rests_sets(const struct scheduler *scheduler) {
    return scheduler->draining || scheduler->settling;
}

#endif
