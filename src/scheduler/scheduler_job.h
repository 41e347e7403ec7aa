/* Tracked jobs: those that may be started soon, and those that execute. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_JOB_H
#define POINTSMAN_SCHEDULER_SCHEDULER_JOB_H

#include "lib/err.h"
#include "lib/list.h"
#include "core/job.h"
#include "core/retry.h"
#include "scheduler/scheduler_array.h"

struct scheduler;

/* What is known of one job: while it may be started soon, and while it
 * executes. That of a waiting job is a cache and may be dropped. */
struct tracked_job {
    struct list link; /* scheduler.waiting while it waits */
    uint64_t num;
    struct job job;              /* its spans point into this block */
    struct tracked_array *array; /* executing arrays only */
    unsigned attempts;           /* under way */
    enum retry_killer killer;
    bool executing;
    bool kill; /* cancelled without grace */
};

/* NULL: the job is not tracked. */
struct tracked_job *scheduler_job_get(struct scheduler *scheduler,
                                      uint64_t num);
/* A copy of the job, replacing what was known unless it executes. */
struct tracked_job *scheduler_job_keep(struct scheduler *scheduler,
                                       const struct job *job);
/* That of a job with all of its row, read when it is not at hand; NULL: it can
 * no longer be started (said in the log when its row cannot be read). */
struct tracked_job *scheduler_job_pending(struct scheduler *scheduler,
                                          uint64_t num);
/* It executes from here on, and is kept until it is dropped. */
void scheduler_job_execute(struct scheduler *scheduler,
                           struct tracked_job *tracked);
void scheduler_job_drop(struct scheduler *scheduler,
                        struct tracked_job *tracked);
void scheduler_jobs_clear(struct scheduler *scheduler);

/* Logs that `what` of a job cannot be read. */
void scheduler_log_read_failure(const char *what, uint64_t num,
                                const struct err *err);

#endif
