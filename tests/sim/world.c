#include "sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/sum.h"
#include "scheduler/check_result.h"
#include "store/simulated.h"

/* Prints the events in the registry if --trace is given. */
static void show_history(const struct world *world) {
    struct arena arena = ARENA_INIT;
    struct store_event *events;
    size_t count;
    if (!world->trace || !store_events(world->store, 0, 0, 100000, &arena,
                                       &events, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++)
        printf("# %6" PRIu64 " %.*s %c%c %.*s %.*s\n", events[i].seq,
               (int)events[i].id.len, events[i].id.p,
               job_state_letter(events[i].from), job_state_letter(events[i].to),
               (int)events[i].reason.len, events[i].reason.p,
               (int)events[i].detail.len, events[i].detail.p);
    arena_clear(&arena);
}

void world_fail(const struct world *world, const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("# sim --seed %" PRIu64 ": ", world->seed);
    vprintf(format, args);
    printf("\n");
    fflush(stdout);
    va_end(args);
    show_history(world);
    fflush(stdout);
    abort();
}

bool world_chance(struct world *world, unsigned percent) {
    return random_below(&world->random, 100) < percent;
}

uint64_t world_draw(struct world *world, uint64_t below) {
    return random_below(&world->random, below);
}

void world_trace(const struct world *world, const char *format, ...) {
    if (!world->trace)
        return;
    va_list args;
    va_start(args, format);
    printf("# %10.3f ", (double)world->now.ns / 1e9);
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

struct ghost *world_ghost(struct world *world, struct span id) {
    return map_get(&world->ghosts, id);
}

/* ---- start and crash ---------------------------------------------------- */

static void open_scheduler(struct world *world, bool recover) {
    struct scheduler_target target = {
        .name = SPAN("main"),
        .lanes = world->lanes,
        .train = {.checks = world->seed % 7 != 0,
                  .lanes = world->lanes,
                  .interrupt = 1u << CLASS_EM,
                  .follow = world->follow,
                  .land_max = world->seed % 14 == 0 ? 1 : WORLD_GROUPS,
                  .check_retries = world->seed % 5 == 0,
                  .remember =
                      world->sqlite ? TRAIN_REMEMBER_SET : TRAIN_REMEMBER_OFF}};
    struct scheduler_options options = {
        .parts = SCHEDULER_STARTS | (world->apart ? 0 : SCHEDULER_STAGES),
        .slots = WORLD_SLOTS,
        .max_temp = WORLD_MAX_TEMP,
        .max_crash = 3,
        .wait_for_dep_ms = 60000,
        .rollback_max = 12,
        .rollback_files = world->seed % 3 == 0,
        .hup_grace_ms = 3000,
        .seed = random_below(&world->random, UINT64_MAX),
        .actor = SPAN("daemon:sim"),
        .worker = SPAN("local"),
        .targets = &target,
        .target_count = 1,
        .read_tip = world_read_tip,
        .ctx = world,
        .sum = sum_bytes,
    };
    struct runner runner = world_runner(world);
    struct err err;
    world->scheduler = scheduler_new(world->store, &options, &runner);
    if (!scheduler_start(world->scheduler, world->now, recover, &err))
        world_fail(world, "cannot start: %s", err.text);
    scheduler_follow(world->scheduler, world->apart);
    if (!world->apart)
        return;
    options.parts = SCHEDULER_STAGES;
    world->queue = scheduler_new(world->store, &options, &runner);
    if (!scheduler_start(world->queue, world->now, false, &err))
        world_fail(world, "cannot start: %s", err.text);
}

void world_open(struct world *world, uint64_t seed,
                const struct world_options *options) {
    *world = (struct world){
        .seed = seed,
        .trace = options->trace,
        .lanes = options->lanes > 0 ? options->lanes : 1 + (unsigned)(seed % 3),
        .follow = seed % 4 != 0,
        .others_write = !options->alone,
        .grouped = !options->ungrouped,
        .rollback_percent = options->rollbacks,
        .apart = options->apart,
        .sqlite = options->sqlite,
    };
    random_init(&world->random, seed);
    world->now = wall_from_s(1000000);
    static const struct store_noun *const nouns[] = {&check_result_noun};
    store_nouns_use(nouns, COUNT(nouns));
    world->store = options->sqlite ? store_new_sqlite() : store_memory_new();
    store_listen(world->store, judge_event, world);
    list_init(&world->processes);
    world_branch_open(world);
    open_scheduler(world, false);
}

void world_close(struct world *world) {
    size_t cursor = 0;
    void *value;
    scheduler_free(world->scheduler);
    scheduler_free(world->queue);
    store_close(world->store);
    while (map_next(&world->ghosts, &cursor, NULL, &value)) {
        free(((struct ghost *)value)->reverted);
        free(value);
    }
    map_clear(&world->ghosts);
    world_branch_close(world);
}

void world_crash(struct world *world) {
    world_trace(world, "CRASH");
    world->crashes++;
    world_kill_all(world);
    store_memory_crash(world->store);
    scheduler_free(world->scheduler);
    scheduler_free(world->queue);
    judge_restart(world);
    open_scheduler(world, true);
}

void world_set_back(struct world *world) {
    int64_t ms = 1 + (int64_t)random_below(&world->random, 3600 * 1000);
    world_settle(world); /* the judge knows all back-offs */
    world_trace(world, "CLOCK SET BACK by %lld ms", (long long)ms);
    world->now = wall_add_ms(world->now, -ms);
    world->set_back_ms += ms;
    world_ends_set_back(world, ms);
    if (world_chance(world, 30)) {
        world_crash(world);
        return;
    }
    scheduler_set_back(world->scheduler, world->now, ms);
    if (world->queue)
        scheduler_set_back(world->queue, world->now, ms);
}

static bool any_set_runs(const struct world *world) {
    LIST_EACH (&((struct world *)(uintptr_t)world)->processes, link)
        if (LIST_OF(link, struct process, link)->change)
            return true;
    return false;
}

void world_rest_sets(struct world *world) {
    unsigned crashes = world->crashes;
    bool had_settled = false;
    world_trace(world, "SETS REST");
    scheduler_settle(world->scheduler);
    for (unsigned i = 0; i < 10 && world->crashes == crashes; i++) {
        world_pass(world, 2000);
        if (world->crashes != crashes)
            return; /* after a crash nothing rests */
        bool has_settled = scheduler_has_settled(world->scheduler);
        if (has_settled && any_set_runs(world))
            world_fail(world, "a set runs although all of them rest");
        if (had_settled && !has_settled)
            world_fail(world, "a set started although all of them rest");
        had_settled = has_settled;
    }
    scheduler_proceed(world->scheduler);
}

/* ---- time --------------------------------------------------------------- */

static struct wall settle_once(struct world *world) {
    struct wall next;
    struct err err;
    store_turn(world->store);
    if (!scheduler_turn(world->scheduler, world->now, &next, &err))
        world_fail(world, "the scheduler fails: %s", err.text);
    if (world->queue) {
        struct wall other;
        if (!scheduler_turn(world->queue, world->now, &other, &err))
            world_fail(world, "the queue fails: %s", err.text);
        if (other.ns < next.ns)
            next = other;
    }
    world_interfere(world);
    world_begin_waiting(world);
    return next;
}

void world_settle(struct world *world) {
    for (unsigned i = 0; i < 10000; i++) {
        /* A crash may happen anywhere, even between decision and commit. */
        if (!world->calm && random_below(&world->random, 2000) == 0)
            world_crash(world);
        settle_once(world);
        if (!world_end_due(world) && store_is_idle(world->store) && i > 2) {
            settle_once(world);
            if (store_is_idle(world->store)) {
                judge_settled(world);
                return;
            }
        }
    }
    world_fail(world, "the world does not become idle");
}

void world_pass(struct world *world, int64_t most_ms) {
    struct wall limit = wall_add_ms(world->now, most_ms);
    struct wall next = settle_once(world);
    struct wall end = world_next_end(world);
    if (end.ns < next.ns)
        next = end;
    world->now = next.ns < limit.ns && next.ns > world->now.ns ? next : limit;
    world_settle(world);
}

static struct store_tally count_jobs(struct world *world) {
    struct store_tally tally;
    struct err err;
    if (!store_count(world->store, &tally, &err))
        world_fail(world, "cannot count: %s", err.text);
    return tally;
}

static bool any_job_is_live(struct world *world) {
    struct store_tally tally = count_jobs(world);
    return tally.count[STATE_QUEUED] + tally.count[STATE_STAGED] +
               tally.count[STATE_PENDING] + tally.count[STATE_EXECUTING] >
           0;
}

static void calm_down(struct world *world) {
    if (count_jobs(world).held > 0)
        world_release_all(world);
    world_end_endless(world);
    /* If the branch is broken, and each set alone too, somebody repairs it. */
    if (world_chance(world, 20))
        world_push(world);
}

bool world_drain(struct world *world) {
    world->calm = true;
    world_settle(world); /* finish what is under way */
    for (unsigned i = 0; i < 20000 && any_job_is_live(world); i++) {
        calm_down(world); /* also jobs that a rollback has just restored */
        world_settle(world);
        world_pass(world, 3600000);
    }
    world_pass(world, 3600000); /* a merge may still be under way */
    return !any_job_is_live(world);
}
