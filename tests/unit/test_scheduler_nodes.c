/* Tasks of standing jobs: whose turn it is beside other work, and what a
 * restart remembers. */
#include "support/test.h"

#include "scheduler/scheduler.h"
#include "scheduler/running_tasks.h"
#include "scheduler/worker_json.h"
#include "store/simulated.h"
#include "support/standing_world.h"

enum { SLOTS = 4, STARTS = 64 };

static struct store *store;
static struct scheduler *scheduler;
static struct standing_world world;
static struct standing_def *copy;
static struct wall now, next;
static struct {
    uint64_t handle;
    char name[32]; /* of the node, or id of a command */
} starts[STARTS];
static size_t start_count, stop_count;
static uint64_t stopped;
static struct span here; /* the worker of this process */

static void runner_start(void *ctx, const struct run_start *order) {
    struct span name = order->node.len > 0 ? order->node : order->job->id;
    (void)ctx;
    assert_true(start_count < STARTS);
    starts[start_count].handle = order->handle;
    snprintf(starts[start_count++].name, sizeof(starts[0].name), "%.*s",
             (int)name.len, name.p);
}

static void runner_stop(void *ctx, uint64_t handle, enum run_stop how) {
    (void)ctx;
    if (how == RUN_STOP_WITHDRAW)
        return;
    stop_count++;
    stopped = handle;
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

static void restart(void) {
    const struct scheduler_options options = {.parts = SCHEDULER_STARTS,
                                              .slots = SLOTS,
                                              .wait_for_dep_ms = 1000,
                                              .actor = SPAN("daemon:test"),
                                              .worker = here,
                                              .nodes = &world.feed};
    const struct runner runner = {.start = runner_start,
                                  .stop = runner_stop,
                                  .flush = runner_flush,
                                  .write_outputs = runner_write_outputs,
                                  .release = runner_release};
    scheduler_free(scheduler);
    scheduler = scheduler_new(store, &options, &runner);
    assert_true(scheduler_start(scheduler, now, true, NULL));
}

static void settle(void) {
    for (int i = 0; i < 100; i++) {
        assert_true(scheduler_turn(scheduler, now, &next, NULL));
        if (store_is_idle(store))
            return;
        store_turn(store);
    }
    fail_msg("the scheduler does not become idle");
}

static int setup(void **state) {
    (void)state;
    now = wall_from_s(1000000);
    here = SPAN("local");
    store = store_memory_new();
    standing_world_init(&world, store);
    start_count = stop_count = 0;
    copy = standing_world_add(&world, "copy", now);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    scheduler_free(scheduler);
    scheduler = NULL;
    store_close(store);
    return 0;
}

/* Only this shard is enabled. */
static void leave_only(const char *name) {
    for (size_t i = 0; i < STANDING_NODES; i++)
        world.nodes[i].enabled =
            world.nodes[i].level == 1 || strcmp(world.nodes[i].name, name) == 0;
}

static void array_admit(const char *id, const char *key,
                        enum job_class job_class, const struct span *nodes,
                        size_t count) {
    struct store_batch *batch = store_batch_new(store);
    struct job job = {.id = span_of(id),
                      .kind = JOB_COMMAND,
                      .job_class = job_class,
                      .state = STATE_PENDING,
                      .flags = count > 0 ? JOB_ARRAY : 0,
                      .key = span_of(key),
                      .rank = span_of(key),
                      .actor = SPAN("uid:7"),
                      .spec = SPAN("{\"command\":[\"true\"]}")};
    store_batch_actor(batch, now, SPAN("uid:7"));
    store_admit(batch, &job, NULL, 0, NULL, 0, nodes, count);
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
}

static void command_admit(const char *id, const char *key,
                          enum job_class job_class) {
    array_admit(id, key, job_class, NULL, 0);
}

static void end_last(int exit_code) {
    struct run_end end = {.handle = starts[start_count - 1].handle,
                          .exit_code = exit_code,
                          .started = now,
                          .ended = now};
    scheduler_ended(scheduler, &end);
    settle();
}

static void expect_starts(const char *names) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    for (size_t i = 0; i < start_count; i++)
        text_addf(&text, "%s%s", i > 0 ? " " : "", starts[i].name);
    assert_string_equal(text_string(&text), names);
}

static void within_a_class_tasks_and_other_work_take_turns(void **state) {
    (void)state;
    command_admit("first", "\001a", CLASS_EM);
    command_admit("one", "\003a", CLASS_DC);
    command_admit("two", "\003b", CLASS_DC);
    command_admit("three", "\003c", CLASS_DC);
    restart();
    settle();
    expect_starts("first h1s1 one h1s2");
}

