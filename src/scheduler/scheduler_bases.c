#include "scheduler/scheduler_bases.h"

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
