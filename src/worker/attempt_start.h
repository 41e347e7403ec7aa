/* What an attempt is told: its argument vector and its environment, made from
 * the job and the configuration. Nothing here runs anything.
 *
 * The environment of a command is what its submission says (`submit` put PATH,
 * HOME, LANG and TZ there unless --clean), then ours (processes.md). */
#ifndef POINTSMAN_WORKER_ATTEMPT_START_H
#define POINTSMAN_WORKER_ATTEMPT_START_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "os/account.h"
#include "scheduler/runner.h"
#include "wire/submission.h"
#include "wire/config.h"

struct attempt_start {
    char **argv; /* NULL at the end; in the arena */
    char **envp;
    const char *dir;
    struct span start; /* of a change: for its standard input; else empty */
    mode_t mask;
    const char *lock_path; /* below the base, or NULL */
    int64_t timeout_ms;    /* 0 = none */
    struct task_options task;
    const struct account *account; /* NULL = ours */
};

/* The submission read last: all tasks of an array have one, and jobs that were
 * handed in together often have the same. Zeroed to begin with. */
struct attempt_start_cache {
    struct arena arena;
    uint64_t num;     /* of the job it was read for; 0: none */
    struct span spec; /* its text */
    struct submission submission;
};
void attempt_start_cache_clear(struct attempt_start_cache *cache);

/* `memo` may be NULL; what ret_line points to there is good until the next
 * call. Errors: ERR_DATA (a submission that cannot be read), ERR_CONFIG (the
 * target is no longer configured, there is no such user), ERR_DENIED (a user we
 * may not be): the attempt cannot be executed. */
bool attempt_start_make(const struct run_start *start,
                        const struct config *config, const char *base_path,
                        struct attempt_start_cache *cache, struct arena *arena,
                        struct attempt_start *ret_line, struct err *err);

#endif
