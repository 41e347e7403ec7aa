/* What the registry says happened, by whomever: the order and the schedule are
 * caches of it. */
#include <inttypes.h>

#include "lib/log.h"
#include "scheduler/scheduler_inner.h"

enum { PAGE_JOBS = 1000 };

/* A job with relations enters the order, with its edges and touches. */
void scheduler_order_admit(struct scheduler *scheduler, const struct job *job) {
    struct arena arena = ARENA_INIT;
    struct err err;
    struct job_edge *edges;
    struct job_touch *touches;
    size_t edge_count, touch_count;
    struct store *store = scheduler->store;
    if (!store_edges_from(store, job->num, &arena, &edges, &edge_count, &err) ||
        !store_touches(store, job->num, &arena, &touches, &touch_count, &err)) {
        scheduler_log_read_failure("the relations", job->num, &err);
        arena_clear(&arena);
        return;
    }
    if (scheduler_group_take(scheduler, job, edges, edge_count)) {
        arena_clear(&arena);
        return;
    }
    struct order_entry entry = {
        .num = job->num,
        .id = job->id,
        .job_class = job->job_class,
        .state = job->state,
        .was =
            rollback_scope_stands_as(&scheduler->scope, job->num, job->state),
        .key = job->key,
        .rank = job->rank,
        .target = job->target,
        .holds = job->holds,
        .rb = job_has(job, JOB_ROLLS_BACK),
        .admitted = job->admitted,
        .since = job->since,
        .edges = edges,
        .edge_count = edge_count,
        .touches = touches,
        .touch_count = touch_count,
    };
    order_admit(scheduler->order, &entry);
    arena_clear(&arena);
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

/* A landed set that is being rolled back is not done for whoever waits. */
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
    order_outside(scheduler->order, &other);
    arena_clear(&arena);
}

void scheduler_order_answer(struct scheduler *scheduler) {
    struct span id;
    while (order_next_unknown(scheduler->order, &id)) {
        struct arena arena = ARENA_INIT;
        scheduler_order_outside(scheduler, arena_span(&arena, id));
        arena_clear(&arena);
    }
}

/* A newcomer that supersedes others is news for whoever waits for those. */
static void report_superseded(struct scheduler *scheduler, uint64_t num) {
    struct arena arena = ARENA_INIT;
    struct job_edge *edges;
    size_t count;
    struct err err;
    if (store_edges_from(scheduler->store, num, &arena, &edges, &count, &err))
        for (size_t i = 0; i < count; i++)
            if (edges[i].kind == EDGE_SUPERSEDES &&
                order_watches(scheduler->order, edges[i].to))
                scheduler_order_outside(scheduler, edges[i].to);
    arena_clear(&arena);
}

static void on_admitted(struct scheduler *scheduler,
                        const struct store_event *event) {
    struct arena arena = ARENA_INIT;
    struct job row;
    struct err err;
    const struct job *job = event->job;
    if (!job) {
        if (!store_job(scheduler->store, event->num, &arena, &row, &err)) {
            scheduler_log_read_failure("the row", event->num, &err);
            arena_clear(&arena);
            return;
        }
        job = &row;
    }
    if (job->has_relations && !job_state_is_final(job->state)) {
        scheduler_order_admit(scheduler, job);
        report_superseded(scheduler, job->num);
    } else if (order_watches(scheduler->order, job->id)) {
        scheduler_order_outside(scheduler, job->id);
    }
    if (job->state == STATE_PENDING)
        scheduler_offer(scheduler, job);
    arena_clear(&arena);
}

static void on_retried(struct scheduler *scheduler,
                       const struct store_event *event) {
    struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    if (!store_job(scheduler->store, event->num, &arena, &job, &err))
        scheduler_log_read_failure("the row", event->num, &err);
    else if (job.has_relations && !job_state_is_final(job.state))
        scheduler_order_admit(scheduler, &job);
    arena_clear(&arena);
}

/* Rollbacks begin, take more and end by moves with reasons of their own. */
static void on_rollback(struct scheduler *scheduler,
                        const struct store_event *event) {
    const struct rollback_scope *scope = &scheduler->scope;
    bool by_one = span_is(event->reason, "rollback");
    if (event->to == STATE_EXECUTING && by_one)
        scheduler_scope_open(scheduler, event->num);
    else if (event->to == STATE_ABANDONED && by_one && scope->num != 0 &&
             rollback_scope_covers(&scheduler->scope, event->num) == STATE_NONE)
        scheduler_scope_open(scheduler, scope->num);
    else if (scope->num == event->num && event->from == STATE_EXECUTING)
        scheduler_scope_close(scheduler, event->at);
}

