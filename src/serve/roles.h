/* The roles of one process in one loop, with the worker and the projection
 * that they share. `serve`, `daemon` and `run` differ in the roles they
 * take, in when they end and in who sends them requests. */
#ifndef POINTSMAN_SERVE_ROLES_H
#define POINTSMAN_SERVE_ROLES_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "lib/err.h"
#include "api/api.h"
#include "base/base.h"
#include "base/role.h"
#include "worker/worker.h"

struct roles;

/* The store is opened before the roles but must be able to wake them: it is
 * given this box, which roles_open fills. */
struct roles_box {
    uv_async_t *async; /* NULL: nothing to wake yet */
};
void roles_wake_box(void *box);

/* What another program that is executed in this process takes over. */
struct roles_handover {
    struct {
        struct span name;
        int lock_fd; /* not closed on exec */
    } roles[ROLES_MOST];
    size_t role_count;
    bool has_worker;
    struct worker_handover worker;
    struct scheduler_running *running;
    size_t running_count;
};

struct roles_options {
    struct base *base; /* for writing, with its store; store_options.wake was
                          roles_wake_box, its ctx the box below */
    struct roles_box *box;
    const struct role *only; /* NULL: all */
    bool is_host;            /* for the host of a `run` without a server */
    uint64_t job_limit;
    bool terminal;             /* commands stay in this process group */
    bool (*paused)(void *ctx); /* true: decide nothing yet; NULL: never */
    bool (*hosts)(void *ctx, struct span id); /* as in struct role_host */
    bool once;    /* reads prequeue/ once; no polling */
    bool reports; /* logs how well tasks can be tracked */
    /* What the program before handed over; NULL: nothing. Its descriptors are
     * copied, except that of the guard. */
    const struct roles_handover *adopted;
    /* Opening failed; nothing was closed yet, so that the program before may
     * go on. May be NULL. */
    void (*failed)(void *ctx, const struct err *err);
    /* `pointsman upgrade`; all may be NULL: this process cannot be upgraded.
     * The end of a child that nobody here knows: true, it is known. */
    bool (*upgrade)(void *ctx, struct err *err);
    void (*upgrade_show)(void *ctx, struct text *out);
    bool (*upgrade_give_up)(void *ctx, struct err *err);
    const char *(*upgrade_waits_for)(void *ctx, struct arena *arena);
    bool (*foreign)(void *ctx, const struct guard_end *end);
    /* All are called from the loop. */
    void (*turned)(void *ctx);  /* after each turn */
    void (*stopped)(void *ctx); /* roles_stop is complete */
    /* The registry is gone: the roles cannot continue. */
    void (*lost)(void *ctx, const char *why);
    void *ctx;
};

/* Takes the roles (ERR_RUNNING if another process has one), starts the
 * supervisor, recovers what an earlier process left. */
bool roles_open(uv_loop_t *loop, const struct roles_options *options,
                struct roles **ret_roles, struct err *err);
/* Asks for a turn soon; may be called from any thread and from signal
 * handlers. */
void roles_wake(struct roles *roles);
/* The hooks of api/api.h. */
const struct api_roles *roles_hooks(struct roles *roles);
struct output *roles_output(struct roles *roles);
/* NULL: none of the roles starts children. */
struct guard *roles_guard(struct roles *roles);
/* True if no role has anything to do before time passes or something arrives
 * (doc/design/processes.md, P14). */
bool roles_idle(struct roles *roles);
/* True if the job limit was reached and nothing is running any more. */
bool roles_used_up(struct roles *roles);
/* Reloads the configuration; on an error the old one stays, and base->refused
 * says so until a later one is accepted. */
bool roles_reload(struct roles *roles, struct err *err);
/* Starts nothing new; calls `stopped` when the running jobs have ended, at
 * the latest after drain_ms: then the rest gets TERM, KILL after its own
 * kill_wait, and is returned to P. A later call can only shorten the time; with
 * drain_ms = 0 after the TERM, it kills. */
void roles_stop(struct roles *roles, int64_t drain_ms);
/* Starts nothing more that another program could not go on with, until
 * roles_proceed; everything else goes on. */
void roles_settle(struct roles *roles);
/* True if none of it is left. */
bool roles_have_settled(const struct roles *roles);
/* After that, for a moment: starts nothing new, until roles_proceed. */
void roles_prepare(struct roles *roles);
void roles_proceed(struct roles *roles);
/* True if all that is left can be handed over. */
bool roles_may_leave(struct roles *roles);
/* See worker_unstarted. */
uint64_t roles_unstarted(const struct roles *roles);
/* Only roles_close may follow, and ends nothing. The spans are valid until
 * then. */
bool roles_hand_over(struct roles *roles, struct arena *arena,
                     struct roles_handover *ret_handover, struct err *err);
/* See worker_interrupted. */
void roles_interrupted(struct roles *roles);
/* Kills what still runs, releases the roles and frees everything. Returns at
 * once; `closed` (may be NULL) is called from the loop when `roles` is gone. */
void roles_close(struct roles *roles, void (*closed)(void *ctx), void *ctx);

#endif
