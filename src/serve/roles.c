#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/log.h"
#include "os/clock.h"
#include "os/fifo.h"
#include "os/output.h"
#include "serve/roles_inner.h"

static const char *const role_names[ROLE_COUNT] = {"prequeue", "queue", "exec",
                                                   "clock"};

void roles_wake_box(void *box) {
    uv_async_t *async = ((struct roles_box *)box)->async;
    if (async)
        uv_async_send(async);
}

void roles_wake(struct roles *roles) {
    uv_async_send(&roles->async);
}

/* ---- what wakes it ------------------------------------------------------ */

static void on_event(void *ctx, const struct store_event *event) {
    struct roles *roles = ctx;
    roles->news = true;
    if (event->kind == EVENT_SETTING)
        roles->reload = true;
}

static bool has_role(const struct roles *roles, int i) {
    return roles->options.roles & (1u << i);
}

void roles_notify(struct roles *roles) {
    bool news = roles->news;
    roles->news = false;
    for (int i = 0; news && i < ROLE_COUNT; i++)
        if (!has_role(roles, i) && (1u << i) != DAEMON_PREQUEUE)
            base_trigger(roles->base, role_names[i]);
}

static void on_async(uv_async_t *async) {
    roles_turn(async->data);
}

static void on_fifo(uv_poll_t *poll, int status, int events) {
    struct roles *roles = poll->data;
    (void)status;
    (void)events;
    for (int i = 0; i < ROLE_COUNT; i++)
        if (roles->role[i].fifo_fd >= 0)
            fifo_drain(roles->role[i].fifo_fd);
    roles->look = true;
    roles_turn(roles);
}

/* ---- what the worker tells ---------------------------------------------- */

static void on_ended(void *ctx, const struct run_end *end) {
    struct roles *roles = ctx;
    if (roles->scheduler)
        scheduler_ended(roles->scheduler, end);
    roles_wake(roles);
}

static void on_lasting(void *ctx, uint64_t handle) {
    struct roles *roles = ctx;
    if (roles->scheduler && scheduler_lasting(roles->scheduler, handle))
        roles_wake(roles);
}

static void on_foreign(void *ctx, const struct guard_end *end) {
    struct roles *roles = ctx;
    if (roles->checker && checker_ended(roles->checker, end))
        roles_wake(roles);
}

static void on_guard_lost(void *ctx, const char *why) {
    roles_lost(ctx, why);
}

static bool on_place_file(void *ctx, const struct job *job, struct err *err) {
    struct roles *roles = ctx;
    (void)job;
    return projection_pass(roles->projection, clock_wall(), err);
}

/* ---- hooks of the API --------------------------------------------------- */

static bool hook_why(void *ctx, const struct job *job, struct wall now,
                     struct arena *arena, struct scheduler_reason **ret_reasons,
                     size_t *ret_count, struct err *err) {
    struct roles *roles = ctx;
    return scheduler_why(roles->scheduler, job, now, arena, ret_reasons,
                         ret_count, err);
}

/* What it wrote came by the store's events; only a turn is missing. */
static void hook_trigger(void *ctx) {
    roles_wake(ctx);
}

static bool hook_ready(void *ctx, struct err *err) {
    struct roles *roles = ctx;
    if (roles->stopping == GOING)
        return true;
    return err_set(err, ERR_UNAVAILABLE, "stopping");
}

static void hook_usage(void *ctx, uint64_t num, struct run_usage *ret_usage) {
    struct roles *roles = ctx;
    worker_usage(roles->worker, num, ret_usage);
}

static void hook_metrics(void *ctx, struct text *out) {
    struct roles *roles = ctx;
    text_addf(out, "# TYPE pointsman_running gauge\npointsman_running %u\n",
              scheduler_running(roles->scheduler));
    if (!roles->prequeue)
        return;
    struct prequeue_tally tally = prequeue_tally(roles->prequeue);
    text_addf(out,
              "# TYPE pointsman_prequeue_total counter\n"
              "pointsman_prequeue_total{result=\"admitted\"} %" PRIu64 "\n"
              "pointsman_prequeue_total{result=\"rejected\"} %" PRIu64 "\n",
              tally.admitted, tally.rejected);
}

