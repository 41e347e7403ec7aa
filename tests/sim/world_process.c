/* The processes of the simulated world: what the scheduler starts, and how each
 * of them ends. */
#include "sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static enum fate draw_fate(struct world *world, bool change) {
    uint64_t n = world_draw(world, 100);
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
    return n < 95 ? FATE_FOREVER : n < 98 ? FATE_CANNOT : FATE_FORBIDDEN;
}

static size_t running(const struct world *world) {
    size_t count = 0;
    LIST_EACH (&((struct world *)(uintptr_t)world)->processes, link)
        count += LIST_OF(link, struct process, link)->running &&
                 LIST_OF(link, struct process, link)->revert_count == 0 &&
                 !LIST_OF(link, struct process, link)->train.lands;
    return count;
}

/* The worker starts nothing. A check that cannot enter its directory, on the
 * other hand, is reported by the landing; a rollback that may not run fails. */
static bool is_refused(const struct process *process) {
    return process->fate == FATE_FORBIDDEN && !process->killed &&
           process->revert_count == 0 &&
           (!process->change || process->handle % 2 == 0);
}

static void process_begin(struct world *world, struct process *process) {
    process->running = true;
    /* In every other world, most tasks are short, so that more tasks than slots
     * are assigned. */
    int64_t most_ms = world->seed % 2 && world_chance(world, 80) ? 5 : 5000;
    process->ends = wall_add_ms(
        world->now, (int64_t)world_draw(world, (uint64_t)most_ms) + 1);
    if (process->fate == FATE_FOREVER)
        process->ends = WALL_NEVER;
    if (process->change && !process->probe && process->fate == FATE_DONE &&
        !process->train.checks)
        process->lands = wall_add_ms(
            world->now, wall_ms_since(process->ends, world->now) * 3 / 4);
    world_trace(world, "begin %s attempt=%u task=%" PRIu64 " fate=%d%s",
                process->id, process->attempt, process->task, process->fate,
                process->probe ? " probe" : "");
    judge_start(world, process);
    if (!process->probe && world_chance(world, 50))
        (void)scheduler_lasting(world->scheduler, process->handle);
}

/* Like the guard, starts no more processes than there are slots, in order. */
void world_begin_waiting(struct world *world) {
    LIST_EACH (&world->processes, link) {
        struct process *process = LIST_OF(link, struct process, link);
        if (process->running || process->killed || is_refused(process))
            continue;
        if (process->probe || process->revert_count > 0 ||
            process->train.lands || running(world) < WORLD_SLOTS)
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
    world_train_begins(process, order);
    if (process->train.merges)
        process->probe = true; /* it only answers */
    if (order->set_count > WORLD_GROUPS && !process->train.merges)
        world_fail(world, "%zu sets at once", order->set_count);
    for (size_t i = 0; i < order->set_count && !process->train.merges; i++)
        process->sets[process->set_count++] =
            world_ghost(world, order->sets[i].job->id);
    if (process->set_count == 0)
        process->sets[process->set_count++] =
            world_ghost(world, order->job->id);
    process->fate =
        order->probe ? FATE_DONE : draw_fate(world, process->change);
    if (process->train.merges &&
        (process->fate == FATE_FOREVER || process->fate == FATE_CANNOT))
        process->fate = FATE_DONE;
    /* These run nothing of the set. */
    if ((process->train.merges || process->train.lands) &&
        process->fate == FATE_FORBIDDEN)
        process->fate = FATE_DONE;
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
                               : (int64_t)world_draw(world, 2000);
        /* Some ignore SIGHUP. */
        if (how == RUN_STOP_HUP && process->running && world_chance(world, 10))
            grace_ms = 60000;
        struct wall at = wall_add_ms(world->now, grace_ms);
        if (!process->running || at.ns < process->ends.ns)
            process->ends = at;
    }
}

static void runner_flush(void *ctx) {
    (void)ctx;
}

static struct run_sync runner_write_outputs(void *ctx, bool whole) {
    (void)whole;
    (void)ctx;
    return (struct run_sync){.fd = -1};
}

static void runner_release(void *ctx, uint64_t handle) {
    (void)ctx;
    (void)handle;
}

struct runner world_runner(struct world *world) {
    return (struct runner){
        .ctx = world,
        .start = runner_start,
        .stop = runner_stop,
        .flush = runner_flush,
        .write_outputs = runner_write_outputs,
        .release = runner_release,
    };
}

