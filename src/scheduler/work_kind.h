/* The differences between kinds of work: a row for each kind, and one for
 * rollbacks, which are changes of a class of their own. The rows stand beside
 * their module (commands/command_kind.c, changes/change_kind.c) and are
 * collected in serve/tables.c. Facts that every module may ask of a job are its
 * traits, in core/life.def. */
#ifndef POINTSMAN_SCHEDULER_WORK_KIND_H
#define POINTSMAN_SCHEDULER_WORK_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "core/job.h"

struct api_call; /* api/api_call.h */
struct attempt_start;
struct attempt_start_cache;
struct base;   /* base/base.h */
struct config; /* wire/config.h */
struct run_start;
struct store; /* store/store.h */
struct why;

/* Where attempts are started. */
struct work_site {
    const struct base *base; /* NULL: as in base_run_as_command */
    const struct config *config;
    const char *base_path;             /* absolute */
    struct span worker;                /* its shard */
    struct attempt_start_cache *cache; /* may be NULL */
};

struct work_kind {
    enum job_kind kind;
    bool rolls_back; /* the row is for the jobs that have JOB_ROLLS_BACK */

    /* Makes the start of an attempt. *ret_start contains the defaults. An error
     * means that the attempt cannot be executed, or not now (err_try_again), or
     * that it may not run here and is held (ERR_DENIED). */
    bool (*make_start)(const struct work_site *site,
                       const struct run_start *start, struct arena *arena,
                       struct attempt_start *ret_start, struct err *err);
    /* Why `retry` does not apply, as the end of a sentence that begins with the
     * job. NULL: an ended job may be retried. */
    const char *(*refuse_retry)(const struct job *job, struct arena *arena);
    /* The same for `cancel`. NULL: a job that has not ended may be cancelled.
     */
    const char *(*refuse_cancel)(const struct job *job, struct arena *arena);
    /* Finds the job of this kind that is called so, for kinds whose jobs have
     * names of their own; NULL: others. *ret_num 0: there is none. */
    bool (*find)(struct store *store, struct span name, uint64_t *ret_num,
                 struct err *err);
    /* Adds the reasons for `why` that only this kind knows; `waits` if the job
     * is in a waiting state. False: the call has failed. May be NULL. */
    bool (*explain)(struct api_call *call, const struct job *job, bool waits,
                    struct why *why);
};

struct work_kinds {
    const struct work_kind *const *rows;
    size_t count;
};

/* The row of the job; NULL and ERR_REFUSED if its kind has none. `err` may be
 * NULL. */
const struct work_kind *work_kind_find(const struct work_kinds *kinds,
                                       const struct job *job, struct err *err);

#endif
