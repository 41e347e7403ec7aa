/* A refresh: all nodes that the sources have now are compared with those in the
 * registry, and the difference is recorded, a few thousand rows at a time
 * (doc/design/nodes.md, N15). New nodes come first, parents before children;
 * nothing is removed before all of that is recorded. A source that fails keeps
 * the nodes that it had. */
#ifndef POINTSMAN_NODES_NODE_REFRESH_H
#define POINTSMAN_NODES_NODE_REFRESH_H

#include "base/base.h"
#include "nodes/node_list.h"

struct node_refresh_source {
    struct span name;
    struct node_source_row before; /* as it is recorded */
    uint64_t nodes;
    struct node_counts counts;
    bool is_chosen; /* it was refreshed, not only kept */
    struct err err; /* text empty: it did not fail */
};

struct node_refresh {
    const struct base *base;
    struct wall now;
    struct arena arena;
    struct node_list list; /* as it is to be */
    struct node_row *rows; /* as it is */
    size_t row_count;
    struct node_refresh_source *sources;
    size_t source_count;
    struct node_source_row *recorded; /* sources, those that are gone too */
    size_t recorded_count;
    struct node_row **drops; /* those of `rows` that go, in that order */
    size_t drop_count;
    size_t put_at, drop_at; /* up to here it is recorded */
    bool is_done;
};

/* Reads registry and sources. `only`: the source to refresh; empty: all.
 * ERR_DATA: there is no such source. */
bool node_refresh_begin(struct node_refresh *refresh, const struct base *base,
                        struct span only, struct wall now, struct err *err);
/* Adds the next operations to the batch; sets is_done with the last ones. */
void node_refresh_step(struct node_refresh *refresh, struct store_batch *batch);
void node_refresh_clear(struct node_refresh *refresh);

#endif
