/* Loading after a start, and for an explanation. */
#include "scheduler/scheduler_load.h"

#include <stdlib.h>

#include "lib/map.h"
#include "scheduler/group_read.h"
#include "scheduler/scheduler_offer.h"
#include "scheduler/scheduler_order.h"
#include "scheduler/scheduler_record.h"
#include "scheduler/scheduler_scope.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/scheduler_target.h"

enum { ANCESTORS_MAX = 2000 };

static void load_job(struct scheduler *scheduler, const struct job *job) {
    scheduler_order_admit(scheduler, job);
    scheduler_offer_rollback(scheduler, job);
    if (scheduler->options.parts != SCHEDULER_STAGES)
        target_recall(scheduler, job);
    if (job->state == STATE_EXECUTING && job_has(job, JOB_ROLLS_BACK))
        scheduler->scope.num = job->num;
}

static bool load_visit(void *scheduler, const struct job *job,
                       struct err *err) {
    (void)err;
    load_job(scheduler, job);
    return true;
}

static bool load_state(struct scheduler *scheduler, unsigned states,
                       struct err *err) {
    struct store_list list = {.states = states, .relations_only = true};
    return store_jobs_each(scheduler->store, &list, load_visit, scheduler,
                           err) ||
           err_wrap(err, "cannot load the live jobs");
}

/* A job that an open rollback has abandoned keeps its place: it may come
 * back. */
static bool load_scope(struct scheduler *scheduler, struct err *err) {
    const struct rollback_scope *scope = &scheduler->scope;
    bool ok = true;
    if (scope->num == 0)
        return true;
    scheduler_scope_open(scheduler, scope->num);
    for (size_t i = 0; ok && i < scope->count; i++) {
        struct arena arena = ARENA_INIT;
        struct job job;
        ok = store_job(scheduler->store, scope->entries[i].num, &arena, &job,
                       err);
        if (ok && job.state == STATE_ABANDONED)
            scheduler_order_admit(scheduler, &job);
        arena_clear(&arena);
    }
    return ok;
}

/* In the order of the line (O4): jobs that run or may run wait for no other. */
bool scheduler_load(struct scheduler *scheduler, struct err *err) {
    return load_state(scheduler,
                      STATE_BIT(STATE_EXECUTING) | STATE_BIT(STATE_PENDING),
                      err) &&
           load_scope(scheduler, err) &&
           load_state(scheduler, STATE_BIT(STATE_STAGED), err) &&
           load_state(scheduler, STATE_BIT(STATE_QUEUED), err);
}

/* ---- for one job --------------------------------------------------------- */

/* The job, and those that it waits for. Jobs that have left the line since the
 * precursors of another were recorded stand for their own precursors. */
struct ancestors {
    struct arena arena;
    struct map by_num; /* num -> struct job */
    struct job **jobs;
    size_t count;
    bool need_all; /* these do not tell: load all live jobs instead */
};

static void ancestors_clear(struct ancestors *ancestors) {
    map_clear(&ancestors->by_num);
    arena_clear(&ancestors->arena);
}

/* The spans of `job` lie in the arena. */
static void ancestors_add(struct ancestors *ancestors, const struct job *job) {
    if (map_get(&ancestors->by_num, map_num_key(&job->num)))
        return;
    ancestors->need_all |=
        job->state == STATE_QUEUED || ancestors->count == ANCESTORS_MAX;
    if (ancestors->need_all)
        return;
    struct job *copy = arena_alloc(&ancestors->arena, sizeof(*copy));
    *copy = *job;
    ancestors->jobs[ancestors->count++] = copy;
    map_put(&ancestors->by_num, map_num_key(&copy->num), copy);
}

