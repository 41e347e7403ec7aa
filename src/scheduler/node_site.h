/* Where a task of a standing job runs and what it holds, as kept with its
 * attempt in the registry: words behind those of wire/attempt_trace.h, which
 * skips them.
 *
 *     on shard=s1 host=h1 takes connections=1 slot=1
 *
 * The first node is that of the task, then come those above it, without the
 * root. */
#ifndef POINTSMAN_SCHEDULER_NODE_SITE_H
#define POINTSMAN_SCHEDULER_NODE_SITE_H

#include "core/node_job.h"

/* What levels and resources are called. The workers' level is the last one. */
struct node_names {
    struct span levels[NODE_LEVELS_MOST]; /* 0 is the root's */
    unsigned level_count;
    struct span of_level[NODE_LEVELS_MOST][NODE_RESOURCES_MOST];
    struct span of_worker[NODE_RESOURCES_MOST];
};

struct node_site {
    struct span nodes[NODE_LEVELS_MOST];
    unsigned levels[NODE_LEVELS_MOST];
    size_t count;
    struct node_demand demand;
};

void node_site_format(const struct node_site *site,
                      const struct node_names *names, struct text *out);
/* Spans point into the line. What is not known by that name any more is left
 * out. False: the line names no node. */
bool node_site_parse(struct span line, const struct node_names *names,
                     struct node_site *ret_site);

#endif
