/* Unavailable targets: a repository or a branch that is missing, damaged,
 * locked or not writable. That is not the fault of any set, so no set fails for
 * it: the queue of the target is held, and one set tries again each time the
 * back-off of the target ends. The first set that gets an answer from the
 * target lets the others go on. */
#include "scheduler/scheduler_target.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "core/reason.h"
#include "scheduler/why.h"
#include "scheduler/scheduler_state.h"

struct outage {
    struct span target; /* its bytes and those of `why` follow the struct */
    struct span why;
    struct wall since, again; /* again 0: at once, for an outage found at
                                 start-up */
    unsigned tries;
};

static struct outage *outage_add(struct scheduler *scheduler,
                                 struct span target, struct span why,
                                 struct wall since) {
    struct outage *outage = mem_alloc(sizeof(*outage) + target.len + why.len);
    char *bytes = (char *)(outage + 1);
    memcpy(bytes, target.p, target.len);
    if (why.len > 0)
        memcpy(bytes + target.len, why.p, why.len);
    outage->target = span_make(bytes, target.len);
    outage->why = span_make(bytes + target.len, why.len);
    outage->since = since;
    map_put(&scheduler->outages, outage->target, outage);
    return outage;
}

void target_unavailable(struct scheduler *scheduler, struct span target,
                        struct span why) {
    struct outage *outage = map_get(&scheduler->outages, target);
    if (!outage) {
        outage = outage_add(scheduler, target, why, scheduler->now);
        store_note(scheduler->batch, EVENT_TARGET, 0, target,
                   SPAN(REASON_UNAVAILABLE), why);
        log_warning("target '%.*s' is unavailable, its sets wait: %.*s",
                    (int)target.len, target.p, (int)why.len, why.p);
    }
    /* If several sets were executing, the first one counts. */
    if (scheduler->now.ns < outage->again.ns)
        return;
    outage->again = wall_add_ms(
        scheduler->now, retry_delay_ms(outage->tries++, &scheduler->random));
    picker_pause(scheduler->picker, outage->target, outage->again);
}

void target_usable(struct scheduler *scheduler, struct span target) {
    struct outage *outage = map_get(&scheduler->outages, target);
    char text[64];
    if (!outage)
        return;
    snprintf(text, sizeof(text), "after %" PRId64 " s",
             wall_ms_since(scheduler->now, outage->since) / 1000);
    store_note(scheduler->batch, EVENT_TARGET, 0, target, SPAN("usable"),
               span_of(text));
    log_info("target '%.*s' is available again, %s", (int)target.len, target.p,
             text);
    picker_pause(scheduler->picker, target, (struct wall){0});
    map_remove(&scheduler->outages, outage->target);
    free(outage);
}

struct wall target_again(const struct scheduler *scheduler,
                         struct span target) {
    const struct outage *outage = map_get(&scheduler->outages, target);
    return outage ? outage->again : (struct wall){0};
}

/* The registry shows it in the last step of a set that tried. */
void target_recall(struct scheduler *scheduler, const struct job *job) {
    if (job_has(job, JOB_LANDS) && job->state == STATE_PENDING &&
        span_is(job->reason, REASON_UNAVAILABLE) &&
        !map_get(&scheduler->outages, job->target))
        outage_add(scheduler, job->target, job->detail, job->since);
}

bool target_why(const struct scheduler *scheduler, const struct job *job,
                struct why *why) {
    const struct outage *outage =
        job_has(job, JOB_LANDS) ? map_get(&scheduler->outages, job->target)
                                : NULL;
    if (outage)
        why_unavailable(why, outage->target, outage->since, outage->why,
                        outage->again);
    return outage != NULL;
}

void targets_try(struct scheduler *scheduler) {
    void *value;
    for (size_t at = 0; map_next(&scheduler->outages, &at, NULL, &value);) {
        struct outage *outage = value;
        outage->again = (struct wall){0};
        picker_pause(scheduler->picker, outage->target, outage->again);
    }
}

void targets_clear(struct scheduler *scheduler) {
    void *outage;
    for (size_t at = 0; map_next(&scheduler->outages, &at, NULL, &outage);)
        free(outage);
    map_clear(&scheduler->outages);
}
