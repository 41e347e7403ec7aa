/* The members of a worker, for the files that it consists of. */
#ifndef POINTSMAN_WORKER_WORKER_INNER_H
#define POINTSMAN_WORKER_WORKER_INNER_H

#include <uv.h>

#include "lib/list.h"
#include "lib/map.h"
#include "worker/lander.h"
#include "worker/log_packer.h"
#include "worker/worker.h"
#include "scheduler/attempt_start.h"

/* A running attempt. */
struct running {
    struct list link;
    uint64_t handle, num;
    pid_t pid;        /* of its first process; 0: not reported yet; -1:
                         it has ended */
    int64_t grace_ms; /* between TERM and KILL, see os/guard.h */
    char *node;       /* NULL: not part of an array */
    char *progress;   /* newest line, or NULL */
    struct guard_usage usage;
    char place[OUTPUT_PLACE_BYTES]; /* of its output file, if it needs one */
    bool locked;                    /* its job file is locked by the guard */
    bool has_output;                /* it is an attempt */
    int output_fd, lock_fd;         /* if a lander carries it out, else -1 */
    bool in_our_group;              /* gets the signals of the terminal */
    bool term_waits;                /* delayed by worker.patience */
    struct wall started;            /* 0: it may have only been queued */
};

/* An attempt that could not even be handed to the guard: its end is reported
 * from the loop like any other, never from inside the start. */
struct failed_start {
    struct list link;
    uint64_t handle;
    int result;
    char *detail;
};

struct worker {
    struct worker_options options;
    const struct config *config;
    struct guard *guard;
    struct landers *landers;
    struct log_packer *packer;
    struct list running; /* list of struct running.link */
    struct map by_handle, by_num;
    struct attempt_start_cache cache;
    struct list failed_starts;
    uv_async_t later;
    uv_timer_t patience;
    struct mono heard_until; /* until then INT to our group counts as recent */
    bool closing;
    void (*closed)(void *ctx);
    void *closed_ctx;
};

#endif
