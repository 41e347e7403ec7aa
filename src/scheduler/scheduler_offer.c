/* Offers to the picker. */
#include "scheduler/scheduler_offer.h"

#include "scheduler/scheduler_hosted.h"
#include "scheduler/scheduler_train_follow.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_state.h"

/* The job is not to start before that time (0: at once). */
static void expect_backoff(struct scheduler *scheduler,
                           struct wall not_before) {
    if (not_before.ns != 0 && not_before.ns < scheduler->due_at.ns)
        scheduler->due_at = not_before;
}

void scheduler_offer_rollback(struct scheduler *scheduler,
                              const struct job *job) {
    if ((scheduler->options.parts & SCHEDULER_STARTS) && job->holds == 0 &&
        job_has(job, JOB_ROLLS_BACK) &&
        (job->state == STATE_QUEUED || job->state == STATE_PENDING) &&
        scheduler_hosts(scheduler, job))
        rollback_queue_offer(&scheduler->rollbacks, job);
}

void scheduler_offer(struct scheduler *scheduler, const struct job *job) {
    if (!(scheduler->options.parts & SCHEDULER_STARTS) ||
        job_has(job, JOB_ON_NODES) || !scheduler_hosts(scheduler, job))
        return;
    expect_backoff(scheduler, job->not_before);
    if (job->holds != 0 || !groups_may_start(scheduler->groups, job->num))
        return;
    bool on_train = target_train_offer(scheduler, job);
    if (!on_train && scheduler_train_follow_waits(scheduler, job))
        return;
    struct picker_job offer = {
        .num = job->num,
        .rank = job_rank(job),
        .job_class = job->job_class,
        .target = on_train ? rollback_queue_lane : rollback_queue_lane_of(job),
        .admitted = job->admitted,
        .not_before = job->not_before,
        .begins = job_begins(job),
    };
    picker_offer(scheduler->picker, &offer, scheduler->now);
    scheduler_offer_rollback(scheduler, job);
    scheduler_job_keep(scheduler,
                       job); /* frees an old one, which may contain `job` */
}

void scheduler_offer_num(struct scheduler *scheduler, uint64_t num) {
    struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    if (!store_job(scheduler->store, num, &arena, &job, &err))
        scheduler_log_read_failure("the row", num, &err);
    else if (job.state == STATE_PENDING)
        scheduler_offer(scheduler, &job);
    else if (job.state == STATE_EXECUTING)
        target_train_rank(scheduler, &job);
    arena_clear(&arena);
}

void scheduler_offer_again(struct scheduler *scheduler, uint64_t num) {
    scheduler_offer_num(scheduler, num);
    scheduler_offer_group(scheduler, num);
}

void scheduler_offer_group(struct scheduler *scheduler, uint64_t num) {
    uint64_t leader = groups_leader(scheduler->groups, num);
    struct tracked_job *tracked =
        leader != 0 ? scheduler_job_get(scheduler, leader) : NULL;
    if (leader != 0 && !(tracked && tracked->executing))
        scheduler_offer_num(scheduler, leader);
}
