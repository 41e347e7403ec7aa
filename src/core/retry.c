#include "core/retry.h"

#include "core/reason.h"

#include <stdio.h>

enum {
    DELAY_MAX_S = 600,
    JITTER_PERCENT = 20,
    INCOMPLETE_AT_ONCE = 10 /* from then on it backs off */
};

struct question {
    const struct retry_end *end;
    const struct retry_counts *counts;
    const struct retry_limits *limits;
    struct wall now;
    struct random *random;
};

/* ---- how long to wait --------------------------------------------------- */

int64_t retry_delay_ms(unsigned k, struct random *random) {
    int64_t ms = 1000 * (k >= 10 ? DELAY_MAX_S : INT64_C(1) << k);
    int64_t jitter = ms * JITTER_PERCENT / 100;

    return ms - jitter +
           (int64_t)random_below(random, (uint64_t)(2 * jitter + 1));
}

struct wall retry_backoff_end(struct wall since, struct wall not_before,
                              struct wall now) {
    if (since.ns <= now.ns || not_before.ns <= now.ns)
        return not_before;
    return not_before.ns > since.ns
               ? (struct wall){now.ns + (not_before.ns - since.ns)}
               : now;
}

static struct wall later(const struct question *q, unsigned k) {
    return wall_add_ms(q->now, retry_delay_ms(k, q->random));
}

/* ---- verdicts ----------------------------------------------------------- */

static struct retry_verdict verdict(enum job_state to, const char *reason,
                                    enum task_status task) {
    struct retry_verdict v = {.action = RETRY_MOVE, .to = to, .task = task};

    snprintf(v.reason, sizeof(v.reason), "%s", reason);
    return v;
}

static struct retry_verdict failed(const char *reason) {
    return verdict(STATE_FAILED, reason, TASK_FAILED);
}

static void say(struct retry_verdict *v, const char *format, ...)
    PRINTF_LIKE(2, 3);
static void say(struct retry_verdict *v, const char *format, ...) {
    va_list args;

    va_start(args, format);
    vsnprintf(v->detail, sizeof(v->detail), format, args);
    va_end(args);
}

/* Adds the supervisor's message, if any. */
static void say_error(struct retry_verdict *v, const struct question *q) {
    struct span error = q->end->error;
    int max = (int)sizeof(v->detail) - 1;

    if (error.len > 0)
        say(v, "%.*s", error.len < (size_t)max ? (int)error.len : max, error.p);
}

static struct retry_verdict done(const struct question *q) {
    bool before = q->end->result == RETRY_RECOVERED;
    struct retry_verdict v = verdict(
        STATE_DONE, before ? REASON_ALREADY_LANDED : REASON_OK, TASK_DONE);

    if (q->end->landed && q->end->killer == RETRY_OPERATOR)
        say(&v, "cancelled too late: it had landed");
    return v;
}

static struct retry_verdict ran_once(void) {
    struct retry_verdict v = failed(REASON_AT_MOST_ONCE);

    say(&v, "%s", RETRY_ONCE_DETAIL);
    return v;
}

/* A temporary end. `answered`: the command itself reported it. */
static struct retry_verdict temporary(const struct question *q, bool answered) {
    const struct retry_limits *limits = q->limits;
    unsigned temps = q->counts->temps + 1;
    struct wall first = q->counts->first_begun;
    struct retry_verdict v;

    if (answered && limits->temp_ends) {
        v = verdict(STATE_TERMINATED, "temp-ended", TASK_FAILED);
        say(&v,
            "exited with %d (temporary failure), and no retries were requested",
            q->end->exit_code);
    } else if (answered && limits->at_most_once) {
        v = ran_once();
    } else if (limits->max_temp > 0 && temps >= limits->max_temp) {
        v = failed("temp-exhausted");
        say(&v, "%u temporary failures", temps);
    } else if (limits->temp_max_ms > 0 && first.ns > 0 &&
               wall_ms_since(q->now, first) >= limits->temp_max_ms) {
        v = failed("temp-exhausted");
        say(&v, "temporary failures for %lld h",
            (long long)(limits->temp_max_ms / 3600000));
    } else {
        v = verdict(STATE_PENDING, REASON_TEMP, TASK_BACKOFF);
        v.not_before = later(q, q->counts->temps);
        if (answered)
            say(&v, "exited with %d (temporary failure)", q->end->exit_code);
        say_error(&v, q);
    }
    v.temps = 1;
    return v;
}

/* The end of the wait at this place of the job's own list, whose last wait is
 * repeated. */
static struct wall listed(const struct question *q, unsigned place) {
    const struct retry_limits *limits = q->limits;
    size_t last = limits->backoff_count - 1;

