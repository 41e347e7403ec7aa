/* What an open rollback covers (spec/change-queue.md §8, steps 4 and 7). Its
 * abandoned members have not left the order: they may come back. Its landed
 * ones count as not done, so that nobody builds on them any more. */
#include "lib/log.h"
#include "scheduler/scheduler_inner.h"

enum job_state fence_covers(const struct scheduler *scheduler, uint64_t num) {
    const struct fence *fence = &scheduler->fence;
    for (size_t i = 0; fence->num != 0 && i < fence->count; i++)
        if (fence->entries[i].num == num)
            return fence->entries[i].was;
    return STATE_NONE;
}

static bool read_plan(struct scheduler *scheduler, struct fence *fence,
                      struct err *err) {
    struct store_rollback plan;
    bool found;
    if (!store_rollback(scheduler->store, fence->num, &fence->arena, &plan,
                        &found, err))
        return false;
    if (!found || !rollback_entries_parse(plan.members, &fence->arena,
                                          &fence->entries, &fence->count))
        return err_set(err, ERR_DATA, "its plan is missing or damaged");
    fence->ids =
        arena_alloc(&fence->arena, (fence->count + 1) * sizeof(*fence->ids));
    for (size_t i = 0; i < fence->count; i++) {
        struct job job;
        if (!store_job(scheduler->store, fence->entries[i].num, &fence->arena,
                       &job, err))
            return false;
        fence->ids[i] = job.id;
    }
    return true;
}

/* Whoever waits for a covered set learns that it counts differently now. */
static void tell_watchers(struct scheduler *scheduler,
                          const struct fence *fence) {
    for (size_t i = 0; i < fence->count; i++)
        if (!order_has(scheduler->order, fence->entries[i].num) &&
            order_watches(scheduler->order, fence->ids[i]))
            tell_outside(scheduler, fence->ids[i]);
}

void fence_open(struct scheduler *scheduler, uint64_t num) {
    struct fence *fence = &scheduler->fence;
    struct err err;
    arena_clear(&fence->arena);
    *fence = (struct fence){.num = num};
    if (!read_plan(scheduler, fence, &err)) {
        log_read_failure("the plan", num, &err);
        fence->count = 0;
    }
    tell_watchers(scheduler, fence);
}

static void leave_for_good(struct scheduler *scheduler, const struct job *job,
                           struct wall at) {
    struct store_event event = {.num = job->num,
                                .id = job->id,
                                .from = STATE_ABANDONED,
                                .to = STATE_ABANDONED,
                                .seq = job->state_seq,
                                .at = at};
    if (!group_move(scheduler, &event, false))
        order_move(scheduler->order, job->num, STATE_ABANDONED, at, false);
}

void fence_close(struct scheduler *scheduler, struct wall at) {
    struct fence fence = scheduler->fence;
    scheduler->fence = (struct fence){0};
    /* Those that came back have said so by events of their own. */
    for (size_t i = 0; i < fence.count; i++) {
        struct arena arena = ARENA_INIT;
        struct job job;
        struct err err;
        if (!order_has(scheduler->order, fence.entries[i].num) &&
            !together_has(scheduler->together, fence.entries[i].num))
            continue;
        if (!store_job(scheduler->store, fence.entries[i].num, &arena, &job,
                       &err))
            log_read_failure("the row", fence.entries[i].num, &err);
        else if (job.state == STATE_ABANDONED)
            leave_for_good(scheduler, &job, at);
        arena_clear(&arena);
    }
    tell_watchers(scheduler, &fence);
    arena_clear(&fence.arena);
}