static void a_more_urgent_standing_job_comes_before_commands(void **state) {
    (void)state;
    copy->spec.job_class = CLASS_BF;
    command_admit("one", "\003a", CLASS_DC);
    restart();
    settle();
    expect_starts("h1s1 h1s2 h2s1 h2s2");
}

static void the_place_in_the_list_of_waits_survives_a_restart(void **state) {
    (void)state;
    leave_only("h1s1");
    restart();
    settle();
    end_last(3);
    assert_int_equal(wall_ms_since(next, now), 10000);
    restart();
    settle();
    assert_int_equal(wall_ms_since(next, now), 10000);
    now = wall_add_ms(now, 10000);
    settle();
    end_last(3);
    assert_int_equal(start_count, 2);
    assert_int_equal(wall_ms_since(next, now), 20000);
    now = wall_add_ms(now, 20000);
    restart();
    settle();
    assert_int_equal(start_count, 3);
    end_last(3); /* the end of the list */
    restart();
    settle();
    now = wall_add_ms(now, 1000000);
    settle();
    assert_int_equal(start_count, 3);
}

static void forgiveness_survives_a_restart(void **state) {
    (void)state;
    leave_only("h1s1");
    restart();
    settle();
    end_last(3);
    standing_world_forgive(&world, copy, "h1s1", now);
    scheduler_drain(scheduler); /* it is recorded, but nothing starts */
    settle();
    assert_int_equal(start_count, 1);
    restart();
    settle();
    assert_int_equal(start_count, 2);
    end_last(3); /* the first wait again */
    assert_int_equal(wall_ms_since(next, now), 10000);
}

static void orphans_are_killed_after_uninterrupted_orphanhood(void **state) {
    struct standing_node *node = standing_world_node(&world, "h1s1");
    (void)state;
    leave_only("h1s1");
    restart();
    settle();
    node->enabled = false;
    standing_world_node_changed(&world, node, now);
    settle();
    now = wall_add_ms(now, 4999);
    settle();
    node->enabled = true; /* in time */
    standing_world_node_changed(&world, node, now);
    settle();
    node->enabled = false;
    standing_world_node_changed(&world, node, now);
    settle();
    now = wall_add_ms(now, 4999);
    settle();
    assert_int_equal(stop_count, 0);
    now = wall_add_ms(now, 1);
    settle();
    assert_int_equal(stop_count, 1);
    assert_int_equal(stopped, starts[0].handle);
}

static void a_node_that_comes_back_is_as_done_as_it_was(void **state) {
    struct standing_node *node = standing_world_node(&world, "h1s1");
    (void)state;
    leave_only("h1s1");
    restart();
    settle();
    end_last(0);
    node->exists = false;
    standing_world_node_changed(&world, node, now);
    settle();
    restart();
    settle();
    node->exists = true;
    standing_world_node_changed(&world, node, now);
    settle();
    assert_int_equal(start_count, 1);
}

