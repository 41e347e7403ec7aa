/* The scheduler with standing jobs: nodes and definitions change, tasks end in
 * all ways, and the program is killed, replaced or reloaded at any time. At no
 * time do two attempts at one task run, nor more than a host or the worker
 * bears; in the end all that can be done is done. */
#include "support/test.h"

#include <stdlib.h>

#include "lib/random.h"
#include "scheduler/scheduler.h"
#include "store/simulated.h"
#include "support/standing_world.h"

enum { SLOTS = 5, SEEDS = 60, EVENTS = 400, PROCESSES = 64, STARTS = 4096 };

struct process {
    uint64_t handle, num, task;
    unsigned attempt;
    char node[16];
    bool stopped;
};

struct start { /* the last attempt at a task */
    uint64_t num;
    char node[16];
    unsigned attempt;
};

static struct sim {
    struct store *store;
    struct scheduler *scheduler;
    struct standing_world world;
    struct random random;
    struct wall now, next;
    struct process processes[PROCESSES];
    size_t count, most;
    struct start starts[STARTS];
    size_t start_count;
    bool calm; /* everything ends well */
    size_t begun, kills, crashes;
} sim;

static unsigned draw(unsigned most) {
    return (unsigned)random_below(&sim.random, most);
}

/* ---- the runner ---------------------------------------------------------- */

static size_t on_host(const char *node) {
    size_t count = 0;
    for (size_t i = 0; i < sim.count; i++)
        count += strncmp(sim.processes[i].node, node, 2) == 0;
    return count;
}

static void judge_start(const struct run_start *order, const char *node) {
    struct start *start = sim.starts;
    for (size_t i = 0; i < sim.count; i++)
        if (sim.processes[i].num == order->job->num &&
            strcmp(sim.processes[i].node, node) == 0)
            fail_msg("two attempts at %s run", node);
    while (start < sim.starts + sim.start_count &&
           (start->num != order->job->num || strcmp(start->node, node) != 0))
        start++;
    if (start < sim.starts + sim.start_count &&
        start->attempt >= order->attempt)
        fail_msg("attempt %u at %s starts again", order->attempt, node);
    if (start == sim.starts + sim.start_count) {
        assert_true(sim.start_count++ < STARTS);
        start->num = order->job->num;
        snprintf(start->node, sizeof(start->node), "%s", node);
    }
    start->attempt = order->attempt;
}

static void runner_start(void *ctx, const struct run_start *order) {
    struct process *process = &sim.processes[sim.count];
    (void)ctx;
    assert_true(sim.count < PROCESSES);
    snprintf(process->node, sizeof(process->node), "%.*s", (int)order->node.len,
             order->node.p);
    judge_start(order, process->node);
    if (on_host(process->node) >= STANDING_HOST_LIMIT)
        fail_msg("more than %d tasks on the host of %s", STANDING_HOST_LIMIT,
                 process->node);
    process->handle = order->handle;
    process->num = order->job->num;
    process->task = order->task;
    process->attempt = order->attempt;
    process->stopped = false;
    if (++sim.count > SLOTS)
        fail_msg("more tasks than slots run");
    sim.begun++;
    if (sim.count > sim.most)
        sim.most = sim.count;
}

static void runner_stop(void *ctx, uint64_t handle, enum run_stop how) {
    (void)ctx;
    for (size_t i = 0; i < sim.count; i++)
        if (sim.processes[i].handle == handle && how != RUN_STOP_WITHDRAW) {
            sim.processes[i].stopped = true;
            sim.kills++;
        }
}

static void runner_flush(void *ctx) {
    (void)ctx;
}

static struct run_sync runner_write_outputs(void *ctx, bool whole) {
    (void)ctx, (void)whole;
    return (struct run_sync){.fd = -1};
}

static void runner_release(void *ctx, uint64_t handle) {
    (void)ctx, (void)handle;
}

/* ---- lives of the program -------------------------------------------------
 */

static void options_make(struct scheduler_options *ret) {
    *ret = (struct scheduler_options){.parts = SCHEDULER_STARTS,
                                      .slots = SLOTS,
                                      .wait_for_dep_ms = 1000,
                                      .actor = SPAN("daemon:test"),
                                      .worker = SPAN("local"),
                                      .nodes = &sim.world.feed};
}

