#include "scheduler/scheduler_job.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/log.h"
#include "scheduler/scheduler_array.h"
#include "scheduler/scheduler_state.h"

/* Tracked waiting jobs save a read when a job is picked; more than this many
 * would only cost memory. */
enum { JOBS_WAITING_MAX = 8192 };

void scheduler_log_read_failure(const char *what, uint64_t num,
                                const struct err *err) {
    log_error("cannot read %s of job %" PRIu64 ": %s", what, num, err->text);
}

struct tracked_job *scheduler_job_get(struct scheduler *scheduler,
                                      uint64_t num) {
    return map_get(&scheduler->jobs, map_num_key(&num));
}

static struct span copy_span(char **at, struct span span) {
    struct span copy = {*at, span.len};
    if (span.len)
        memcpy(*at, span.p, span.len);
    (*at)[span.len] = '\0';
    *at += span.len + 1;
    return copy;
}

/* One block each: the struct, then the bytes of its spans. */
static struct tracked_job *tracked_job_new(const struct job *job) {
    const struct span *spans[] = {
        &job->id,    &job->key,   &job->rank, &job->target, &job->name,
        &job->actor, &job->cause, &job->sum,  &job->spec,   &job->seen,
    };
    size_t bytes = 0;
    for (size_t i = 0; i < COUNT(spans); i++)
        bytes += spans[i]->len + 1;
    struct tracked_job *tracked = mem_alloc(sizeof(*tracked) + bytes);
    char *at = (char *)(tracked + 1);
    tracked->num = job->num;
    tracked->job = *job;
    tracked->job.reason = tracked->job.detail = (struct span){0};
    tracked->job.id = copy_span(&at, job->id);
    tracked->job.key = copy_span(&at, job->key);
    tracked->job.rank = copy_span(&at, job->rank);
    tracked->job.target = copy_span(&at, job->target);
    tracked->job.name = copy_span(&at, job->name);
    tracked->job.actor = copy_span(&at, job->actor);
    tracked->job.cause = copy_span(&at, job->cause);
    tracked->job.sum = copy_span(&at, job->sum);
    tracked->job.spec = copy_span(&at, job->spec);
    tracked->job.seen = copy_span(&at, job->seen);
    list_init(&tracked->link);
    return tracked;
}

struct tracked_job *scheduler_job_keep(struct scheduler *scheduler,
                                       const struct job *job) {
    struct tracked_job *old = scheduler_job_get(scheduler, job->num);
    if (old && old->executing)
        return old;
    struct tracked_job *tracked = tracked_job_new(job);
    if (old)
        scheduler_job_drop(scheduler, old);
    map_put(&scheduler->jobs, map_num_key(&tracked->num), tracked);
    list_push(&scheduler->waiting, &tracked->link);
    if (++scheduler->waiting_count > JOBS_WAITING_MAX)
        scheduler_job_drop(scheduler, LIST_OF(scheduler->waiting.next,
                                              struct tracked_job, link));
    return tracked;
}

struct tracked_job *scheduler_job_pending(struct scheduler *scheduler,
                                          uint64_t num) {
    struct tracked_job *tracked = scheduler_job_get(scheduler, num);
    if (tracked && tracked->job.spec.len > 0)
        return tracked;
    struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    tracked = NULL;
    if (!store_job(scheduler->store, num, &arena, &job, &err))
        scheduler_log_read_failure("the row", num, &err);
    else if (job.state == STATE_PENDING && job.holds == 0)
        tracked = scheduler_job_keep(scheduler, &job);
    arena_clear(&arena);
    return tracked;
}

void scheduler_job_execute(struct scheduler *scheduler,
                           struct tracked_job *tracked) {
    if (tracked->executing)
        return;
    tracked->executing = true;
    list_remove(&tracked->link);
    scheduler->waiting_count--;
}

void scheduler_job_drop(struct scheduler *scheduler,
                        struct tracked_job *tracked) {
    if (!tracked->executing)
        scheduler->waiting_count--;
    map_remove(&scheduler->jobs, map_num_key(&tracked->num));
    list_remove(&tracked->link);
    scheduler_array_free(tracked->array);
    free(tracked);
}

void scheduler_jobs_clear(struct scheduler *scheduler) {
    size_t cursor = 0;
    void *value;
    struct span key;
    while (map_next(&scheduler->jobs, &cursor, &key, &value)) {
        struct tracked_job *tracked = value;
        scheduler_array_free(tracked->array);
        free(tracked);
    }
    map_clear(&scheduler->jobs);
}

struct wall scheduler_job_admitted(const struct scheduler *scheduler,
                                   const struct job *job) {
    return job->admitted.ns > scheduler->now.ns ? scheduler->now
                                                : job->admitted;
}
