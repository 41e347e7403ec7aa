/* The queue of waiting rollbacks. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_ROLLBACK_QUEUE_H
#define POINTSMAN_SCHEDULER_SCHEDULER_ROLLBACK_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/list.h"
#include "lib/time.h"
#include "core/job.h"

struct scheduler;

/* An RB that waits for its turn. */
struct rollback_waiting {
    struct list link;
    uint64_t num;
    struct wall not_before;
    size_t rank_bytes;
    char rank[];
};

/* A lane that is never picked from: RBs are in the picker's window only so that
 * it sees the registry's jobs without gaps. No target has that name. */
extern const struct span scheduler_rollback_lane;
void scheduler_rollback_offer(struct scheduler *scheduler,
                              const struct job *job);
void scheduler_rollback_forget(struct scheduler *scheduler, uint64_t num);
void scheduler_rollback_queue_clear(struct scheduler *scheduler);
/* The first rollback whose time has come; NULL: none. */
struct rollback_waiting *scheduler_rollback_due(struct scheduler *scheduler);
/* When the next back-off of a rollback ends. */
struct wall scheduler_rollback_due_next(const struct scheduler *scheduler);

#endif
