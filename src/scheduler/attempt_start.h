/* The arguments, environment and input with which the process of an attempt is
 * started. The kind of work makes them (scheduler/work_kind.h), the worker
 * carries the start out. */
#ifndef POINTSMAN_SCHEDULER_ATTEMPT_START_H
#define POINTSMAN_SCHEDULER_ATTEMPT_START_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "core/job.h"
#include "wire/submission.h"

struct account; /* os/account.h */

/* A process that stays and carries out one start of its kind after the other,
 * because starting it costs more than the work (worker/lander.h). */
struct attempt_lander {
    const char *name; /* there is one of each name; NULL: none */
    char **argv, **envp;
};

struct attempt_start {
    char **argv; /* ends with NULL; in the arena */
    char **envp;
    const char *dir;
    struct span start; /* its standard input; empty: none */
    mode_t mask;
    const char *lock_path; /* below the base, or NULL */
    int64_t timeout_ms;    /* 0 = none */
    struct task_options task;
    const struct account *account; /* NULL = that of this process */
    bool in_terminal; /* with the caller's terminal, if `run` has one */
    struct attempt_lander lander; /* may carry it out instead */
};

/* The last submission read: all tasks of an array share one, and jobs that were
 * submitted together often have the same. Must be zeroed at first. */
struct attempt_start_cache {
    struct arena arena;
    uint64_t num;     /* the job it was read for; 0: none */
    struct span spec; /* its text */
    struct submission submission;
};
void attempt_start_cache_clear(struct attempt_start_cache *cache);

/* The submission of a job. `cache` may be NULL; what *ret_submission points to
 * is valid until the next call with it, and otherwise lies in the arena. */
bool attempt_start_submission(const struct job *job,
                              struct attempt_start_cache *cache,
                              struct arena *arena,
                              struct submission *ret_submission,
                              struct err *err);

#endif
