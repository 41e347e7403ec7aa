#include "serve/host.h"

#include <signal.h>
#include <stdlib.h>
#include <uv.h>

#include "serve/tables.h"
#include "os/clock.h"
#include "serve/roles.h"

struct host {
    struct host_options options;
    uv_loop_t loop;
    struct roles *roles;
    struct api *api;
    uv_async_t waker;
    uv_timer_t timer;
    bool happened, stopped, closed, lost;
    bool closing;
    volatile sig_atomic_t hurry;
    char why[256];
};

static void on_turned(void *ctx) {
    ((struct host *)ctx)->happened = true;
}

static void on_stopped(void *ctx) {
    ((struct host *)ctx)->stopped = true;
}

static void on_lost(void *ctx, const char *why) {
    struct host *host = ctx;
    host->lost = true;
    snprintf(host->why, sizeof(host->why), "%s", why);
}

static void on_closed(void *ctx) {
    ((struct host *)ctx)->closed = true;
}

static void on_waker(uv_async_t *async) {
    ((struct host *)async->data)->happened = true;
}

static void on_timer(uv_timer_t *timer) {
    ((struct host *)timer->data)->happened = true;
}

static void shut_loop(struct host *host) {
    uv_close((uv_handle_t *)&host->waker, NULL);
    uv_close((uv_handle_t *)&host->timer, NULL);
    uv_run(&host->loop, UV_RUN_DEFAULT);
    uv_loop_close(&host->loop);
}

static bool hosts(void *ctx, struct span id) {
    const struct host *host = ctx;
    return host->options.hosts(host->options.ctx, id);
}

static bool is_paused(void *ctx) {
    const struct host *host = ctx;
    return !host->closing && host->options.paused(host->options.ctx);
}

bool host_open(const struct host_options *of, struct host **ret_host,
               struct err *err) {
    struct host *host = mem_alloc(sizeof(*host));
    struct base *base = of->base;
    host->options = *of;
    uv_loop_init(&host->loop);
    uv_async_init(&host->loop, &host->waker, on_waker);
    uv_timer_init(&host->loop, &host->timer);
    host->waker.data = host->timer.data = host;
    struct roles_options options = {
        .base = base,
        .box = of->box,
        .is_host = true,
        .terminal = of->terminal,
        .paused = is_paused,
        .hosts = hosts,
        .turned = on_turned,
        .stopped = on_stopped,
        .lost = on_lost,
        .ctx = host,
    };
    if (!roles_open(&host->loop, &options, &host->roles, err)) {
        shut_loop(host);
        free(host);
        return false;
    }
    struct api_options api = {
        .tables = &serve_tables,
        .store = base->store,
        .base = base,
        .output = roles_output(host->roles),
        .roles = roles_hooks(host->roles),
        .access = &base->access,
        .seed = clock_seed(),
    };
    host->api = api_new(&api);
    *ret_host = host;
    return true;
}

struct api *host_api(struct host *host) {
    return host->api;
}

bool host_wait(struct host *host, int64_t timeout_ms, struct err *err) {
    int64_t api_ms = api_turn(host->api);
    if (api_ms >= 0 && (timeout_ms < 0 || api_ms < timeout_ms))
        timeout_ms = api_ms;
    host->happened = false;
    if (timeout_ms >= 0)
        uv_timer_start(&host->timer, on_timer, (uint64_t)timeout_ms, 0);
    while (!host->happened && !host->lost)
        uv_run(&host->loop, UV_RUN_ONCE);
    uv_timer_stop(&host->timer);
    (void)api_turn(host->api);
    if (host->lost)
        return err_set(err, ERR_UNAVAILABLE, "%s", host->why);
    return true;
}

void host_hurry(struct host *host) {
    if (host->closing)
        host->hurry = 1;
    uv_async_send(&host->waker);
}

void host_go_on(struct host *host) {
    roles_wake(host->roles);
}

void host_interrupted(struct host *host) {
    roles_interrupted(host->roles);
}

void host_stop(struct host *host, bool now) {
    if (!host)
        return;
    api_free(host->api);
    host->closing = true;
    roles_stop(host->roles,
               now ? 0 : host->options.base->config.queue.drain_s * 1000);
    while (!host->stopped && !host->lost) {
        uv_run(&host->loop, UV_RUN_ONCE);
        if (host->hurry) {
            host->hurry = 0;
            roles_stop(host->roles, 0);
        }
    }
}

void host_close(struct host *host) {
    if (!host)
        return;
    roles_close(host->roles, on_closed, host);
    while (!host->closed)
        uv_run(&host->loop, UV_RUN_ONCE);
    shut_loop(host);
    free(host);
}
