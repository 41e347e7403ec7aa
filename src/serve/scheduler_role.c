#include "serve/scheduler_role.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "lib/log.h"
#include "os/clock.h"
#include "os/lock.h"
#include "os/sum.h"
#include "base/base.h"
#include "changes/approvals.h"
#include "changes/prune.h"
#include "landing/branch_tip.h"
#include "nodes/standing_feed.h"
#include "scheduler/scheduler.h"
#include "scheduler/train_metrics.h"
#include "scheduler/worker_table.h"
#include "worker/worker.h"

enum { PRUNE_EVERY_MS = 3600 * 1000 };

struct scheduler_engine {
    struct role_host *host;
    struct scheduler *scheduler;
    struct standing_feed *feed;
    struct mono prune_at;
};

/* For a role without a worker: nothing is ever started. */
static void nothing_to_flush(void *ctx) {
    (void)ctx;
}

/* ---- merge trains -------------------------------------------------------- */

static struct train_config train_of(const struct config_target *target) {
    return (struct train_config){
        .checks = target->check_count > 0,
        .lanes = (unsigned)target->lanes,
        .interrupt = config_target_interrupt(target),
        .follow = target->follow == 1,
        .land_max = (unsigned)target->land_max,
        .check_retries = (unsigned)target->check_retries,
        .remember = (enum train_remember)target->remember,
        .remember_for_ms = target->remember_for_s * 1000,
        .volatile_check = target->is_volatile.count > 0,
    };
}

/* What checks may depend on besides the tree. Their PATH, LANG and TZ are fixed
 * by the program. */
static struct train_key key_of(const struct config_target *target,
                               struct arena *arena) {
    struct train_check *checks =
        arena_alloc(arena, (target->check_count + 1) * sizeof(*checks));
    struct utsname machine;
    struct train_key key = {.target = target->name,
                            .checks = checks,
                            .check_count = target->check_count,
                            .user = target->user};
    for (size_t i = 0; i < target->check_count; i++) {
        struct span *command = arena_alloc(arena, sizeof(*command));
        *command = target->checks[i].command.text;
        checks[i] = (struct train_check){target->checks[i].name, command, 1};
    }
    if (uname(&machine) == 0) {
        key.kernel = arena_span(arena, span_of(machine.release));
        key.machine = arena_span(arena, span_of(machine.nodename));
    }
    return key;
}

static bool read_tip(void *ctx, struct span name,
                     char ret_commit[TRAIN_TREE_BYTES]) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct base *base = ctx;
    const struct config_target *target = config_target(&base->config, name);
    if (target == NULL ||
        !branch_tip_read(base_resolve(base->path, target->git, &arena),
                         target->branch, ret_commit))
        return false;
    if (ret_commit[0] == '\0')
        memcpy(ret_commit, "none", sizeof("none"));
    return true;
}

static bool read_approvers(void *ctx, struct store *store, uint64_t num,
                           struct wall now, struct arena *arena,
                           const struct span **ret_actors, size_t *ret_count,
                           struct err *err) {
    return approvals_counted(ctx, store, num, now, arena, ret_actors, ret_count,
                             err);
}

static void make_options(const struct scheduler_engine *engine,
                         struct arena *arena, struct scheduler_options *ret) {
    const struct role_host *host = engine->host;
    const struct config *config = &host->base->config;
    struct scheduler_target *targets =
        arena_alloc(arena, (config->target_count + 1) * sizeof(*targets));
    for (size_t i = 0; i < config->target_count; i++)
        targets[i] = (struct scheduler_target){
            .name = config->targets[i].name,
            .lanes = (unsigned)config->targets[i].lanes,
            .by_command = config->targets[i].command.count > 0,
            .train = train_of(&config->targets[i]),
            .key = key_of(&config->targets[i], arena),
            .environment = config->targets[i].environment.text,
        };
    bool exec = role_is_here(host, &exec_role);
    bool queue = role_is_here(host, &queue_role);
    const char *actor = exec && queue ? "scheduler"
                        : exec        ? exec_role.name
                                      : queue_role.name;
    *ret = (struct scheduler_options){
        .parts =
            (queue ? SCHEDULER_STAGES : 0u) | (exec ? SCHEDULER_STARTS : 0u),
        .slots = host->worker != NULL ? worker_slots(host->worker)
                                      : (unsigned)config->queue.concurrency,
        .max_temp = (unsigned)config->queue.max_temp,
        .max_crash = (unsigned)config->queue.max_crash,
        .wait_for_dep_ms = config->queue.wait_for_dep_s * 1000,
        .age_step_ms = config->queue.age_step_s * 1000,
        .rollback_max = (unsigned)config->queue.rollback_max,
        .rollback_files = config->queue.closure == CLOSURE_DEPS_FILES,
        .hup_grace_ms = config->queue.hup_grace_s * 1000,
        .job_limit = host->job_limit,
        .hosts = host->hosts,
        .hosts_ctx = host->hosts_ctx,
        .seed = clock_seed(),
        .actor = span_of(arena_printf(arena, "daemon:%s", actor)),
        .worker = SPAN(WORKER_LOCAL),
        .targets = targets,
        .target_count = config->target_count,
        .read_tip = read_tip,
        .approvers = read_approvers,
        .ctx = host->base,
        .nodes = standing_feed_of(engine->feed),
        .sum = sum_bytes,
    };
}

