#include "sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "wire/set_name.h"
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

static bool chance(struct world *world, unsigned percent) {
    return random_below(&world->random, 100) < percent;
}

static uint64_t draw(struct world *world, uint64_t below) {
    return random_below(&world->random, below);
}

static void trace(const struct world *world, const char *format, ...)
    PRINTF_LIKE(2, 3);
static void trace(const struct world *world, const char *format, ...) {
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

/* ---- processes ---------------------------------------------------------- */

static enum fate draw_fate(struct world *world, bool change) {
    uint64_t n = draw(world, 100);
    if (world->calm)
        return n < 80 ? FATE_DONE : n < 90 ? FATE_TEMPORARY : FATE_FAILS;
    if (n < 60)
        return FATE_DONE;
    if (n < 70)
        return change ? FATE_CONFLICT : FATE_FAILS;
    if (n < 82)
        return FATE_TEMPORARY;
    if (n < 90)
        return FATE_SIGNAL;
    return n < 96 ? FATE_FOREVER : FATE_CANNOT;
}

static size_t running(const struct world *world) {
    size_t count = 0;
    LIST_EACH (&((struct world *)(uintptr_t)world)->processes, link)
        count += LIST_OF(link, struct process, link)->running &&
                 LIST_OF(link, struct process, link)->revert_count == 0;
    return count;
}

static void process_begin(struct world *world, struct process *process) {
    process->running = true;
    /* In every other world, most tasks are short, so that more tasks than slots
     * are assigned. */
    int64_t most_ms = world->seed % 2 && chance(world, 80) ? 5 : 5000;
    process->ends =
        wall_add_ms(world->now, (int64_t)draw(world, (uint64_t)most_ms) + 1);
    if (process->fate == FATE_FOREVER)
        process->ends = WALL_NEVER;
    if (process->change && !process->probe && process->fate == FATE_DONE)
        process->lands = wall_add_ms(
            world->now, wall_ms_since(process->ends, world->now) * 3 / 4);
    trace(world, "begin %s attempt=%u task=%" PRIu64 " fate=%d%s", process->id,
          process->attempt, process->task, process->fate,
          process->probe ? " probe" : "");
    judge_start(world, process);
    if (!process->probe && chance(world, 50))
        (void)scheduler_lasting(world->scheduler, process->handle);
}

/* Like the guard, starts no more processes than there are slots, in order. */
static void begin_waiting(struct world *world) {
    LIST_EACH (&world->processes, link) {
        struct process *process = LIST_OF(link, struct process, link);
        if (process->running || process->killed)
            continue;
        if (process->probe || process->revert_count > 0 ||
            running(world) < WORLD_SLOTS)
            process_begin(world, process);
    }
}

static void runner_start(void *ctx, const struct run_start *order) {
    struct world *world = ctx;
    struct process *process = mem_alloc(sizeof(*process));
    process->handle = order->handle;
    process->num = order->job->num;
    process->task = order->task;
    process->attempt = order->attempt;
    process->probe = order->probe;
    process->change = order->job->kind == JOB_CHANGE;
    if (order->set_count > WORLD_GROUPS)
        world_fail(world, "%zu sets at once", order->set_count);
    for (size_t i = 0; i < order->set_count; i++)
        process->sets[process->set_count++] =
            world_ghost(world, order->sets[i].job->id);
    if (process->set_count == 0)
        process->sets[process->set_count++] =
            world_ghost(world, order->job->id);
    process->fate =
        order->probe ? FATE_DONE : draw_fate(world, process->change);
    snprintf(process->id, sizeof(process->id), "%.*s", (int)order->job->id.len,
             order->job->id.p);
    world_revert_begins(world, process, order);
    list_push(&world->processes, &process->link);
}

static void runner_stop(void *ctx, uint64_t handle, enum run_stop how) {
    struct world *world = ctx;
    LIST_EACH (&world->processes, link) {
        struct process *process = LIST_OF(link, struct process, link);
        if (process->handle != handle)
            continue;
        if (how == RUN_STOP_WITHDRAW && process->running)
            continue;
        process->killed = true;
        int64_t grace_ms = how == RUN_STOP_KILL || !process->running
                               ? 0
                               : (int64_t)draw(world, 2000);
        /* Some ignore SIGHUP. */
        if (how == RUN_STOP_HUP && process->running && chance(world, 10))
            grace_ms = 60000;
        struct wall at = wall_add_ms(world->now, grace_ms);
        if (!process->running || at.ns < process->ends.ns)
            process->ends = at;
    }
}

static void runner_flush(void *ctx) {
    (void)ctx;
}

static struct run_sync runner_write_outputs(void *ctx) {
    (void)ctx;
    return (struct run_sync){.fd = -1};
}

static void runner_release(void *ctx, uint64_t handle) {
    (void)ctx;
    (void)handle;
}

static struct span status_of(struct world *world,
                             const struct process *process) {
    static char status[120];
    struct ghost *ghost = world_ghost(world, span_of(process->id));
    if (process->probe)
        return ghost->landings > 0 ? SPAN("landed abc") : SPAN("not-landed");
    if (!process->change || process->fate == FATE_SIGNAL)
        return (struct span){0};
    if (process->landed)
        return SPAN("done abc");
    if (process->revert_count > 0 && !process->killed)
        return world_revert_status(process);
    if (process->killed)
        return SPAN("stopped");
    switch (process->fate) {
    case FATE_DONE:
        return ghost->landings > 0 ? SPAN("already-landed abc")
                                   : SPAN("done abc");
    case FATE_CONFLICT:
    case FATE_FAILS:
        if (process->set_count == 1 || process->attempt % 2)
            return SPAN("conflict src/a.c");
        snprintf(status, sizeof(status), "conflict %s: src/a.c",
                 process->sets[process->set_count - 1]->id);
        return span_of(status);
    case FATE_TEMPORARY:
        return process->handle % 2 == 0
                   ? SPAN("temporary the repository is busy")
                   : SPAN("unavailable there is no git repository");
    case FATE_SIGNAL:
    case FATE_FOREVER:
    case FATE_CANNOT:
    default:
        return (struct span){0};
    }
}

static void process_end(struct world *world, struct process *process) {
    struct run_end end = {
        .handle = process->handle,
        .started = world->now,
        .ended = world->now,
        .exit_code = 0,
        .status = status_of(world, process),
    };
    if (!process->running)
        end.result = 104;
    else if (process->fate == FATE_CANNOT && !process->killed)
        end.result = 100;
    else if (process->killed && !process->landed && !process->probe)
        end.exit_code = -1, end.signal = 15;
    else if (process->fate == FATE_SIGNAL)
        end.exit_code = -1, end.signal = 11;
    else if (process->fate == FATE_FAILS)
        end.exit_code = 3;
    else if (process->fate == FATE_TEMPORARY)
        end.exit_code = 75;
    if (end.result != 0)
        end.exit_code = -1, end.status = (struct span){0};
    if (process->running && !process->probe)
        for (size_t i = 0; i < process->set_count; i++)
            process->sets[i]->live--;
    trace(world, "end   %s attempt=%u result=%d exit=%d signal=%d %.*s",
          process->id, process->attempt, end.result, end.exit_code, end.signal,
          (int)end.status.len, end.status.p ? end.status.p : "");
    list_remove(&process->link);
    scheduler_ended(world->scheduler, &end);
    free(process->reverts);
    free(process);
}

static void process_land(struct world *world, struct process *process) {
    unsigned before = 0;
    if (process->killed && chance(world, 50))
        return; /* stopped just before the ref moved */
    for (size_t i = 0; i < process->set_count; i++)
        before += process->sets[i]->landings;
    if (before != 0 && before != process->set_count)
        world_fail(world, "%u of the %zu sets of %s are landed", before,
                   process->set_count, process->id);
    if (before != 0)
        return;
    for (size_t i = 0; i < process->set_count; i++) {
        process->sets[i]->landings++;
        process->sets[i]->effect = true;
    }
    process->landed = true;
    world_revert_lands(world, process);
    trace(world, "land  %s and %zu more", process->id, process->set_count - 1);
}

static bool end_due(struct world *world) {
    LIST_EACH (&world->processes, link) {
        struct process *process = LIST_OF(link, struct process, link);
        if (process->running && process->lands.ns > 0 &&
            process->lands.ns <= world->now.ns) {
            process->lands.ns = 0;
            process_land(world, process);
        }
        bool withdrawn = !process->running && process->killed;
        if (withdrawn ||
            (process->running && process->ends.ns <= world->now.ns)) {
            process_end(world, process);
            return true;
        }
    }
    return false;
}

/* ---- start and crash ---------------------------------------------------- */

static void open_scheduler(struct world *world, bool recover) {
    struct scheduler_target target = {.name = SPAN("main"),
                                      .lanes = world->lanes};
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
    };
    struct runner runner = {
        .ctx = world,
        .start = runner_start,
        .stop = runner_stop,
        .flush = runner_flush,
        .write_outputs = runner_write_outputs,
        .release = runner_release,
    };
    struct err err;
    world->scheduler = scheduler_new(world->store, &options, &runner);
    if (!scheduler_start(world->scheduler, world->now, recover, &err))
        world_fail(world, "cannot start: %s", err.text);
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
        .others_write = !options->alone,
        .grouped = !options->ungrouped,
        .rollback_percent = options->rollbacks,
        .apart = options->apart,
    };
    random_init(&world->random, seed);
    world->now = wall_from_s(1000000);
    world->store = options->sqlite ? store_new_sqlite() : store_memory_new();
    list_init(&world->processes);
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
}

