/* The verdict on the end of an attempt: core/retry.h, applied to the facts
 * about the job in the registry and the submission. */
#include "scheduler/scheduler_verdict.h"

#include <stdio.h>
#include <string.h>

#include "core/reason.h"
#include "core/retry_landing.h"
#include "wire/status_line.h"
#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_job.h"
#include "scheduler/scheduler_row.h"
#include "scheduler/scheduler_state.h"

enum { TEMP_MAX_H = 24, ROLLBACK_TEMPS = 3, ATTEMPTS_BEFORE = 32 };

/* ---- facts
 * ----------------------------------------------------------------- */

/* How it ended, in the terms of core/retry.h. */
static enum retry_result result_of(const struct attempt *attempt) {
    if (attempt->recovery)
        return RETRY_RECOVERED;
    switch (attempt->end.result) {
    case 0:
        return RETRY_RAN;
    case RUN_UNAVAILABLE:
        return RETRY_UNAVAILABLE;
    case RUN_FORBIDDEN:
        return RETRY_FORBIDDEN;
    case RUN_RECOVERED:
        return RETRY_RECOVERED;
    case 99:
        return RETRY_TAKEN;
    case 100:
        return RETRY_CANNOT;
    case 104:
        return RETRY_WITHDRAWN;
    case 111:
        return RETRY_NOT_NOW;
    default:
        return RETRY_CRASHED;
    }
}

/* A temporary end has no status of its own: it counts as exit code 75. */
static enum retry_status status_of(struct span line, struct arena *arena,
                                   struct retry_end *end,
                                   struct span *ret_reason) {
    struct status_line status;
    struct err err;
    if (line.len == 0)
        return RETRY_STATUS_NONE;
    if (!status_line_parse(line, arena, &status, &err)) {
        *ret_reason = arena_span(arena, span_of(err.text));
        return RETRY_STATUS_UNREADABLE;
    }
    *ret_reason = status.reason;
    switch (status.word) {
    case STATUS_DONE:
        return RETRY_STATUS_DONE;
    case STATUS_INCOMPLETE:
        return RETRY_STATUS_INCOMPLETE;
    case STATUS_INCOMPLETE_BACKOFF:
        return RETRY_STATUS_INCOMPLETE_BACKOFF;
    case STATUS_FAILED:
        return RETRY_STATUS_BACKOFF;
    case STATUS_PERMANENT:
    case STATUS_CONFLICT:
        return RETRY_STATUS_FAILED;
    case STATUS_TEMPORARY:
        if (status.reason.len == 0)
            *ret_reason = SPAN("reported a temporary failure");
        end->exit_code = 75;
        end->signal = 0;
        return RETRY_STATUS_NONE;
    }
    return RETRY_STATUS_NONE;
}

static struct retry_end retry_end_of(const struct attempt *attempt) {
    const struct run_end *end = &attempt->end;
    return (struct retry_end){
        .result = result_of(attempt),
        .exit_code = end->exit_code,
        .signal = end->signal,
        .timed_out = end->timed_out,
        .killer = scheduler_attempt_killer(attempt),
        .landed = attempt->landed,
        .error = end->detail,
    };
}

/* The 24 hours of temporary failures count from the first attempt. */
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

/* The attempts of its task before it, newest first. Back-offs stop growing
 * long before these are all. */
static size_t attempts_before(struct scheduler *scheduler,
                              const struct attempt *attempt,
                              struct arena *arena,
                              struct store_attempt **ret_rows) {
    size_t count;
    struct err err;
    if (store_attempts_latest(scheduler->store, attempt->tracked->num,
                              scheduler_row_node(attempt), ATTEMPTS_BEFORE,
                              arena, ret_rows, &count, &err))
        return count;
    scheduler_log_read_failure("the attempts", attempt->tracked->num, &err);
    return 0;
}

/* The latest attempts that ended for a lost base. */
static unsigned base_lost_before(struct scheduler *scheduler,
                                 const struct attempt *attempt) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_attempt *rows;
    unsigned lost = 0;
    if (attempt->said.verdict != LAND_BASE_LOST)
        return 0;
    size_t count = attempts_before(scheduler, attempt, &arena, &rows);
    while (lost < count && span_is(rows[lost].reason, REASON_BASE_LOST))
        lost++;
    return lost;
}

/* The latest attempts that reported that the task is not complete; those that
 * were lost or returned say nothing. */
static unsigned incomplete_before(struct scheduler *scheduler,
                                  const struct attempt *attempt) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_attempt *rows;
    unsigned times = 0;
    size_t count = attempts_before(scheduler, attempt, &arena, &rows);
    for (size_t i = 0; i < count; i++) {
        enum task_status status = rows[i].status;
        if (status == TASK_INCOMPLETE)
            times++;
        else if (status != TASK_UNSTARTED && status != TASK_LOST)
            break;
    }
    return times;
}

