/* The parts of the pass; for node_pass*.c only. */
#ifndef POINTSMAN_CORE_NODE_PASS_INNER_H
#define POINTSMAN_CORE_NODE_PASS_INNER_H

#include "lib/heap.h"
#include "lib/list.h"
#include "lib/map.h"
#include "core/node_pass.h"

/* The demand of tasks that run, as it was when they started. */
struct node_held {
    unsigned users;
    struct node_demand demand;
};

/* A task that waits; entries of tasks that wait no longer are skipped. */
struct node_due {
    struct wall at;
    uint32_t row;
};

struct node_pass_job {
    struct node_job job;
    struct node_entrant entrant;
    struct list link, in_touched;
    bool is_open, is_paused;
    bool was_complete; /* all its nodes were done */
    uint32_t running;
    struct node_held *held;
    struct node_due *due; /* binary heap */
    size_t due_count, due_room, due_place;
    /* What it waits for (NULL: unknown), and who waits for it. */
    struct node_pass_job **depends_on, **after;
    struct node_pass_job **dependents, **followers;
    size_t dependent_count, follower_count;
};

struct node_run {
    struct list link, in_kills;
    struct node_pass_job *job; /* NULL: it is gone */
    struct node_account *account;
    struct node_held *held;
    struct wall orphan_since; /* 0: is no orphan */
    uint32_t row, worker;
    bool killed;
    size_t node_count; /* those that it holds amounts of */
    uint32_t nodes[];
};

/* The smallest and largest demand for each resource. */
struct node_range {
    int64_t least, most;
};

struct node_pass {
    struct node_tree tree;
    struct node_workers workers;
    struct node_turns turns;
    uint64_t seed;
    int64_t kill_orphans_after_ms;
    struct map by_num;
    struct list jobs, touched, runs, kills;
    struct heap due; /* jobs, by their first wait */
    size_t unknown;  /* relations to unknown jobs */
    struct node_range demanded[NODE_LEVELS_MOST][NODE_RESOURCES_MOST];
    struct node_range demanded_of_worker[NODE_RESOURCES_MOST];
    bool runs_stale; /* what makes an orphan has changed */
    struct wall next_kill;
};

#define JOB_OF(it) LIST_OF(it, struct node_pass_job, link)

/* ---- who can start (node_pass_offer.c) ----------------------------------- */

/* What can start may have changed for the job; node_pass_flush offers it. */
void node_pass_touch(struct node_pass *pass, struct node_pass_job *job);
/* Jobs that were touched are offered again, and those that wait for all nodes
 * of one of them. */
void node_pass_flush(struct node_pass *pass);

/* ---- what waits for what (node_pass_relations.c) ------------------------- */

/* Time, status or dependencies of the task may have changed. */
void node_pass_review_task(struct node_pass *pass, struct node_pass_job *job,
                           uint32_t row);
/* The same, and for those that depend on it. `was_done`: before. */
void node_pass_task_changed(struct node_pass *pass, struct node_pass_job *job,
                            uint32_t row, bool was_done);
uint32_t node_pass_row_count(const struct node_pass_job *job);
/* What it depends on, or its definition, has changed. */
void node_pass_rebuild(struct node_pass *pass, struct node_pass_job *job);
void node_pass_link(struct node_pass *pass, struct node_pass_job *job);
void node_pass_unlink(struct node_pass *pass, struct node_pass_job *job);
/* The job has come or gone: those that name it find it, or no longer do. */
void node_pass_relink_others(struct node_pass *pass, uint64_t num);

/* ---- amounts (node_pass_amounts.c) --------------------------------------- */

void node_pass_note_demand(struct node_pass *pass,
                           const struct node_demand *demand);
/* sign 1: a task takes the amounts, -1: it returns them. */
void node_pass_take_node(struct node_pass *pass, uint32_t node,
                         const struct node_demand *demand, int sign);
void node_pass_take_worker(struct node_pass *pass, uint32_t worker,
                           const struct node_demand *demand, int sign);
/* Which workers are open for a job that is new or redefined. */
void node_pass_review_workers(struct node_pass *pass,
                              struct node_pass_job *job);

/* ---- waits (node_pass_waits.c) ------------------------------------------- */

/* Sets whether the task waits, from its time. */
void node_pass_plan_wait(struct node_pass *pass, struct node_pass_job *job,
                         uint32_t row, struct wall now);
/* Waits that are over end. */
void node_pass_end_waits(struct node_pass *pass, struct wall now);
/* When the next wait ends; WALL_NEVER: none. */
struct wall node_pass_next_wait(const struct node_pass *pass);
void node_pass_set_back_waits(struct node_pass *pass, int64_t ms);
/* For heap_init: jobs by their first wait. */
int node_pass_compare_due(const void *a, const void *b);

/* ---- demands that are held (node_pass.c) --------------------------------- */

struct node_held *node_pass_hold(const struct node_demand *demand);
void node_pass_release(struct node_held *held);

#endif