/* The whole process is killed with kill -9: the guard kills every task,
 * everything uncommitted is lost, and a new process recovers. */
static void crash(struct world *world) {
    trace(world, "CRASH");
    world->crashes++;
    while (!list_empty(&world->processes)) {
        struct process *process =
            LIST_OF(world->processes.next, struct process, link);
        for (size_t i = 0;
             process->running && !process->probe && i < process->set_count; i++)
            process->sets[i]->live--;
        list_remove(&process->link);
        free(process->reverts);
        free(process);
    }
    store_memory_crash(world->store);
    scheduler_free(world->scheduler);
    scheduler_free(world->queue);
    open_scheduler(world, true);
}

/* ---- actions ------------------------------------------------------------ */

static struct job *pick_job(struct world *world, struct arena *arena,
                            unsigned states) {
    struct store_list list = {.states = states, .limit = 1000};
    struct job *jobs;
    size_t count;
    struct err err;
    if (!store_jobs(world->store, &list, arena, &jobs, &count, &err))
        world_fail(world, "cannot list: %s", err.text);
    return count ? &jobs[draw(world, count)] : NULL;
}

static void on_admitted(void *ctx, struct store_batch *batch, bool ok,
                        const struct err *err) {
    struct ghost *ghost = ctx;
    (void)err;
    if (ok && store_batch_result(batch, 0) == STORE_DONE) {
        ghost->acknowledged = true;
        ghost->num = store_batch_num(batch, 0);
    }
}

