/* Nodes and standing jobs for tests of the scheduler: what a registry with SQL
 * would hold lies in plain arrays, which survive a crash of the store. */
#ifndef POINTSMAN_TESTS_SUPPORT_STANDING_WORLD_H
#define POINTSMAN_TESTS_SUPPORT_STANDING_WORLD_H

#include "scheduler/node_feed.h"

enum {
    STANDING_HOSTS = 4,
    STANDING_SHARDS = 6, /* of each host */
    STANDING_NODES = STANDING_HOSTS * (1 + STANDING_SHARDS),
    STANDING_JOBS = 4,
    STANDING_FORGIVES = 64,
    STANDING_HOST_LIMIT = 2 /* of the resource `load` of a host */
};

struct standing_node {
    char name[16], parent[16];
    unsigned level; /* 1: host, 2: shard */
    bool enabled, exists;
    uint64_t change;
};

struct standing_def {
    uint64_t num, seq;
    char name[16];
    bool deleted, invalid;
    struct node_job_spec spec; /* relations point into this struct */
    uint64_t depends_on;
};

struct standing_world {
    struct store *store;
    struct node_feed feed;
    struct standing_node nodes[STANDING_NODES];
    struct standing_def jobs[STANDING_JOBS];
    size_t job_count;
    struct node_feed_forgive forgives[STANDING_FORGIVES];
    char forgive_nodes[STANDING_FORGIVES][16];
    size_t forgive_count;
    uint64_t change, read;
};

void standing_world_init(struct standing_world *world, struct store *store);
/* Admits a job of 1 on the shards: enabled, waits 10 s, 20 s, then fails; takes
 * one of the host's `load`. Its spec may be changed after that. */
struct standing_def *standing_world_add(struct standing_world *world,
                                        const char *name, struct wall now);
/* It has changed: records the event. */
void standing_world_changed(struct standing_world *world,
                            struct standing_def *def, struct wall now);
struct standing_node *standing_world_node(struct standing_world *world,
                                          const char *name);
void standing_world_node_changed(struct standing_world *world,
                                 struct standing_node *node, struct wall now);
/* `node` may be "". */
void standing_world_forgive(struct standing_world *world,
                            const struct standing_def *def, const char *node,
                            struct wall now);

#endif
