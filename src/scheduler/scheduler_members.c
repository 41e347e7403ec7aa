/* The sets that the process of a rollback must revert: the landed members,
 * newest first. For a branch, the history shows what a rollback among them had
 * done; a command target gets a list, set by set, of what is rolled back and
 * what is restored. */
#include "scheduler/scheduler_members.h"

#include "scheduler/rollback_effects.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_rollback.h"
#include "scheduler/scheduler_state.h"

static struct run_member member_of(const struct job *job, bool again) {
    return (struct run_member){.id = job->id,
                               .sum = job->sum,
                               .name = job->name,
                               .job_class = job->job_class,
                               .admitted = job->admitted,
                               .uid = job->uid,
                               .again = again};
}

/* For a branch: the members as they are. */
static bool members_of_branch(struct scheduler *scheduler, uint64_t *nums,
                              size_t count, struct err *err) {
    struct rollback_run *rollback_run = &scheduler->rollback_run;
    if (!rollback_effects_sort(scheduler->store, nums, count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct job job;
        if (!store_job(scheduler->store, nums[i], &rollback_run->arena, &job,
                       err))
            return false;
        rollback_run->reverts[i] = member_of(&job, false);
    }
    rollback_run->revert_count = count;
    return true;
}

/* For a command target: the resulting changes, set by set. */
static bool members_of_command(struct scheduler *scheduler,
                               const struct job *rb, const uint64_t *nums,
                               size_t count, struct err *err) {
    CLEANUP(rollback_effects_clear) struct rollback_effects effects = {0};
    struct rollback_run *rollback_run = &scheduler->rollback_run;
    if (!rollback_effects_make(scheduler->store, rb->id, nums, count, &effects,
                               err))
        return false;
    rollback_run->reverts =
        arena_alloc(&rollback_run->arena,
                    (effects.count + 1) * sizeof(*rollback_run->reverts));
    for (size_t i = 0; i < effects.count; i++) {
        const struct rollback_effect *effect = effects.changed[i];
        struct job job;
        if (job_has(&effect->job, JOB_ROLLS_BACK))
            continue;
        if (!store_job(scheduler->store, effect->job.num, &rollback_run->arena,
                       &job, err))
            return false;
        rollback_run->reverts[rollback_run->revert_count++] =
            member_of(&job, effect->now.len == 0);
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

bool scheduler_rollback_members(struct scheduler *scheduler,
                                const struct job *rb,
                                const struct rollback_decision *decision) {
    struct rollback_run *rollback_run = &scheduler->rollback_run;
    size_t bytes = (decision->count + 1) * sizeof(*rollback_run->reverts);
    uint64_t *nums = arena_alloc(&rollback_run->arena,
                                 (decision->count + 1) * sizeof(*nums));
    struct err err;
    size_t count = 0;
    for (size_t i = 0; i < decision->count; i++)
        if (decision->members[i].fate == ROLLBACK_REVERT)
            nums[count++] = decision->members[i].node.num;
    rollback_run->reverts = arena_alloc(&rollback_run->arena, bytes);
    rollback_run->revert_count = 0;
    bool ok = is_by_command(scheduler, rb->target)
                  ? members_of_command(scheduler, rb, nums, count, &err)
                  : members_of_branch(scheduler, nums, count, &err);
    if (!ok)
        scheduler_log_read_failure("the members", rb->num, &err);
    return ok;
}
