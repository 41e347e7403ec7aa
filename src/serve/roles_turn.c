/* A turn of the roles: events of other processes, what is due for each role,
 * the job files, and when to look again. */
#include <inttypes.h>

#include "lib/log.h"
#include "os/clock.h"
#include "serve/roles_inner.h"

enum {
    RETURN_MS = 15 * 1000, /* after everything was killed */
    SETTLE_MS = 200        /* jobs that start and end within it share a sync */
};

static void lose(struct roles *roles, const char *why) {
    log_error("%s", why);
    if (roles->options.lost)
        roles->options.lost(roles->options.ctx, why);
}

/* The other processes have triggered the roles for their own writes. */
static void read_others(struct roles *roles) {
    struct err err;
    bool news = roles->news;
    if (!store_poll(roles->base->store, &err))
        log_error("cannot read what other processes wrote: %s", err.text);
    roles->news = news;
}

static void look_around(struct roles *roles, struct wall now) {
    struct err err;
    struct mono at = clock_mono();
    if (at.ns >= roles->poll_at.ns) {
        roles->poll_at =
            mono_add_ms(at, roles->base->config.queue.poll_s * 1000);
        roles->look = true;
        roles_fifos_renew(roles);
        if (!projection_reconcile(roles->host.projection, now, &err))
            log_error("cannot look for job files moved by hand: %s", err.text);
    }
    if (roles->look)
        read_others(roles);
}

static void watch_clock(struct roles *roles, struct wall now,
                        struct boot boot) {
    int64_t ms = wall_watch_step(&roles->clock, now, boot);
    if (ms == 0)
        return;
    log_warning("the clock was set back by %" PRId64
                " ms: what waits for a time does not wait longer",
                ms);
    for (size_t i = 0; i < roles->engine_count; i++) {
        const struct open_engine *open = &roles->engines[i];
        if (open->engine->set_back)
            open->engine->set_back(open->self, now, ms);
    }
}

/* ret_next: the earliest time at which one of them has work. */
static bool turn_engines(struct roles *roles, struct wall now,
                         struct wall *ret_next, struct err *err) {
    struct role_turn turn = {.now = now,
                             .look = roles->look,
                             .is_stopping =
                                 roles->stopping != GOING || roles->preparing};
    *ret_next = WALL_NEVER;
    roles->look = false;
    for (size_t i = 0; i < roles->engine_count; i++) {
        const struct open_engine *open = &roles->engines[i];
        struct wall next = WALL_NEVER;
        if (!open->engine->turn(open->self, &turn, &next, err))
            return false;
        if (next.ns < ret_next->ns)
            *ret_next = next;
    }
    return true;
}

/* While jobs start and end, their files are moved at once but synced a little
 * later. */
static void project(struct roles *roles, struct wall now) {
    struct projection *projection = roles->host.projection;
    struct mono at = clock_mono();
    struct err err;
    bool waits =
        roles->host.scheduler != NULL && !scheduler_idle(roles->host.scheduler);
    if (projection_is_due(projection) && roles->settle_at.ns == 0)
        roles->settle_at = mono_add_ms(at, SETTLE_MS);
    waits = waits && at.ns < roles->settle_at.ns;
    if (!(waits ? projection_place : projection_pass)(projection, now, &err))
        log_error("job files lag behind the registry: %s", err.text);
    if (!waits)
        roles->settle_at = (struct mono){0};
}

static void stop_step(struct roles *roles) {
    bool over = roles_are_drained(roles);
    if (roles->stopping == DRAINING && !over &&
        clock_mono().ns >= roles->stop_at.ns) {
        roles->stopping = RETURNING;
        int64_t grace_ms =
            roles->host.worker ? worker_return_ms(roles->host.worker) : 0;
        roles->stop_at = mono_add_ms(clock_mono(), grace_ms + RETURN_MS);
        roles_drain(roles, ROLE_RETURN);
        roles_wake(roles);
        return;
    }
    if (roles->stopping == RETURNING && !over &&
        clock_mono().ns >= roles->stop_at.ns) {
        log_error("some processes do not end; leaving them to the supervisor");
        over = true;
    }
    if ((roles->stopping == DRAINING || roles->stopping == RETURNING) && over) {
        roles->stopping = STOPPED;
        if (roles->options.stopped)
            roles->options.stopped(roles->options.ctx);
    }
}

static void on_timer(uv_timer_t *timer) {
    roles_turn(timer->data);
}

static void arm(struct roles *roles, struct wall now, struct wall next) {
    struct mono at = clock_mono();
    int64_t ms =
        roles->options.once ? INT64_MAX : mono_ms_since(roles->poll_at, at);
    if (next.ns != WALL_NEVER.ns && wall_ms_since(next, now) + 1 < ms)
        ms = wall_ms_since(next, now) + 1;
    if (roles->settle_at.ns != 0 &&
        mono_ms_since(roles->settle_at, at) + 1 < ms)
        ms = mono_ms_since(roles->settle_at, at) + 1;
    if (roles->stopping != GOING && roles->stopping != STOPPED &&
        mono_ms_since(roles->stop_at, at) + 1 < ms)
        ms = mono_ms_since(roles->stop_at, at) + 1;
    if (ms == INT64_MAX) {
        uv_timer_stop(&roles->timer);
        return;
    }
    uv_update_time(roles->async.loop);
    uv_timer_start(&roles->timer, on_timer, ms < 1 ? 1 : (uint64_t)ms, 0);
}

void roles_turn(struct roles *roles) {
    struct wall now, next;
    struct boot boot;
    struct err err;
    if (roles->closing)
        return;
    clock_wall_and_boot(&now, &boot);
    watch_clock(roles, now, boot);
    store_turn(roles->base->store);
    if (roles->options.paused && roles->options.paused(roles->options.ctx)) {
        if (roles->options.turned)
            roles->options.turned(roles->options.ctx);
        return;
    }
    if (roles->reload) {
        roles->reload = false;
        if (!roles_reload(roles, &err))
            log_error("the configuration was not reloaded: %s", err.text);
    }
    look_around(roles, now);
    if (!turn_engines(roles, now, &next, &err)) {
        lose(roles, err.text);
        return;
    }
    project(roles, now);
    roles_notify(roles);
    stop_step(roles);
    arm(roles, now, next);
    if (roles->options.turned)
        roles->options.turned(roles->options.ctx);
}
