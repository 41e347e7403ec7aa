/* Tracked jobs: those that may be started soon, and those that execute. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_JOB_H
#define POINTSMAN_SCHEDULER_SCHEDULER_JOB_H

#include "lib/err.h"
#include "lib/list.h"
#include "core/job.h"
#include "core/retry.h"
#include "scheduler/scheduler_array.h"

struct scheduler;

/* The known facts about a job that may be started soon or is executing. For a
 * waiting job this is a cache and may be dropped. */
struct tracked_job {
    struct list link; /* scheduler.waiting while it waits */
    uint64_t num;
    struct job job;              /* its spans point into this block */
    struct tracked_array *array; /* executing arrays only */
    unsigned attempts;           /* number in progress */
    enum retry_killer killer;
    bool executing;
    bool kill; /* cancelled without grace */
};

/* NULL: the job is not tracked. */
struct tracked_job *scheduler_job_get(struct scheduler *scheduler,
                                      uint64_t num);
/* Keeps a copy of the job, which replaces the old one unless it is
 * executing. */
struct tracked_job *scheduler_job_keep(struct scheduler *scheduler,
                                       const struct job *job);
/* A pending job with its whole row, which is read if necessary; NULL: it can no
 * longer be started (logged if its row cannot be read). */
struct tracked_job *scheduler_job_pending(struct scheduler *scheduler,
                                          uint64_t num);
/* Marks the job as executing; it is kept until it is dropped. */
void scheduler_job_execute(struct scheduler *scheduler,
                           struct tracked_job *tracked);
void scheduler_job_drop(struct scheduler *scheduler,
                        struct tracked_job *tracked);
void scheduler_jobs_clear(struct scheduler *scheduler);

/* Since when an admitted job waits: not a time to come, even if the clock was
 * set back. */
struct wall scheduler_job_admitted(const struct scheduler *scheduler,
                                   const struct job *job);

/* Logs that `what` of a job cannot be read. */
void scheduler_log_read_failure(const char *what, uint64_t num,
                                const struct err *err);

#endif
