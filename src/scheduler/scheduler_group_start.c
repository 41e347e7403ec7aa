/* Attempts that carry several sets: the sets of a group land together, in the
 * attempt of the first one. They start all or not at all. */
#include "scheduler/scheduler_group_start.h"

#include "core/reason.h"
#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_offer.h"
#include "scheduler/scheduler_plan.h"
#include "scheduler/scheduler_state.h"

static unsigned plan_carried(struct scheduler *scheduler, uint64_t num,
                             unsigned number) {
    unsigned op = scheduler_attempt_begin(scheduler, num, SPAN(REASON_START));
    scheduler_attempt_assign(scheduler, num, SPAN(""), number);
    return op;
}

static bool take_companions(struct scheduler *scheduler,
                            struct attempt *attempt, const uint64_t *nums,
                            size_t count) {
    attempt->companions = mem_alloc(count * sizeof(*attempt->companions));
    attempt->landing = mem_alloc(count * sizeof(*attempt->landing));
    for (size_t i = 0; i < count; i++) {
        attempt->landing[i] = nums[i];
        if (nums[i] == attempt->tracked->num)
            continue;
        struct tracked_job *tracked = scheduler_job_pending(scheduler, nums[i]);
        if (!tracked)
            return false;
        attempt->companions[attempt->companion_count++] =
            (struct companion){tracked, tracked->job.attempt + 1};
        tracked->attempts++;
        scheduler_job_execute(scheduler, tracked);
    }
    return true;
}

void scheduler_group_plan_start(struct scheduler *scheduler) {
    struct tracked_job *tracked = scheduler->group_next;
    struct arena arena = ARENA_INIT;
    uint64_t *nums;
    size_t count =
        groups_landing(scheduler->groups, tracked->num, &arena, &nums);
    struct attempt *attempt =
        scheduler_attempt_new(scheduler, tracked, tracked->job.attempt + 1);
    scheduler->group_next = NULL;
    if (scheduler->draining || scheduler->scope.num != 0 || count == 0 ||
        !take_companions(scheduler, attempt, nums, count)) {
        scheduler_group_start_failed(scheduler, attempt);
        arena_clear(&arena);
        return;
    }
    arena_clear(&arena);
    store_batch_atomic(scheduler->batch);
    struct plan *plan = scheduler_plan_add(scheduler, PLAN_START);
    plan->attempt = attempt;
    plan->op = plan_carried(scheduler, tracked->num, attempt->number);
    for (size_t i = 0; i < attempt->companion_count; i++)
        plan_carried(scheduler, attempt->companions[i].tracked->num,
                     attempt->companions[i].number);
}

void scheduler_group_start_failed(struct scheduler *scheduler,
                                  struct attempt *attempt) {
    uint64_t leader = attempt->tracked->num;
    struct tracked_job *tracked = attempt->tracked;
    for (size_t i = 0; i < attempt->companion_count; i++) {
        attempt->companions[i].tracked->attempts--;
        scheduler_job_drop(scheduler, attempt->companions[i].tracked);
    }
    attempt->companion_count = 0;
    picker_ended(scheduler->picker, leader, -1);
    scheduler_attempt_free(scheduler, attempt);
    scheduler_job_drop(scheduler, tracked);
    if (groups_has(scheduler->groups, leader))
        scheduler_offer_group(scheduler, leader);
}