const struct api_roles *roles_hooks(struct roles *roles) {
    return &roles->hooks;
}

struct output *roles_output(struct roles *roles) {
    return roles->output;
}

/* ---- opening ------------------------------------------------------------ */

static bool take_roles(struct roles *roles, struct err *err) {
    for (int i = 0; i < ROLE_COUNT; i++) {
        char name[32];
        struct role *role = &roles->role[i];
        if (!has_role(roles, i))
            continue;
        if (!base_take_role(roles->base, role_names[i], &role->lock_fd, err))
            return false;
        snprintf(name, sizeof(name), "%s_fifo", role_names[i]);
        if (!fifo_open(roles->base->dirs[BASE_CTRL], name, &role->fifo_fd, err))
            return false;
    }
    return true;
}

static void give_roles(struct roles *roles) {
    for (int i = 0; i < ROLE_COUNT; i++) {
        struct role *role = &roles->role[i];
        if (role->fifo_fd >= 0)
            close(role->fifo_fd);
        if (role->lock_fd >= 0)
            base_give_role(roles->base, role_names[i], &role->lock_fd);
        role->fifo_fd = role->lock_fd = -1;
    }
}

static bool start_worker(struct roles *roles, uv_loop_t *loop,
                         struct err *err) {
    struct base *base = roles->base;
    bool exec = roles->options.roles & DAEMON_EXEC;
    if (!(roles->options.roles & (DAEMON_EXEC | DAEMON_PREQUEUE)))
        return true;
    struct worker_options options = {
        .loop = loop,
        .base_path = base->path,
        .base_fd = base->fd,
        .output = roles->output,
        .config = &base->config,
        .guard_role = exec ? NULL : "check",
        .slots = (unsigned)base->config.queue.concurrency,
        .terminal = roles->options.terminal,
        .lost = on_guard_lost,
        .lasting = on_lasting,
        .ended = on_ended,
        .foreign = on_foreign,
        .place_file = on_place_file,
        .ctx = roles,
    };
    if (!worker_open(&options, &roles->worker, err))
        return false;
    const struct guard *guard = worker_guard(roles->worker);
    log_debug("the supervisor has started pid=%d controllers='%s'",
              (int)guard_pid(guard), guard_controllers(guard));
    /* `run` alone would say it each time; there `doctor` tells. */
    if (exec && log_wants(LOG_INFO) && !guard_has_cgroup(guard))
        log_warning("tasks are kept by %s", guard_mode(guard));
    return true;
}

/* What a role without a worker is given: nothing is ever started. */
static void nothing_to_flush(void *ctx) {
    (void)ctx;
}

static void scheduler_options_of(const struct roles *roles, struct arena *arena,
                                 struct scheduler_options *ret) {
    const struct config *config = &roles->base->config;
    struct scheduler_target *targets =
        arena_alloc(arena, (config->target_count + 1) * sizeof(*targets));
    for (size_t i = 0; i < config->target_count; i++)
        targets[i] = (struct scheduler_target){
            .name = config->targets[i].name,
            .lanes = (unsigned)config->targets[i].lanes,
            .by_command = config->targets[i].command.count > 0,
        };
    bool exec = roles->options.roles & DAEMON_EXEC;
    bool queue = roles->options.roles & DAEMON_QUEUE;
    *ret = (struct scheduler_options){
        .parts =
            (queue ? SCHEDULER_STAGES : 0u) | (exec ? SCHEDULER_STARTS : 0u),
        .slots = (unsigned)config->queue.concurrency,
        .max_temp = (unsigned)config->queue.max_temp,
        .max_crash = (unsigned)config->queue.max_crash,
        .wait_for_dep_ms = config->queue.wait_for_dep_s * 1000,
        .age_step_ms = config->queue.age_step_s * 1000,
        .rollback_max = (unsigned)config->queue.rollback_max,
        .rollback_files = config->queue.closure == CLOSURE_DEPS_FILES,
        .hup_grace_ms = config->queue.hup_grace_s * 1000,
        .job_limit = roles->options.job_limit,
        .seed = clock_seed(),
        .actor = exec && queue ? SPAN("daemon:scheduler")
                 : exec        ? SPAN("daemon:exec")
                               : SPAN("daemon:queue"),
        .worker = SPAN("local"),
        .targets = targets,
        .target_count = config->target_count,
    };
}

