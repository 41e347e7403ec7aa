#include "core/retry_landing.h"

#include "core/reason.h"

#include <stdio.h>
#include <string.h>

/* The exit code of a landing that was sent TERM (doc/design/landing.md,
 * L11). */
enum { ENDED_BY_TERM = 102 };

/* ---- one landing ----------------------------------------------------------
 */

static bool ended_without_verdict(const struct retry_landing *landing,
                                  const struct retry_end *end) {
    return end->result == RETRY_RAN &&
           (landing->is_silent || landing->said.verdict == LAND_STOPPED);
}

bool retry_landing_is_unclear(const struct retry_landing *landing,
                              const struct retry_end *end) {
    return end->result == RETRY_RECOVERED ||
           ended_without_verdict(landing, end);
}

/* No known request asked for its end. */
static bool died(const struct retry_landing *landing,
                 const struct retry_end *end) {
    return ended_without_verdict(landing, end) && !end->timed_out &&
           end->killer == RETRY_NOBODY;
}

/* This describes the process, not the set: an abnormal end, unless the process
 * itself was sent a TERM. */
static void describe_death(struct retry_end *end, char *text, size_t bytes) {
    if (end->signal != 0)
        snprintf(text, bytes, "the landing was killed by signal %d",
                 end->signal);
    else
        snprintf(text, bytes, "the landing exited with %d and reported nothing",
                 end->exit_code);
    end->result = RETRY_CRASHED;
    end->error = span_of(text);
}

/* The reason is the landing's own word if life.def has it. */
static struct retry_verdict failed(const struct land_verdict_line *said) {
    char reason[JOB_REASON_BYTES];
    if (!job_step_is_legal(STATE_EXECUTING, STATE_FAILED, said->reason))
        return retry_verdict_make(STATE_FAILED, "failed", said->rest);
    snprintf(reason, sizeof(reason), "%.*s", (int)said->reason.len,
             said->reason.p);
    return retry_verdict_make(STATE_FAILED, reason, said->text);
}

struct retry_verdict retry_after_landing(const struct retry_landing *landing,
                                         const struct retry_end *end,
                                         const struct retry_counts *counts,
                                         const struct retry_limits *limits,
                                         struct wall now,
                                         struct random *random) {
    const struct land_verdict_line *said = &landing->said;
    struct retry_end as = *end;
    char text[80];
    if (end->landed)
        return retry_verdict_make(STATE_DONE, REASON_ALREADY_LANDED,
                                  said->rest);
    switch (said->verdict) {
    case LAND_ALREADY:
        return retry_verdict_make(STATE_DONE, REASON_ALREADY_LANDED,
                                  said->rest);
    case LAND_DONE:
        return retry_verdict_make(STATE_DONE, REASON_OK, said->rest);
    case LAND_CONFLICT:
        return retry_verdict_make(STATE_FAILED, REASON_CONFLICT, said->rest);
    case LAND_PERMANENT:
        return retry_verdict_make(STATE_FAILED, REASON_PERM, said->rest);
    case LAND_FAILED:
        return failed(said);
    case LAND_UNAVAILABLE:
        as.result = RETRY_UNAVAILABLE;
        as.error = said->rest;
        break;
    case LAND_BASE_LOST:
        as.result = RETRY_BASE_LOST;
        as.error = said->rest;
        break;
    case LAND_FORBIDDEN:
        as.result = RETRY_FORBIDDEN;
        as.error = said->rest;
        break;
    case LAND_TEMPORARY:
    case LAND_MERGED: /* nothing landed */
    case LAND_PASSED:
    case LAND_MOVED:
    case LAND_CHANGED:
        as.exit_code = 111;
        as.signal = 0;
        as.error = said->rest;
        break;
    case LAND_NONE:
    case LAND_LANDED:
    case LAND_NOT_LANDED:
    case LAND_STOPPED:
        if (!died(landing, end))
            break;
        if (end->exit_code == ENDED_BY_TERM && !landing->is_stopping)
            return retry_verdict_make(STATE_TERMINATED, REASON_OPERATOR,
                                      SPAN("its process was sent TERM"));
        describe_death(&as, text, sizeof(text));
        break;
    }
    struct retry_verdict verdict =
        retry_after(&as, counts, limits, now, random);
    if ((said->verdict == LAND_TEMPORARY || said->verdict == LAND_CHANGED) &&
        said->rest.len > 0)
        snprintf(verdict.detail, sizeof(verdict.detail), "%.*s",
                 (int)said->rest.len, said->rest.p);
    return verdict;
}