static void on_move(struct scheduler *scheduler,
                    const struct store_event *event) {
    if (event->from == STATE_NONE) {
        on_admitted(scheduler, event);
        return;
    }
    on_rollback(scheduler, event);
    bool undecided =
        rollback_scope_covers(&scheduler->scope, event->num) != STATE_NONE;
    if (scheduler_group_move(scheduler, event, undecided))
        (void)0; /* the entry of its group moved with it */
    else if (job_state_is_final(event->from) &&
             !order_has(scheduler->order, event->num))
        on_retried(scheduler, event);
    else if (order_has(scheduler->order, event->num))
        order_move(scheduler->order, event->num, event->to, event->at,
                   undecided);
    if (!order_has(scheduler->order, event->num) &&
        order_watches(scheduler->order, event->id))
        scheduler_order_outside(scheduler, event->id);
    if (event->from == STATE_PENDING) {
        picker_forget(scheduler->picker, event->num);
        scheduler_rollback_forget(scheduler, event->num);
        struct tracked_job *tracked = scheduler_job_get(scheduler, event->num);
        if (tracked && !tracked->executing && event->to != STATE_EXECUTING)
            scheduler_job_drop(scheduler, tracked);
    }
    if (event->to == STATE_PENDING &&
        (scheduler->options.parts & SCHEDULER_STARTS)) {
        struct tracked_job *tracked = scheduler_job_get(scheduler, event->num);
        if (!tracked || !tracked->executing)
            scheduler_offer_num(scheduler, event->num);
        /* else: when the end of its last attempt is recorded */
    }
}

static void on_hold(struct scheduler *scheduler, uint64_t num) {
    struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    if (!store_job(scheduler->store, num, &arena, &job, &err)) {
        scheduler_log_read_failure("the row", num, &err);
        arena_clear(&arena);
        return;
    }
    if (!scheduler_group_hold(scheduler, num, job.holds))
        order_hold(scheduler->order, num, job.holds);
    if (job.state == STATE_PENDING && job.holds != 0)
        picker_forget(scheduler->picker, num);
    else if (job.state == STATE_PENDING)
        scheduler_offer(scheduler, &job);
    arena_clear(&arena);
}

static void on_cancel(struct scheduler *scheduler,
                      const struct store_event *event) {
    struct tracked_job *tracked = scheduler_job_get(scheduler, event->num);
    if (!tracked || !tracked->executing)
        return;
    /* Also of one that is ended for a rollback, or goes back for another
     * reason: asked to be cancelled it could not start again. */
    tracked->killer = RETRY_OPERATOR;
    tracked->kill |= span_is(event->reason, "kill");
    scheduler_stop_job(scheduler, tracked, scheduler_stop_kind(tracked));
}

void scheduler_on_event(void *ctx, const struct store_event *event) {
    struct scheduler *scheduler = ctx;
    scheduler->idle = false;
    if (event->kind == EVENT_MOVE)
        on_move(scheduler, event);
    else if (event->kind == EVENT_HOLD || event->kind == EVENT_RELEASE)
        on_hold(scheduler, event->num);
    else if (event->kind == EVENT_ROLLED_BACK &&
             order_watches(scheduler->order, event->id))
        scheduler_order_outside(scheduler, event->id);
    else if (event->kind == EVENT_CANCEL)
        on_cancel(scheduler, event);
}

static bool load_state(struct scheduler *scheduler, unsigned states,
                       struct err *err) {
    struct store_list list = {
        .states = states, .relations_only = true, .limit = PAGE_JOBS};
    for (;;) {
        struct arena arena = ARENA_INIT;
        struct job *jobs;
        size_t count;
        if (!store_jobs(scheduler->store, &list, &arena, &jobs, &count, err)) {
            arena_clear(&arena);
            return err_wrap(err, "cannot load the jobs that live");
        }
        for (size_t i = 0; i < count; i++) {
            scheduler_order_admit(scheduler, &jobs[i]);
            if (scheduler->options.parts != SCHEDULER_STAGES)
                target_recall(scheduler, &jobs[i]);
            if (jobs[i].state == STATE_EXECUTING &&
                scheduler_is_rollback(&jobs[i]))
                scheduler->scope.num = jobs[i].num;
            list.after_num = jobs[i].num;
        }
        arena_clear(&arena);
        if (count < PAGE_JOBS)
            return true;
    }
}

/* What an open rollback has abandoned keeps its place: it may come back. */
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

/* In the order of the line (O4): who runs or may run waits for nobody. */
bool scheduler_load(struct scheduler *scheduler, struct err *err) {
    return load_state(scheduler,
                      STATE_BIT(STATE_EXECUTING) | STATE_BIT(STATE_PENDING),
                      err) &&
           load_scope(scheduler, err) &&
           load_state(scheduler, STATE_BIT(STATE_STAGED), err) &&
           load_state(scheduler, STATE_BIT(STATE_QUEUED), err);
}
