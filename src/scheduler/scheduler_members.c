/* What a rollback's process is told to take back: the landed members, newest
 * first. A branch knows what a rollback among them had done; a target that is a
 * command is told set by set what goes out and what comes in again. */
#include <stdlib.h>

#include "scheduler/scheduler_inner.h"
#include "scheduler/turning.h"

static struct run_member member_of(const struct job *job, bool again) {
    return (struct run_member){.id = job->id,
                               .sum = job->sum,
                               .name = job->name,
                               .job_class = job->job_class,
                               .admitted = job->admitted,
                               .again = again};
}

static int newest_first(const void *a, const void *b) {
    const struct job *x = a, *y = b;
    return (x->state_seq < y->state_seq) - (x->state_seq > y->state_seq);
}

/* For a branch: the members as they are. */
static bool members_of_branch(struct scheduler *scheduler, const uint64_t *nums,
                              size_t count, struct err *err) {
    struct takeback *takeback = &scheduler->takeback;
    struct job *jobs =
        arena_alloc(&takeback->arena, (count + 1) * sizeof(*jobs));
    for (size_t i = 0; i < count; i++)
        if (!store_job(scheduler->store, nums[i], &takeback->arena, &jobs[i],
                       err))
            return false;
    qsort(jobs, count, sizeof(*jobs), newest_first);
    for (size_t i = 0; i < count; i++)
        takeback->reverts[i] = member_of(&jobs[i], false);
    takeback->revert_count = count;
    return true;
}

/* For a command: what that comes to, set by set. */
static bool members_of_command(struct scheduler *scheduler,
                               const struct job *rb, const uint64_t *nums,
                               size_t count, struct err *err) {
    CLEANUP(turning_clear) struct turning turning = {0};
    struct takeback *takeback = &scheduler->takeback;
    if (!turning_make(scheduler->store, rb->id, nums, count, &turning, err))
        return false;
    takeback->reverts = arena_alloc(
        &takeback->arena, (turning.count + 1) * sizeof(*takeback->reverts));
    for (size_t i = 0; i < turning.count; i++) {
        const struct turn *turn = turning.turns[i];
        struct job job;
        if (job_is_rollback(&turn->job))
            continue;
        if (!store_job(scheduler->store, turn->job.num, &takeback->arena, &job,
                       err))
            return false;
        takeback->reverts[takeback->revert_count++] =
            member_of(&job, turn->now.len == 0);
    }
    return true;
}

static bool is_by_command(const struct scheduler *scheduler,
                          struct span target) {
    for (size_t i = 0; i < scheduler->options.target_count; i++)
        if (span_equal(scheduler->options.targets[i].name, target))
            return scheduler->options.targets[i].by_command;
    return false;
}

bool takeback_members(struct scheduler *scheduler, const struct job *rb,
                      const struct rollback_decision *decision) {
    struct takeback *takeback = &scheduler->takeback;
    size_t bytes = (decision->count + 1) * sizeof(*takeback->reverts);
    uint64_t *nums =
        arena_alloc(&takeback->arena, (decision->count + 1) * sizeof(*nums));
    struct err err;
    size_t count = 0;
    for (size_t i = 0; i < decision->count; i++)
        if (decision->members[i].fate == ROLLBACK_REVERT)
            nums[count++] = decision->members[i].node.num;
    takeback->reverts = arena_alloc(&takeback->arena, bytes);
    takeback->revert_count = 0;
    bool ok = is_by_command(scheduler, rb->target)
                  ? members_of_command(scheduler, rb, nums, count, &err)
                  : members_of_branch(scheduler, nums, count, &err);
    if (!ok)
        log_read_failure("the members", rb->num, &err);
    return ok;
}
