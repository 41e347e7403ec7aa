#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/config_record.h"
#include "lib/log.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/fifo.h"
#include "os/output.h"
#include "maintenance/target_config.h"
#include "scheduler/running_tasks.h"
#include "scheduler/train_json.h"
#include "scheduler/worker_json.h"
#include "scheduler/worker_table.h"
#include "serve/roles_inner.h"
#include "serve/scheduler_role.h"
#include "serve/tables.h"

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

void roles_notify(struct roles *roles) {
    bool news = roles->news;
    roles->news = false;
    for (const struct role *const *role = serve_roles; news && *role; role++)
        if ((*role)->reads_registry && !role_is_here(&roles->host, *role))
            base_trigger(roles->base, (*role)->name);
}

static void on_async(uv_async_t *async) {
    roles_turn(async->data);
}

static void on_fifo(uv_poll_t *poll, int status, int events) {
    struct roles *roles = poll->data;
    (void)status;
    (void)events;
    for (size_t i = 0; i < roles->host.role_count; i++)
        fifo_drain(roles->held[i].fifo_fd);
    roles->look = true;
    roles_turn(roles);
}

/* Somebody may have removed ctrl/, or a FIFO in it: callers then trigger
 * nobody. The old end is watched until the new one is closed into its place. */
void roles_fifos_renew(struct roles *roles) {
    for (size_t i = 0; i < roles->host.role_count; i++) {
        struct held_role *held = &roles->held[i];
        const char *role = roles->host.roles[i]->name;
        int dir = roles->base->dirs[BASE_CTRL], fd = -1;
        char name[64];
        struct err err;
        snprintf(name, sizeof(name), BASE_ROLE_FIFO, role);
        if (!held->polls || fifo_is_there(dir, name, held->fifo_fd))
            continue;
        if (!fifo_open(dir, name, &fd, &err)) {
            if (!held->is_deaf)
                log_error("the FIFO of %s is missing: %s", role, err.text);
            held->is_deaf = true;
            continue;
        }
        held->is_deaf = false;
        uv_poll_stop(&held->poll);
        if (dup3(fd, held->fifo_fd, O_CLOEXEC) >= 0)
            log_warning("the FIFO ctrl/%s was missing and has been recreated",
                        name);
        close(fd);
        uv_poll_start(&held->poll, UV_READABLE, on_fifo);
    }
}

/* ---- what the worker tells ---------------------------------------------- */

static void on_ended(void *ctx, const struct run_end *end) {
    struct roles *roles = ctx;
    if (roles->host.scheduler)
        scheduler_ended(roles->host.scheduler, end);
    roles_wake(roles);
}

static void on_lasting(void *ctx, uint64_t handle) {
    struct roles *roles = ctx;
    if (roles->host.scheduler &&
        scheduler_lasting(roles->host.scheduler, handle))
        roles_wake(roles);
}

static void on_foreign(void *ctx, const struct guard_end *end) {
    struct roles *roles = ctx;
    if ((roles->host.checker && checker_ended(roles->host.checker, end)) ||
        (roles->options.foreign &&
         roles->options.foreign(roles->options.ctx, end)))
        roles_wake(roles);
}

static void on_guard_lost(void *ctx, const char *why) {
    (void)ctx;
    log_error("%s; starting another one", why);
}

static void on_guard_restored(void *ctx) {
    struct roles *roles = ctx;
    log_warning("another supervisor runs; tasks of the one before count as "
                "recovered pid=%d",
                (int)guard_pid(worker_guard(roles->host.worker)));
    roles_wake(roles);
}

static bool on_place_file(void *ctx, const struct job *job, struct err *err) {
    struct roles *roles = ctx;
    (void)job;
    return projection_place(roles->host.projection, clock_wall(), err);
}

/* ---- hooks of the API --------------------------------------------------- */

static bool hook_why(void *ctx, const struct job *job, struct wall now,
                     struct arena *arena, struct scheduler_reason **ret_reasons,
                     size_t *ret_count, struct err *err) {
    struct roles *roles = ctx;
    return scheduler_why(roles->host.scheduler, job, now, arena, ret_reasons,
                         ret_count, err);
}

