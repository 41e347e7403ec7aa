/* The scope of an open rollback (doc/design/rollback.md, R4, R5). Its abandoned
 * members have not left the order: they may come back. Its landed members count
 * as not done, so that no other set builds on them any more. */
#include "scheduler/scheduler_scope.h"

#include <string.h>

#include "lib/log.h"
#include "scheduler/group_read.h"
#include "scheduler/scheduler_group.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_order.h"
#include "scheduler/scheduler_plan.h"
#include "scheduler/scheduler_state.h"

static void *grown(struct arena *arena, const void *old, size_t count,
                   size_t bytes) {
    void *more = arena_alloc(arena, (count + 1) * bytes);
    if (count > 0)
        memcpy(more, old, count * bytes);
    return more;
}

static void cover(struct rollback_scope *scope, uint64_t num, struct span id) {
    struct arena *arena = &scope->arena;
    scope->entries =
        grown(arena, scope->entries, scope->count, sizeof(*scope->entries));
    scope->ids = grown(arena, scope->ids, scope->count, sizeof(*scope->ids));
    scope->entries[scope->count] =
        (struct rollback_entry){.num = num, .was = STATE_EXECUTING};
    scope->ids[scope->count++] = arena_span(arena, id);
}

/* What lands together with a member becomes a member when both have landed.
 * Until then the plan does not name it, but nobody may build on it any more.
 * After a crash, one of them may be done before it is known that the other has
 * landed too. */
static bool cover_companions(struct scheduler *scheduler,
                             struct rollback_scope *scope,
                             const struct job *job, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job *members;
    size_t count;
    if (job->state != STATE_EXECUTING)
        return true;
    if (!group_members_read(scheduler->store, job, &arena, &members, &count,
                            err))
        return false;
    for (size_t i = 0; i < count; i++)
        if ((members[i].state == STATE_EXECUTING ||
             members[i].state == STATE_DONE) &&
            rollback_scope_covers(scope, members[i].num) == STATE_NONE)
            cover(scope, members[i].num, members[i].id);
    return true;
}

static bool read_plan(struct scheduler *scheduler, struct rollback_scope *scope,
                      struct err *err) {
    struct store_rollback plan;
    bool found;
    if (!store_rollback(scheduler->store, scope->num, &scope->arena, &plan,
                        &found, err))
        return false;
    if (!found || !rollback_entries_parse(plan.members, &scope->arena,
                                          &scope->entries, &scope->count))
        return err_set(err, ERR_DATA, "its plan is missing or damaged");
    size_t members = scope->count;
    struct job *jobs =
        arena_alloc(&scope->arena, (members + 1) * sizeof(*jobs));
    scope->ids =
        arena_alloc(&scope->arena, (members + 1) * sizeof(*scope->ids));
    for (size_t i = 0; i < members; i++) {
        if (!store_job(scheduler->store, scope->entries[i].num, &scope->arena,
                       &jobs[i], err))
            return false;
        scope->ids[i] = jobs[i].id;
    }
    for (size_t i = 0; i < members; i++)
        if (!cover_companions(scheduler, scope, &jobs[i], err))
            return false;
    return true;
}

/* Reports to the jobs that wait for a covered set that it now counts
 * differently. */
static void report_to_watchers(struct scheduler *scheduler,
                               const struct rollback_scope *scope) {
    for (size_t i = 0; i < scope->count; i++)
        if (!order_has(scheduler->order, scope->entries[i].num) &&
            order_watches(scheduler->order, scope->ids[i]))
            scheduler_order_outside(scheduler, scope->ids[i]);
}

void scheduler_scope_open(struct scheduler *scheduler, uint64_t num) {
    struct rollback_scope *scope = &scheduler->scope;
    struct err err;
    arena_clear(&scope->arena);
    *scope = (struct rollback_scope){.num = num};
    if (!read_plan(scheduler, scope, &err)) {
        scheduler_log_read_failure("the plan", num, &err);
        scope->count = 0;
    }
    report_to_watchers(scheduler, scope);
}

void scheduler_scope_job_ended(struct scheduler *scheduler) {
    report_to_watchers(scheduler, &scheduler->scope);
}

static void end_member(struct scheduler *scheduler, const struct job *job,
                       struct wall at) {
    struct store_event event = {.num = job->num,
                                .id = job->id,
                                .from = STATE_ABANDONED,
                                .to = STATE_ABANDONED,
                                .seq = job->state_seq,
                                .at = at};
    if (!scheduler_group_move(scheduler, &event, false))
        order_move(scheduler->order, job->num, STATE_ABANDONED, at, false);
}

void scheduler_scope_close(struct scheduler *scheduler, struct wall at) {
    struct rollback_scope scope = scheduler->scope;
    scheduler->scope = (struct rollback_scope){0};
    /* The members that came back have been reported by their own events. */
    for (size_t i = 0; i < scope.count; i++) {
        struct arena arena = ARENA_INIT;
        struct job job;
        struct err err;
        if (!order_has(scheduler->order, scope.entries[i].num) &&
            !groups_has(scheduler->groups, scope.entries[i].num))
            continue;
        if (!store_job(scheduler->store, scope.entries[i].num, &arena, &job,
                       &err))
            scheduler_log_read_failure("the row", scope.entries[i].num, &err);
        else if (job.state == STATE_ABANDONED)
            end_member(scheduler, &job, at);
        arena_clear(&arena);
    }
    report_to_watchers(scheduler, &scope);
    arena_clear(&scope.arena);
}
