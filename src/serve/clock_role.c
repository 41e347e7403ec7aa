#include "serve/clock_role.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/log.h"
#include "os/alarm.h"
#include "os/clock.h"
#include "schedules/schedule_driver.h"
#include "schedules/schedule_config.h"

struct clock_role {
    struct base *base;
    struct schedule_driver *driver;
    int fd; /* of the timer */
    uv_poll_t poll;
    void (*wake)(void *ctx);
    void (*closed)(void *ctx);
    void *ctx;
};

static void on_alarm(uv_poll_t *poll, int status, int events) {
    struct clock_role *role = poll->data;
    (void)status;
    (void)events;
    (void)alarm_drain(role->fd);
    role->wake(role->ctx);
}

static bool start(struct clock_role *role, struct err *err) {
    struct schedule_driver_options options = {.host =
                                                  span_of(role->base->host)};
    struct wall now = clock_wall();
    if (!schedule_config_store(role->base, now, err))
        return false;
    role->driver =
        schedule_driver_new(role->base->store, &options, now, clock_boot());
    return schedule_driver_start(role->driver, err);
}

bool clock_role_open(uv_loop_t *loop, struct base *base,
                     void (*wake)(void *ctx), void *ctx,
                     struct clock_role **ret_role, struct err *err) {
    struct clock_role *role = mem_alloc(sizeof(*role));
    role->base = base;
    role->wake = wake;
    role->ctx = ctx;
    if (!alarm_open(&role->fd, err)) {
        free(role);
        return false;
    }
    if (!start(role, err)) {
        schedule_driver_free(role->driver);
        close(role->fd);
        free(role);
        return false;
    }
    uv_poll_init(loop, &role->poll, role->fd);
    role->poll.data = role;
    uv_poll_start(&role->poll, UV_READABLE, on_alarm);
    *ret_role = role;
    return true;
}

void clock_role_reload(struct clock_role *role, struct wall now) {
    struct err err = {0};
    if (!schedule_config_store(role->base, now, &err))
        log_error("schedules stay as they were: %s", err.text);
}

void clock_role_turn(struct clock_role *role, struct wall now, bool once) {
    struct wall next;
    schedule_driver_turn(role->driver, now, clock_boot(), &next);
    if (once && next.ns > now.ns)
        next = WALL_NEVER;
    alarm_set(role->fd, next);
}

bool clock_role_idle(const struct clock_role *role) {
    return schedule_driver_idle(role->driver);
}

void clock_role_drain(struct clock_role *role) {
    schedule_driver_drain(role->driver);
}

static void on_closed(uv_handle_t *handle) {
    struct clock_role *role = handle->data;
    void (*closed)(void *) = role->closed;
    void *ctx = role->ctx;
    close(role->fd);
    free(role);
    closed(ctx);
}

void clock_role_close(struct clock_role *role, void (*closed)(void *ctx),
                      void *ctx) {
    schedule_driver_free(role->driver);
    role->driver = NULL;
    role->closed = closed;
    role->ctx = ctx;
    uv_close((uv_handle_t *)&role->poll, on_closed);
}