static bool hook_why_task(void *ctx, const struct job *job, struct span node,
                          struct wall now, struct arena *arena,
                          struct scheduler_reason **ret_reasons,
                          size_t *ret_count, struct err *err) {
    struct roles *roles = ctx;
    return scheduler_why_task(roles->host.scheduler, job, node, now, arena,
                              ret_reasons, ret_count, err);
}

static bool hook_train(void *ctx, struct span target, struct text *out) {
    struct roles *roles = ctx;
    return train_json(roles->host.scheduler, target, out);
}

static void hook_workers(void *ctx, struct text *out) {
    struct roles *roles = ctx;
    worker_json(roles->host.scheduler,
                guard_runs(worker_guard(roles->host.worker)), out);
}

static size_t hook_running(void *ctx, struct arena *arena,
                           struct running_task **ret_tasks) {
    struct roles *roles = ctx;
    return running_tasks(roles->host.scheduler, arena, ret_tasks);
}

/* What the API wrote came with the store's events; only a turn is missing. */
static void hook_trigger(void *ctx) {
    roles_wake(ctx);
}

static bool hook_ready(void *ctx, struct err *err) {
    struct roles *roles = ctx;
    if (roles->stopping != GOING)
        return err_set(err, ERR_UNAVAILABLE, "stopping");
    if (roles->preparing)
        return err_set(err, ERR_UNAVAILABLE, "being upgraded");
    return roles->host.worker == NULL ||
           guard_runs(worker_guard(roles->host.worker)) ||
           err_set(err, ERR_UNAVAILABLE, "the supervisor is being replaced");
}

static void hook_usage(void *ctx, uint64_t num, struct run_usage *ret_usage) {
    struct roles *roles = ctx;
    worker_usage(roles->host.worker, num, ret_usage);
}

static enum access_place hook_place(void *ctx, pid_t pid, struct arena *arena,
                                    uint64_t **ret_nums, size_t *ret_count) {
    struct roles *roles = ctx;
    switch (worker_find(roles->host.worker, pid, arena, ret_nums, ret_count)) {
    case WORKER_OUTSIDE:
        return ACCESS_OUTSIDE;
    case WORKER_INSIDE:
        return ACCESS_IN_JOB;
    case WORKER_UNREADABLE:
        break;
    }
    return ACCESS_UNCLEAR;
}

static void hook_metrics(void *ctx, struct text *out) {
    struct roles *roles = ctx;
    for (size_t i = 0; i < roles->engine_count; i++)
        if (roles->engines[i].engine->metrics)
            roles->engines[i].engine->metrics(roles->engines[i].self, out);
}

static bool hook_upgrade(void *ctx, struct err *err) {
    struct roles *roles = ctx;
    return roles->options.upgrade(roles->options.ctx, err);
}

static bool hook_upgrade_give_up(void *ctx, struct err *err) {
    struct roles *roles = ctx;
    return roles->options.upgrade_give_up(roles->options.ctx, err);
}

static const char *hook_upgrade_waits_for(void *ctx, struct arena *arena) {
    struct roles *roles = ctx;
    return roles->options.upgrade_waits_for(roles->options.ctx, arena);
}

static void hook_upgrade_show(void *ctx, struct text *out) {
    struct roles *roles = ctx;
    roles->options.upgrade_show(roles->options.ctx, out);
}

const struct api_roles *roles_hooks(struct roles *roles) {
    return &roles->hooks;
}

struct output *roles_output(struct roles *roles) {
    return roles->output;
}

struct guard *roles_guard(struct roles *roles) {
    return roles->host.worker ? worker_guard(roles->host.worker) : NULL;
}

/* ---- opening ------------------------------------------------------------ */

static void choose_roles(struct roles *roles) {
    const struct roles_options *options = &roles->options;
    struct role_host *host = &roles->host;
    for (const struct role *const *role = serve_roles; *role; role++) {
        if (options->only ? *role != options->only
                          : options->is_host && !(*role)->is_hosted)
            continue;
        assert(host->role_count < ROLES_MOST);
        roles->held[host->role_count].lock_fd = -1;
        roles->held[host->role_count].fifo_fd = -1;
        host->roles[host->role_count++] = *role;
    }
}

