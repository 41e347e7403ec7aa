/* What the sections [nodes], [resource], [worker-limits] and [account] say,
 * with levels and resources as numbers. */
#ifndef POINTSMAN_NODES_NODE_SETTINGS_H
#define POINTSMAN_NODES_NODE_SETTINGS_H

#include "core/node_job.h"
#include "core/node_turns.h"
#include "core/node_workers.h"
#include "nodes/node_config.h"

enum {
    NODE_SLOT = 0 /* number of the workers' resource `slot`, which is always
                     there: a task takes 1, queue.concurrency is its limit */
};

/* Spans belong to the configuration. */
struct node_settings {
    const struct config *config;
    struct span level_names[NODE_LEVELS_MOST]; /* 0 is the instance */
    struct node_level levels[NODE_LEVELS_MOST];
    unsigned level_count;
    struct span names[NODE_LEVELS_MOST][NODE_RESOURCES_MOST]; /* of resources */
    struct span worker_names[NODE_RESOURCES_MOST];
    unsigned worker_resource_count;
    uint32_t worker_weights[NODE_RESOURCES_MOST];
    struct node_demand usual; /* what a task takes unless its job says more */
    enum node_policy policy;
    enum node_selector selector;
    enum node_order order;
    int64_t kill_orphans_after_ms; /* negative: never */
};

void node_settings_read(const struct config *config,
                        struct node_settings *ret_settings);
/* The number of the resource; *ret_is_worker: it is one of the workers',
 * otherwise of *ret_level. False: there is none of that name. */
bool node_settings_resource(const struct node_settings *settings,
                            struct span name, bool *ret_is_worker,
                            unsigned *ret_level, unsigned *ret_resource);
/* The limits of a worker on that host. */
void node_settings_worker_limits(const struct node_settings *settings,
                                 struct span host,
                                 int64_t ret_limits[NODE_RESOURCES_MOST]);
/* Limits of single nodes, by index; false: there are no more. */
bool node_settings_limit_at(const struct node_settings *settings, size_t index,
                            struct span *ret_node, unsigned *ret_level,
                            unsigned *ret_resource, int64_t *ret_limit);
/* What [account "NAME"] says, in the order of the files; false: there are no
 * more. */
bool node_settings_account_at(const struct node_settings *settings,
                              size_t index, struct span *ret_name,
                              uint32_t *ret_weight, uint32_t *ret_limit);

#endif
