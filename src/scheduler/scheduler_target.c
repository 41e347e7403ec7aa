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
#include "core/outage.h"
#include "core/reason.h"
#include "scheduler/why.h"
#include "scheduler/scheduler_state.h"

/* A target that is unavailable. */
struct unusable {
    struct outage outage;
    struct span target; /* its bytes and those of `why` follow the struct */
    struct span why;
    struct wall found; /* when `why` was */
};

static struct unusable *unusable_add(struct scheduler *scheduler,
                                     struct span target, struct span why,
                                     struct wall since) {
    struct unusable *unusable =
        mem_alloc(sizeof(*unusable) + target.len + why.len);
    char *bytes = (char *)(unusable + 1);
    memcpy(bytes, target.p, target.len);
    if (why.len > 0)
        memcpy(bytes + target.len, why.p, why.len);
    unusable->target = span_make(bytes, target.len);
    unusable->why = span_make(bytes + target.len, why.len);
    unusable->outage.since = since;
    unusable->found = since;
    map_put(&scheduler->unusable, unusable->target, unusable);
    return unusable;
}

/* Another try has found another reason. Frees the former. */
static struct unusable *unusable_replace(struct scheduler *scheduler,
                                         struct unusable *former,
                                         struct span why, struct wall found) {
    map_remove(&scheduler->unusable, former->target);
    struct unusable *unusable =
        unusable_add(scheduler, former->target, why, found);
    unusable->outage = former->outage;
    free(former);
    return unusable;
}

static void note_unavailable(struct scheduler *scheduler, struct span target,
                             struct span why) {
    store_note(scheduler->batch, EVENT_TARGET, 0, target,
               SPAN(REASON_UNAVAILABLE), why);
    log_warning("target '%.*s' is unavailable, its sets wait: %.*s",
                (int)target.len, target.p, (int)why.len, why.p);
}

/* While sets rest, their lanes stay paused. */
static void target_pause(struct scheduler *scheduler, struct span target,
                         struct wall until) {
    picker_pause(scheduler->picker, target,
                 scheduler->settling ? WALL_NEVER : until);
}

void targets_rest(struct scheduler *scheduler) {
    const struct scheduler_options *options = &scheduler->options;
    for (size_t i = 0; i < options->target_count; i++)
        target_pause(scheduler, options->targets[i].name,
                     target_again(scheduler, options->targets[i].name));
}

void target_unavailable(struct scheduler *scheduler, struct span target,
                        struct span why) {
    struct unusable *unusable = map_get(&scheduler->unusable, target);
    if (!unusable) {
        unusable = unusable_add(scheduler, target, why, scheduler->now);
        note_unavailable(scheduler, target, why);
    } else if (why.len > 0 && !span_equal(why, unusable->why)) {
        unusable = unusable_replace(scheduler, unusable, why, scheduler->now);
        note_unavailable(scheduler, target, why);
    }
    if (outage_extend(&unusable->outage, scheduler->now, &scheduler->random))
        target_pause(scheduler, unusable->target, unusable->outage.again);
}

void target_usable(struct scheduler *scheduler, struct span target) {
    struct unusable *unusable = map_get(&scheduler->unusable, target);
    char text[64];
    if (!unusable)
        return;
    snprintf(text, sizeof(text), "after %" PRId64 " s",
             wall_ms_since(scheduler->now, unusable->outage.since) / 1000);
    store_note(scheduler->batch, EVENT_TARGET, 0, target, SPAN("usable"),
               span_of(text));
    log_info("target '%.*s' is available again, %s", (int)target.len, target.p,
             text);
    target_pause(scheduler, target, (struct wall){0});
    map_remove(&scheduler->unusable, unusable->target);
    free(unusable);
}

struct wall target_again(const struct scheduler *scheduler,
                         struct span target) {
    const struct unusable *unusable = map_get(&scheduler->unusable, target);
    return unusable ? unusable->outage.again : (struct wall){0};
}

struct span target_trouble(const struct scheduler *scheduler,
                           struct span target) {
    const struct unusable *unusable = map_get(&scheduler->unusable, target);
    return unusable ? unusable->why : (struct span){0};
}

/* The registry shows it in the last step of each set that tried; the newest one
 * has the reason. */
void target_recall(struct scheduler *scheduler, const struct job *job) {
    if (!outage_shows(job))
        return;
    struct unusable *unusable = map_get(&scheduler->unusable, job->target);
    if (!unusable) {
        unusable_add(scheduler, job->target, job->detail, job->since);
        return;
    }
    if (job->since.ns > unusable->found.ns)
        unusable =
            unusable_replace(scheduler, unusable, job->detail, job->since);
    if (job->since.ns < unusable->outage.since.ns)
        unusable->outage.since = job->since;
}

bool target_why(const struct scheduler *scheduler, const struct job *job,
                struct why *why) {
    const struct unusable *unusable =
        job_has(job, JOB_LANDS) ? map_get(&scheduler->unusable, job->target)
                                : NULL;
    if (unusable)
        why_unavailable(why, unusable->target, unusable->outage.since,
                        unusable->why, unusable->outage.again);
    return unusable != NULL;
}

static void unusable_try(struct scheduler *scheduler,
                         struct unusable *unusable) {
    outage_retry(&unusable->outage);
    target_pause(scheduler, unusable->target, unusable->outage.again);
}

void targets_try(struct scheduler *scheduler) {
    void *unusable;
    for (size_t at = 0; map_next(&scheduler->unusable, &at, NULL, &unusable);)
        unusable_try(scheduler, unusable);
}

void target_try(struct scheduler *scheduler, struct span target) {
    struct unusable *unusable = map_get(&scheduler->unusable, target);
    if (unusable != NULL)
        unusable_try(scheduler, unusable);
}

void targets_set_back(struct scheduler *scheduler, int64_t ms) {
    void *value;
    for (size_t at = 0; map_next(&scheduler->unusable, &at, NULL, &value);)
        outage_set_back(&((struct unusable *)value)->outage, ms);
}

void targets_clear(struct scheduler *scheduler) {
    void *unusable;
    for (size_t at = 0; map_next(&scheduler->unusable, &at, NULL, &unusable);)
        free(unusable);
    map_clear(&scheduler->unusable);
}
