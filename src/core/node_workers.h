/* The workers that tasks run on, what is free of each one's resources, and
 * which of them takes a task (doc/design/nodes.md, N10). Pure. */
#ifndef POINTSMAN_CORE_NODE_WORKERS_H
#define POINTSMAN_CORE_NODE_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/map.h"
#include "lib/text.h"
#include "core/node_job.h"
#include "core/node_tree.h"

enum node_selector {
    NODE_SELECTOR_ROUND_ROBIN, /* the next one in turn */
    NODE_SELECTOR_BUSIEST      /* the one that has least left, by weight, so
                                  that large ones stay free */
};

struct node_worker {
    uint32_t host;
    bool takes_tasks; /* healthy */
    int64_t limit[NODE_RESOURCES_MOST], left[NODE_RESOURCES_MOST];
};

struct node_workers {
    unsigned resource_count;
    uint32_t weights[NODE_RESOURCES_MOST];
    enum node_selector selector;
    struct node_worker *workers;
    uint32_t count, room;
    uint32_t turn;       /* where the next search begins */
    struct map host_ids; /* name -> number + 1 */
    struct span *hosts;
    uint32_t host_count, host_room;
};

void node_workers_init(struct node_workers *workers, unsigned resource_count,
                       const uint32_t *weights, enum node_selector selector);
void node_workers_clear(struct node_workers *workers);

/* The number of the host of that name; NODE_NONE: it has no worker. */
uint32_t node_workers_find_host(const struct node_workers *workers,
                                struct span name);

/* Returns the number of the new worker, which takes no tasks yet. Workers are
 * never removed; one that comes back has its number again. */
uint32_t node_workers_add(struct node_workers *workers, struct span host,
                          const int64_t *limits);
/* Amounts that are taken stay taken. */
void node_workers_set_limits(struct node_workers *workers, uint32_t worker,
                             const int64_t *limits);
/* sign 1: a task of that demand started there, -1: it ended. */
void node_workers_take(struct node_workers *workers, uint32_t worker,
                       const struct node_demand *demand, int sign);

/* Something about the worker has changed: finds out whether it can take a task
 * of the job. True if that was different before. `again`: the job's definition
 * has changed, or the worker is new. */
bool node_workers_review(const struct node_workers *workers, uint32_t worker,
                         struct node_job *job, bool again);
/* The worker that takes the job's first task now. One must be open. */
uint32_t node_workers_choose(struct node_workers *workers,
                             const struct node_job *job);

#endif
