#include "schedules/clock_role.h"

#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "lib/log.h"
#include "os/alarm.h"
#include "os/clock.h"
#include "base/base.h"
#include "schedules/schedule_config.h"
#include "schedules/schedule_driver.h"

struct clock_engine {
    struct role_host *host;
    struct schedule_driver *driver; /* NULL: a restored base is not resumed */
    int fd;                         /* of the timer */
    uv_poll_t poll;
    void (*closed)(void *ctx);
    void *closed_ctx;
};

static void on_alarm(uv_poll_t *poll, int status, int events) {
    struct clock_engine *engine = poll->data;
    (void)status;
    (void)events;
    (void)alarm_drain(engine->fd);
    engine->host->wake(engine->host->ctx);
}

static bool start(struct clock_engine *engine, struct err *err) {
    struct base *base = engine->host->base;
    struct schedule_driver_options options = {.base = base,
                                              .host = span_of(base->host)};
    struct wall now;
    struct boot boot;
    if (!schedule_config_store(base, clock_wall(), err))
        return false;
    clock_wall_and_boot(&now, &boot);
    engine->driver = schedule_driver_new(base->store, &options, now, boot);
    return schedule_driver_start(engine->driver, err);
}

/* Instants that pass until the base is resumed count as missed then. */
static bool start_if_resumed(struct clock_engine *engine, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span since;
    if (engine->driver)
        return true;
    return base_restored(engine->host->base, &arena, &since, err) &&
           (since.len > 0 || start(engine, err));
}

static bool clock_open(struct role_host *host, void **ret_self,
                       struct err *err) {
    struct clock_engine *engine = mem_alloc(sizeof(*engine));
    engine->host = host;
    if (!alarm_open(&engine->fd, err)) {
        free(engine);
        return false;
    }
    if (!start_if_resumed(engine, err)) {
        schedule_driver_free(engine->driver);
        close(engine->fd);
        free(engine);
        return false;
    }
    if (!engine->driver)
        log_warning("this base was restored: its schedules do not fire before "
                    "`pointsman restore --resume`");
    uv_poll_init(host->loop, &engine->poll, engine->fd);
    engine->poll.data = engine;
    uv_poll_start(&engine->poll, UV_READABLE, on_alarm);
    *ret_self = engine;
    return true;
}

static void clock_reload(void *self) {
    struct clock_engine *engine = self;
    struct err err = {0};
    if (!schedule_config_store(engine->host->base, clock_wall(), &err))
        log_error("the schedules are unchanged: %s", err.text);
}

/* The timer gives the next turn, not the caller's loop, because the clock may
 * be set. The time of the turn is that of its beginning, and other roles may
 * have worked since: it cannot be compared with a clock that is read here. */
static bool clock_turn(void *self, const struct role_turn *turn,
                       struct wall *ret_next, struct err *err) {
    struct clock_engine *engine = self;
    struct wall now, next;
    struct boot boot;
    (void)turn;
    (void)ret_next;
    if (!start_if_resumed(engine, err))
        return false;
    if (!engine->driver)
        return true;
    clock_wall_and_boot(&now, &boot);
    schedule_driver_turn(engine->driver, now, boot, &next);
    if (engine->host->once && next.ns > now.ns)
        next = WALL_NEVER;
    alarm_set(engine->fd, next);
    return true;
}

static bool clock_is_idle(const void *self) {
    const struct clock_engine *engine = self;
    return !engine->driver || schedule_driver_idle(engine->driver);
}

static void clock_drain(void *self, enum role_drain how) {
    struct clock_engine *engine = self;
    (void)how;
    if (engine->driver)
        schedule_driver_drain(engine->driver);
}

static void on_closed(uv_handle_t *handle) {
    struct clock_engine *engine = handle->data;
    void (*closed)(void *) = engine->closed;
    void *ctx = engine->closed_ctx;
    close(engine->fd);
    free(engine);
    closed(ctx);
}

static void clock_close(void *self, void (*closed)(void *ctx), void *ctx) {
    struct clock_engine *engine = self;
    struct err err;
    /* Batches in progress call the driver when they are committed. */
    if (!store_drain(engine->host->base->store, &err))
        log_error("the last firings may not be recorded: %s", err.text);
    schedule_driver_free(engine->driver);
    engine->driver = NULL;
    engine->closed = closed;
    engine->closed_ctx = ctx;
    uv_close((uv_handle_t *)&engine->poll, on_closed);
}

static const struct role_engine clock_engine = {
    .open = clock_open,
    .reload = clock_reload,
    .turn = clock_turn,
    .is_idle = clock_is_idle,
    .drain = clock_drain,
    .close = clock_close,
};

const struct role clock_role = {
    .name = "clock",
    .help = "fires schedules",
    .engine = &clock_engine,
    .reads_registry = true,
};