struct ghost *world_ghost_new(struct world *world, const char *prefix) {
    struct ghost *ghost = mem_alloc(sizeof(*ghost));
    snprintf(ghost->id, sizeof(ghost->id), "%s%u", prefix, ++world->submitted);
    map_put(&world->ghosts, span_of(ghost->id), ghost);
    return ghost;
}

static size_t draw_touches(struct world *world, struct ghost *ghost,
                           struct job_touch *touches) {
    static const char *const paths[WORLD_PATHS] = {"a",   "b", "c/d",
                                                   "c/e", "c", "f"};
    size_t count = 0;
    for (unsigned i = 0; i < WORLD_PATHS; i++)
        if (chance(world, 30)) {
            ghost->paths |= 1u << i;
            touches[count++].path = span_of(paths[i]);
        }
    if (count == 0) {
        ghost->paths |= 1;
        touches[count++].path = span_of(paths[0]);
    }
    return count;
}

static size_t draw_edges(struct world *world, struct ghost *ghost,
                         struct job_edge *edges) {
    /* If there are many rollbacks, many sets must have dependents. */
    struct ghost *on = world->rollback_percent > 0 && chance(world, 60)
                           ? world_pick_set(world)
                           : NULL;
    if (on && on != ghost && !on->rollback && !on->group[0]) {
        snprintf(ghost->after, sizeof(ghost->after), "%s", on->id);
        edges[0] = (struct job_edge){EDGE_DEPENDENCY, span_of(ghost->after)};
        return 1;
    }
    if (world->submitted < 3 || !chance(world, 30))
        return 0;
    /* Mostly one of the last few sets, sometimes one that arrives later. */
    uint64_t back = draw(world, 4);
    unsigned at = chance(world, 15) ? world->submitted + 1
                                    : world->submitted - 1 - (unsigned)back;
    if (at == 0 || at >= world->submitted + 2)
        return 0;
    snprintf(ghost->after, sizeof(ghost->after), "%s%u", at % 2 ? "c" : "j",
             at);
    if (strcmp(ghost->after, ghost->id) == 0) {
        ghost->after[0] = '\0';
        return 0;
    }
    edges[0] = (struct job_edge){EDGE_DEPENDENCY, span_of(ghost->after)};
    return 1;
}