/* ---- several sets ---------------------------------------------------------
 */

/* "C2: why" with the id of one of the sets; else {0}. */
static struct span find_culprit(const struct retry_carried *sets, size_t count,
                                struct span said, struct span *ret_why) {
    struct span id, rest = said;
    if (!span_cut(&rest, ':', &id) || rest.p == NULL)
        return (struct span){0};
    *ret_why = span_trim(rest);
    for (size_t i = 0; i < count; i++)
        if (span_equal(id, sets[i].id))
            return id;
    return (struct span){0};
}

/* "TIP C1:OID C2=OID C3~OID". *ret_mark: ':' it is new, '=' it was on the
 * branch before, '~' its content was; 0: it is not named. */
static struct span commit_of(struct span said, struct span id, bool first,
                             char *ret_mark) {
    struct span word, tip = {0}, rest = said;
    *ret_mark = 0;
    while (span_cut(&rest, ' ', &word)) {
        if (tip.p == NULL)
            tip = first ? word : SPAN("");
        if (word.len <= id.len + 1 ||
            !span_equal(span_make(word.p, id.len), id) ||
            memchr(":=~", word.p[id.len], 3) == NULL)
            continue;
        *ret_mark = word.p[id.len];
        return span_make(word.p + id.len + 1, word.len - id.len - 1);
    }
    return tip;
}

static void say(struct retry_verdict *verdict, const char *reason,
                struct span detail) {
    snprintf(verdict->reason, sizeof(verdict->reason), "%s", reason);
    snprintf(verdict->detail, sizeof(verdict->detail), "%.*s", (int)detail.len,
             detail.len > 0 ? detail.p : "");
}

static void fail_with(struct retry_verdict *verdict, struct span id,
                      const char *what) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    text_addf(&text, "%.*s of its group %s", (int)id.len, id.p, what);
    verdict->to = STATE_FAILED;
    verdict->task = TASK_FAILED;
    say(verdict, "group-failed", text_span(&text));
}

static struct span cancelled_one(const struct retry_carried *sets,
                                 size_t count) {
    for (size_t i = 1; i < count; i++)
        if (sets[i].killer == RETRY_OPERATOR)
            return sets[i].id;
    return sets[0].id;
}

/* `culprit` kept all the sets from landing. */
static void fail_for(struct retry_verdict *own, const char *reason,
                     struct span id, struct span culprit, struct span why) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    if (span_equal(culprit, id)) {
        say(own, reason, why);
        return;
    }
    text_addf(&text, "did not land: %s: %.*s", reason, (int)why.len, why.p);
    fail_with(own, culprit, text_string(&text));
}

/* A set that is alone has the detail of its attempt, unless it is named. */
static struct retry_verdict done_of(const struct retry_carried *sets,
                                    size_t count, size_t which,
                                    const struct retry_verdict *whole,
                                    struct span said) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct retry_verdict own = *whole;
    char mark;
    struct span commit = commit_of(said, sets[which].id, which == 0, &mark);
    if (mark == '~') {
        text_addf(&text, "its content is on the branch already: %.*s",
                  (int)commit.len, commit.p);
        say(&own, REASON_NO_CHANGE, text_span(&text));
    } else if (count > 1) {
        say(&own, mark == '=' ? REASON_ALREADY_LANDED : whole->reason, commit);
    }
    return own;
}

struct retry_verdict retry_of_carried(const struct retry_carried *sets,
                                      size_t count, size_t which,
                                      const struct retry_verdict *whole,
                                      struct span said) {
    const struct retry_carried *set = &sets[which];
    struct retry_verdict own = *whole;
    if (whole->to == STATE_DONE)
        return done_of(sets, count, which, whole, said);
    if (count == 1)
        return own;
    if (whole->hold != 0) { /* the others wait for the set that it names */
        struct span why, id = find_culprit(sets, count, said, &why);
        if (id.len > 0 && !span_equal(id, set->id))
            own.hold = 0;
        return own;
    }
    if (whole->to == STATE_TERMINATED && set->killer != RETRY_OPERATOR) {
        fail_with(&own, cancelled_one(sets, count), "was cancelled");
    } else if (whole->to == STATE_ABANDONED && set->killer != RETRY_ROLLBACK) {
        own.to = STATE_PENDING; /* until that rollback is over */
        say(&own, REASON_RETURNED, SPAN(""));
    } else if (whole->to == STATE_FAILED) {
        struct span why, id = find_culprit(sets, count, said, &why);
        if (id.len > 0)
            fail_for(&own, whole->reason, set->id, id, why);
    }
    return own;
}
