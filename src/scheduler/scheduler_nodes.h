/* Standing jobs: what the pass (core/node_pass.h) knows is a cache of the
 * registry, which is read again when an event says that it has changed. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_NODES_H
#define POINTSMAN_SCHEDULER_SCHEDULER_NODES_H

#include "lib/list.h"
#include "lib/map.h"
#include "scheduler/node_attempt.h"
#include "scheduler/node_feed.h"
#include "scheduler/scheduler_job.h"

struct attempt;
struct plan;

/* A standing job. */
struct node_track {
    struct list link; /* scheduler_nodes.tracks */
    uint64_t num;
    struct tracked_job *tracked;
    struct node_feed_job feed;
    struct node_pass_job *job; /* NULL: it takes no part */
    uint32_t *numbers;         /* by row: that of the task, plus 1; 0: none */
    uint32_t number_room;
    uint64_t next_number;
    size_t live;       /* attempts whose end is not decided */
    bool is_executing; /* its row is, or is about to be */
    bool to_review;    /* what its row says has to be read again */
};

struct scheduler_nodes {
    struct node_pass *pass; /* NULL: none is needed */
    struct node_setup setup;
    struct list tracks;
    struct map by_num;
    uint64_t seq;         /* up to which jobs are known */
    struct wall again_at; /* when nodes change because time passes */
    bool to_build, nodes_changed, jobs_changed, to_review;
    bool is_behind; /* other work of the same class comes first */
    uint32_t worker;
};

void scheduler_nodes_init(struct scheduler_nodes *nodes);
void scheduler_nodes_clear(struct scheduler *scheduler);
/* True if this scheduler runs standing jobs. */
bool scheduler_nodes_run(const struct scheduler *scheduler);
/* Reads everything, and takes over what runs. */
bool scheduler_nodes_load(struct scheduler *scheduler, struct err *err);
void scheduler_nodes_event(struct scheduler *scheduler,
                           const struct store_event *event);
/* Before anything else is planned: reads what has changed, carries out requests
 * to forgive, ends waits, and kills orphans. */
void scheduler_nodes_plan(struct scheduler *scheduler);
/* After everything else: standing jobs of which nothing runs are pending. */
void scheduler_nodes_plan_idle(struct scheduler *scheduler);
void scheduler_nodes_idle_committed(struct scheduler *scheduler,
                                    const struct plan *plan, bool ok);
/* When time alone gives scheduler_nodes_plan something to do. */
struct wall scheduler_nodes_next(const struct scheduler *scheduler);
void scheduler_nodes_set_back(struct scheduler *scheduler, int64_t ms);
/* The row of the job is read again before the next start. */
void scheduler_nodes_review(struct scheduler *scheduler,
                            struct node_track *track);
struct node_track *scheduler_nodes_find(struct scheduler *scheduler,
                                        uint64_t num); /* NULL: unknown */
/* Where the number of the row's task is kept. */
uint32_t *scheduler_nodes_number(struct node_track *track, uint32_t row);

#endif