void world_admit(struct world *world, struct ghost *ghost, struct job *job,
                 const struct job_edge *edges, size_t edge_count,
                 const struct job_touch *touches, size_t touch_count,
                 const struct span *nodes, size_t node_count) {
    unsigned char key[SET_KEY_BYTES];
    struct set_name name = {
        .csid = span_of(ghost->id),
        .tai = world->now,
        .pid = 1,
        .host = SPAN("sim"),
        .class = (enum set_class)job->job_class,
        .sub_priority = SET_SUB_PRIORITY,
    };
    job->key = span_make(key, set_key(&name, key));
    job->rank = job->key;
    job->id = span_of(ghost->id);
    job->sum = span_of(ghost->id);
    job->admitted = job->since = world->now;
    job->actor = SPAN("uid:0");
    job->has_relations = edge_count + touch_count > 0;
    job->state = job->has_relations ? STATE_QUEUED : STATE_PENDING;
    struct store_batch *batch = store_batch_new(world->store);
    store_batch_actor(batch, world->now, SPAN("uid:0"));
    store_admit(batch, job, edges, edge_count, touches, touch_count, nodes,
                node_count);
    trace(world, "admit %s paths=%x after=%s group=%s %u", ghost->id,
          ghost->paths, ghost->after, ghost->group, ghost->want);
    store_submit(batch, on_admitted, ghost);
}

/* Sets of one group mostly follow each other; sometimes another set comes in
 * between. */
static void draw_group(struct world *world, struct ghost *ghost) {
    if (!world->grouped)
        return;
    if (world->group_left == 0) {
        if (!chance(world, 20))
            return;
        world->groups++;
        world->group_left = 2 + (unsigned)draw(world, 2);
        world->group_want = chance(world, 75) ? world->group_left : 0;
    } else if (chance(world, 20)) {
        return;
    }
    world->group_left--;
    ghost->want = world->group_want;
    snprintf(ghost->group, sizeof(ghost->group), "g%u", world->groups);
}

static void submit_change(struct world *world) {
    struct job_touch touches[WORLD_PATHS] = {0};
    struct job_edge edges[2];
    struct ghost *ghost = world_ghost_new(world, "c");
    ghost->change = true;
    size_t edge_count = draw_edges(world, ghost, edges);
    size_t touch_count = draw_touches(world, ghost, touches);
    draw_group(world, ghost);
    if (ghost->group[0] != '\0')
        edges[edge_count++] =
            (struct job_edge){EDGE_GROUP, span_of(ghost->group)};
    struct job job = {
        .kind = JOB_CHANGE,
        .spec = SPAN("{}"),
        .group_size = ghost->want,
        .job_class = (enum job_class)(1 + draw(world, 3)),
        .target = SPAN("main"),
        .name = span_of(ghost->id),
        .cause = SPAN("person"),
    };
    world_admit(world, ghost, &job, edges, edge_count, touches, touch_count,
                NULL, 0);
}