static struct span status_of(struct world *world,
                             const struct process *process) {
    static char status[120];
    struct ghost *ghost = world_ghost(world, span_of(process->id));
    if ((process->train.merges || process->train.checks) && !process->killed &&
        process->fate != FATE_SIGNAL)
        return world_train_status(world, process);
    if (process->moved)
        return SPAN("moved abc");
    if (process->changed)
        return SPAN("changed");
    if (process->probe)
        return ghost->landings > 0 ? SPAN("landed abc") : SPAN("not-landed");
    if (!process->change || process->fate == FATE_SIGNAL)
        return (struct span){0};
    if (process->landed) {
        snprintf(status, sizeof(status), "done %s", process->train.tip);
        return process->train.lands ? span_of(status) : SPAN("done abc");
    }
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
    case FATE_FORBIDDEN:
        return SPAN("forbidden user 'ann' cannot enter '/base/tmp'");
    case FATE_SIGNAL:
    case FATE_FOREVER:
    case FATE_CANNOT:
    default:
        return (struct span){0};
    }
}

static void process_free(struct process *process) {
    bool of_tip = process->train.checks && !process->train.locks;
    if (process->running && !process->probe && !of_tip)
        for (size_t i = 0; i < process->set_count; i++)
            process->sets[i]->live--;
    list_remove(&process->link);
    free(process->reverts);
    world_train_free(process);
    free(process);
}

static void process_end(struct world *world, struct process *process) {
    struct run_end end = {
        .handle = process->handle,
        .started = world->now,
        .ended = world->now,
        .exit_code = 0,
        .status = status_of(world, process),
    };
    bool is_revert = process->revert_count > 0;
    if (is_refused(process))
        end.result = RUN_FORBIDDEN;
    else if (!process->running)
        end.result = 104;
    else if ((process->fate == FATE_CANNOT ||
              (process->fate == FATE_FORBIDDEN && is_revert)) &&
             !process->killed)
        end.result = 100;
    else if (process->killed && !process->landed && !process->probe)
        end.exit_code = -1, end.signal = 15;
    else if (process->fate == FATE_SIGNAL)
        end.exit_code = -1, end.signal = 11;
    else if (process->fate == FATE_FAILS)
        end.exit_code = 3;
    else if (process->fate == FATE_TEMPORARY)
        end.exit_code = 75;
    else if (process->fate == FATE_FORBIDDEN)
        end.exit_code = 111;
    if (end.result != 0)
        end.exit_code = -1, end.status = (struct span){0};
    world_trace(world, "end   %s attempt=%u result=%d exit=%d signal=%d %.*s",
                process->id, process->attempt, end.result, end.exit_code,
                end.signal, (int)end.status.len,
                end.status.p ? end.status.p : "");
    scheduler_ended(world->scheduler, &end);
    process_free(process);
}

static void process_land(struct world *world, struct process *process) {
    unsigned before = 0;
    if (process->killed && world_chance(world, 50))
        return; /* stopped just before the ref moved */
    if (process->train.lands && !world_train_lands(world, process))
        return;
    for (size_t i = 0; i < process->set_count; i++)
        before += process->sets[i]->landings;
    if (before != 0 && before != process->set_count)
        world_fail(world, "%u of the %zu sets of %s are landed", before,
                   process->set_count, process->id);
    if (before != 0)
        return;
    judge_landing(world, process);
    for (size_t i = 0; i < process->set_count; i++) {
        process->sets[i]->landings++;
        process->sets[i]->effect = true;
    }
    process->landed = true;
    world_revert_lands(world, process);
    if (!process->train.lands)
        world_push(world);
    else
        snprintf(process->train.tip, sizeof(process->train.tip), "%s",
                 world->commit);
    world_trace(world, "land  %s and %zu more", process->id,
                process->set_count - 1);
}

bool world_end_due(struct world *world) {
    LIST_EACH (&world->processes, link) {
        struct process *process = LIST_OF(link, struct process, link);
        if (process->running && process->lands.ns > 0 &&
            process->lands.ns <= world->now.ns) {
            process->lands.ns = 0;
            process_land(world, process);
        }
        bool withdrawn = !process->running && process->killed;
        if (withdrawn || is_refused(process) ||
            (process->running && process->ends.ns <= world->now.ns)) {
            process_end(world, process);
            return true;
        }
    }
    return false;
}

void world_ends_set_back(struct world *world, int64_t ms) {
    LIST_EACH (&world->processes, link) {
        struct process *process = LIST_OF(link, struct process, link);
        process->ends = wall_set_back(process->ends, ms);
        process->lands = wall_set_back(process->lands, ms);
    }
}

struct wall world_next_end(const struct world *world) {
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

void world_end_endless(struct world *world) {
    LIST_EACH (&world->processes, link) {
        struct process *process = LIST_OF(link, struct process, link);
        if (process->fate != FATE_FOREVER)
            continue;
        process->fate = FATE_DONE;
        process->ends = wall_add_ms(world->now, 1000);
        if (process->change && !process->train.checks)
            process->lands = process->ends;
    }
}

void world_kill_all(struct world *world) {
    while (!list_empty(&world->processes))
        process_free(LIST_OF(world->processes.next, struct process, link));
}
