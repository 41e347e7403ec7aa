/* What belongs to an attempt at a task of a standing job, and how the task is
 * recorded. */
#ifndef POINTSMAN_SCHEDULER_NODE_ATTEMPT_H
#define POINTSMAN_SCHEDULER_NODE_ATTEMPT_H

#include "core/node_pass.h"
#include "store/store.h"

struct attempt;
struct node_track; /* scheduler/scheduler_nodes.h */

/* Of an attempt at a task of a standing job. */
struct node_attempt {
    struct node_track *track;
    struct node_run *run; /* NULL: the pass does not know it, or it has ended */
    uint32_t row;
    char *name, *place, *site;
    struct span level;
    struct node_task task; /* as it is recorded; after the end: as it will be */
    struct retry_verdict verdict;
    bool is_decided, is_orphan;
};

struct node_attempt *node_attempt_new(struct node_track *track,
                                      struct span name, struct span site);
void node_attempt_free(struct node_attempt *node); /* NULL is fine */
/* The task as it is recorded; `number`: of the task. */
struct store_task node_attempt_record(const struct node_task *task,
                                      struct span name, uint64_t number);
/* What is on record, as the pass takes it. */
struct node_task node_attempt_task(const struct store_task *row);

#endif
