/* The queue of waiting rollbacks, most urgent first. They are executed one at a
 * time, independently of slots and lanes. */
#ifndef POINTSMAN_CORE_ROLLBACK_QUEUE_H
#define POINTSMAN_CORE_ROLLBACK_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/list.h"
#include "lib/text.h"
#include "lib/time.h"
#include "core/job.h"

struct rollback_queue {
    struct list waiting;
};

void rollback_queue_init(struct rollback_queue *queue);
void rollback_queue_clear(struct rollback_queue *queue);
/* Adds a rollback in Q or P, or changes its place. */
void rollback_queue_offer(struct rollback_queue *queue, const struct job *job);
/* Removes a rollback that no longer waits; no effect if it is not there. */
void rollback_queue_forget(struct rollback_queue *queue, uint64_t num);
/* The number of the first rollback whose time has come; 0: none. */
uint64_t rollback_queue_due(const struct rollback_queue *queue,
                            struct wall now);
/* The same, with its target, for every one whose time has come: the n-th of
 * them; false: there are fewer. */
bool rollback_queue_due_at(const struct rollback_queue *queue, struct wall now,
                           size_t n, uint64_t *ret_num,
                           struct span *ret_target);
/* When the next back-off of a rollback ends. Those that are due do not count:
 * something else has to happen before they can start. WALL_NEVER: none. */
struct wall rollback_queue_next(const struct rollback_queue *queue,
                                struct wall now);

/* The clock was set back by so much. */
void rollback_queue_set_back(struct rollback_queue *queue, int64_t ms);

/* A lane that is never picked from: rollbacks are in the picker's window only
 * so that it sees the registry's jobs without gaps. No target has that name. */
extern const struct span rollback_queue_lane;
/* The lane of a job in the picker's window. */
struct span rollback_queue_lane_of(const struct job *job);

#endif
