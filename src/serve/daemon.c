#include "serve/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "serve/tables.h"
#include "lib/log.h"
#include "os/clock.h"
#include "os/fd.h"
#include "base/base.h"
#include "changes/policies.h"
#include "http/http.h"
#include "maintenance/target_config.h"
#include "serve/roles.h"
#include "serve/upgrade.h"

#define SERVER_LOCK "serve" /* of the process that answers on the socket */

struct daemon {
    const struct daemon_options *options;
    uv_loop_t loop;
    struct base *base;
    struct roles_box box;
    struct roles *roles;
    struct api *api;
    struct http *http;
    uv_signal_t term, interrupt, hang_up, user, user2;
    char *log_path; /* of the file that standard error is; NULL: none */
    uv_timer_t api_timer;
    int serve_lock;
    int status;
    bool stopping, closing;
    unsigned signals; /* that asked for the stop */
    struct upgrade *upgrade;
    char program[PATH_MAX];      /* as it was found at the start */
    struct http_sockets sockets; /* of a server that accepts no more */
    int state_fd, program_fd;    /* to be executed when all is closed */
    /* What the program before handed over, until this one is ready. */
    struct arena memory;
    struct upgrade_state before;
    int before_fd, before_program_fd; /* -1: there was none */
};

static int complain(const struct err *err) {
    fprintf(stderr, "pointsman: %s\n", err->text);
    return err_exit_status(err->kind);
}

/* Without a handler, these would end a process that starts, and one that is
 * about to execute another program. They wait for watch_signals. */
static void hold_signals(void) {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGHUP);
    sigaddset(&held, SIGUSR1);
    sigaddset(&held, SIGUSR2);
    sigprocmask(SIG_BLOCK, &held, NULL);
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
    uv_close((uv_handle_t *)&daemon->user2, NULL);
    upgrade_free(daemon->upgrade);
    daemon->upgrade = NULL;
    uv_close((uv_handle_t *)&daemon->user, NULL);
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

/* Without a handler it would end the process. */
static void on_user(uv_signal_t *handle, int number) {
    (void)handle;
    (void)number;
    log_info("USR1 has no meaning");
}

/* ---- the log ------------------------------------------------------------- */

/* The path of the regular file that standard error was opened as. */
static char *find_log(void) {
    char path[4096];
    struct stat st;
    ssize_t n = readlink("/proc/self/fd/2", path, sizeof(path));
    if (n <= 0 || (size_t)n == sizeof(path) || path[0] != '/' ||
        fstat(STDERR_FILENO, &st) < 0 || !S_ISREG(st.st_mode))
        return NULL;
    return mem_copy(path, (size_t)n);
}

/* If the log has been renamed or removed, as logrotate(8) does, the next lines
 * go to a new file of the same name; standard output too if it is that file. */
static void reopen_log(const struct daemon *daemon) {
    struct stat old, named, out;
    struct err err;
    if (daemon->log_path == NULL || fstat(STDERR_FILENO, &old) < 0 ||
        (stat(daemon->log_path, &named) == 0 && named.st_ino == old.st_ino &&
         named.st_dev == old.st_dev))
        return;
    CLEANUP(fd_close)
    int fd = open(daemon->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                  old.st_mode & 0777);
    if (fd < 0) {
        err_errno(&err, errno, "cannot open the log '%s' again",
                  daemon->log_path);
        log_error("%s", err.text);
        return;
    }
    if (fstat(STDOUT_FILENO, &out) == 0 && out.st_ino == old.st_ino &&
        out.st_dev == old.st_dev)
        (void)dup2(fd, STDOUT_FILENO);
    (void)dup2(fd, STDERR_FILENO);
}

/* Accounts and groups that do not exist give nobody a role; `config check`
 * reports the same. */
static void warn_of_names(const struct base *base) {
    struct err err;
    if (!base_access_check(base, &err))
        log_warning("%s", err.text);
    if (!policies_check(base, &err))
        log_warning("%s", err.text);
}

static void on_hang_up(uv_signal_t *handle, int number) {
    struct daemon *daemon = handle->data;
    struct err err;
    (void)number;
    reopen_log(daemon);
    if (roles_reload(daemon->roles, &err)) {
        log_info("configuration reloaded");
        warn_of_names(daemon->base);
    } else
        log_error("the configuration was not reloaded: %s", err.text);
}

/* ---- another program in this process ------------------------------------- */

static bool on_upgrade(void *ctx, struct err *err) {
    struct daemon *daemon = ctx;
    if (daemon->stopping || daemon->upgrade == NULL)
        return err_set(err, ERR_UNAVAILABLE, "the server is stopping");
    return upgrade_begin(daemon->upgrade, err);
}

