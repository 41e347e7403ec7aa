/* A refresh: all nodes that the sources have now are compared with those in the
 * registry, and the difference is recorded (doc/design/nodes.md, N15). New
 * nodes come first, parents before children; nothing is removed before all of
 * that is recorded. A source that fails keeps the nodes that it had.
 *
 * It is done in steps of a few thousand rows, so that a server can do other
 * work in between:
 *
 *     node_refresh_begin(), and choose sources
 *     while node_refresh_next() is not NODE_REFRESH_OVER
 *         STEP    node_refresh_step()
 *         WAIT    nothing, until it has changed
 *         RECORD  node_refresh_record() into a batch, and write that */
#ifndef POINTSMAN_NODES_NODE_REFRESH_H
#define POINTSMAN_NODES_NODE_REFRESH_H

#include "base/base.h"
#include "nodes/node_source.h"

struct node_refresh_source {
    const struct config_node_source *config;
    struct span name;
    struct node_source_row before; /* as it is recorded */
    uint64_t nodes;
    struct node_counts counts;
    bool is_chosen; /* it is refreshed, not only kept */
    struct err err; /* text empty: it did not fail */
};

enum node_refresh_next {
    NODE_REFRESH_STEP,
    NODE_REFRESH_WAIT, /* until a script has ended: `wake` of the means */
    NODE_REFRESH_RECORD,
    NODE_REFRESH_OVER
};

struct node_refresh {
    struct node_means means;
    struct wall now;
    enum node_refresh_next next;
    bool (*work)(struct node_refresh *refresh, struct err *err);

    struct arena arena;
    struct node_refresh_source *sources; /* as in the configuration */
    size_t source_count;
    struct node_source_row *recorded; /* those that are gone too */
    size_t recorded_count;

    struct node_row *rows; /* nodes as they are recorded */
    size_t row_count, row_room;
    struct node_list list; /* as they are to be */
    size_t source_at;      /* this source is made, */
    bool makes, keeps;     /* or keeps what it had: */
    struct node_making making;
    size_t list_before, keep_at;

    size_t compare_at;
    struct node_row **drops; /* those of `rows` that go, in that order */
    size_t drop_count;
    size_t put_at, drop_at; /* up to here it is recorded */
};

/* Reads what is recorded of the sources; none of them is chosen yet. The base
 * and its configuration must not change until it is over, and it must not be
 * moved. */
bool node_refresh_begin(struct node_refresh *refresh,
                        const struct node_means *means, struct wall now,
                        struct err *err);
enum node_refresh_next node_refresh_next(const struct node_refresh *refresh);
/* False: the registry could not be read. */
bool node_refresh_step(struct node_refresh *refresh, struct err *err);
/* Adds the next operations to the batch. They must be committed before the next
 * call. */
void node_refresh_record(struct node_refresh *refresh,
                         struct store_batch *batch);
void node_refresh_clear(struct node_refresh *refresh);

#endif
