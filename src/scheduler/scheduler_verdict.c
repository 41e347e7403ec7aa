/* The verdict on the end of an attempt: core/retry.h, with what the registry
 * and the submission say about the job. */
#include "scheduler/scheduler_verdict.h"

#include "scheduler/scheduler_array.h"
#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_rollback_queue.h"
#include "scheduler/scheduler_state.h"

enum { TEMP_MAX_H = 24 };

/* 24 hours of temporary ends count from the first attempt. */
static struct wall first_begun(struct scheduler *scheduler,
                               const struct tracked_job *tracked) {
    struct arena arena = ARENA_INIT;
    struct store_attempt *rows;
    size_t count;
    struct err err;
    struct wall first = {0};
    if (tracked->job.temps > 0 &&
        store_attempts(scheduler->store, tracked->num, &arena, &rows, &count,
                       &err) &&
        count > 0)
        first = rows[0].assigned;
    arena_clear(&arena);
    return first;
}

static void command_limits(const struct job *job, struct retry_limits *limits) {
    limits->retries = job->retries;
    limits->at_most_once = (job->flags & JOB_AT_MOST_ONCE) != 0;
    limits->temp_ends = span_is(job->cause, "run") && job->retries == 0;
}

static struct retry_counts *counts_of(struct attempt *attempt,
                                      struct retry_counts *job_counts) {
    const struct job *job = &attempt->tracked->job;
    if (attempt->of_array)
        return &scheduler_attempt_task(attempt)->counts;
    job_counts->temps = job->temps;
    job_counts->crashes = job->crashes;
    job_counts->fails = job->fails;
    return job_counts;
}

struct retry_verdict scheduler_decide_end(struct scheduler *scheduler,
                                          struct attempt *attempt,
                                          const struct retry_end *end) {
    enum { ROLLBACK_TEMPS = 3 };
    struct retry_limits limits = {
        .max_temp = scheduler->options.max_temp,
        .max_crash = scheduler->options.max_crash,
        .temp_max_ms = INT64_C(3600000) * TEMP_MAX_H,
    };
    struct retry_counts job_counts = {0};
    struct retry_counts *counts = counts_of(attempt, &job_counts);
    if (scheduler_is_rollback(&attempt->tracked->job))
        limits.max_temp = ROLLBACK_TEMPS;
    if (attempt->tracked->job.kind == JOB_COMMAND)
        command_limits(&attempt->tracked->job, &limits);
    counts->first_begun = first_begun(scheduler, attempt->tracked);
    return retry_after(end, counts, &limits, scheduler->now,
                       &scheduler->random);
}
