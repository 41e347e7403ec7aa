/* The local worker: runs attempts on this machine through the guard. It is the
 * scheduler's runner in every process that starts jobs. */
#ifndef POINTSMAN_WORKER_WORKER_H
#define POINTSMAN_WORKER_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "lib/err.h"
#include "os/guard.h"
#include "os/output.h"
#include "scheduler/runner.h"
#include "scheduler/work_kind.h"
#include "wire/config.h"

struct worker;

struct worker_options {
    uv_loop_t *loop;
    const char *base_path; /* absolute */
    int base_fd;
    struct output *output; /* writer; outlives the worker */
    const struct work_kinds *kinds;
    const struct config *config; /* see worker_configure */
    const char *guard_role;      /* NULL = "task"; see os/guard.h */
    unsigned slots;              /* attempts at once: later starts wait here */
    bool terminal;               /* `run` in a terminal: tasks stay in its
                                    process group, Ctrl-Z stops them */
    bool no_cgroup;
    /* Something to report to the scheduler, or progress: turn it soon. */
    void (*wake)(void *ctx);
    /* Newest progress line of an attempt; may be NULL. */
    void (*progress)(void *ctx, uint64_t num, struct span node,
                     struct span line);
    /* The guard died: nothing runs any more; the process is to end. */
    void (*lost)(void *ctx, const char *why);
    /* Ends of what others started through worker_guard; may be NULL. */
    void (*foreign)(void *ctx, const struct guard_end *end);
    /* It runs, and longer than a moment. */
    void (*lasting)(void *ctx, uint64_t handle);
    /* Told each end, from the loop. */
    void (*ended)(void *ctx, const struct run_end *end);
    /* The job file of a change that starts is to lie in run/ now. */
    bool (*place_file)(void *ctx, const struct job *job, struct err *err);
    void *ctx;
};

/* Starts the guard: call it early, before anything large is in memory. What a
 * former life left behind is gone when it returns (P6 in doc/design/). */
bool worker_open(const struct worker_options *options,
                 struct worker **ret_worker, struct err *err);
void worker_runner(struct worker *worker, struct runner *ret_runner);
/* Reads limits and targets anew; attempts that run keep theirs. */
void worker_configure(struct worker *worker, const struct config *config);
/* The terminal has sent our process group INT. Who is asked to end now and is
 * in that group has heard it already: TERM waits a second, so that he may end
 * as he would without us. */
void worker_interrupted(struct worker *worker);
/* The guard, for other short children (tarball checkers). */
struct guard *worker_guard(struct worker *worker);
/* What is known of the job's attempts that run here. */
void worker_usage(struct worker *worker, uint64_t num,
                  struct run_usage *ret_usage);
/* Kills what runs, ends the guard; calls closed from the loop. */
void worker_close(struct worker *worker, void (*closed)(void *ctx), void *ctx);

#endif
