/* A job that runs on the nodes of a level, or on nodes of its own, and which of
 * its tasks comes first among those that could start now (doc/design/nodes.md,
 * N6 and N7). Pure.
 *
 * The tasks hold a tournament over the tree: for the children of each place,
 * eight by eight, the best of the tasks that they offer is kept. A place offers
 * nothing while it is closed to the job: disabled, not accepted by its filters,
 * or without the amounts that a task takes there. So a change costs a few
 * comparisons on the way to the root, and ends where it makes no difference. */
#ifndef POINTSMAN_CORE_NODE_JOB_H
#define POINTSMAN_CORE_NODE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/job.h"
#include "core/node_filter.h"
#include "core/node_status.h"
#include "core/node_tree.h"

enum node_order {
    NODE_ORDER_RANDOM,       /* another one after each attempt of a task */
    NODE_ORDER_ORIGINAL,     /* that in which the nodes were added */
    NODE_ORDER_LEXICOGRAPHIC /* by name */
};

/* What a task takes while it runs; 0: nothing of that resource. */
struct node_demand {
    int64_t of_level[NODE_LEVELS_MOST][NODE_RESOURCES_MOST];
    int64_t of_worker[NODE_RESOURCES_MOST];
};

/* Memory that it points to belongs to the caller, for as long as the job has
 * this definition. */
struct node_job_spec {
    uint64_t num;
    enum job_class job_class;
    struct span account;
    bool enabled;         /* and valid */
    unsigned level;       /* of its tasks */
    uint32_t own_count;   /* number of nodes of its own; 0: those of the
                             level. They come in their order */
    uint32_t priority;    /* in thousandths; at least 1 */
    uint32_t max_running; /* tasks at once; 0: no limit */
    enum node_order order;
    struct node_demand demand;
    struct node_filter filters[NODE_LEVELS_MOST];
    struct node_filter worker_filter; /* on the name of the worker's host */
    struct span host;                 /* runs there only; empty: anywhere */
    bool follows_host; /* runs on the host that has the name of the task's node
                          or ancestor on host_level; anywhere if it has none
                          there */
    unsigned host_level;
    const uint64_t *depends_on; /* jobs of the same level that must be done on
                                   the same node */
    size_t depends_count;
    const uint64_t *after_nodes_of; /* jobs that must be done on all nodes that
                                       they accept */
    size_t after_count;
    struct node_rules rules;
    int64_t kill_orphans_after_ms; /* negative: never */
};

/* How many of the leaves on accepted places have a task that could start if
 * the amounts were there (on enabled places only), and one that is not done. */
struct node_count {
    uint32_t ready, undone;
};

/* What is below a place above the leaves. */
struct node_branch {
    uint64_t best; /* of the tournaments: key and place */
    struct node_count count;
};

/* Which workers can take a task of the job now; kept by node_workers.h. */
struct node_open {
    uint64_t *accepted, *open; /* bits by worker */
    uint32_t *of_host;         /* number of open ones by host */
    uint32_t worker_room, host_room;
    uint32_t count; /* of open ones */
};

struct node_job {
    struct node_job_spec spec;
    const struct node_tree *tree;
    uint64_t salt;
    struct node_task *tasks; /* by row, or by number of an own node */
    uint32_t task_room;
    uint64_t *best[NODE_LEVELS_MOST]; /* by level: the tournament of each
                                         range of slots; key and place */
    struct node_branch *below[NODE_LEVELS_MOST]; /* by level and slot */
    uint32_t slot_room[NODE_LEVELS_MOST];
    uint32_t *own_best; /* the tournament of own nodes */
    uint32_t own_room;
    uint64_t *accepted; /* bits by place, of the levels in `filtered` */
    uint32_t accepted_room;
    unsigned filtered, demanded; /* bits by level */
    struct node_count total;
    struct node_open open;
    uint32_t first; /* place or own node of the task that comes first;
                       NODE_NONE: none can start now */
};

/* Tasks are as if they had never started. After it, restore those that have,
 * then call node_job_build. */
void node_job_init(struct node_job *job, const struct node_tree *tree,
                   uint64_t seed, const struct node_job_spec *spec);
void node_job_clear(struct node_job *job);
/* Another definition with the same level and own nodes; tasks stay. Then call
 * node_job_build. */
void node_job_redefine(struct node_job *job, const struct node_job_spec *spec);
/* Works out everything from tree and tasks. */
void node_job_build(struct node_job *job);

static inline bool node_job_is_own(const struct node_job *job) {
    return job->spec.own_count > 0;
}
/* True if the places of the level matter to the job. */
static inline bool node_job_sees(const struct node_job *job, unsigned level) {
    return level <= (node_job_is_own(job) ? 0 : job->spec.level);
}
/* The number of the task that comes first; first must not be NODE_NONE. */
uint32_t node_job_first_row(const struct node_job *job);

/* ---- changes ------------------------------------------------------------- */

/* The task of this row has another status, time or dependency. */
void node_job_task_changed(struct node_job *job, uint32_t row);
/* What is left of an amount of the node has changed, or workers of its host. */
void node_job_amount_changed(struct node_job *job, uint32_t node);
/* True if that matters: `was` is what was left before. */
bool node_job_amount_matters(const struct node_job *job, unsigned level,
                             const int64_t *was, const int64_t *left);

/* The tree grew before the first node_job_build. */
void node_job_make_room(struct node_job *job);
/* The tree grew: before any other call for the new place. `moved` is what
 * node_tree_add reported. */
void node_job_place_added(struct node_job *job, uint32_t place,
                          const struct node_moved *moved);
/* Around node_tree_remove: before, and after with what the place was. */
void node_job_place_leaves(struct node_job *job, uint32_t place);
void node_job_place_left(struct node_job *job, uint32_t parent, unsigned level,
                         uint32_t slot);
/* Around a change of `enabled` or the tags of a place. */
void node_job_place_changes(struct node_job *job, uint32_t place);
void node_job_place_changed(struct node_job *job, uint32_t place);

#endif
