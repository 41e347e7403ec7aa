/* The people of the simulated world: they submit, cancel, hold and retry. */
#include "sim/world.h"

#include <stdio.h>

#include "wire/set_name.h"
#include "store/simulated.h"

static struct job *pick_job(struct world *world, struct arena *arena,
                            unsigned states) {
    struct store_list list = {.states = states, .limit = 1000};
    struct job *jobs;
    size_t count;
    struct err err;
    if (!store_jobs(world->store, &list, arena, &jobs, &count, &err))
        world_fail(world, "cannot list: %s", err.text);
    return count ? &jobs[world_draw(world, count)] : NULL;
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
        if (world_chance(world, 30)) {
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
    struct ghost *on = world->rollback_percent > 0 && world_chance(world, 60)
                           ? world_pick_set(world)
                           : NULL;
    if (on && on != ghost && !on->rollback && !on->group[0]) {
        snprintf(ghost->after, sizeof(ghost->after), "%s", on->id);
        edges[0] = (struct job_edge){EDGE_DEPENDENCY, span_of(ghost->after)};
        return 1;
    }
    if (world->submitted < 3 || !world_chance(world, 30))
        return 0;
    /* Mostly one of the last few sets, sometimes one that arrives later. */
    uint64_t back = world_draw(world, 4);
    unsigned at = world_chance(world, 15)
                      ? world->submitted + 1
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
    world_trace(world, "admit %s paths=%x after=%s group=%s %u", ghost->id,
                ghost->paths, ghost->after, ghost->group, ghost->want);
    store_submit(batch, on_admitted, ghost);
}

/* Sets of one group mostly follow each other; sometimes another set comes in
 * between. */
static void draw_group(struct world *world, struct ghost *ghost) {
    if (!world->grouped)
        return;
    if (world->group_left == 0) {
        if (!world_chance(world, 20))
            return;
        world->groups++;
        world->group_left = 2 + (unsigned)world_draw(world, 2);
        world->group_want = world_chance(world, 75) ? world->group_left : 0;
    } else if (world_chance(world, 20)) {
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
        .job_class = (enum job_class)(1 + world_draw(world, 3)),
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
    ghost->at_most_once = world_chance(world, 15);
    ghost->array = !ghost->at_most_once && world_chance(world, 20);
    unsigned retries = ghost->at_most_once ? 0 : (unsigned)world_draw(world, 3);
    static const struct span nodes[] = {SPAN("a"), SPAN("b"), SPAN("c")};
    struct job job = {
        .kind = JOB_COMMAND,
        .job_class = (enum job_class)(1 + world_draw(world, 3)),
        .spec = SPAN("{\"command\":[\"x\"]}"),
        .retries = retries,
        .flags = (ghost->at_most_once ? JOB_AT_MOST_ONCE : 0u) |
                 (ghost->array ? JOB_ARRAY : 0u),
        .cause = world_chance(world, 10) ? SPAN("run") : SPAN("person"),
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
    world_trace(world, "cancel %s", ghost->id);
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
    world_trace(world, "%s %.*s", job->holds ? "release" : "hold",
                (int)job->id.len, job->id.p);
    if (job->holds & HOLD_ACCOUNT)
        store_release(batch, job->num, HOLD_ACCOUNT, SPAN("operator"));
    if (job->holds & ~(unsigned)HOLD_ACCOUNT)
        store_release(batch, job->num, HOLD_OPERATOR, SPAN("operator"));
    if (!job->holds)
        store_hold(batch, job->num, HOLD_OPERATOR, SPAN("operator"));
    store_submit(batch, ignore, NULL);
}

static void end_back_off(struct world *world, const struct job *job) {
    struct store_batch *batch = batch_of_person(world);
    world_trace(world, "at once %.*s", (int)job->id.len, job->id.p);
    store_at_once(batch, job->num, SPAN("retry"), SPAN(""));
    store_submit(batch, ignore, NULL);
}

static void retry(struct world *world, const struct job *job) {
    struct store_batch *batch = batch_of_person(world);
    if (job->kind == JOB_CHANGE || job->state == STATE_DONE ||
        job->state == STATE_ABANDONED) {
        store_batch_free(batch);
        return;
    }
    world_trace(world, "retry %.*s", (int)job->id.len, job->id.p);
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
    uint64_t n = world_draw(world, 100);
    struct job *job;
    if (n >= 94 || (world->rollback_percent > 0 &&
                    world_chance(world, world->rollback_percent)))
        world_roll_back(world);
    else if (world->rollback_percent > 0 && world_chance(world, 5))
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
        world_crash(world);
    else if (n < 85)
        world_push(world);
    else if (n < 88)
        for (int i = 0; i < 15; i++)
            submit_command(world);
    else if (n < 89)
        world_set_back(world);
    else if (n < 90 && (job = pick_job(world, &arena, STATES_LIVE)))
        end_back_off(world, job);
    else if (n < 91)
        world_rest_sets(world);
    arena_clear(&arena);
}

void world_interfere(struct world *world) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job *job;
    if (!world->others_write || world->calm || store_is_idle(world->store) ||
        !world_chance(world, 4))
        return;
    uint64_t n = world_draw(world, 10);
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

void world_release_all(struct world *world) {
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
