/* The registry's record of nodes: every place of every node, what became of the
 * last refreshes of each source, and which nodes operators have disabled. A
 * noun of the registry (store/noun.h): writes are operations of a batch, reads
 * see everything committed.
 *
 * Whoever keeps nodes in memory listens for EVENT_NODES and reads what changed
 * since the last row that it has read. A place that is gone is among it: its
 * row is kept for NODE_GONE_KEPT_S. A reader that has read nothing for so long
 * begins again with everything. Rows do not say that time has passed: see
 * node_row_is_enabled. */
#ifndef POINTSMAN_NODES_NODE_ROW_H
#define POINTSMAN_NODES_NODE_ROW_H

#include "store/noun.h"

extern const struct store_noun node_noun;

enum { NODE_GONE_KEPT_S = 24 * 60 * 60 };

/* A node that operators have disabled, on all its places. */
struct node_window {
    struct wall since; /* 0: they have not */
    struct wall until; /* 0: until somebody enables it */
    struct span reason, actor;
};

struct node_row {
    struct span name, parent; /* parent empty: below the root */
    struct span level, source;
    int64_t place;       /* order of appearance; set by the registry */
    bool enabled;        /* what its source says */
    struct span tags;    /* separated by blanks */
    struct wall expires; /* its source removes it then; 0: never by itself */
    struct wall gone;    /* when it was removed; 0: it is there */
    uint64_t seq;        /* the event that changed it last */
    struct node_window window;
    unsigned depth; /* number of its level; not kept */
    bool is_kept;   /* it is in the registry; not kept either */
};

/* True if its source and the operators let tasks run there at that time. */
bool node_row_is_enabled(const struct node_row *row, struct wall now);

struct node_counts {
    uint64_t added, changed, removed;
};

struct node_source_row {
    struct span name;
    struct wall refreshed; /* 0: never */
    uint64_t nodes;
    struct node_counts counts; /* of the last refresh */
    struct wall failed;        /* 0: not since it was refreshed last */
    struct span error;
    uint64_t asked; /* the event that asks for a refresh; 0: nobody does */
};

/* ---- writing; results as in store.h -------------------------------------- */

/* Adds the place, behind all others, or changes it where it is.
 * node_row_changed follows in the same batch. */
unsigned node_row_put(struct store_batch *batch, const struct node_row *row);
/* Marks the place as gone. node_row_changed follows in the same batch. UNKNOWN:
 * it is not there. */
unsigned node_row_drop(struct store_batch *batch, struct span name,
                       struct span parent, struct wall now);
/* The event for all places of that source that were put and dropped since the
 * event before: NODES about the source, with the reason `changed` and the
 * numbers as facts. */
unsigned node_row_changed(struct store_batch *batch, struct span source,
                          const struct node_counts *counts);
/* Deletes up to `limit` rows of places that were gone before that time. */
unsigned node_row_prune(struct store_batch *batch, struct wall before,
                        size_t limit);
/* Asks whoever holds the role `nodes` to refresh the source. Event NODES with
 * the reason `asked`. */
unsigned node_row_ask(struct store_batch *batch, struct span source);
/* What became of a refresh; it answers the request source->asked, but no later
 * one. Event NODES with the reason `refreshed` or `failed`, unless `detail` is
 * empty. */
unsigned node_row_put_source(struct store_batch *batch,
                             const struct node_source_row *source,
                             struct span detail);
/* The source is no longer in the configuration. */
unsigned node_row_drop_source(struct store_batch *batch, struct span name);

/* ---- reading ------------------------------------------------------------- */

/* Those that are there, in their order, behind the place `after`; limit 0:
 * all. */
bool node_row_list(struct store *store, int64_t after, size_t limit,
                   struct arena *arena, struct node_row **ret_rows,
                   size_t *ret_count, struct err *err);
/* *ret_found: there is a place of a node of that name. */
bool node_row_exists(struct store *store, struct span name, bool *ret_found,
                     struct err *err);
/* Where a reader of changes stands: at the last row that it has read. Zero: it
 * has read nothing. */
struct node_mark {
    uint64_t seq;
    int64_t place;
};
/* The next rows that changed since then, also those that are gone, in the order
 * of the events that changed them; moves the mark. A child may come before its
 * parent. Fewer than `limit` (0: all): there are no more. */
bool node_row_changes(struct store *store, struct node_mark *mark, size_t limit,
                      struct arena *arena, struct node_row **ret_rows,
                      size_t *ret_count, struct err *err);
/* Sorted by name. */
bool node_row_sources(struct store *store, struct arena *arena,
                      struct node_source_row **ret_rows, size_t *ret_count,
                      struct err *err);

#endif