static void submit_command(struct world *world) {
    struct job_edge edges[1];
    struct ghost *ghost = world_ghost_new(world, "j");
    size_t edge_count = draw_edges(world, ghost, edges);
    ghost->at_most_once = chance(world, 15);
    ghost->array = !ghost->at_most_once && chance(world, 20);
    unsigned retries = ghost->at_most_once ? 0 : (unsigned)draw(world, 3);
    static const struct span nodes[] = {SPAN("a"), SPAN("b"), SPAN("c")};
    struct job job = {
        .kind = JOB_COMMAND,
        .job_class = (enum job_class)(1 + draw(world, 3)),
        .spec = SPAN("{\"command\":[\"x\"]}"),
        .retries = retries,
        .flags = (ghost->at_most_once ? JOB_AT_MOST_ONCE : 0u) |
                 (ghost->array ? JOB_ARRAY : 0u),
        .cause = chance(world, 10) ? SPAN("run") : SPAN("person"),
    };
    world_admit(world, ghost, &job, edges, edge_count, NULL, 0, nodes,
                ghost->array ? COUNT(nodes) : 0);
}

static void ignore(void *ctx, struct store_batch *batch, bool ok,
                   const struct err *err) {
    (void)ctx;
    (void)batch;
    (void)ok;
    (void)err;
}

static struct store_batch *batch_of_person(struct world *world) {
    struct store_batch *batch = store_batch_new(world->store);
    store_batch_actor(batch, world->now, SPAN("uid:7"));
    return batch;
}

static void on_cancelled(void *ctx, struct store_batch *batch, bool ok,
                         const struct err *err) {
    struct ghost *ghost = ctx;
    (void)err;
    if (ok && store_batch_result(batch, 0) == STORE_DONE)
        ghost->cancelled = true;
}

static void cancel(struct world *world, const struct job *job) {
    struct store_batch *batch = batch_of_person(world);
    struct ghost *ghost = world_ghost(world, job->id);
    trace(world, "cancel %s", ghost->id);
    if (job->state == STATE_EXECUTING) {
        store_ask_cancel(batch, job->num, false, SPAN(""));
    } else {
        struct store_move move = {.num = job->num,
                                  .from = job->state,
                                  .to = STATE_TERMINATED,
                                  .reason = SPAN("operator")};
        store_move(batch, &move);
    }
    store_submit(batch, on_cancelled, ghost);
}

/* The rollback is cancelled. */
static void cancel_rollback(struct world *world) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list list = {.states = STATE_BIT(STATE_EXECUTING)};
    struct job *jobs;
    size_t count;
    struct err err;
    if (!store_jobs(world->store, &list, &arena, &jobs, &count, &err))
        world_fail(world, "cannot list: %s", err.text);
    for (size_t i = 0; i < count; i++)
        if (jobs[i].job_class == CLASS_RB && !jobs[i].cancel_asked)
            cancel(world, &jobs[i]);
}

static void hold_or_release(struct world *world, const struct job *job) {
    struct store_batch *batch = batch_of_person(world);
    trace(world, "%s %.*s", job->holds ? "release" : "hold", (int)job->id.len,
          job->id.p);
    if (job->holds)
        store_release(batch, job->num, HOLD_OPERATOR, SPAN("operator"));
    else
        store_hold(batch, job->num, HOLD_OPERATOR, SPAN("operator"));
    store_submit(batch, ignore, NULL);
}

static void retry(struct world *world, const struct job *job) {
    struct store_batch *batch = batch_of_person(world);
    if (job->kind == JOB_CHANGE || job->state == STATE_DONE ||
        job->state == STATE_ABANDONED) {
        store_batch_free(batch);
        return;
    }
    trace(world, "retry %.*s", (int)job->id.len, job->id.p);
    struct store_task *tasks;
    size_t count;
    struct err err;
    struct arena *arena = store_batch_arena(batch);
    if (store_tasks(world->store, job->num, arena, &tasks, &count, &err))
        for (size_t i = 0; i < count; i++)
            if (tasks[i].status != TASK_DONE)
                store_task_set(batch, job->num, tasks[i].node, TASK_UNSTARTED,
                               (struct wall){0});
    struct store_move move = {
        .num = job->num,
        .from = job->state,
        .to = job->has_relations ? STATE_QUEUED : STATE_PENDING,
        .reason = SPAN("retry"),
        .clear_counts = true,
    };
    store_move(batch, &move);
    struct ghost *ghost = world_ghost(world, job->id);
    ghost->cancelled = false;
    ghost->starts = 0; /* the retry permits another start */
    store_submit(batch, ignore, NULL);
}

