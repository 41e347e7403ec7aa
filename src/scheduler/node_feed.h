/* Where the scheduler has nodes and standing jobs from: the registry and the
 * configuration, as src/nodes understands them (nodes/standing_feed.h). */
#ifndef POINTSMAN_SCHEDULER_NODE_FEED_H
#define POINTSMAN_SCHEDULER_NODE_FEED_H

#include "core/node_pass.h"
#include "scheduler/node_site.h"
#include "store/store.h"

/* A standing job as it is now. */
struct node_feed_job {
    uint64_t num;
    bool is_deleted;
    bool is_valid;             /* false: `why`, and there is no spec */
    struct node_job_spec spec; /* as in core/node_job.h */
    struct span name;
    struct span submission; /* of its tasks, like `spec` of a command's job */
    char *why;
    void *memory; /* of spec, name and submission */
};

/* A request to forgive the tasks of a job. */
struct node_feed_forgive {
    uint64_t seq, num;
    struct span node; /* empty: all tasks */
};

/* What the configuration says; spans are valid until the next reload. */
struct node_setup {
    struct node_names names;
    struct node_pass_options pass;
    struct span host; /* of the worker here, and its limits */
    int64_t limits[NODE_RESOURCES_MOST];
};

/* A node that is new in the pass, or has come back. */
typedef void node_feed_came(void *ctx, struct span name);
/* The job belongs to the function that is called; the name of one that is not
 * valid only for that call. */
typedef void node_feed_visit(void *ctx, struct node_feed_job *job);

/* False: what could not be read, in err. */
struct node_feed {
    void *ctx;
    void (*setup)(void *ctx, unsigned slots, struct node_setup *ret_setup);
    /* Puts nodes into the pass and takes them out, as they have changed since
     * the last call; `all`: the pass is new. Sets limits of nodes and accounts.
     * *ret_next: when it has to be called again even if nothing changes; at
     * first what the last call returned. */
    bool (*read_nodes)(void *ctx, struct store *store, struct node_pass *pass,
                       bool all, struct wall now, node_feed_came *came,
                       void *came_ctx, struct wall *ret_next, struct err *err);
    /* Those that changed after the event *seq, which moves on; 0: all. */
    bool (*read_jobs)(void *ctx, struct store *store, uint64_t *seq,
                      node_feed_visit *visit, void *visit_ctx, struct err *err);
    void (*release)(struct node_feed_job *job);
    /* Requests that are not carried out. */
    bool (*read_forgives)(void *ctx, struct store *store, struct arena *arena,
                          struct node_feed_forgive **ret_forgives,
                          size_t *ret_count, struct err *err);
    /* The request is carried out with this batch. */
    void (*forgiven)(struct store_batch *batch, uint64_t seq);
};

#endif
