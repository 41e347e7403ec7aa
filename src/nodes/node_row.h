/* The registry's record of nodes: every place of every node, and what became of
 * the last refreshes of each source. A noun of the registry (store/noun.h):
 * writes are operations of a batch, reads see everything committed. */
#ifndef POINTSMAN_NODES_NODE_ROW_H
#define POINTSMAN_NODES_NODE_ROW_H

#include "store/noun.h"

extern const struct store_noun node_noun;

struct node_row {
    struct span name, parent; /* parent empty: below the root */
    struct span level, source;
    int64_t place; /* order of appearance; set by the registry */
    bool enabled;
    struct span tags; /* separated by blanks */
    unsigned depth;   /* number of its level; not kept */
    bool is_kept;     /* it is in the registry; not kept either */
};

struct node_source_row {
    struct span name;
    struct wall refreshed; /* 0: never */
    uint64_t nodes;
    struct wall failed; /* 0: not since it was refreshed last */
    struct span error;
};

/* ---- writing; results as in store.h -------------------------------------- */

/* Adds the place, behind all others, or changes it where it is. */
unsigned node_row_put(struct store_batch *batch, const struct node_row *row);
/* UNKNOWN: there is none. */
unsigned node_row_drop(struct store_batch *batch, struct span name,
                       struct span parent);
/* What became of a refresh. Event NODES with the reason `refreshed` or
 * `failed`, unless `detail` is empty. */
unsigned node_row_put_source(struct store_batch *batch,
                             const struct node_source_row *source,
                             struct span detail);
/* The source is no longer in the configuration. */
unsigned node_row_drop_source(struct store_batch *batch, struct span name);

/* ---- reading ------------------------------------------------------------- */

/* In their order, behind the place `after`; limit 0: all. */
bool node_row_list(struct store *store, int64_t after, size_t limit,
                   struct arena *arena, struct node_row **ret_rows,
                   size_t *ret_count, struct err *err);
/* *ret_found: there is a place of a node of that name. */
bool node_row_exists(struct store *store, struct span name, bool *ret_found,
                     struct err *err);
/* Sorted by name. */
bool node_row_sources(struct store *store, struct arena *arena,
                      struct node_source_row **ret_rows, size_t *ret_count,
                      struct err *err);

#endif