/* Sets that land together wait together. */
static bool add_group(struct store *store, const struct job *job,
                      struct ancestors *ancestors, struct err *err) {
    struct job *members;
    size_t count;
    if (!group_members_read(store, job, &ancestors->arena, &members, &count,
                            err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!job_state_is_final(members[i].state))
            ancestors_add(ancestors, &members[i]);
    return true;
}

static bool add_waited(struct store *store, const struct job *job,
                       const struct job_edge *edge, struct ancestors *ancestors,
                       struct err *err) {
    struct job other;
    bool found;
    if (!store_lookup(store, edge->to, &ancestors->arena, &other, &found, err))
        return false;
    if (found && other.has_relations &&
        (!job_state_is_final(other.state) ||
         (edge->kind == EDGE_PRECURSOR &&
          scheduler_record_passes_on(&other, job->record_seq))))
        ancestors_add(ancestors, &other);
    return true;
}

static bool add_ancestors(struct store *store, const struct job *job,
                          struct ancestors *ancestors, struct err *err) {
    struct job_edge *edges;
    size_t count;
    bool ok = true;
    bool has_left = job_state_is_final(job->state);
    if (!store_edges_from(store, job->num, &ancestors->arena, &edges, &count,
                          err))
        return false;
    for (size_t i = 0; ok && i < count; i++) {
        enum edge_kind kind = edges[i].kind;
        if (kind == EDGE_GROUP && !has_left)
            ok = add_group(store, job, ancestors, err);
        else if (kind == EDGE_PRECURSOR ||
                 (!has_left &&
                  (job_edge_is_dependency(kind) || kind == EDGE_HINT)))
            ok = add_waited(store, job, &edges[i], ancestors, err);
    }
    return ok;
}

static bool find_ancestors(struct scheduler *scheduler, const struct job *job,
                           struct ancestors *ancestors, struct err *err) {
    ancestors->jobs = arena_alloc(&ancestors->arena,
                                  ANCESTORS_MAX * sizeof(*ancestors->jobs));
    ancestors_add(ancestors, job);
    for (size_t i = 0; i < ancestors->count && !ancestors->need_all; i++)
        if (!add_ancestors(scheduler->store, ancestors->jobs[i], ancestors,
                           err))
            return false;
    return true;
}

static int compare_num(const void *a, const void *b) {
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;
    return (x->num > y->num) - (x->num < y->num);
}

static bool recall_visit(void *scheduler, const struct job *job,
                         struct err *err) {
    (void)err;
    target_recall(scheduler, job);
    return true;
}

/* Whether its target is available is shown by the other sets that wait for
 * it. */
static bool recall_target(struct scheduler *scheduler, struct err *err) {
    struct store_list list = {.states = STATE_BIT(STATE_PENDING),
                              .kinds = job_kinds_with(JOB_LANDS)};
    return store_jobs_each(scheduler->store, &list, recall_visit, scheduler,
                           err);
}

static void load_of_state(struct scheduler *scheduler,
                          const struct ancestors *ancestors, unsigned states) {
    for (size_t i = 0; i < ancestors->count; i++)
        if (ancestors->jobs[i]->has_relations &&
            (STATE_BIT(ancestors->jobs[i]->state) & states))
            load_job(scheduler, ancestors->jobs[i]);
}

struct finding {
    struct store *store;
    bool follows;
};

/* Whether the set follows another one (O20). */
static bool find_followed(void *ctx, const struct job *job, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct finding *finding = ctx;
    struct job_edge *edges;
    size_t count;
    if (finding->follows)
        return true;
    if (!store_edges_from(finding->store, job->num, &arena, &edges, &count,
                          err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct job other;
        bool found;
        if (edges[i].kind != EDGE_PRECURSOR)
            continue;
        if (!store_lookup(finding->store, edges[i].to, &arena, &other, &found,
                          err))
            return false;
        finding->follows |= found && !job_state_is_final(other.state);
    }
    return true;
}

/* The places of an executing set and of one that it follows are known only if
 * all between them are loaded. */
static bool any_follows(struct store *store, bool *ret_follows,
                        struct err *err) {
    struct store_list list = {.states = STATE_BIT(STATE_EXECUTING),
                              .kinds = job_kinds_with(JOB_LANDS),
                              .relations_only = true};
    struct finding finding = {.store = store};
    bool ok = store_jobs_each(store, &list, find_followed, &finding, err);
    *ret_follows = finding.follows;
    return ok;
}

bool scheduler_load_for(struct scheduler *scheduler, const struct job *job,
                        struct err *err) {
    CLEANUP(ancestors_clear) struct ancestors ancestors = {0};
    bool needs_between;
    if (!find_ancestors(scheduler, job, &ancestors, err) ||
        !load_state(scheduler, STATE_BIT(STATE_EXECUTING), err) ||
        !any_follows(scheduler->store, &needs_between, err))
        return false;
    /* What a rollback has abandoned is in no record. */
    if (ancestors.need_all || needs_between || scheduler->scope.num != 0)
        return scheduler_load(scheduler, err);
    qsort(ancestors.jobs, ancestors.count, sizeof(*ancestors.jobs),
          compare_num);
    load_of_state(scheduler, &ancestors, STATE_BIT(STATE_PENDING));
    load_of_state(scheduler, &ancestors, STATE_BIT(STATE_STAGED));
    return job->state != STATE_PENDING || !job_has(job, JOB_LANDS) ||
           recall_target(scheduler, err);
}