static bool start_scheduler(struct roles *roles, struct err *err) {
    struct arena arena = ARENA_INIT;
    struct scheduler_options options;
    struct runner runner = {.flush = nothing_to_flush};
    bool exec = roles->options.roles & DAEMON_EXEC;
    if (!(roles->options.roles & (DAEMON_QUEUE | DAEMON_EXEC)))
        return true;
    if (exec)
        worker_runner(roles->worker, &runner);
    scheduler_options_of(roles, &arena, &options);
    roles->scheduler = scheduler_new(roles->base->store, &options, &runner);
    arena_clear(&arena);
    /* The guard is ready: nothing of a former life is left (P6). */
    return scheduler_start(roles->scheduler, clock_wall(), exec, err);
}

static void on_clock(void *ctx) {
    roles_wake(ctx);
}

static bool start_parts(struct roles *roles, uv_loop_t *loop, struct err *err) {
    struct base *base = roles->base;
    if (!take_roles(roles, err))
        return false;
    if (!output_open(base->fd, true, &roles->output, err) ||
        !start_worker(roles, loop, err) ||
        !projection_open(base, &roles->projection, err) ||
        !projection_recover(roles->projection, clock_wall(), err) ||
        !start_scheduler(roles, err))
        return false;
    if ((roles->options.roles & DAEMON_CLOCK) &&
        !clock_role_open(loop, base, on_clock, roles, &roles->clock, err))
        return false;
    if (roles->options.roles & DAEMON_PREQUEUE) {
        roles->checker = checker_new(base, worker_guard(roles->worker), NULL);
        roles->prequeue = prequeue_new(base, roles->checker, roles->projection);
    }
    return true;
}

static void listen_to_triggers(struct roles *roles, uv_loop_t *loop) {
    for (int i = 0; i < ROLE_COUNT; i++) {
        struct role *role = &roles->role[i];
        if (role->fifo_fd < 0)
            continue;
        uv_poll_init(loop, &role->poll, role->fifo_fd);
        role->poll.data = roles;
        role->polls = true;
        uv_poll_start(&role->poll, UV_READABLE, on_fifo);
    }
}

static void set_hooks(struct roles *roles) {
    roles->hooks = (struct api_roles){
        .ctx = roles,
        .checker = roles->checker,
        .why = roles->options.roles & DAEMON_EXEC ? hook_why : NULL,
        .usage = roles->worker ? hook_usage : NULL,
        .trigger = hook_trigger,
        .ready = hook_ready,
        .metrics = roles->options.roles & DAEMON_EXEC ? hook_metrics : NULL,
    };
}

bool roles_open(uv_loop_t *loop, const struct roles_options *options,
                struct roles **ret_roles, struct err *err) {
    struct roles *roles = mem_alloc(sizeof(*roles));
    roles->options = *options;
    roles->base = options->base;
    for (int i = 0; i < ROLE_COUNT; i++)
        roles->role[i].lock_fd = roles->role[i].fifo_fd = -1;
    uv_async_init(loop, &roles->async, on_async);
    uv_timer_init(loop, &roles->timer);
    roles->async.data = roles->timer.data = roles;
    roles->look = true;
    options->box->async = &roles->async;
    if (!start_parts(roles, loop, err)) {
        roles_close(roles, NULL, NULL);
        return false;
    }
    listen_to_triggers(roles, loop);
    store_listen(roles->base->store, on_event, roles);
    set_hooks(roles);
    roles_wake(roles);
    *ret_roles = roles;
    return true;
}