/* -1: the program before had not this role. */
static int adopted_lock(const struct roles *roles, const char *name) {
    const struct roles_handover *from = roles->options.adopted;
    for (size_t i = 0; from != NULL && i < from->role_count; i++)
        if (span_is(from->roles[i].name, name))
            return fcntl(from->roles[i].lock_fd, F_DUPFD_CLOEXEC, 3);
    return -1;
}

static bool take_lock(struct roles *roles, const char *name, int *ret_fd,
                      struct err *err) {
    /* A `run` asks again by itself, and has to answer Ctrl-C meanwhile. */
    enum lock_pid_file how =
        roles->options.is_host ? LOCK_PID_RUN : LOCK_PID_KEEP_LATER;
    *ret_fd = adopted_lock(roles, name);
    return *ret_fd >= 0 || base_take_role(roles->base, name, how, ret_fd, err);
}

static bool take_roles(struct roles *roles, struct err *err) {
    for (size_t i = 0; i < roles->host.role_count; i++) {
        char fifo[64];
        const char *name = roles->host.roles[i]->name;
        struct held_role *held = &roles->held[i];
        snprintf(fifo, sizeof(fifo), BASE_ROLE_FIFO, name);
        if (!take_lock(roles, name, &held->lock_fd, err) ||
            !fifo_open(roles->base->dirs[BASE_CTRL], fifo, &held->fifo_fd, err))
            return false;
    }
    return true;
}

static void give_roles(struct roles *roles) {
    for (size_t i = 0; i < roles->host.role_count; i++) {
        struct held_role *held = &roles->held[i];
        if (held->fifo_fd >= 0)
            close(held->fifo_fd);
        if (held->lock_fd >= 0)
            base_give_role(roles->base, roles->host.roles[i]->name,
                           &held->lock_fd);
    }
}

static enum role_children children_of(const struct role_host *host) {
    enum role_children most = ROLE_NO_CHILDREN;
    for (size_t i = 0; i < host->role_count; i++)
        if (host->roles[i]->children > most)
            most = host->roles[i]->children;
    return most;
}

/* Processes with different roles have guards beside each other. */
static const char *const guard_roles[] = {
    [ROLE_CHECKS] = "check", [ROLE_SCRIPTS] = "script", [ROLE_TASKS] = NULL};

static bool start_worker(struct roles *roles, uv_loop_t *loop,
                         struct err *err) {
    struct base *base = roles->base;
    enum role_children children = children_of(&roles->host);
    if (children == ROLE_NO_CHILDREN)
        return true;
    struct worker_options options = {
        .loop = loop,
        .base = base,
        .base_path = base->path,
        .shard = SPAN(WORKER_LOCAL),
        .base_fd = base->fd,
        .output = roles->output,
        .kinds = &serve_kinds,
        .config = &base->config,
        .guard_role = guard_roles[children],
        .slots = (unsigned)base->config.queue.concurrency,
        .terminal = roles->options.terminal,
        .adopted = roles->options.adopted && roles->options.adopted->has_worker
                       ? &roles->options.adopted->worker
                       : NULL,
        .lost = on_guard_lost,
        .restored = on_guard_restored,
        .lasting = on_lasting,
        .ended = on_ended,
        .foreign = on_foreign,
        .place_file = on_place_file,
        .ctx = roles,
    };
    if (!worker_open(&options, &roles->host.worker, err))
        return false;
    const struct guard *guard = worker_guard(roles->host.worker);
    log_debug("the supervisor has started pid=%d controllers='%s'",
              (int)guard_pid(guard), guard_controllers(guard));
    /* `doctor` reports it too; each run from cron would be a mail. */
    if (children == ROLE_TASKS && roles->options.reports &&
        !guard_has_cgroup(guard))
        log_warning("tasks are tracked by %s", guard_mode(guard));
    if (worker_slots(roles->host.worker) < options.slots)
        log_warning("the limit on open files allows only %u of %u tasks at "
                    "once; raise it (ulimit -n, LimitNOFILE=)",
                    worker_slots(roles->host.worker), options.slots);
    roles->host.checker =
        checker_new(base, worker_guard(roles->host.worker), NULL);
    roles->host.subprocesses = checker_subprocesses(roles->host.checker);
    return true;
}