static void open_with(const struct scheduler_running *running, size_t count) {
    const struct runner runner = {.start = runner_start,
                                  .stop = runner_stop,
                                  .flush = runner_flush,
                                  .write_outputs = runner_write_outputs,
                                  .release = runner_release};
    struct scheduler_options options;
    struct err err;
    options_make(&options);
    sim.scheduler = scheduler_new(sim.store, &options, &runner);
    if (running != NULL)
        scheduler_adopt(sim.scheduler, running, count);
    if (!scheduler_start(sim.scheduler, sim.now, true, &err))
        fail_msg("%s", err.text);
}

static void turn(void) {
    struct err err;
    if (!scheduler_turn(sim.scheduler, sim.now, &sim.next, &err))
        fail_msg("%s", err.text);
}

static void settle(void) {
    for (int i = 0; i < 200; i++) {
        turn();
        if (store_is_idle(sim.store))
            return;
        store_turn(sim.store);
    }
    fail_msg("the scheduler does not become idle");
}

/* Its processes die with it. */
static void crash(void) {
    store_memory_crash(sim.store);
    scheduler_free(sim.scheduler);
    sim.count = 0;
    sim.crashes++;
    open_with(NULL, 0);
}

/* Another program takes over what runs. */
static void replace(void) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct scheduler_running *running;
    size_t count;
    settle();
    scheduler_drain(sim.scheduler);
    settle();
    if (!scheduler_may_leave(sim.scheduler)) {
        scheduler_proceed(sim.scheduler);
        return;
    }
    count = scheduler_list_running(sim.scheduler, &arena, &running);
    assert_int_equal(count, sim.count);
    scheduler_free(sim.scheduler);
    open_with(running, count);
}

/* ---- what happens -------------------------------------------------------- */

static void end_at(size_t at) {
    static const char *const reports[] = {"incomplete", "incomplete_backoff",
                                          "backoff", "failed", "what"};
    struct process *process = &sim.processes[at];
    struct run_end end = {
        .handle = process->handle, .started = sim.now, .ended = sim.now};
    unsigned fate = sim.calm ? 0 : draw(9);
    if (process->stopped) {
        end.exit_code = -1;
        end.signal = 15;
    } else if (fate == 1) {
        end.exit_code = 75;
    } else if (fate == 2) {
        end.exit_code = 3;
    } else if (fate >= 4) {
        end.status = span_of(reports[fate - 4]);
    } else if (fate == 3) {
        end.result = 111;
        end.exit_code = -1;
    }
    *process = sim.processes[--sim.count];
    scheduler_ended(sim.scheduler, &end);
}

static struct standing_def *some_job(void) {
    return &sim.world.jobs[draw((unsigned)sim.world.job_count)];
}

static void change_node(void) {
    struct standing_node *node = &sim.world.nodes[draw(STANDING_NODES)];
    if (draw(2) == 0)
        node->enabled = !node->enabled;
    else if (node->level == 2) /* hosts stay, so that parents do */
        node->exists = !node->exists;
    standing_world_node_changed(&sim.world, node, sim.now);
}

static void change_job(void) {
    struct standing_def *def = some_job();
    switch (draw(5)) {
    case 0:
        def->spec.enabled = !def->spec.enabled;
        break;
    case 1:
        def->spec.max_running = draw(4);
        break;
    case 2:
        def->invalid = !def->invalid;
        break;
    case 3:
        def->spec.demand.of_level[1][0] = 1 + draw(2);
        break;
    default:
        standing_world_forgive(&sim.world, def,
                               draw(2) == 0 ? "" : sim.world.nodes[1].name,
                               sim.now);
        return;
    }
    standing_world_changed(&sim.world, def, sim.now);
}

static void hold_or_release(void) {
    struct store_batch *batch = store_batch_new(sim.store);
    struct standing_def *def = some_job();
    store_batch_actor(batch, sim.now, SPAN("uid:7"));
    if (draw(2) == 0)
        store_hold(batch, def->num, HOLD_OPERATOR, SPAN("hold"));
    else
        store_release(batch, def->num, HOLD_OPERATOR, SPAN("release"));
    store_submit(batch, NULL, NULL);
}

