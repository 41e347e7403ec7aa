#include "serve/daemon.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "serve/tables.h"
#include "lib/log.h"
#include "os/clock.h"
#include "base/base.h"
#include "http/http.h"
#include "maintenance/target_config.h"
#include "serve/roles.h"

#define SERVER_LOCK "serve" /* of the process that answers on the socket */

struct daemon {
    const struct daemon_options *options;
    uv_loop_t loop;
    struct base *base;
    struct roles_box box;
    struct roles *roles;
    struct api *api;
    struct http *http;
    uv_signal_t term, interrupt, hang_up;
    uv_timer_t api_timer;
    int serve_lock;
    int status;
    bool stopping, closing;
    unsigned signals; /* that asked for the stop */
};

static int complain(const struct err *err) {
    fprintf(stderr, "pointsman: %s\n", err->text);
    return err_exit_status(err->kind);
}

/* ---- ending ------------------------------------------------------------- */

static void close_all(struct daemon *daemon) {
    if (daemon->closing)
        return;
    daemon->closing = true;
    http_close(daemon->http);
    api_free(daemon->api);
    uv_close((uv_handle_t *)&daemon->term, NULL);
    uv_close((uv_handle_t *)&daemon->interrupt, NULL);
    uv_close((uv_handle_t *)&daemon->hang_up, NULL);
    uv_close((uv_handle_t *)&daemon->api_timer, NULL);
    roles_close(daemon->roles, NULL, NULL);
}

static void stop(struct daemon *daemon) {
    /* A second request to stop does not wait for running jobs. */
    int64_t drain_ms =
        daemon->stopping ? 0 : daemon->base->config.queue.drain_s * 1000;
    daemon->stopping = true;
    roles_stop(daemon->roles, drain_ms);
}

static void on_stopped(void *ctx) {
    close_all(ctx);
}

static void on_lost(void *ctx, const char *why) {
    struct daemon *daemon = ctx;
    (void)why; /* logged already */
    daemon->status = err_exit_status(ERR_UNAVAILABLE);
    close_all(daemon);
}

static void on_stop_signal(uv_signal_t *handle, int number) {
    struct daemon *daemon = handle->data;
    log_info("%s: %s", number == SIGTERM ? "TERM" : "INT",
             daemon->signals == 0 ? "waiting for running jobs to end"
             : daemon->signals == 1
                 ? "ending running jobs, which are requeued"
                 : "killing running jobs, which are requeued");
    daemon->signals++;
    stop(daemon);
}

static void on_hang_up(uv_signal_t *handle, int number) {
    struct daemon *daemon = handle->data;
    struct err err;
    (void)number;
    if (roles_reload(daemon->roles, &err))
        log_info("configuration reloaded");
    else
        log_error("the configuration was not reloaded: %s", err.text);
}

/* ---- running ------------------------------------------------------------ */

static void turn_api(struct daemon *daemon);

static void on_api_timer(uv_timer_t *timer) {
    turn_api(timer->data);
}

static void turn_api(struct daemon *daemon) {
    if (!daemon->api)
        return;
    int64_t ms = api_turn(daemon->api);
    if (ms < 0)
        uv_timer_stop(&daemon->api_timer);
    else
        uv_timer_start(&daemon->api_timer, on_api_timer, (uint64_t)ms, 0);
}

static void on_turned(void *ctx) {
    struct daemon *daemon = ctx;
    turn_api(daemon);
    if (daemon->stopping)
        return;
    bool over = roles_used_up(daemon->roles) ||
                (daemon->options->until != DAEMON_FOR_EVER &&
                 roles_idle(daemon->roles));
    if (over)
        stop(daemon);
}

static bool start_api(struct daemon *daemon, struct err *err) {
    if (!daemon->options->answers)
        return true;
    struct api_options api = {
        .tables = &serve_tables,
        .store = daemon->base->store,
        .base = daemon->base,
        .output = roles_output(daemon->roles),
        .roles = roles_hooks(daemon->roles),
        .access = &daemon->base->access,
        .seed = clock_seed(),
    };
    daemon->api = api_new(&api);
    struct http_options http = {
        .loop = &daemon->loop,
        .api = daemon->api,
        .base = daemon->base,
        .listen = daemon->options->listen ? span_of(daemon->options->listen)
                                          : daemon->base->config.serve.listen,
    };
    return http_open(&http, &daemon->http, err);
}

static void watch_signals(struct daemon *daemon) {
    uv_signal_init(&daemon->loop, &daemon->term);
    uv_signal_init(&daemon->loop, &daemon->interrupt);
    uv_signal_init(&daemon->loop, &daemon->hang_up);
    uv_timer_init(&daemon->loop, &daemon->api_timer);
    daemon->term.data = daemon->interrupt.data = daemon;
    daemon->hang_up.data = daemon->api_timer.data = daemon;
    uv_signal_start(&daemon->term, on_stop_signal, SIGTERM);
    uv_signal_start(&daemon->interrupt, on_stop_signal, SIGINT);
    uv_signal_start(&daemon->hang_up, on_hang_up, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    /* Whoever started this process may have blocked them. */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void announce(const struct daemon *daemon) {
    if (!daemon->options->answers || daemon->options->quiet)
        return;
    const char *where = http_address(daemon->http);
    fprintf(stderr, "pointsman: serving %s%s%s%s\n", daemon->base->path,
            where ? ", health on " : "", where ? where : "",
            where ? "healthz" : "");
}

static bool start(struct daemon *daemon, struct err *err) {
    const struct daemon_options *options = daemon->options;
    struct roles_options roles = {
        .base = daemon->base,
        .box = &daemon->box,
        .only = options->role,
        .job_limit = options->job_limit,
        .once = options->until == DAEMON_ONCE,
        .turned = on_turned,
        .stopped = on_stopped,
        .lost = on_lost,
        .ctx = daemon,
    };
    if (!target_config_is_apart(&daemon->base->config, daemon->base->path, err))
        return false;
    if (options->answers &&
        !base_take_role(daemon->base, SERVER_LOCK, &daemon->serve_lock, err))
        return false;
    if (!roles_open(&daemon->loop, &roles, &daemon->roles, err))
        return false;
    watch_signals(daemon);
    if (!start_api(daemon, err)) {
        close_all(daemon);
        return false;
    }
    announce(daemon);
    return true;
}

int daemon_run(const struct daemon_options *options) {
    struct daemon daemon = {.options = options, .serve_lock = -1};
    struct err err;
    struct base_open how = {
        .store = {.own_thread = true,
                  .wake = roles_wake_box,
                  .wake_ctx = &daemon.box},
    };
    log_init(options->answers ? "serve" : "daemon",
             options->quiet ? LOG_ERROR : LOG_INFO);
    if (!base_open(options->base_path, &how, &daemon.base, &err))
        return complain(&err);
    uv_loop_init(&daemon.loop);
    if (!start(&daemon, &err))
        daemon.status = complain(&err);
    uv_run(&daemon.loop, UV_RUN_DEFAULT);
    uv_loop_close(&daemon.loop);
    if (daemon.serve_lock >= 0)
        base_give_role(daemon.base, SERVER_LOCK, &daemon.serve_lock);
    base_close(daemon.base);
    return daemon.status;
}
