#include "scheduler/scheduler_bases.h"

#include <string.h>

#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_state.h"

/* The id of the set that `num` is stacked on; empty: none. */
static bool base_of(struct scheduler *scheduler, uint64_t num,
                    struct arena *arena, struct span *ret_id, struct err *err) {
    struct job_edge *edges;
    size_t count;
    *ret_id = (struct span){0};
    if (!store_edges_from(scheduler->store, num, arena, &edges, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (edges[i].kind == EDGE_BASE)
            *ret_id = edges[i].to;
    return true;
}

static void base_add(struct run_set *set, struct run_base *bases,
                     const struct job *job) {
    bases[set->base_count++] =
        (struct run_base){.id = job->id,
                          .sum = job->sum,
                          .name = job->name,
                          .landed = job->state == STATE_DONE};
}

void scheduler_bases_read(struct scheduler *scheduler, struct arena *arena,
                          struct run_set *set) {
    struct run_base *bases = NULL;
    struct job job = *set->job;
    struct span id;
    struct err err;
    bool found = true;
    if (!job_has(&job, JOB_HAS_FILE) || job_has(&job, JOB_ROLLS_BACK))
        return;
    while (found && set->base_count < BASES_MAX) {
        if (!base_of(scheduler, job.num, arena, &id, &err) ||
            (id.len > 0 &&
             !store_lookup(scheduler->store, id, arena, &job, &found, &err))) {
            scheduler_log_read_failure("the base sets", set->job->num, &err);
            return;
        }
        if (id.len == 0 || !found || job.name.len == 0)
            return;
        if (bases == NULL)
            set->bases = bases = arena_alloc(arena, BASES_MAX * sizeof *bases);
        base_add(set, bases, &job);
    }
}

/* ---- approvals ----------------------------------------------------------- */

/* All that its events name, each once. */
static size_t list_approvers(const struct store_event *events, size_t count,
                             struct arena *arena,
                             const struct span **ret_names) {
    struct span *names = arena_alloc(arena, (count + 1) * sizeof(*names));
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (events[i].kind == EVENT_APPROVED &&
            !span_is_among(events[i].actor, names, kept))
            names[kept++] = events[i].actor;
    *ret_names = names;
    return kept;
}

/* An approval that does not count any more, for example because the key of a
 * signature was withdrawn, is not named. */
void scheduler_read_approvals(struct scheduler *scheduler, struct arena *arena,
                              const struct job *job, struct run_set *set) {
    const struct scheduler_options *options = &scheduler->options;
    struct store_event *events;
    size_t count;
    struct err err;
    *set = (struct run_set){.job = job};
    if (!job_has(job, JOB_CAN_BE_APPROVED))
        return;
    bool ok = store_events(scheduler->store, 0, job->num, 0, arena, &events,
                           &count, &err);
    if (ok)
        set->approved_count =
            list_approvers(events, count, arena, &set->approved_by);
    if (ok && set->approved_count > 0 && options->approvers != NULL) {
        set->approved_count = 0;
        ok = options->approvers(options->ctx, scheduler->store, job->num,
                                scheduler->now, arena, &set->approved_by,
                                &set->approved_count, &err);
    }
    if (!ok)
        scheduler_log_read_failure("the approvals", job->num, &err);
}

/* ---- dependencies -------------------------------------------------------- */

enum { CHAIN_MAX = 16 }; /* of sets that supersede each other */

struct needs {
    struct scheduler *scheduler;
    struct arena *arena;
    struct span target;
    struct run_need *items;
    size_t count, cap;
};

static void need_add(struct needs *needs, const struct job *job) {
    for (size_t i = 0; i < needs->count; i++)
        if (span_equal(needs->items[i].id, job->id))
            return;
    if (needs->count == needs->cap) {
        size_t cap = 2 * needs->cap + 4;
        struct run_need *items =
            arena_alloc(needs->arena, cap * sizeof(*items));
        if (needs->count > 0)
            memcpy(items, needs->items, needs->count * sizeof(*items));
        needs->items = items;
        needs->cap = cap;
    }
    needs->items[needs->count++] = (struct run_need){job->id, job->sum};
}

/* The set itself, or one that has superseded it (O10). */
static bool need_find(struct needs *needs, struct span id, unsigned depth,
                      struct err *err) {
    struct store *store = needs->scheduler->store;
    struct store_edge_to *edges;
    struct job job;
    size_t count;
    bool found;
    if (!store_lookup(store, id, needs->arena, &job, &found, err))
        return false;
    if (found && job.state == STATE_DONE) {
        if (job_has(&job, JOB_LANDS) && !job_has(&job, JOB_ROLLS_BACK) &&
            job.rolled_back_by.len == 0 &&
            span_equal(job.target, needs->target))
            need_add(needs, &job);
        return true;
    }
    if (depth == CHAIN_MAX)
        return true;
    if (!store_edges_to(store, id, needs->arena, &edges, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (edges[i].kind == EDGE_SUPERSEDES &&
            !need_find(needs, edges[i].id, depth + 1, err))
            return false;
    return true;
}

void scheduler_needs_read(struct scheduler *scheduler, struct arena *arena,
                          struct run_set *set) {
    const struct job *job = set->job;
    struct needs needs = {
        .scheduler = scheduler, .arena = arena, .target = job->target};
    struct job_edge *edges;
    size_t count;
    struct err err;
    if (!job_has(job, JOB_LANDS) || job_has(job, JOB_ROLLS_BACK))
        return;
    bool ok = store_edges_from(scheduler->store, job->num, arena, &edges,
                               &count, &err);
    for (size_t i = 0; ok && i < count; i++)
        if (edges[i].kind == EDGE_DEPENDENCY || edges[i].kind == EDGE_BASE)
            ok = need_find(&needs, edges[i].to, 0, &err);
    if (!ok)
        scheduler_log_read_failure("the dependencies", job->num, &err);
    set->needs = needs.items;
    set->need_count = needs.count;
}