static void on_upgrade_show(void *ctx, struct text *out) {
    struct daemon *daemon = ctx;
    upgrade_show(daemon->upgrade, out);
}

static bool on_upgrade_give_up(void *ctx, struct err *err) {
    struct daemon *daemon = ctx;
    return upgrade_give_up(daemon->upgrade, err);
}

static const char *on_upgrade_waits_for(void *ctx, struct arena *arena) {
    struct daemon *daemon = ctx;
    return daemon->upgrade != NULL ? upgrade_waits_for(daemon->upgrade, arena)
                                   : NULL;
}

static bool on_foreign(void *ctx, const struct guard_end *end) {
    struct daemon *daemon = ctx;
    return upgrade_ended(daemon->upgrade, end);
}

static void on_user2(uv_signal_t *handle, int number) {
    struct err err;
    (void)number;
    if (!on_upgrade(handle->data, &err))
        log_error("not upgraded: %s", err.text);
}

static void on_quiesce(void *ctx) {
    struct daemon *daemon = ctx;
    if (daemon->http != NULL)
        http_quiesce(daemon->http, &daemon->sockets);
}

static bool on_busy(void *ctx) {
    struct daemon *daemon = ctx;
    return daemon->http != NULL && http_is_busy(daemon->http);
}

/* A copy that stays open across exec. */
static int keep_fd(int fd) {
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD, 3);
}

static bool hand_over(struct daemon *daemon, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct upgrade_state state = {
        .number = upgrade_number(daemon->upgrade),
        .program_fd = open("/proc/self/exe", O_RDONLY),
        .base_fd = keep_fd(daemon->base->lock_fd),
        .serve_fd = keep_fd(daemon->serve_lock),
        .sockets = {keep_fd(daemon->sockets.local),
                    keep_fd(daemon->sockets.tcp)},
    };
    if (state.program_fd < 0)
        return err_errno(err, errno, "cannot open this program");
    if (!roles_hand_over(daemon->roles, &arena, &state.roles, err))
        return false;
    int guard_fd = state.roles.worker.guard.fd;
    if (fcntl(guard_fd, F_SETFD, 0) < 0)
        return err_errno(err, errno, "cannot pass the supervisor on");
    fd_close(&daemon->serve_lock);
    daemon->program_fd = state.program_fd;
    daemon->state_fd = upgrade_state_write(&state, err);
    if (daemon->state_fd < 0)
        return false;
    hold_signals();
    return true;
}

static void on_leave(void *ctx) {
    struct daemon *daemon = ctx;
    struct err err;
    if (!hand_over(daemon, &err)) {
        log_error("cannot hand over: %s", err.text);
        daemon->status = err_exit_status(err.kind);
    }
    close_all(daemon);
}

/* What was inherited and copied is not needed any more. */
static void forget_before(struct daemon *daemon) {
    struct upgrade_state *before = &daemon->before;
    if (daemon->before_fd < 0)
        return;
    for (size_t i = 0; i < before->roles.role_count; i++)
        fd_close(&before->roles.roles[i].lock_fd);
    if (before->roles.has_worker)
        (void)fcntl(before->roles.worker.guard.fd, F_SETFD, FD_CLOEXEC);
    fd_close(&before->program_fd);
    fd_close(&before->base_fd);
    fd_close(&before->serve_fd);
    fd_close(&before->sockets.local);
    fd_close(&before->sockets.tcp);
    fd_close(&daemon->before_fd);
    if (before->failed.len == 0)
        log_info("upgraded to '%s', %zu attempt%s continue%s", daemon->program,
                 before->roles.running_count,
                 text_plural(before->roles.running_count),
                 before->roles.running_count == 1 ? "s" : "");
    arena_clear(&daemon->memory);
}

/* While the program before can go on, it does. */
static void on_failed(void *ctx, const struct err *err) {
    struct daemon *daemon = ctx;
    if (daemon->before_fd >= 0 && daemon->before.failed.len == 0)
        upgrade_fall_back(daemon->before_fd, daemon->before_program_fd, err);
}

static bool read_before(struct daemon *daemon, struct err *err) {
    if (!upgrade_inherited(&daemon->before_fd, &daemon->before_program_fd)) {
        daemon->before_fd = -1;
        return true;
    }
    return upgrade_state_read(daemon->before_fd, &daemon->memory,
                              &daemon->before, err);
}

static void find_program(struct daemon *daemon) {
    ssize_t n = readlink("/proc/self/exe", daemon->program,
                         sizeof(daemon->program) - 1);
    daemon->program[n > 0 ? n : 0] = '\0';
    /* The program before is executed by its descriptor: its path may mean
     * another program by now, which is what the next upgrade should execute. */
    static const char gone[] = " (deleted)";
    if (span_ends(span_of(daemon->program), gone))
        daemon->program[strlen(daemon->program) - strlen(gone)] = '\0';
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
        .adopted = daemon->before_fd >= 0 ? &daemon->before.sockets : NULL,
    };
    return http_open(&http, &daemon->http, err);
}