static bool is_open(const struct roles *roles,
                    const struct role_engine *engine) {
    for (size_t i = 0; i < roles->engine_count; i++)
        if (roles->engines[i].engine == engine)
            return true;
    return false;
}

static bool open_engines(struct roles *roles, struct err *err) {
    for (size_t i = 0; i < roles->host.role_count; i++) {
        const struct role_engine *engine = roles->host.roles[i]->engine;
        void *self = NULL;
        if (is_open(roles, engine))
            continue;
        bool ok = engine->open(&roles->host, &self, err);
        if (self)
            roles->engines[roles->engine_count++] =
                (struct open_engine){engine, self};
        if (!ok)
            return false;
    }
    return true;
}

static bool start_parts(struct roles *roles, uv_loop_t *loop, struct err *err) {
    struct base *base = roles->base;
    return base_run_as_owner(base, err) && take_roles(roles, err) &&
           output_open(base->fd, true, &roles->output, err) &&
           start_worker(roles, loop, err) &&
           projection_open(base, &roles->host.projection, err) &&
           projection_recover(roles->host.projection, clock_wall(), err) &&
           open_engines(roles, err);
}

static void listen_to_triggers(struct roles *roles, uv_loop_t *loop) {
    for (size_t i = 0; i < roles->host.role_count; i++) {
        struct held_role *held = &roles->held[i];
        uv_poll_init(loop, &held->poll, held->fifo_fd);
        held->poll.data = roles;
        held->polls = true;
        uv_poll_start(&held->poll, UV_READABLE, on_fifo);
    }
}

static void set_hooks(struct roles *roles) {
    roles->hooks = (struct api_roles){
        .ctx = roles,
        .checker = roles->host.checker,
        .why = role_is_here(&roles->host, &exec_role) ? hook_why : NULL,
        .why_task =
            role_is_here(&roles->host, &exec_role) ? hook_why_task : NULL,
        .train = role_is_here(&roles->host, &exec_role) ? hook_train : NULL,
        .workers = role_is_here(&roles->host, &exec_role) ? hook_workers : NULL,
        .running = role_is_here(&roles->host, &exec_role) ? hook_running : NULL,
        .usage = roles->host.worker ? hook_usage : NULL,
        .place = roles->host.worker ? hook_place : NULL,
        .trigger = hook_trigger,
        .ready = hook_ready,
        .metrics = hook_metrics,
        .upgrade = roles->options.upgrade ? hook_upgrade : NULL,
        .upgrade_show = roles->options.upgrade ? hook_upgrade_show : NULL,
        .upgrade_give_up = roles->options.upgrade ? hook_upgrade_give_up : NULL,
        .upgrade_waits_for =
            roles->options.upgrade ? hook_upgrade_waits_for : NULL,
    };
}

/* A change that cannot be recorded must not keep the server from working. */
static void record_config(const struct roles *roles) {
    struct err err;
    if (!roles->options.is_host && role_is_here(&roles->host, &exec_role) &&
        !config_record_update(roles->base, clock_wall(), &err))
        log_error("changes of the configuration were not recorded: %s",
                  err.text);
}

static void wake(void *ctx) {
    roles_wake(ctx);
}

bool roles_open(uv_loop_t *loop, const struct roles_options *options,
                struct roles **ret_roles, struct err *err) {
    struct roles *roles = mem_alloc(sizeof(*roles));
    roles->options = *options;
    roles->base = options->base;
    roles->host = (struct role_host){
        .base = options->base,
        .loop = loop,
        .job_limit = options->job_limit,
        .once = options->once,
        .hosts = options->hosts,
        .hosts_ctx = options->ctx,
        .wake = wake,
        .ctx = roles,
    };
    if (options->adopted != NULL) {
        roles->host.adopted = options->adopted->running;
        roles->host.adopted_count = options->adopted->running_count;
    }
    choose_roles(roles);
    uv_async_init(loop, &roles->async, on_async);
    uv_timer_init(loop, &roles->timer);
    roles->async.data = roles->timer.data = roles;
    roles->look = true;
    options->box->async = &roles->async;
    if (!start_parts(roles, loop, err)) {
        if (options->failed)
            options->failed(options->ctx, err);
        roles_close(roles, NULL, NULL);
        return false;
    }
    roles->host.adopted = NULL;
    roles->options.adopted = NULL;
    listen_to_triggers(roles, loop);
    record_config(roles);
    store_listen(roles->base->store, on_event, roles);
    set_hooks(roles);
    roles_wake(roles);
    *ret_roles = roles;
    return true;
}