bool roles_reload(struct roles *roles, struct err *err) {
    struct arena arena = ARENA_INIT;
    struct scheduler_options options;
    if (!base_reload(roles->base, err))
        return false;
    if (roles->prequeue)
        prequeue_configure(roles->prequeue);
    if (roles->clock)
        clock_role_reload(roles->clock, clock_wall());
    if (roles->worker)
        worker_configure(roles->worker, &roles->base->config);
    if (roles->scheduler) {
        scheduler_options_of(roles, &arena, &options);
        scheduler_configure(roles->scheduler, &options);
    }
    arena_clear(&arena);
    roles->poll_at = (struct mono){0};
    roles_wake(roles);
    return true;
}

bool roles_idle(struct roles *roles) {
    if (roles->look || (roles->prequeue &&
                        (!roles->looked || prequeue_is_due(roles->prequeue) ||
                         !prequeue_is_idle(roles->prequeue))))
        return false;
    if (projection_is_due(roles->projection) ||
        (roles->clock && !clock_role_idle(roles->clock)))
        return false;
    return roles->scheduler ? scheduler_idle(roles->scheduler)
                            : store_is_idle(roles->base->store);
}

bool roles_used_up(struct roles *roles) {
    return roles->scheduler && scheduler_used_up(roles->scheduler);
}

void roles_interrupted(struct roles *roles) {
    if (roles->worker)
        worker_interrupted(roles->worker);
}

/* ---- ending ------------------------------------------------------------- */

void roles_stop(struct roles *roles, int64_t drain_ms) {
    struct mono at = mono_add_ms(clock_mono(), drain_ms);
    if (roles->stopping == STOPPED || roles->stopping == RETURNING)
        return;
    if (roles->stopping == GOING || at.ns < roles->stop_at.ns)
        roles->stop_at = at;
    roles->stopping = DRAINING;
    if (roles->scheduler)
        scheduler_drain(roles->scheduler);
    if (roles->clock)
        clock_role_drain(roles->clock);
    roles_wake(roles);
}

static void free_roles(struct roles *roles) {
    void (*closed)(void *) = roles->closed;
    void *ctx = roles->closed_ctx;
    roles->news = true; /* what was settled at the end was seen by nobody */
    roles_notify(roles);
    output_close(roles->output);
    give_roles(roles);
    free(roles);
    if (closed)
        closed(ctx);
}

static void on_part_closed(void *ctx) {
    struct roles *roles = ctx;
    if (--roles->open_handles == 0)
        free_roles(roles);
}

static void on_closed(uv_handle_t *handle) {
    on_part_closed(handle->data);
}

static void close_handles(struct roles *roles) {
    roles->open_handles = 2;
    if (roles->clock) {
        roles->open_handles++;
        clock_role_close(roles->clock, on_part_closed, roles);
    }
    for (int i = 0; i < ROLE_COUNT; i++)
        if (roles->role[i].polls) {
            roles->open_handles++;
            uv_close((uv_handle_t *)&roles->role[i].poll, on_closed);
        }
    uv_close((uv_handle_t *)&roles->async, on_closed);
    uv_close((uv_handle_t *)&roles->timer, on_closed);
}

static void on_worker_closed(void *ctx) {
    close_handles(ctx);
}

/* Nobody calls it when it is gone. */
static void part_with_scheduler(struct roles *roles) {
    struct err err;
    scheduler_dismiss(roles->scheduler);
    if (!store_drain(roles->base->store, &err))
        log_error("the last decisions may not be recorded: %s", err.text);
    scheduler_free(roles->scheduler);
}

void roles_close(struct roles *roles, void (*closed)(void *ctx), void *ctx) {
    roles->closing = true;
    roles->closed = closed;
    roles->closed_ctx = ctx;
    roles->options.box->async = NULL;
    roles->options.turned = NULL;
    store_unlisten(roles->base->store, on_event, roles);
    prequeue_free(roles->prequeue);
    checker_free(roles->checker);
    if (roles->scheduler)
        part_with_scheduler(roles);
    projection_close(roles->projection);
    roles->prequeue = NULL;
    roles->checker = NULL;
    roles->scheduler = NULL;
    roles->projection = NULL;
    if (roles->worker)
        worker_close(roles->worker, on_worker_closed, roles);
    else
        close_handles(roles);
}
