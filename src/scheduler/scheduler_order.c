/* Input for the order: jobs with relations, and the registry's facts about ids
 * outside of it. */
#include "scheduler/scheduler_order.h"

#include "lib/log.h"
#include "scheduler/scheduler_entry.h"
#include "scheduler/scheduler_group.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_state.h"

void scheduler_order_count(struct scheduler *scheduler, struct span id) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    size_t counts[TASK_STATUSES];
    struct job job;
    struct err err;
    bool found;
    if (!order_counts_tasks(scheduler->order, id))
        return;
    if (!store_lookup(scheduler->store, id, &arena, &job, &found, &err) ||
        (found && !store_task_counts(scheduler->store, &job, counts, &err))) {
        log_error("cannot count the tasks of '%.*s': %s", (int)id.len, id.p,
                  err.text);
        return;
    }
    if (!found)
        return;
    struct order_tasks tasks = {.count = job.tasks,
                                .done = counts[TASK_DONE],
                                .failed = counts[TASK_FAILED]};
    order_set_tasks(scheduler->order, id, &tasks);
}

void scheduler_order_tasks_changed(struct scheduler *scheduler,
                                   struct span id) {
    if (order_counts_tasks(scheduler->order, id))
        map_put(&scheduler->tasks_changed, id, scheduler);
}

static void count_changed(struct scheduler *scheduler) {
    size_t cursor = 0;
    struct span id;
    void *value;
    if (map_count(&scheduler->tasks_changed) == 0)
        return;
    while (map_next(&scheduler->tasks_changed, &cursor, &id, &value))
        scheduler_order_count(scheduler, id);
    map_clear(&scheduler->tasks_changed);
}

static void admit_alone(struct scheduler *scheduler, const struct job *job,
                        const struct job_relations *relations) {
    const struct job_edge *edges = relations->edges;
    scheduler_entry_admit(scheduler, job, relations);
    scheduler_order_count(scheduler, job->id);
    for (size_t i = 0; i < relations->edge_count; i++)
        if (edges[i].kind == EDGE_AFTER_SHARE)
            scheduler_order_count(scheduler, edges[i].to);
}

/* A job with relations enters the order, with its edges and touches. */
void scheduler_order_admit(struct scheduler *scheduler, const struct job *job) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job_relations relations;
    struct err err;
    if (!scheduler_entry_read(scheduler, job, &arena, &relations, &err))
        scheduler_log_read_failure("the relations", job->num, &err);
    else if (!scheduler_group_take(scheduler, job, &relations))
        admit_alone(scheduler, job, &relations);
}

static void fill_successors(struct scheduler *scheduler, struct span id,
                            struct order_other *other, struct arena *arena) {
    struct store_edge_to *edges;
    size_t count;
    struct err err;
    if (!store_edges_to(scheduler->store, id, arena, &edges, &count, &err)) {
        log_error("cannot read what supersedes '%.*s': %s", (int)id.len, id.p,
                  err.text);
        return;
    }
    struct span *ids = arena_alloc(arena, (count + 1) * sizeof(*ids));
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (edges[i].kind == EDGE_SUPERSEDES)
            ids[kept++] = edges[i].id;
    other->successors = ids;
    other->successor_count = kept;
}

/* A landed set that is being rolled back does not count as done for its
 * dependents. */
static void fill_done(struct scheduler *scheduler, const struct job *job,
                      struct order_other *other) {
    other->rolled_back = job->rolled_back_by.len > 0;
    if (rollback_scope_covers(&scheduler->scope, job->num) == STATE_NONE)
        return;
    other->state = STATE_EXECUTING;
    other->key = (struct span){0};
}

void scheduler_order_outside(struct scheduler *scheduler, struct span id) {
    struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    bool found;
    if (!store_lookup(scheduler->store, id, &arena, &job, &found, &err)) {
        log_error("cannot look up '%.*s': %s", (int)id.len, id.p, err.text);
        arena_clear(&arena);
        return;
    }
    struct order_other other = {.id = id, .state = STATE_NONE};
    if (found) {
        other.state = job.state;
        other.since = job.since;
        other.num = job.num;
        other.key = job.key;
        other.rank = job.rank;
    }
    if (found && job.state == STATE_DONE)
        fill_done(scheduler, &job, &other);
    fill_successors(scheduler, id, &other, &arena);
    scheduler_order_count(scheduler, id);
    order_outside(scheduler->order, &other);
    arena_clear(&arena);
}

void scheduler_order_answer(struct scheduler *scheduler) {
    struct span id;
    count_changed(scheduler);
    while (order_next_unknown(scheduler->order, &id)) {
        struct arena arena = ARENA_INIT;
        scheduler_order_outside(scheduler, arena_span(&arena, id));
        arena_clear(&arena);
    }
}
