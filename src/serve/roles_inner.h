/* What the files of the roles share; nobody else includes it. */
#ifndef POINTSMAN_SERVE_ROLES_INNER_H
#define POINTSMAN_SERVE_ROLES_INNER_H

#include "api/api.h"
#include "changes/checker.h"
#include "serve/clock_role.h"
#include "changes/prequeue.h"
#include "changes/projection.h"
#include "serve/roles.h"
#include "scheduler/scheduler.h"
#include "worker/worker.h"

enum { ROLE_COUNT = 4 };

/* One role: its lock and its trigger. */
struct role {
    int lock_fd, fifo_fd;
    uv_poll_t poll;
    bool polls;
};

enum stopping { GOING, DRAINING, RETURNING, STOPPED };

struct roles {
    struct roles_options options;
    struct base *base;
    struct role role[ROLE_COUNT];
    uv_async_t async;
    uv_timer_t timer;
    struct worker *worker;
    struct output *output;
    struct checker *checker;
    struct projection *projection;
    struct prequeue *prequeue;
    struct scheduler *scheduler;
    struct clock_role *clock;
    struct api_roles hooks;
    struct mono poll_at, prune_at, stop_at;
    struct wall prequeue_next;
    enum stopping stopping;
    bool look; /* something new may lie in prequeue/ or the registry */
    bool looked;
    bool news;   /* written here, not told to the other processes' roles yet */
    bool reload; /* a setting was changed */
    bool closing;
    unsigned open_handles;
    void (*closed)(void *ctx);
    void *closed_ctx;
};

/* Everything that is due, in its order; sets the timer for what comes next
 * (roles_turn.c). */
void roles_turn(struct roles *roles);
/* Pulls the triggers of roles that other processes may have, when something was
 * written here: one wake-up rule for all (G6). The prequeue daemon is
 * left in peace, it waits for files alone. */
void roles_notify(struct roles *roles);
/* The service cannot go on: `why` is logged and told to whoever runs us. */
void roles_lost(struct roles *roles, const char *why);

#endif