    return wall_add_ms(
        q->now, INT64_C(1000) * limits->backoff_s[place < last ? place : last]);
}

/* True if it is retried after a failed end; *ret_when says when. The job's own
 * list counts, otherwise the rule for temporary failures. */
static bool failed_again(const struct question *q, struct wall *ret_when) {
    const struct retry_limits *limits = q->limits;
    unsigned fails = q->counts->fails;

    if (fails >= limits->retries || limits->at_most_once ||
        (limits->backoff_fails && fails >= limits->backoff_count))
        return false;
    *ret_when = limits->backoff_count > 0 ? listed(q, fails) : later(q, fails);
    return true;
}

static struct retry_verdict retry_or_fail(const struct question *q,
                                          const char *reason) {
    struct wall when;
    struct retry_verdict v;

    if (failed_again(q, &when)) {
        v = verdict(STATE_PENDING, reason, TASK_BACKOFF);
        v.not_before = when;
        if (q->limits->backoff_count > 0)
            say(&v, "after try %u", q->counts->fails + 1);
        else
            say(&v, "next is try %u of %u", q->counts->fails + 2,
                q->limits->retries + 1);
    } else {
        v = failed(reason);
        if (q->limits->retries > 0)
            say(&v, "after %u tries", q->counts->fails + 1);
    }
    v.fails = 1;
    return v;
}

static struct retry_verdict crashed(const struct question *q) {
    unsigned crashes = q->counts->crashes + 1;
    struct retry_verdict v;

    if (q->limits->at_most_once) {
        v = ran_once();
    } else if (q->limits->max_crash > 0 && crashes >= q->limits->max_crash) {
        v = failed("crash-exhausted");
        say(&v, "%u crashes", crashes);
        v.alarm = true;
    } else {
        v = verdict(STATE_PENDING, REASON_CRASH, TASK_LOST);
        v.not_before = later(q, q->counts->crashes);
        say_error(&v, q);
    }
    v.crashes = 1;
    return v;
}

/* The job waits for its target, however long that takes; nothing is counted.
 * The time of the next start is decided for the target, not for each of its
 * jobs. */
static struct retry_verdict unavailable(const struct question *q) {
    struct retry_verdict v =
        verdict(STATE_PENDING, REASON_UNAVAILABLE, TASK_BACKOFF);

    say_error(&v, q);
    return v;
}

/* The job waits until it is there again, however long that takes; nothing is
 * counted. */
static struct retry_verdict base_lost(const struct question *q) {
    struct retry_verdict v =
        verdict(STATE_PENDING, REASON_BASE_LOST, TASK_BACKOFF);

    v.not_before = later(q, q->counts->base_lost);
    say_error(&v, q);
    return v;
}

/* Nothing ran, and nothing will until somebody has changed the configuration or
 * the job. */
static struct retry_verdict forbidden(const struct question *q) {
    struct retry_verdict v =
        verdict(STATE_PENDING, REASON_FORBIDDEN, TASK_UNSTARTED);

    say_error(&v, q);
    v.hold = HOLD_ACCOUNT;
    return v;
}

static struct retry_verdict recovered(const struct question *q) {
    if (q->limits->at_most_once)
        return ran_once();
    return verdict(STATE_PENDING, REASON_RECOVERED, TASK_LOST);
}

/* It may have been the task that ended the worker, so this counts as a
 * failure. */
static struct retry_verdict lost(const struct question *q) {
    struct retry_verdict v =
        q->limits->at_most_once ? ran_once() : retry_or_fail(q, "failed");

    if (v.to == STATE_PENDING)
        v.task = TASK_LOST;
    say(&v, "its worker was lost");
    v.fails = 1;
    return v;
}

static struct retry_verdict cannot(const struct question *q) {
    struct retry_verdict v = failed(REASON_PERM);

    say_error(&v, q);
    v.alarm = true;
    return v;
}

/* Nothing ran, so nothing is counted. */
static struct retry_verdict withdrawn(void) {
    struct retry_verdict v =
        verdict(STATE_PENDING, REASON_RETURNED, TASK_UNSTARTED);

    v.action = RETRY_UNCOUNT;
    return v;
}

/* The job asks to be run again; this is no failure. */
static struct retry_verdict incomplete(const struct question *q, bool wait) {
    struct retry_verdict v;

    if (q->limits->at_most_once)
        return ran_once();
    v = verdict(STATE_PENDING, REASON_RETURNED,
                wait ? TASK_BACKOFF : TASK_INCOMPLETE);
    say(&v, "reported that it is not complete");
    if (wait) {
        unsigned temps = q->counts->temps;
        v.not_before = q->limits->backoff_count > 0
                           ? listed(q, q->counts->fails)
                           : later(q, temps > 0 ? temps - 1 : 0);
        return v;
    }
    unsigned times = q->counts->incompletes + 1;
    if (times >= INCOMPLETE_AT_ONCE) {
        v.not_before = later(q, times - INCOMPLETE_AT_ONCE);
        say(&v, "reported %u times in a row that it is not complete", times);
    }
    v.clear_counts = true;
    return v;
}

