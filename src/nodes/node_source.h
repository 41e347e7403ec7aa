/* The nodes of one source, from the configuration and what it names, made in
 * steps. */
#ifndef POINTSMAN_NODES_NODE_SOURCE_H
#define POINTSMAN_NODES_NODE_SOURCE_H

#include "base/base.h"
#include "base/subprocess.h"
#include "nodes/node_config.h"
#include "nodes/node_list.h"

enum { NODE_STEP_ROWS = 5000 /* of one step, about */ };

/* What a source needs besides its configuration. */
struct node_means {
    const struct base *base;
    struct subprocesses *subprocesses;
    void (*wake)(void *ctx); /* a program has ended; may be NULL */
    void *ctx;
};

struct node_making {
    const struct node_means *means;
    const struct config_node_source *source;
    struct node_list *list;
    unsigned level;
    bool enabled;
    size_t budget; /* rows that this step may still look at */

    struct text text; /* of the file, or of the script for `parent` */
    struct span rest; /* lines that were not added yet */
    unsigned line;    /* number of the last one */
    const char *file; /* where they come from */
    size_t listed;    /* items of the key `node` that were added */

    size_t parent_at, parents_end; /* rows of the list that may be parents */
    bool has_parent;
    struct span parent;          /* empty: the root */
    uint64_t number, number_end; /* of a range: the next one below it */
    bool waits;                  /* until the script has ended, */
    bool has_output;             /* which is in `text`, or failed: */
    struct err script_err;
    bool is_done; /* all of it is in the list */
};

/* Begins to add the nodes of the source to the list, which holds those of the
 * sources before. Means and list must outlive it, and it
 * must not be moved. ERR_DATA. */
bool node_making_begin(struct node_making *making,
                       const struct node_means *means,
                       const struct config_node_source *source,
                       struct node_list *list, struct err *err);
/* Adds the next nodes; sets is_done with the last ones. Must not be called
 * while it waits. False: what is wrong; some of its nodes have been added. */
bool node_making_step(struct node_making *making, struct err *err);
/* A script that runs is killed. */
void node_making_clear(struct node_making *making);

#endif
