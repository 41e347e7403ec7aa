/* Why a job waits, in sentences with names. */
#include <inttypes.h>

#include "lib/log.h"
#include "scheduler/scheduler_inner.h"
#include "scheduler/why.h"

/* More than there can be slots. */
enum { EXECUTING_MAX = 8192 };

static void why_scheduled(struct scheduler *scheduler, const struct job *job,
                          struct wall now, struct why *why) {
    struct schedule_job offer = {
        .num = job->num,
        .rank = job->rank.len ? job->rank : job->key,
        .job_class = job->job_class,
        .target = job->target,
        .admitted = job->admitted,
        .not_before = job->not_before,
    };
    struct schedule_why reason = schedule_why(scheduler->schedule, &offer, now);
    struct job behind = {0};
    struct err err;
    if (reason.behind &&
        !store_job(scheduler->store, reason.behind, why->arena, &behind, &err))
        behind = (struct job){0};
    switch (reason.reason) {
    case SCHEDULE_LANE:
        why_lane(why, job->target, behind.id);
        break;
    case SCHEDULE_SLOT:
        why_slot(why, reason.busy, reason.slots);
        break;
    case SCHEDULE_NOT_BEFORE:
        why_time(why, job, reason.until);
        break;
    case SCHEDULE_TURN:
        why_turn(why, behind.id);
        break;
    case SCHEDULE_NEXT:
    default:
        break;
    }
}

/* What other processes execute takes lanes and slots all the same. */
static void count_executing(struct scheduler *scheduler) {
    struct arena arena = ARENA_INIT;
    struct store_list list = {.states = STATE_BIT(STATE_EXECUTING),
                              .limit = EXECUTING_MAX};
    struct job *jobs;
    size_t count = 0;
    struct err err;
    if (!store_jobs(scheduler->store, &list, &arena, &jobs, &count, &err))
        log_error("cannot see what is executing: %s", err.text);
    for (size_t i = 0; i < count; i++)
        schedule_assigned(scheduler->schedule, jobs[i].num, jobs[i].target);
    arena_clear(&arena);
}

void scheduler_ponder(struct scheduler *scheduler, struct wall now) {
    struct arena arena = ARENA_INIT;
    struct order_effect *effects;
    count_executing(scheduler);
    answer_unknown(scheduler);
    (void)order_scan(scheduler->order, now, &arena, &effects);
    answer_unknown(scheduler);
    arena_clear(&arena);
}

/* One at a time, and before everything else. */
static void why_another(struct scheduler *scheduler, const struct job *job,
                        struct wall now, struct why *why) {
    struct job other;
    struct err err;
    if (job->not_before.ns > now.ns)
        why_time(why, job, job->not_before);
    else if (scheduler->fence.num != 0 &&
             store_job(scheduler->store, scheduler->fence.num, why->arena,
                       &other, &err))
        why_rollback(why, other.id);
}

/* What it needs landed, or waited, before a rollback took it. */
static void why_fenced(struct scheduler *scheduler, struct why *why) {
    const struct fence *fence = &scheduler->fence;
    struct job rb;
    struct err err;
    if (fence->num == 0 ||
        !store_job(scheduler->store, fence->num, why->arena, &rb, &err))
        return;
    for (size_t i = 0; i < why->count; i++)
        for (size_t k = 0; k < fence->count; k++)
            if (strcmp(why->reasons[i].kind, "dependency") == 0 &&
                span_equal(why->reasons[i].id, fence->ids[k]))
                why->reasons[i].text = span_of(arena_printf(
                    why->arena,
                    "dependency %.*s is taken back by %.*s, which is not over",
                    (int)fence->ids[k].len, fence->ids[k].p, (int)rb.id.len,
                    rb.id.p));
}

bool scheduler_why(struct scheduler *scheduler, const struct job *job,
                   struct wall now, struct arena *arena,
                   struct scheduler_reason **ret_reasons, size_t *ret_count,
                   struct err *err) {
    struct why why = {.arena = arena};
    (void)err;
    answer_unknown(scheduler);
    uint64_t entry = together_entry(scheduler->together, job->num);
    if (entry == 0)
        entry = job->num;
    if (job->state != STATE_PENDING && order_has(scheduler->order, entry))
        why_order(&why, scheduler->order, entry, now);
    why_fenced(scheduler, &why);
    group_why(scheduler, job, &why);
    why_holds(&why, job);
    bool ready = job->state == STATE_PENDING && job->holds == 0;
    if (ready && target_why(scheduler, job, &why))
        (void)0; /* nothing else counts until it can be used */
    else if (job_is_rollback(job) && ready)
        why_another(scheduler, job, now, &why);
    else if (ready)
        why_scheduled(scheduler, job, now, &why);
    *ret_reasons = why.reasons;
    *ret_count = why.count;
    return true;
}
