/* Shared by the files of the roles; not included anywhere else. */
#ifndef POINTSMAN_SERVE_ROLES_INNER_H
#define POINTSMAN_SERVE_ROLES_INNER_H

#include "api/api.h"
#include "base/role.h"
#include "changes/checker.h"
#include "changes/projection.h"
#include "scheduler/scheduler.h"
#include "serve/roles.h"
#include "worker/worker.h"

/* A role that this process holds: its lock and its FIFO. */
struct held_role {
    int lock_fd, fifo_fd;
    uv_poll_t poll;
    bool polls;
    bool is_deaf; /* its FIFO is missing and cannot be recreated; logged once */
};

struct open_engine {
    const struct role_engine *engine;
    void *self;
};

enum stopping { GOING, DRAINING, RETURNING, STOPPED };

struct roles {
    struct roles_options options;
    struct base *base;
    struct role_host host;
    struct held_role held[ROLES_MOST]; /* as host.roles */
    struct open_engine engines[ROLES_MOST];
    size_t engine_count;
    uv_async_t async;
    uv_timer_t timer;
    struct output *output;
    struct api_roles hooks;
    struct wall_watch clock;
    struct mono poll_at, stop_at;
    struct mono settle_at; /* the job files that were moved are synced then; 0:
                              none were */
    enum stopping stopping;
    bool look; /* something new may lie in the drop directories or the registry
                */
    bool news; /* written here; the roles of other processes were not
                  triggered yet */
    bool reload;    /* a setting was changed */
    bool preparing; /* see roles_prepare */
    bool closing;
    unsigned open_parts; /* while closing: parts that are not closed yet */
    void (*closed)(void *ctx);
    void *closed_ctx;
};

/* Recreates the FIFOs of the roles that are missing, and listens to those. */
void roles_fifos_renew(struct roles *roles);
/* Does everything that is due, in its order; sets the timer for the next
 * turn (roles_turn.c). */
void roles_turn(struct roles *roles);
/* If an event of the registry was delivered since the last call, triggers the
 * roles that read the registry and do not run in this process
 * (doc/design/registry.md, G6). They may run in other processes. */
void roles_notify(struct roles *roles);
/* See drain and is_drained of struct role_engine. */
void roles_drain(struct roles *roles, enum role_drain how);
bool roles_are_drained(const struct roles *roles);

#endif