static void watch_signals(struct daemon *daemon) {
    uv_signal_init(&daemon->loop, &daemon->term);
    uv_signal_init(&daemon->loop, &daemon->interrupt);
    uv_signal_init(&daemon->loop, &daemon->hang_up);
    uv_signal_init(&daemon->loop, &daemon->user2);
    uv_signal_init(&daemon->loop, &daemon->user);
    uv_timer_init(&daemon->loop, &daemon->api_timer);
    daemon->term.data = daemon->interrupt.data = daemon;
    daemon->hang_up.data = daemon->api_timer.data = daemon;
    daemon->user2.data = daemon;
    uv_signal_start(&daemon->term, on_stop_signal, SIGTERM);
    uv_signal_start(&daemon->interrupt, on_stop_signal, SIGINT);
    uv_signal_start(&daemon->hang_up, on_hang_up, SIGHUP);
    uv_signal_start(&daemon->user2, on_user2, SIGUSR2);
    uv_signal_start(&daemon->user, on_user, SIGUSR1);
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
        .reports = options->answers,
        .turned = on_turned,
        .stopped = on_stopped,
        .lost = on_lost,
        .adopted = daemon->before_fd >= 0 ? &daemon->before.roles : NULL,
        .failed = on_failed,
        .upgrade = on_upgrade,
        .upgrade_show = on_upgrade_show,
        .upgrade_give_up = on_upgrade_give_up,
        .upgrade_waits_for = on_upgrade_waits_for,
        .foreign = on_foreign,
        .ctx = daemon,
    };
    if (!target_config_is_apart(&daemon->base->config, daemon->base->path, err))
        return false;
    if (daemon->before_fd >= 0 && daemon->before.serve_fd >= 0)
        daemon->serve_lock = fcntl(daemon->before.serve_fd, F_DUPFD_CLOEXEC, 3);
    if (options->answers && daemon->serve_lock < 0 &&
        !base_take_role(daemon->base, SERVER_LOCK, LOCK_PID_KEEP,
                        &daemon->serve_lock, err))
        return false;
    if (!roles_open(&daemon->loop, &roles, &daemon->roles, err))
        return false;
    watch_signals(daemon);
    daemon->upgrade = upgrade_new(&(struct upgrade_options){
        .loop = &daemon->loop,
        .base = daemon->base,
        .roles = daemon->roles,
        .program = daemon->program,
        .before = daemon->before_fd >= 0 ? &daemon->before : NULL,
        .quiesce = on_quiesce,
        .is_busy = on_busy,
        .leave = on_leave,
        .ctx = daemon,
    });
    if (!start_api(daemon, err)) {
        on_failed(daemon, err);
        close_all(daemon);
        return false;
    }
    if (daemon->before_fd < 0)
        announce(daemon);
    forget_before(daemon);
    return true;
}

int daemon_run(const struct daemon_options *options) {
    struct daemon daemon = {.options = options,
                            .serve_lock = -1,
                            .state_fd = -1,
                            .program_fd = -1,
                            .before_fd = -1,
                            .sockets = {-1, -1}};
    struct err err;
    daemon.log_path = find_log();
    struct base_open how = {
        .store = {.own_thread = true,
                  .wake = roles_wake_box,
                  .wake_ctx = &daemon.box},
    };
    log_init(options->answers ? "serve" : "daemon",
             options->quiet ? LOG_ERROR : LOG_INFO);
    hold_signals();
    find_program(&daemon);
    if (!read_before(&daemon, &err) ||
        !base_open(options->base_path, &how, &daemon.base, &err)) {
        on_failed(&daemon, &err);
        arena_clear(&daemon.memory);
        free(daemon.log_path);
        return complain(&err);
    }
    uv_loop_init(&daemon.loop);
    if (!start(&daemon, &err)) {
        on_failed(&daemon, &err);
        daemon.status = complain(&err);
    }
    uv_run(&daemon.loop, UV_RUN_DEFAULT);
    uv_loop_close(&daemon.loop);
    if (daemon.serve_lock >= 0)
        base_give_role(daemon.base, SERVER_LOCK, &daemon.serve_lock);
    base_close(daemon.base);
    if (daemon.state_fd >= 0) {
        upgrade_execute(daemon.program, daemon.state_fd, daemon.program_fd);
        daemon.status = err_exit_status(ERR_UNAVAILABLE);
    }
    free(daemon.log_path);
    return daemon.status;
}
