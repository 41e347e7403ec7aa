/* Landing processes that stay (landing/land_serve.h), one for each target.
 * Starting such a process and its git costs more than a small landing.
 *
 * A lander is a child of the guard like a task, but outside the slots, and ends
 * with it. It carries out one start at a time. After a signal it takes no more
 * starts, so that a signal never reaches the next one; nor does it after
 * LANDER_STARTS starts, which bounds its memory. If it is not free, the caller
 * starts a process of its own. */
#ifndef POINTSMAN_WORKER_LANDER_H
#define POINTSMAN_WORKER_LANDER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "lib/err.h"
#include "lib/text.h"
#include "os/guard.h"

enum { LANDER_STARTS = 1000 };

struct landers;

/* How a start ended. */
struct lander_end {
    uint64_t handle;
    enum guard_result result;
    struct span error; /* if result is not GUARD_RAN */
    int exit_code;     /* -1: the process was killed by `signal` */
    int signal;
    uint64_t cpu_us;
    struct span status; /* the status line; empty: none */
};

struct landers_events {
    /* The start has been handed over. */
    void (*started)(void *ctx, uint64_t handle, pid_t pid);
    /* Called once for each start that was taken, from the loop. */
    void (*ended)(void *ctx, const struct lander_end *end);
};

struct landers *landers_new(uv_loop_t *loop, struct guard *guard,
                            const struct landers_events *events, void *ctx);

struct lander_start {
    uint64_t handle;
    const char *name; /* of the lander */
    char *const *argv, *const *envp;
    const char *dir;
    mode_t mask;
    int start_fd, output_fd, lock_fd; /* remain the caller's; lock_fd may be -1
                                       */
};

/* False: the lander is not free, or cannot be started now. */
bool landers_start(struct landers *landers, const struct lander_start *start);
/* See guard_kill; ignored if no lander has the handle. */
void landers_kill(struct landers *landers, uint64_t handle, int signal,
                  int64_t grace_ms);
/* Reports of the guard. Ignored, or false, if they are about no lander. */
void landers_on_started(struct landers *landers, uint64_t id, pid_t pid);
bool landers_on_ended(struct landers *landers, const struct guard_end *end);
/* Ends the landers that have had nothing to do for `idle_ms`; the guard reports
 * their ends. */
void landers_retire_idle(struct landers *landers, int64_t idle_ms);
/* Frees everything and calls `closed` from the loop; the guard is gone. */
void landers_close(struct landers *landers, void (*closed)(void *ctx),
                   void *ctx);

#endif
