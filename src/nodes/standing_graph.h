/* All standing jobs and what they wait for: which relations are allowed
 * (doc/design/nodes.md, N13). */
#ifndef POINTSMAN_NODES_STANDING_GRAPH_H
#define POINTSMAN_NODES_STANDING_GRAPH_H

#include "lib/map.h"
#include "nodes/node_settings.h"
#include "nodes/standing_definition.h"
#include "nodes/standing_row.h"

struct standing_vertex {
    struct span name;
    unsigned level;
    struct lines depends_on, after_all_nodes_of;
    size_t from; /* of a search: the one that led to it, + 1; 0: not reached */
};

struct standing_graph {
    struct arena arena;
    const struct node_settings *settings;
    struct standing_vertex *jobs;
    size_t count, room;
    struct map by_name; /* -> index + 1 */
    uint64_t seen;      /* the newest change of a standing job */
};

/* Reads the jobs that are not deleted; those whose definition does not fit the
 * configuration any more are there, on level 0. */
bool standing_graph_read(struct standing_graph *graph, struct store *store,
                         const struct node_settings *settings, struct err *err);
void standing_graph_clear(struct standing_graph *graph);
/* Adds the job, or replaces the one of that name. */
void standing_graph_put(struct standing_graph *graph, struct span name,
                        const struct standing_definition *definition);
/* A line in `errors` for each job that it waits for and that does not exist or
 * is on another level, and for a ring. True: there is nothing wrong. */
bool standing_graph_check(struct standing_graph *graph, struct span name,
                          struct text *errors);
/* Appends the names of the jobs that wait for it, separated by ", ". */
void standing_graph_dependents(const struct standing_graph *graph,
                               struct span name, struct text *out);

#endif