static void something(void) {
    struct scheduler_options options;
    int64_t back;
    switch (draw(16)) {
    case 0:
        change_node();
        break;
    case 1:
        change_job();
        break;
    case 2:
        hold_or_release();
        break;
    case 3:
        if (draw(4) == 0)
            crash();
        break;
    case 4:
        if (draw(4) == 0)
            replace();
        break;
    case 5:
        options_make(&options);
        scheduler_configure(sim.scheduler, &options);
        break;
    case 6:
        if (draw(4) == 0) {
            back = draw(20000);
            sim.now = wall_add_ms(sim.now, -back);
            scheduler_set_back(sim.scheduler, sim.now, back);
        }
        break;
    case 7:
        sim.now = wall_add_ms(sim.now, draw(15000));
        break;
    case 8:
    case 9:
    case 10:
        turn();
        break;
    case 11:
        store_turn(sim.store);
        break;
    default:
        if (sim.count > 0)
            end_at(draw((unsigned)sim.count));
        else
            sim.now = wall_add_ms(sim.now, draw(5000));
    }
}

/* Everything is in order again, and all that can be done is done. */
static void recover_all(void) {
    sim.calm = true;
    settle();
    for (size_t i = 0; i < STANDING_NODES; i++) {
        sim.world.nodes[i].enabled = sim.world.nodes[i].exists = true;
        standing_world_node_changed(&sim.world, &sim.world.nodes[i], sim.now);
    }
    for (size_t i = 0; i < sim.world.job_count; i++) {
        struct standing_def *def = &sim.world.jobs[i];
        struct store_batch *batch = store_batch_new(sim.store);
        def->spec.enabled = true;
        def->invalid = false;
        standing_world_changed(&sim.world, def, sim.now);
        standing_world_forgive(&sim.world, def, "", sim.now);
        store_batch_actor(batch, sim.now, SPAN("uid:7"));
        store_release(batch, def->num, HOLD_OPERATOR, SPAN("release"));
        store_submit(batch, NULL, NULL);
    }
    for (int i = 0; i < 20000; i++) {
        settle();
        if (sim.count > 0)
            end_at(0);
        else if (sim.next.ns == WALL_NEVER.ns)
            return;
        else if (sim.next.ns > sim.now.ns)
            sim.now = sim.next;
    }
    fail_msg("the jobs do not come to an end");
}

static void expect_all_done(void) {
    for (size_t i = 0; i < sim.world.job_count; i++) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        const struct standing_def *def = &sim.world.jobs[i];
        struct store_task *tasks;
        struct job job;
        size_t count;
        assert_true(
            store_tasks(sim.store, def->num, &arena, &tasks, &count, NULL));
        assert_int_equal(count, STANDING_HOSTS * STANDING_SHARDS);
        for (size_t k = 0; k < count; k++) {
            if (tasks[k].status != TASK_DONE)
                fail_msg("%s on %.*s is %s", def->name, (int)tasks[k].node.len,
                         tasks[k].node.p,
                         job_task_status_word(tasks[k].status));
            assert_true(k == 0 || tasks[k].at > tasks[k - 1].at);
        }
        assert_true(store_job(sim.store, def->num, &arena, &job, NULL));
        assert_int_equal(job.state, STATE_PENDING);
    }
}

static void one_life(uint64_t seed) {
    struct store *store = store_memory_new();
    sim = (struct sim){.store = store, .now = wall_from_s(1000000)};
    random_init(&sim.random, seed);
    standing_world_init(&sim.world, store);
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"one", "two", "three"};
        struct standing_def *def =
            standing_world_add(&sim.world, names[i], sim.now);
        def->spec.job_class = i == 2 ? CLASS_BF : CLASS_DC;
        def->spec.order = (enum node_order)draw(3);
        if (i == 1) {
            def->depends_on = sim.world.jobs[0].num;
            def->spec.depends_on = &def->depends_on;
            def->spec.depends_count = 1;
        }
    }
    open_with(NULL, 0);
    for (int i = 0; i < EVENTS; i++)
        something();
    recover_all();
    expect_all_done();
    scheduler_free(sim.scheduler);
    store_close(store);
}

static void standing_jobs_survive_everything_and_never_run_twice(void **state) {
    size_t kills = 0, crashes = 0, most = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        one_life(seed);
        kills += sim.kills;
        crashes += sim.crashes;
        most = sim.most > most ? sim.most : most;
    }
    assert_true(kills > 0 && crashes > 0);
    assert_int_equal(most, SLOTS); /* the limits were reached */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standing_jobs_survive_everything_and_never_run_twice),
    };
    return cmocka_run_group_tests_name("sim_standing", tests, NULL, NULL);
}
