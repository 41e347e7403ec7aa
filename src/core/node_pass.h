/* Which task of which job starts next, on which node and worker
 * (doc/design/nodes.md). Pure: the caller records each start before it carries
 * it out, and reports what becomes of it.
 *
 * Everything is kept up to date as things change, so the cost of a pass is that
 * of its starts, whatever the number of jobs and nodes. The same calls give the
 * same picks. */
#ifndef POINTSMAN_CORE_NODE_PASS_H
#define POINTSMAN_CORE_NODE_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/text.h"
#include "lib/time.h"
#include "core/node_job.h"
#include "core/node_status.h"
#include "core/node_tree.h"
#include "core/node_turns.h"
#include "core/node_workers.h"

struct node_pass;
struct node_pass_job;
struct node_run; /* an attempt of a task that has not ended */

struct node_pass_options {
    struct span root; /* name of the node of level 0 */
    const struct node_level *levels;
    unsigned level_count; /* at most NODE_LEVELS_MOST */
    unsigned worker_resource_count;
    const uint32_t *worker_weights;
    enum node_policy policy;
    enum node_selector selector;
    uint64_t seed;
    int64_t kill_orphans_after_ms; /* of jobs that are gone; negative: never */
};

struct node_pass *node_pass_new(const struct node_pass_options *options);
void node_pass_free(struct node_pass *pass); /* NULL is fine */
const struct node_tree *node_pass_tree(const struct node_pass *pass);

/* ---- nodes --------------------------------------------------------------- */

enum node_put {
    NODE_PUT_SAME,
    NODE_PUT_ADDED,
    NODE_PUT_CHANGED,
    NODE_PUT_NO_PARENT,   /* the parent is unknown or gone */
    NODE_PUT_WRONG_LEVEL, /* the name is on another level, or the level is not
                             below that of the parent */
    NODE_PUT_WRONG_NAME   /* empty, or too long */
};
/* Adds or changes the node below each place of the parent; what is below the
 * node elsewhere is below the new places too. The tasks of a node that is new,
 * or comes back, have never started: restore those that have. Tags are words
 * separated by blanks. */
enum node_put node_pass_put_node(struct node_pass *pass, unsigned level,
                                 struct span name, struct span parent,
                                 bool enabled, struct span tags);
/* Removes it from there, with all that is below it. Tasks that run go on.
 * False: it is not there. */
bool node_pass_drop_node(struct node_pass *pass, struct span name,
                         struct span parent);
void node_pass_set_limit(struct node_pass *pass, uint32_t node,
                         unsigned resource, int64_t limit);

/* ---- workers and accounts ------------------------------------------------ */

/* Limits: one for each resource of workers. It takes no tasks yet. */
uint32_t node_pass_add_worker(struct node_pass *pass, struct span host,
                              const int64_t *limits);
void node_pass_set_worker(struct node_pass *pass, uint32_t worker,
                          bool takes_tasks, const int64_t *limits);
/* For an account without jobs too. Weight: at least 1; limit 0: none. */
void node_pass_set_account(struct node_pass *pass, struct span name,
                           uint32_t weight, uint32_t limit);

/* ---- jobs ---------------------------------------------------------------- */

/* A new job takes part when it is opened. Before that, restore its tasks. */
struct node_pass_job *node_pass_add_job(struct node_pass *pass,
                                        const struct node_job_spec *spec);
/* Sets a task that is not running to what is on record. `row`: of the node, or
 * the number of an own one. */
void node_pass_restore(struct node_pass *pass, struct node_pass_job *job,
                       uint32_t row, const struct node_task *task,
                       struct wall now);
void node_pass_open_job(struct node_pass *pass, struct node_pass_job *job);
/* Another definition; level and own nodes stay. */
void node_pass_set_job(struct node_pass *pass, struct node_pass_job *job,
                       const struct node_job_spec *spec);
/* Its tasks that run go on, and are orphans. */
void node_pass_remove_job(struct node_pass *pass, struct node_pass_job *job);
/* While it is paused, none of its tasks starts; what runs goes on. */
void node_pass_pause_job(struct node_pass *pass, struct node_pass_job *job,
                         bool paused);
struct node_pass_job *node_pass_find_job(const struct node_pass *pass,
                                         uint64_t num); /* NULL: unknown */
const struct node_job *node_pass_job(const struct node_pass_job *job);
/* Jobs that wait for all of its nodes may start: it is open and enabled, and
 * done on all nodes that it accepts. */
bool node_pass_is_complete(const struct node_pass_job *job);
/* False: there is nothing to forgive. */
bool node_pass_forgive(struct node_pass *pass, struct node_pass_job *job,
                       uint32_t row);

/* ---- starts and ends ----------------------------------------------------- */

struct node_start {
    struct node_run *run;
    uint64_t num; /* of the job */
    uint32_t row, place, worker, attempt;
};

/* The class of the next task to start. False: none can start. */
bool node_pass_peek(struct node_pass *pass, enum job_class *ret_class);
/* The next task to start now; it counts as running, and holds its amounts,
 * until node_pass_ended. False: none can start. */
bool node_pass_next(struct node_pass *pass, struct wall now,
                    struct node_start *ret_start);
/* A task that runs already, at a start of the program: `task` as recorded, with
 * the status running; the nodes, from its own to the root, and the demand as
 * they were at its start. */
struct node_run *node_pass_adopt(struct node_pass *pass,
                                 struct node_pass_job *job, uint32_t row,
                                 const struct node_task *task,
                                 const uint32_t *nodes, size_t node_count,
                                 uint32_t worker,
                                 const struct node_demand *demand);
/* The run is over and is freed. The verdict is that on the task; false: its job
 * is gone, and there is none. An end with RETRY_WITHDRAWN is no attempt. */
bool node_pass_ended(struct node_pass *pass, struct node_run *run,
                     const struct retry_end *end, struct wall now,
                     struct retry_verdict *ret_verdict);
/* A report on an attempt that counts as lost. False: it changes nothing. */
bool node_pass_reported(struct node_pass *pass, struct node_pass_job *job,
                        uint32_t row, uint32_t attempt,
                        const struct retry_end *end, struct wall now,
                        struct retry_verdict *ret_verdict);

/* ---- time ---------------------------------------------------------------- */

/* Waits that are over end; a task whose node or job is gone or disabled is an
 * orphan from the first call that finds it so. */
void node_pass_tick(struct node_pass *pass, struct wall now);
/* The next run to be killed because it is an orphan; each is named once. NULL:
 * none. */
struct node_run *node_pass_next_kill(struct node_pass *pass, struct wall now);
/* When the passing of time alone gives node_pass_tick something to do. */
struct wall node_pass_next_time(const struct node_pass *pass);
/* The clock was set back by so much. */
void node_pass_set_back(struct node_pass *pass, int64_t ms);

#endif