/* The files may not be in force yet. */
static bool check_files(const struct base *base, struct err *err) {
    struct config fresh;
    if (!base_read_files(base, &fresh, err))
        return false;
    bool ok = target_config_is_apart(&fresh, base->path, err);
    config_clear(&fresh);
    return ok;
}

bool roles_reload(struct roles *roles, struct err *err) {
    if (!check_files(roles->base, err) || !base_reload(roles->base, err)) {
        snprintf(roles->base->refused, sizeof(roles->base->refused), "%s",
                 err->text);
        return false;
    }
    roles->base->refused[0] = '\0';
    record_config(roles);
    if (roles->host.worker)
        worker_configure(roles->host.worker, &roles->base->config);
    for (size_t i = 0; i < roles->engine_count; i++)
        if (roles->engines[i].engine->reload)
            roles->engines[i].engine->reload(roles->engines[i].self);
    roles->poll_at = (struct mono){0};
    roles_wake(roles);
    return true;
}

bool roles_idle(struct roles *roles) {
    if (roles->look || projection_is_due(roles->host.projection))
        return false;
    for (size_t i = 0; i < roles->engine_count; i++)
        if (!roles->engines[i].engine->is_idle(roles->engines[i].self))
            return false;
    return roles->host.scheduler || store_is_idle(roles->base->store);
}

bool roles_used_up(struct roles *roles) {
    return roles->host.scheduler && scheduler_used_up(roles->host.scheduler);
}

void roles_interrupted(struct roles *roles) {
    if (roles->host.worker)
        worker_interrupted(roles->host.worker);
}

/* ---- another program in this process ------------------------------------- */

void roles_settle(struct roles *roles) {
    for (size_t i = 0; i < roles->engine_count; i++)
        if (roles->engines[i].engine->settle)
            roles->engines[i].engine->settle(roles->engines[i].self);
    roles_wake(roles);
}

bool roles_have_settled(const struct roles *roles) {
    for (size_t i = 0; i < roles->engine_count; i++) {
        const struct open_engine *open = &roles->engines[i];
        if (open->engine->has_settled && !open->engine->has_settled(open->self))
            return false;
    }
    return true;
}

void roles_prepare(struct roles *roles) {
    roles->preparing = true;
    for (size_t i = 0; i < roles->engine_count; i++)
        if (roles->engines[i].engine->proceed)
            roles->engines[i].engine->drain(roles->engines[i].self, ROLE_DRAIN);
    roles_wake(roles);
}

void roles_proceed(struct roles *roles) {
    roles->preparing = false;
    if (roles->stopping != GOING)
        return;
    for (size_t i = 0; i < roles->engine_count; i++)
        if (roles->engines[i].engine->proceed)
            roles->engines[i].engine->proceed(roles->engines[i].self);
    roles->look = true;
    roles_wake(roles);
}

bool roles_may_leave(struct roles *roles) {
    for (size_t i = 0; i < roles->engine_count; i++) {
        const struct open_engine *open = &roles->engines[i];
        if (open->engine->may_leave && !open->engine->may_leave(open->self))
            return false;
    }
    return roles->stopping == GOING && store_is_idle(roles->base->store) &&
           (roles->host.checker == NULL ||
            checker_waiting(roles->host.checker) == 0) &&
           (roles->host.worker == NULL || worker_may_leave(roles->host.worker));
}

uint64_t roles_unstarted(const struct roles *roles) {
    return roles->host.worker ? worker_unstarted(roles->host.worker) : 0;
}