struct retry_verdict retry_verdict_make(enum job_state to, const char *reason,
                                        struct span detail) {
    struct retry_verdict v =
        verdict(to, reason, to == STATE_DONE ? TASK_DONE : TASK_FAILED);

    snprintf(v.detail, sizeof(v.detail), "%.*s", (int)detail.len,
             detail.len > 0 ? detail.p : "");
    return v;
}

/* ---- the table ---------------------------------------------------------- */

static struct retry_verdict by_exit(const struct question *q) {
    const struct retry_end *end = q->end;
    char reason[JOB_REASON_BYTES];

    if (end->signal != 0) {
        snprintf(reason, sizeof(reason), "signal-%d", end->signal);
        return retry_or_fail(q, reason);
    }
    switch (end->exit_code) {
    case 0:
        return done(q);
    case 75:
    case 111:
        return temporary(q, true);
    case 100:
    case 126:
    case 127: {
        struct retry_verdict v = failed(REASON_PERM);

        say(&v, "exited with %d (permanent failure)", end->exit_code);
        v.fails = 1;
        return v;
    }
    default:
        if (end->exit_code < 0)
            return retry_or_fail(q, "failed");
        snprintf(reason, sizeof(reason), "exit-%d", end->exit_code);
        return retry_or_fail(q, reason);
    }
}

/* A process that was asked to stop because the scheduler stops: the status it
 * reported still counts, the way it died does not. */
static struct retry_verdict stopped(const struct question *q) {
    if (q->end->exit_code == 0 && q->end->signal == 0)
        return done(q);
    if (q->limits->at_most_once)
        return ran_once();
    return verdict(STATE_PENDING, REASON_RETURNED, TASK_UNSTARTED);
}

static struct retry_verdict by_status(const struct question *q) {
    struct retry_verdict v;

    switch (q->end->status) {
    case RETRY_STATUS_DONE:
        return done(q);
    case RETRY_STATUS_INCOMPLETE:
        return incomplete(q, false);
    case RETRY_STATUS_INCOMPLETE_BACKOFF:
        return incomplete(q, true);
    case RETRY_STATUS_FAILED:
        v = failed("failed");
        say(&v, "reported a permanent failure");
        v.fails = 1;
        return v;
    case RETRY_STATUS_UNREADABLE:
        v = retry_or_fail(q, "failed");
        say(&v, "its status line cannot be parsed");
        return v;
    case RETRY_STATUS_BACKOFF:
    case RETRY_STATUS_NONE:
        break;
    }
    return retry_or_fail(q, "failed");
}

static struct retry_verdict after_run(const struct question *q) {
    const struct retry_end *end = q->end;

    if (end->status != RETRY_STATUS_NONE)
        return by_status(q);
    if (end->killer == RETRY_STOP)
        return stopped(q);
    if (end->timed_out)
        return retry_or_fail(q, "timeout");
    return by_exit(q);
}

struct retry_verdict retry_after(const struct retry_end *end,
                                 const struct retry_counts *counts,
                                 const struct retry_limits *limits,
                                 struct wall now, struct random *random) {
    struct question q = {end, counts, limits, now, random};

    if (end->result == RETRY_TAKEN)
        return (struct retry_verdict){.action = RETRY_NOTHING,
                                      .to = STATE_EXECUTING,
                                      .task = TASK_RUNNING};
    if (end->landed)
        return done(&q);
    if (end->killer == RETRY_OPERATOR)
        return verdict(STATE_TERMINATED, REASON_OPERATOR, TASK_FAILED);
    if (end->killer == RETRY_ROLLBACK)
        return verdict(STATE_ABANDONED, REASON_ROLLBACK, TASK_FAILED);
    switch (end->result) {
    case RETRY_CANNOT:
        return cannot(&q);
    case RETRY_WITHDRAWN:
        return withdrawn();
    case RETRY_NOT_NOW:
        return temporary(&q, false);
    case RETRY_UNAVAILABLE:
        return unavailable(&q);
    case RETRY_BASE_LOST:
        return base_lost(&q);
    case RETRY_FORBIDDEN:
        return forbidden(&q);
    case RETRY_CRASHED:
        return crashed(&q);
    case RETRY_LOST:
        return lost(&q);
    case RETRY_RECOVERED:
        return recovered(&q);
    case RETRY_RAN:
    case RETRY_TAKEN:
        break;
    }
    return after_run(&q);
}