void world_act(struct world *world) {
    struct arena arena = ARENA_INIT;
    uint64_t n = draw(world, 100);
    struct job *job;
    if (n >= 94 ||
        (world->rollback_percent > 0 && chance(world, world->rollback_percent)))
        world_roll_back(world);
    else if (world->rollback_percent > 0 && chance(world, 5))
        cancel_rollback(world);
    else if (n < 30)
        submit_change(world);
    else if (n < 60)
        submit_command(world);
    else if (n < 68 && (job = pick_job(world, &arena, STATES_LIVE)))
        cancel(world, job);
    else if (n < 76 && (job = pick_job(world, &arena, STATES_LIVE)))
        hold_or_release(world, job);
    else if (n < 80 && (job = pick_job(world, &arena, STATES_FINAL)))
        retry(world, job);
    else if (n < 84)
        crash(world);
    else if (n < 88)
        for (int i = 0; i < 15; i++)
            submit_command(world);
    arena_clear(&arena);
}

/* ---- time --------------------------------------------------------------- */

static struct wall next_end(const struct world *world) {
    struct wall next = WALL_NEVER;
    LIST_EACH (&((struct world *)(uintptr_t)world)->processes, link) {
        const struct process *process = LIST_OF(link, struct process, link);
        if (!process->running)
            continue;
        if (process->ends.ns < next.ns)
            next = process->ends;
        if (process->lands.ns > 0 && process->lands.ns < next.ns)
            next = process->lands;
    }
    return next;
}

/* Another process is faster: its write is committed before the scheduler's
 * latest decision. */
static void interfere(struct world *world) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job *job;
    if (!world->others_write || world->calm || store_is_idle(world->store) ||
        !chance(world, 4))
        return;
    uint64_t n = draw(world, 10);
    if (n < 3)
        submit_change(world);
    else if (n < 4)
        submit_command(world);
    else if (!(job = pick_job(world, &arena, STATES_LIVE)))
        return;
    else if (n < 8)
        cancel(world, job);
    else
        hold_or_release(world, job);
    store_memory_overtake(world->store);
}

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
    interfere(world);
    begin_waiting(world);
    return next;
}

void world_settle(struct world *world) {
    for (unsigned i = 0; i < 10000; i++) {
        /* A crash may happen anywhere, even between decision and commit. */
        if (!world->calm && random_below(&world->random, 2000) == 0)
            crash(world);
        settle_once(world);
        if (!end_due(world) && store_is_idle(world->store) && i > 2) {
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
    struct wall end = next_end(world);
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

static void release_all(struct world *world) {
    struct arena arena = ARENA_INIT;
    struct store_list list = {.states = STATES_LIVE, .limit = 100000};
    struct job *jobs;
    size_t count;
    struct err err;
    if (!store_jobs(world->store, &list, &arena, &jobs, &count, &err))
        world_fail(world, "cannot list: %s", err.text);
    for (size_t i = 0; i < count; i++)
        if (jobs[i].holds)
            hold_or_release(world, &jobs[i]);
    arena_clear(&arena);
}

static void calm_down(struct world *world) {
    if (count_jobs(world).held > 0)
        release_all(world);
    LIST_EACH (&world->processes, link) {
        struct process *process = LIST_OF(link, struct process, link);
        if (process->fate != FATE_FOREVER)
            continue;
        process->fate = FATE_DONE;
        process->ends = wall_add_ms(world->now, 1000);
        if (process->change)
            process->lands = process->ends;
    }
}

bool world_drain(struct world *world) {
    world->calm = true;
    world_settle(world); /* finish what is under way */
    for (unsigned i = 0; i < 20000 && any_job_is_live(world); i++) {
        calm_down(world); /* also jobs that a rollback has just restored */
        world_settle(world);
        world_pass(world, 3600000);
    }
    return !any_job_is_live(world);
}
