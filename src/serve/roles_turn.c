/* A turn of the roles: what others wrote, what lies in prequeue/, schedules,
 * the scheduler, the job files, and when to look again. */
#include "lib/log.h"
#include "os/clock.h"
#include "changes/prune.h"
#include "serve/roles_inner.h"

enum { PRUNE_EVERY_MS = 3600 * 1000, RETURN_MS = 15 * 1000 };

void roles_lost(struct roles *roles, const char *why) {
    log_error("%s", why);
    if (roles->options.lost)
        roles->options.lost(roles->options.ctx, why);
}

/* What others wrote they have told themselves. */
static void read_others(struct roles *roles) {
    struct err err;
    bool news = roles->news;
    if (!store_poll(roles->base->store, &err))
        log_error("cannot read what others wrote: %s", err.text);
    roles->news = news;
}

static void look_around(struct roles *roles, struct wall now) {
    struct err err;
    struct mono at = clock_mono();
    if (at.ns >= roles->poll_at.ns) {
        roles->poll_at =
            mono_add_ms(at, roles->base->config.queue.poll_s * 1000);
        roles->look = true;
        if (!projection_reconcile(roles->projection, now, &err))
            log_error("cannot look for job files moved by hand: %s", err.text);
    }
    if (roles->look)
        read_others(roles);
    if (at.ns >= roles->prune_at.ns && (roles->options.roles & DAEMON_EXEC)) {
        struct prune_report report;
        roles->prune_at = mono_add_ms(at, PRUNE_EVERY_MS);
        if (!prune(roles->base, now, &report, &err))
            log_error("cannot put old things away: %s", err.text);
    }
}

static void scan_prequeue(struct roles *roles, struct wall now) {
    struct err err;
    if (!roles->prequeue || roles->stopping != GOING)
        return;
    bool due = roles->look || now.ns >= roles->prequeue_next.ns ||
               prequeue_is_due(roles->prequeue);
    if (!due)
        return;
    if (!prequeue_scan(roles->prequeue, now, &roles->prequeue_next, &err)) {
        log_error("cannot look through prequeue/, trying again: %s", err.text);
        roles->prequeue_next = wall_add_ms(now, 1000);
    }
    if (roles->options.once && roles->looked &&
        roles->prequeue_next.ns > now.ns)
        roles->prequeue_next = WALL_NEVER;
    roles->looked = true;
}

static void project(struct roles *roles, struct wall now) {
    struct err err;
    if (projection_is_due(roles->projection) &&
        !projection_pass(roles->projection, now, &err))
        log_error("job files lag behind the registry: %s", err.text);
}

static void stop_step(struct roles *roles) {
    bool over = !roles->scheduler || scheduler_idle(roles->scheduler);
    if (roles->stopping == DRAINING && !over &&
        clock_mono().ns >= roles->stop_at.ns) {
        roles->stopping = RETURNING;
        roles->stop_at = mono_add_ms(clock_mono(), RETURN_MS);
        scheduler_return(roles->scheduler);
        roles_wake(roles);
        return;
    }
    if (roles->stopping == RETURNING && !over &&
        clock_mono().ns >= roles->stop_at.ns) {
        log_error("something does not end; leaving it to the guard");
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
    struct wall now = clock_wall();
    struct wall next = WALL_NEVER;
    struct err err;
    if (roles->closing)
        return;
    store_turn(roles->base->store);
    if (roles->reload) {
        roles->reload = false;
        if (!roles_reload(roles, &err))
            log_error("the old configuration stays: %s", err.text);
    }
    look_around(roles, now);
    scan_prequeue(roles, now);
    roles->look = false;
    if (roles->clock)
        clock_role_turn(roles->clock, now, roles->options.once);
    if (roles->scheduler &&
        !scheduler_turn(roles->scheduler, now, &next, &err)) {
        roles_lost(roles, err.text);
        return;
    }
    project(roles, now);
    roles_notify(roles);
    if (roles->prequeue && roles->prequeue_next.ns < next.ns)
        next = roles->prequeue_next;
    stop_step(roles);
    arm(roles, now, next);
    if (roles->options.turned)
        roles->options.turned(roles->options.ctx);
}