static bool engine_open(struct role_host *host, void **ret_self,
                        struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct scheduler_engine *engine = mem_alloc(sizeof(*engine));
    struct scheduler_options options;
    struct runner runner = {.flush = nothing_to_flush};
    bool exec = role_is_here(host, &exec_role);
    if (exec)
        worker_runner(host->worker, &runner);
    engine->host = host;
    engine->feed = standing_feed_new(&host->base->config);
    make_options(engine, &arena, &options);
    engine->scheduler = host->scheduler =
        scheduler_new(host->base->store, &options, &runner);
    if (exec && host->adopted != NULL)
        scheduler_adopt(engine->scheduler, host->adopted, host->adopted_count);
    *ret_self = engine; /* set also after an error, because it listens to the
                           store */
    /* The supervisor is ready: no process of an earlier life is left (P6). */
    return scheduler_start(engine->scheduler, clock_wall(), exec, err);
}

static void engine_reload(void *self) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct scheduler_engine *engine = self;
    struct scheduler_options options;
    make_options(engine, &arena, &options);
    scheduler_configure(engine->scheduler, &options);
}

static void prune_now_and_then(struct scheduler_engine *engine,
                               struct wall now) {
    struct prune_report report;
    struct err err;
    struct mono at = clock_mono();
    if (at.ns < engine->prune_at.ns || !role_is_here(engine->host, &exec_role))
        return;
    engine->prune_at = mono_add_ms(at, PRUNE_EVERY_MS);
    if (!prune(engine->host->base, now, &report, &err))
        log_error("cannot archive old jobs: %s", err.text);
}

static bool another_stages(const struct role_host *host) {
    char lock[64];
    bool held = false;
    snprintf(lock, sizeof(lock), BASE_ROLE_LOCK, queue_role.name);
    return !role_is_here(host, &queue_role) &&
           lock_is_held(host->base->dirs[BASE_CTRL], lock, &held, NULL) && held;
}

static void engine_set_back(void *self, struct wall now, int64_t ms) {
    struct scheduler_engine *engine = self;
    scheduler_set_back(engine->scheduler, now, ms);
}

static bool engine_turn(void *self, const struct role_turn *turn,
                        struct wall *ret_next, struct err *err) {
    struct scheduler_engine *engine = self;
    prune_now_and_then(engine, turn->now);
    scheduler_await_rollback(engine->scheduler, engine->host->awaits_rollback);
    scheduler_follow(engine->scheduler, another_stages(engine->host));
    return scheduler_turn(engine->scheduler, turn->now, ret_next, err);
}

static bool engine_is_idle(const void *self) {
    const struct scheduler_engine *engine = self;
    return scheduler_idle(engine->scheduler);
}

static void engine_drain(void *self, enum role_drain how) {
    struct scheduler_engine *engine = self;
    if (how == ROLE_DRAIN)
        scheduler_drain(engine->scheduler);
    else
        scheduler_return(engine->scheduler, how == ROLE_KILL);
}

static void engine_settle(void *self) {
    struct scheduler_engine *engine = self;
    scheduler_settle(engine->scheduler);
}

static bool engine_has_settled(const void *self) {
    const struct scheduler_engine *engine = self;
    return scheduler_has_settled(engine->scheduler);
}

static void engine_proceed(void *self) {
    struct scheduler_engine *engine = self;
    scheduler_proceed(engine->scheduler);
}

static bool engine_may_leave(const void *self) {
    const struct scheduler_engine *engine = self;
    return scheduler_may_leave(engine->scheduler);
}

static void engine_metrics(const void *self, struct text *out) {
    const struct scheduler_engine *engine = self;
    text_addf(out, "# TYPE pointsman_running gauge\npointsman_running %u\n",
              scheduler_running(engine->scheduler));
    train_metrics_format(engine->scheduler, out);
}

/* Nothing calls the engine after it is closed. */
static void engine_close(void *self, void (*closed)(void *ctx), void *ctx) {
    struct scheduler_engine *engine = self;
    struct err err;
    scheduler_dismiss(engine->scheduler);
    if (!store_drain(engine->host->base->store, &err))
        log_error("the last decisions may not be recorded: %s", err.text);
    scheduler_free(engine->scheduler);
    standing_feed_free(engine->feed);
    engine->host->scheduler = NULL;
    free(engine);
    closed(ctx);
}

static const struct role_engine scheduler_engine = {
    .open = engine_open,
    .reload = engine_reload,
    .set_back = engine_set_back,
    .turn = engine_turn,
    .is_idle = engine_is_idle,
    .drain = engine_drain,
    .settle = engine_settle,
    .has_settled = engine_has_settled,
    .proceed = engine_proceed,
    .may_leave = engine_may_leave,
    .is_drained = engine_is_idle,
    .metrics = engine_metrics,
    .close = engine_close,
};

const struct role queue_role = {
    .name = "queue",
    .help = "orders work",
    .engine = &scheduler_engine,
    .states = 1u << STATE_QUEUED | 1u << STATE_STAGED,
    .reads_registry = true,
    .is_hosted = true,
};

const struct role exec_role = {
    .name = "exec",
    .help = "runs work",
    .engine = &scheduler_engine,
    .children = ROLE_TASKS,
    .states = 1u << STATE_PENDING,
    .reads_registry = true,
    .is_hosted = true,
};
