#include "scheduler/estimate.h"

#include <stdlib.h>

enum { LOOKED_AT = 200, LANDED = 20 };

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Duration of all attempts together: checks and landings. -1: none has ended.
 */
static bool ran_ms(struct store *store, uint64_t num, int64_t *ret_ms,
                   struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_attempt *attempts;
    size_t count;
    if (!store_attempts(store, num, &arena, &attempts, &count, err))
        return false;
    *ret_ms = -1;
    for (size_t i = 0; i < count; i++)
        if (attempts[i].ended.ns > 0)
            *ret_ms = (*ret_ms > 0 ? *ret_ms : 0) +
                      wall_ms_since(attempts[i].ended, attempts[i].assigned);
    return true;
}

static bool median_ms(struct store *store, struct span target, int64_t *ret_ms,
                      struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list list = {.states = STATE_BIT(STATE_DONE),
                              .kinds = job_kinds_with(JOB_LANDS),
                              .newest_first = true,
                              .limit = LOOKED_AT};
    int64_t times[LANDED], ms;
    struct job *jobs;
    size_t count, kept = 0;
    if (!store_jobs(store, &list, &arena, &jobs, &count, err))
        return false;
    for (size_t i = 0; i < count && kept < LANDED; i++) {
        if (!span_equal(jobs[i].target, target))
            continue;
        if (!ran_ms(store, jobs[i].num, &ms, err))
            return false;
        if (ms >= 0)
            times[kept++] = ms;
    }
    qsort(times, kept, sizeof(times[0]), by_value);
    *ret_ms = kept > 0 ? times[kept / 2] : -1;
    return true;
}

bool estimate_make(struct store *store, const struct job *job, struct wall now,
                   struct estimate *ret_estimate, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list list = {.states = STATES_LIVE,
                              .kinds = job_kinds_with(JOB_LANDS),
                              .limit = ESTIMATE_SETS_MAX + 1};
    struct job *jobs;
    size_t count;
    *ret_estimate = (struct estimate){.each_ms = -1};
    if (!median_ms(store, job->target, &ret_estimate->each_ms, err) ||
        !store_jobs(store, &list, &arena, &jobs, &count, err))
        return false;
    ret_estimate->more = count > ESTIMATE_SETS_MAX;
    if (ret_estimate->more)
        count = ESTIMATE_SETS_MAX;
    for (size_t i = 0; i < count; i++)
        ret_estimate->ahead +=
            jobs[i].num != job->num && jobs[i].holds == 0 &&
            span_equal(jobs[i].target, job->target) &&
            (jobs[i].state == STATE_EXECUTING ||
             span_compare(job_rank(&jobs[i]), job_rank(job)) < 0);
    if (ret_estimate->each_ms >= 0)
        ret_estimate->start = wall_add_ms(now, (int64_t)ret_estimate->ahead *
                                                   ret_estimate->each_ms);
    return true;
}