bool roles_hand_over(struct roles *roles, struct arena *arena,
                     struct roles_handover *ret_handover, struct err *err) {
    struct roles_handover *to = ret_handover;
    *to = (struct roles_handover){.role_count = roles->host.role_count};
    for (size_t i = 0; i < to->role_count; i++) {
        to->roles[i].name = span_of(roles->host.roles[i]->name);
        to->roles[i].lock_fd = fcntl(roles->held[i].lock_fd, F_DUPFD, 3);
        if (to->roles[i].lock_fd < 0)
            return err_errno(err, errno, "cannot copy a descriptor");
    }
    for (size_t i = 0; i < to->role_count; i++)
        fd_close(&roles->held[i].lock_fd);
    to->has_worker = roles->host.worker != NULL;
    if (to->has_worker)
        worker_hand_over(roles->host.worker, arena, &to->worker);
    if (roles->host.scheduler)
        to->running_count =
            scheduler_list_running(roles->host.scheduler, arena, &to->running);
    return true;
}

/* ---- ending ------------------------------------------------------------- */

void roles_drain(struct roles *roles, enum role_drain how) {
    for (size_t i = 0; i < roles->engine_count; i++)
        if (roles->engines[i].engine->drain)
            roles->engines[i].engine->drain(roles->engines[i].self, how);
}

bool roles_are_drained(const struct roles *roles) {
    for (size_t i = 0; i < roles->engine_count; i++) {
        const struct open_engine *open = &roles->engines[i];
        if (open->engine->is_drained && !open->engine->is_drained(open->self))
            return false;
    }
    return true;
}

void roles_stop(struct roles *roles, int64_t drain_ms) {
    struct mono at = mono_add_ms(clock_mono(), drain_ms);
    if (roles->stopping == RETURNING && drain_ms <= 0)
        roles_drain(roles, ROLE_KILL);
    if (roles->stopping == STOPPED || roles->stopping == RETURNING)
        return;
    if (roles->stopping == GOING || at.ns < roles->stop_at.ns)
        roles->stop_at = at;
    roles->stopping = DRAINING;
    roles_drain(roles, ROLE_DRAIN);
    roles_wake(roles);
}

static void free_roles(struct roles *roles) {
    void (*closed)(void *) = roles->closed;
    void *ctx = roles->closed_ctx;
    roles->news = true; /* the last writes have not triggered other processes
                           yet */
    roles_notify(roles);
    output_close(roles->output);
    give_roles(roles);
    free(roles);
    if (closed)
        closed(ctx);
}

static void on_part_closed(void *ctx) {
    struct roles *roles = ctx;
    if (--roles->open_parts == 0)
        free_roles(roles);
}

static void on_closed(uv_handle_t *handle) {
    on_part_closed(handle->data);
}

static void close_handle(struct roles *roles, uv_handle_t *handle) {
    roles->open_parts++;
    uv_close(handle, on_closed);
}

/* Called after the worker has closed, which until then asks for turns. */
static void close_handles(void *ctx) {
    struct roles *roles = ctx;
    for (size_t i = 0; i < roles->host.role_count; i++)
        if (roles->held[i].polls)
            close_handle(roles, (uv_handle_t *)&roles->held[i].poll);
    close_handle(roles, (uv_handle_t *)&roles->async);
    close_handle(roles, (uv_handle_t *)&roles->timer);
    on_part_closed(roles);
}

/* In the reverse order of opening: the scheduler waits for everything under
 * way in the store, and what it may still call is there. */
static void close_engines(struct roles *roles) {
    while (roles->engine_count > 0) {
        struct open_engine *open = &roles->engines[--roles->engine_count];
        roles->open_parts++;
        open->engine->close(open->self, on_part_closed, roles);
    }
}

void roles_close(struct roles *roles, void (*closed)(void *ctx), void *ctx) {
    roles->closing = true;
    roles->closed = closed;
    roles->closed_ctx = ctx;
    roles->options.box->async = NULL;
    roles->options.turned = NULL;
    store_unlisten(roles->base->store, on_event, roles);
    roles->open_parts = 1; /* until close_handles */
    close_engines(roles);
    checker_free(roles->host.checker);
    projection_close(roles->host.projection);
    roles->host.checker = NULL;
    roles->host.projection = NULL;
    if (roles->host.worker)
        worker_close(roles->host.worker, close_handles, roles);
    else
        close_handles(roles);
}