struct retry_limits scheduler_verdict_limits(const struct scheduler *scheduler,
                                             const struct job *job) {
    struct retry_limits limits = {
        .max_temp = scheduler->options.max_temp,
        .max_crash = scheduler->options.max_crash,
        .temp_max_ms = INT64_C(3600000) * TEMP_MAX_H,
        .retries = job->retries,
        .at_most_once = (job->flags & JOB_AT_MOST_ONCE) != 0,
        .temp_ends = span_is(job->cause, CAUSE_RUN) && job->retries == 0,
    };
    if (job_has(job, JOB_ROLLS_BACK))
        limits.max_temp = ROLLBACK_TEMPS;
    return limits;
}

static struct retry_landing landing_of(const struct scheduler *scheduler,
                                       const struct attempt *attempt) {
    return (struct retry_landing){.said = attempt->said,
                                  .is_silent = attempt->end.status.len == 0,
                                  .is_stopping = scheduler->draining};
}

/* ---- verdicts --------------------------------------------------------------
 */

/* `landing`: NULL for a job that does not land. */
static struct retry_verdict decide(struct scheduler *scheduler,
                                   struct attempt *attempt,
                                   const struct retry_landing *landing,
                                   const struct retry_end *end) {
    const struct job *job = &attempt->tracked->job;
    struct retry_limits limits = scheduler_verdict_limits(scheduler, job);
    struct retry_counts counts = {
        .temps = job->temps,
        .crashes = job->crashes,
        .fails = job->fails,
        .base_lost = base_lost_before(scheduler, attempt),
        .incompletes = end->status == RETRY_STATUS_INCOMPLETE
                           ? incomplete_before(scheduler, attempt)
                           : 0,
        .first_begun = first_begun(scheduler, attempt->tracked),
    };
    return landing ? retry_after_landing(landing, end, &counts, &limits,
                                         scheduler->now, &scheduler->random)
                   : retry_after(end, &counts, &limits, scheduler->now,
                                 &scheduler->random);
}

struct retry_verdict scheduler_verdict_on(struct scheduler *scheduler,
                                          struct attempt *attempt,
                                          const struct retry_end *end) {
    return decide(scheduler, attempt, NULL, end);
}

struct retry_end scheduler_verdict_end(const struct attempt *attempt,
                                       struct arena *arena,
                                       struct span *ret_reason) {
    struct retry_end end = retry_end_of(attempt);
    *ret_reason = (struct span){0};
    end.status = status_of(attempt->end.status, arena, &end, ret_reason);
    return end;
}

void scheduler_verdict_explain(struct retry_verdict *verdict,
                               struct span reason) {
    if (reason.len > 0 && verdict->to != STATE_DONE)
        snprintf(verdict->detail, sizeof(verdict->detail), "%.*s",
                 (int)reason.len, reason.p);
}

static struct retry_verdict on_status(struct scheduler *scheduler,
                                      struct attempt *attempt) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span reason;
    struct retry_end end = scheduler_verdict_end(attempt, &arena, &reason);
    struct retry_verdict verdict = decide(scheduler, attempt, NULL, &end);
    scheduler_verdict_explain(&verdict, reason);
    return verdict;
}

struct retry_verdict scheduler_verdict_temporary(struct scheduler *scheduler,
                                                 struct tracked_job *tracked,
                                                 struct span why) {
    struct attempt attempt = {.tracked = tracked};
    struct retry_end end = {
        .result = RETRY_RAN, .exit_code = 111, .error = why};
    return decide(scheduler, &attempt, NULL, &end);
}

struct retry_verdict scheduler_verdict(struct scheduler *scheduler,
                                       struct attempt *attempt) {
    if (!job_has(&attempt->tracked->job, JOB_LANDS))
        return on_status(scheduler, attempt);
    struct retry_landing landing = landing_of(scheduler, attempt);
    struct retry_end end = retry_end_of(attempt);
    struct retry_verdict verdict = decide(scheduler, attempt, &landing, &end);
    /* "COMMIT NOTE": nothing was left of a member. */
    if (job_has(&attempt->tracked->job, JOB_ROLLS_BACK) &&
        verdict.to == STATE_DONE && strcmp(verdict.reason, REASON_OK) == 0 &&
        strchr(verdict.detail, ' ') != NULL)
        snprintf(verdict.reason, sizeof(verdict.reason), REASON_RB_EMPTY);
    return verdict;
}

bool scheduler_verdict_needs_probe(const struct scheduler *scheduler,
                                   const struct attempt *attempt) {
    struct retry_landing landing = landing_of(scheduler, attempt);
    struct retry_end end = retry_end_of(attempt);
    return !attempt->probed && !attempt->checks &&
           job_has(&attempt->tracked->job, JOB_LANDS) &&
           retry_landing_is_unclear(&landing, &end);
}
