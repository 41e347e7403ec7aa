/* Roles hosted by a process with another purpose: `run` without a server
 * (P13). The host answers API calls itself and runs all jobs of the base
 * until it is closed. */
#ifndef POINTSMAN_SERVE_HOST_H
#define POINTSMAN_SERVE_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "api/api.h"
#include "base/base.h"
#include "serve/roles.h"

struct host;

struct host_options {
    struct base *base; /* opened for writing with its registry (its
                          store_options.wake is roles_wake_box, the ctx `box`);
                          it stays the caller's */
    struct roles_box *box;
    bool terminal; /* commands stay in this process group, so that the
                      terminal's Ctrl-Z stops them too */
    /* Does a `run` wait for this job? Only such jobs, and what they wait for,
     * are started. */
    bool (*hosts)(void *ctx, struct span id);
    /* Nothing is decided while this is true: a signal has come, and the caller
     * is about to cancel its job. Then host_go_on. */
    bool (*paused)(void *ctx);
    void *ctx;
};

/* ERR_RUNNING: another process has a role of this base already. That process
 * runs the jobs: wait for them, and try again when it is gone. */
bool host_open(const struct host_options *options, struct host **ret_host,
               struct err *err);
struct api *host_api(struct host *host);
/* Lets the roles work until something has happened (an event, a reply ready,
 * a wake-up) or the time is up; -1 = no limit. False: the host cannot
 * continue (the registry is lost). */
bool host_wait(struct host *host, int64_t timeout_ms, struct err *err);
/* Ends a host_wait, and the waiting in host_stop. May be called from any thread
 * and from signal handlers, until host_close. */
void host_hurry(struct host *host);
/* The pause is over. */
void host_go_on(struct host *host);
/* Ctrl-C was sent to this process group (worker_interrupted). */
void host_interrupted(struct host *host);
/* Starts nothing new and lets running jobs end (for [queue] drain seconds,
 * unless `now`); ends the others as roles_stop does, and they go back to their
 * queue. The API must have no open call, and ends here. NULL is fine. */
void host_stop(struct host *host, bool now);
/* After host_stop. NULL is fine. */
void host_close(struct host *host);

#endif