static void a_held_job_starts_nothing_until_it_is_released(void **state) {
    struct store_batch *batch = store_batch_new(store);
    (void)state;
    leave_only("h1s1");
    store_batch_actor(batch, now, SPAN("uid:7"));
    store_hold(batch, copy->num, HOLD_OPERATOR, SPAN("hold"));
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
    restart();
    settle();
    assert_int_equal(start_count, 0);
    batch = store_batch_new(store);
    store_batch_actor(batch, now, SPAN("uid:7"));
    store_release(batch, copy->num, HOLD_OPERATOR, SPAN("release"));
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
    settle();
    assert_int_equal(start_count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void expect_state(const char *id, enum job_state state) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    assert_true(store_find(store, span_of(id), &arena, &job, NULL));
    assert_int_equal(job.state, state);
}

/* After a restart as another worker, nothing starts again, and nothing that
 * could end it is sent to the worker here. A restart as the worker that it was
 * assigned to begins it anew. */
static void expect_awaited(const char *names, const char *again) {
    restart();
    settle();
    expect_starts(names);
    here = SPAN("other");
    restart();
    settle();
    expect_starts(names);
    assert_int_equal(scheduler_running(scheduler), 0);
    assert_true(scheduler_idle(scheduler));
    assert_true(scheduler_may_leave(scheduler));
    scheduler_return(scheduler, false);
    settle();
    assert_int_equal(stop_count, 0);
    here = SPAN("local");
    restart();
    settle();
    expect_starts(again);
}

static void a_command_on_another_worker_is_awaited(void **state) {
    (void)state;
    leave_only("none");
    command_admit("one", "\003a", CLASS_DC);
    expect_awaited("one", "one one");
    expect_state("one", STATE_EXECUTING);
}

static void tasks_of_arrays_on_another_worker_are_awaited(void **state) {
    const struct span nodes[] = {SPAN("a"), SPAN("b")};
    (void)state;
    leave_only("none");
    array_admit("all", "\003a", CLASS_DC, nodes, 2);
    expect_awaited("a b", "a b a b");
    expect_state("all", STATE_EXECUTING);
}

static void tasks_of_standing_jobs_on_another_worker_are_awaited(void **state) {
    (void)state;
    leave_only("h1s1");
    expect_awaited("h1s1", "h1s1 h1s1");
}

/* "job/node@worker#attempt" each, a standing job by its name; * if it is
 * awaited. */
static void expect_running(const char *expected) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct running_task *tasks;
    size_t count = running_tasks(scheduler, &arena, &tasks);
    for (size_t i = 0; i < count; i++) {
        struct span job = tasks[i].name.len > 0 ? tasks[i].name : tasks[i].job;
        text_addf(&text, "%s%.*s/%.*s@%.*s#%u%s", i > 0 ? " " : "",
                  (int)job.len, job.p, (int)tasks[i].node.len, tasks[i].node.p,
                  (int)tasks[i].worker.len, tasks[i].worker.p, tasks[i].attempt,
                  tasks[i].is_awaited ? "*" : "");
        assert_int_equal(tasks[i].assigned.ns, now.ns);
    }
    assert_string_equal(text_string(&text), expected);
}

static void what_runs_is_listed_until_it_ends(void **state) {
    const struct span nodes[] = {SPAN("a"), SPAN("b")};
    (void)state;
    leave_only("h1s1");
    restart();
    settle();
    expect_running("copy/h1s1@local#1");
    array_admit("all", "\003a", CLASS_DC, nodes, 2);
    settle();
    command_admit("one", "\003b", CLASS_DC);
    settle();
    expect_running("copy/h1s1@local#1 all/a@local#1 all/b@local#1 "
                   "one/@local#1");
    end_last(0);
    expect_running("copy/h1s1@local#1 all/a@local#1 all/b@local#1");
    here = SPAN("other");
    restart();
    settle();
    expect_running("all/a@local#1* all/b@local#1* copy/h1s1@local#1*");
}

static void what_is_awaited_keeps_its_slots(void **state) {
    const struct span nodes[] = {SPAN("a"), SPAN("b"), SPAN("c")};
    (void)state;
    leave_only("none");
    array_admit("all", "\003a", CLASS_DC, nodes, 3);
    restart();
    settle();
    command_admit("one", "\003b", CLASS_DC);
    command_admit("two", "\003c", CLASS_DC);
    here = SPAN("other");
    restart();
    settle();
    expect_starts("a b c one");
    CLEANUP(text_clear) struct text lines = TEXT_INIT;
    worker_json(scheduler, false, &lines);
    assert_string_equal(text_string(&lines),
                        "{\"worker\":\"other\",\"state\":\"unhealthy\","
                        "\"slots\":4,\"assigned\":1,\"awaited\":0}\n"
                        "{\"worker\":\"local\",\"state\":\"awaited\","
                        "\"slots\":null,\"assigned\":0,\"awaited\":3}\n");
    end_last(0);
    expect_starts("a b c one two");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_command_on_another_worker_is_awaited,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            tasks_of_arrays_on_another_worker_are_awaited, setup, teardown),
        cmocka_unit_test_setup_teardown(
            tasks_of_standing_jobs_on_another_worker_are_awaited, setup,
            teardown),
        cmocka_unit_test_setup_teardown(what_runs_is_listed_until_it_ends,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_awaited_keeps_its_slots, setup,
                                        teardown),
        TEST(within_a_class_tasks_and_other_work_take_turns),
        TEST(a_more_urgent_standing_job_comes_before_commands),
        TEST(the_place_in_the_list_of_waits_survives_a_restart),
        TEST(forgiveness_survives_a_restart),
        TEST(orphans_are_killed_after_uninterrupted_orphanhood),
        TEST(a_node_that_comes_back_is_as_done_as_it_was),
        TEST(a_held_job_starts_nothing_until_it_is_released),
    };
    return cmocka_run_group_tests_name("scheduler_nodes", tests, NULL, NULL);
}
