/* The scheduler when the backoff of many jobs ends at the same time. */
#include "support/test.h"

#include "scheduler/scheduler.h"
#include "store/simulated.h"

enum { JOBS = 3000, DUE_S = 5000, WAIT_FOR_DEP_MS = 60 * 1000, MAX_TEMP = 20 };

static struct store *store;
static struct scheduler *scheduler;
static struct wall now;
static struct {
    uint64_t handle;
    char id[16];
} starts[JOBS]; /* in their order */
static unsigned start_count, end_count;

static void runner_start(void *ctx, const struct run_start *order) {
    (void)ctx;
    assert_true(start_count < JOBS);
    starts[start_count].handle = order->handle;
    snprintf(starts[start_count++].id, sizeof(starts[0].id), "%.*s",
             (int)order->job->id.len, order->job->id.p);
}

static void runner_stop(void *ctx, uint64_t which, enum run_stop how) {
    (void)ctx, (void)which, (void)how;
}

static void runner_flush(void *ctx) {
    (void)ctx;
}

static struct run_sync runner_write_outputs(void *ctx, bool whole) {
    (void)whole;
    (void)ctx;
    return (struct run_sync){.fd = -1};
}

static void runner_release(void *ctx, uint64_t which) {
    (void)ctx, (void)which;
}

/* A higher number makes a job more urgent; all are due at the same time. */
static void admit_all(void) {
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, now, SPAN("uid:7"));
    for (int i = 0; i < JOBS; i++) {
        char id[16], key[16];
        snprintf(id, sizeof(id), "j%04d", i);
        snprintf(key, sizeof(key), "4%04d", JOBS - i);
        struct job job = {.id = span_of(id),
                          .kind = JOB_COMMAND,
                          .job_class = CLASS_DC,
                          .state = STATE_PENDING,
                          .key = span_of(key),
                          .rank = span_of(key),
                          .actor = SPAN("uid:7"),
                          .spec = SPAN("{\"command\":[\"true\"]}"),
                          .not_before = wall_from_s(DUE_S)};
        store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    }
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
}

static bool is_upgrade; /* at a restart: nothing is handed over as running */

static void restart_as(unsigned parts) {
    static const struct scheduler_running none;
    const struct scheduler_target target = {.name = SPAN("site"),
                                            .by_command = true};
    struct scheduler_options options = {.parts = parts,
                                        .slots = 1,
                                        .max_temp = MAX_TEMP,
                                        .wait_for_dep_ms = WAIT_FOR_DEP_MS,
                                        .targets = &target,
                                        .target_count = 1,
                                        .actor = SPAN("daemon:test"),
                                        .worker = SPAN("local")};
    struct runner runner = {.start = runner_start,
                            .stop = runner_stop,
                            .flush = runner_flush,
                            .write_outputs = runner_write_outputs,
                            .release = runner_release};
    scheduler_free(scheduler);
    scheduler = scheduler_new(store, &options, &runner);
    if (is_upgrade)
        scheduler_adopt(scheduler, &none, 0);
    assert_true(scheduler_start(scheduler, now, true, NULL));
}

static void restart(void) {
    restart_as(SCHEDULER_STARTS);
}

static int setup(void **state) {
    (void)state;
    now = wall_from_s(1000);
    store = store_memory_new();
    admit_all();
    start_count = end_count = 0;
    restart();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    scheduler_free(scheduler);
    scheduler = NULL;
    store_close(store);
    return 0;
}

/* Turns until nothing changes; returns the number of turns. */
static unsigned settle(struct wall *ret_next) {
    for (unsigned turns = 1; turns < 100; turns++) {
        struct err err;
        if (!scheduler_turn(scheduler, now, ret_next, &err))
            fail_msg("%s", err.text);
        if (store_is_idle(store))
            return turns;
        store_turn(store);
    }
    fail_msg("the scheduler does not become idle");
    return 0;
}

static size_t waiting_for_a_time(void) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list list = {.with_not_before = true};
    struct job *jobs;
    size_t count;
    assert_true(store_jobs(store, &list, &arena, &jobs, &count, NULL));
    return count;
}

static void end_one(void) {
    struct run_end end = {.started = now, .ended = now};
    assert_true(end_count < start_count);
    end.handle = starts[end_count++].handle;
    scheduler_ended(scheduler, &end);
}

static void jobs_are_not_looked_at_before_their_time(void **state) {
    struct wall next;
    (void)state;
    settle(&next);
    assert_int_equal(wall_s(next), DUE_S);
    assert_true(scheduler_idle(scheduler));
    assert_int_equal(start_count, 0);
    assert_int_equal(waiting_for_a_time(), JOBS);
}

static void
due_jobs_that_cannot_start_yet_become_ordinary_pending_jobs(void **state) {
    struct wall next;
    (void)state;
    settle(&next);
    now = wall_from_s(DUE_S);
    assert_true(settle(&next) < 20);
    assert_int_equal(start_count, 1);
    assert_string_equal(starts[0].id, "j2999");
    assert_int_equal(waiting_for_a_time(), 0);
    /* Nothing is left to do, so it does not ask to be called again. */
    assert_int_equal(next.ns, WALL_NEVER.ns);
}

static void backed_off_jobs_keep_their_order(void **state) {
    struct wall next;
    (void)state;
    now = wall_from_s(DUE_S + 1);
    while (end_count < JOBS) {
        settle(&next);
        end_one();
    }
    settle(&next);
    for (int i = 0; i < JOBS; i++) {
        char id[16];
        snprintf(id, sizeof(id), "j%04d", JOBS - 1 - i);
        assert_string_equal(starts[i].id, id);
    }
    assert_int_equal(waiting_for_a_time(), 0);
}

static void
a_clock_that_is_set_back_does_not_make_a_back_off_longer(void **state) {
    struct wall next;
    (void)state;
    settle(&next);
    now = wall_from_s(4000);
    settle(&next);
    now = wall_from_s(400);
    scheduler_set_back(scheduler, now, 3600 * 1000);
    settle(&next);
    assert_int_equal(wall_s(next), 1400);
    now = wall_add_ms(next, -1);
    settle(&next);
    assert_int_equal(start_count, 0);
    now = next;
    settle(&next);
    assert_int_equal(start_count, 1);
    assert_int_equal(waiting_for_a_time(), 0);
}

static void a_clock_set_back_while_nothing_ran_delays_by_one_back_off_at_most(
    void **state) {
    struct wall next;
    (void)state;
    settle(&next);
    now = wall_from_s(400); /* they wait since 1000, for 4000 s */
    restart();
    settle(&next);
    assert_int_equal(wall_s(next), 4400);
    now = wall_from_s(500);
    restart();
    settle(&next);
    assert_true(wall_s(next) > 500 && wall_s(next) <= 4400);
}

static void admit_one(enum job_kind kind, unsigned flags,
                      const struct span *nodes, size_t count) {
    now = wall_from_s(10000);
    store = store_memory_new();
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, now, SPAN("uid:7"));
    struct job job = {.id = SPAN("j1"),
                      .kind = kind,
                      .target = kind == JOB_CHANGE ? SPAN("site") : SPAN(""),
                      .job_class = CLASS_DC,
                      .state = STATE_PENDING,
                      .key = SPAN("4"),
                      .flags = flags,
                      .actor = SPAN("uid:7"),
                      .spec = SPAN("{\"command\":[\"true\"]}")};
    store_admit(batch, &job, NULL, 0, NULL, 0, nodes, count);
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
    start_count = end_count = 0;
    restart();
}

static int setup_array(void **state) {
    const struct span nodes[] = {SPAN("a"), SPAN("b")};
    (void)state;
    admit_one(JOB_COMMAND, JOB_ARRAY, nodes, COUNT(nodes));
    return 0;
}

static int setup_once(void **state) {
    const struct span nodes[] = {SPAN("a"), SPAN("b")};
    (void)state;
    admit_one(JOB_COMMAND, JOB_ARRAY | JOB_AT_MOST_ONCE, nodes, COUNT(nodes));
    return 0;
}

static int setup_one(void **state) {
    (void)state;
    admit_one(JOB_COMMAND, 0, NULL, 0);
    return 0;
}

static int setup_set(void **state) {
    (void)state;
    admit_one(JOB_CHANGE, 0, NULL, 0);
    return 0;
}

static void end_last_with(int exit_code, struct span status) {
    struct run_end end = {.handle = starts[start_count - 1].handle,
                          .exit_code = exit_code,
                          .status = status,
                          .started = now,
                          .ended = now};
    scheduler_ended(scheduler, &end);
}

static void end_last(int exit_code) {
    end_last_with(exit_code, SPAN(""));
}

static void end_back_off(uint64_t num) {
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, now, SPAN("uid:7"));
    store_at_once(batch, num, SPAN("retry"), SPAN(""));
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
}

static void a_person_may_end_a_back_off(void **state) {
    struct wall next;
    (void)state;
    settle(&next);
    end_back_off(77);
    settle(&next);
    assert_int_equal(start_count, 1);
    assert_string_equal(starts[0].id, "j0076");
    assert_int_equal(waiting_for_a_time(), JOBS - 1);
}

static void a_person_may_end_the_back_offs_of_tasks(void **state) {
    struct wall next;
    (void)state;
    settle(&next);
    end_last(75);
    settle(&next);
    end_last(0);
    settle(&next);
    assert_int_equal(start_count, 2);
    end_back_off(1);
    settle(&next);
    assert_int_equal(start_count, 3);
}

static void
back_offs_that_a_person_ended_do_not_come_back_with_a_restart(void **state) {
    struct wall next;
    (void)state;
    settle(&next);
    end_last(75);
    settle(&next);
    end_last(75);
    settle(&next);
    assert_int_equal(start_count, 2);
    end_back_off(1);
    restart(); /* it has not been told */
    settle(&next);
    assert_int_equal(start_count, 3);
    end_last(0);
    settle(&next);
    assert_int_equal(start_count, 4);
}

static void a_person_may_let_an_unavailable_target_be_tried(void **state) {
    struct wall next;
    (void)state;
    settle(&next);
    for (unsigned times = 1; times <= 4; times++) {
        assert_int_equal(start_count, times);
        struct run_end end = {.handle = starts[start_count - 1].handle,
                              .result = RUN_UNAVAILABLE,
                              .exit_code = -1,
                              .detail = SPAN("no repository")};
        scheduler_ended(scheduler, &end);
        settle(&next);
        assert_int_equal(start_count, times);
        assert_true(next.ns > now.ns);
        end_back_off(1);
        settle(&next);
    }
}

static void a_task_that_is_never_complete_backs_off(void **state) {
    struct wall next;
    (void)state;
    settle(&next);
    for (unsigned times = 1; times <= 10; times++) {
        assert_int_equal(start_count, times);
        end_last_with(0, SPAN("incomplete"));
        settle(&next);
    }
    assert_int_equal(start_count, 10);
    now = next;
    settle(&next);
    assert_int_equal(start_count, 11);
    end_last_with(0, SPAN("incomplete"));
    settle(&next);
    assert_int_equal(start_count, 11);
    assert_true(wall_ms_since(next, now) >= 1600);
}

static void
a_task_of_an_array_waits_no_longer_when_the_clock_is_set_back(void **state) {
    struct wall next;
    (void)state;
    settle(&next);
    end_last(75); /* for a second or so */
    settle(&next);
    assert_int_equal(start_count, 2);
    now = wall_from_s(9000);
    scheduler_set_back(scheduler, now, 1000 * 1000);
    settle(&next);
    assert_true(wall_ms_since(next, now) < 1500);
    now = wall_from_s(8000); /* and nobody notices */
    restart();
    settle(&next);
    end_last(0);
    settle(&next);
    assert_int_equal(start_count, 4); /* both tasks */
}

static void admit_dependent(struct span id) {
    const struct job_edge edge = {.kind = EDGE_DEPENDENCY,
                                  .to = SPAN("unknown")};
    struct job job = {.id = id,
                      .kind = JOB_CHANGE,
                      .target = SPAN("site"),
                      .job_class = CLASS_DC,
                      .state = STATE_QUEUED,
                      .key = SPAN("4"),
                      .rank = SPAN("4"),
                      .actor = SPAN("uid:7"),
                      .spec = SPAN("{}")};
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, now, SPAN("uid:7"));
    store_admit(batch, &job, &edge, 1, NULL, 0, NULL, 0);
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
}

static enum job_state state_of(uint64_t num) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    assert_true(store_job(store, num, &arena, &job, NULL));
    return job.state;
}

static void what_a_task_has_counted_outlasts_restarts(void **state) {
    struct wall next;
    (void)state;
    settle(&next);
    end_last(0);
    settle(&next);
    for (unsigned times = 1; times < MAX_TEMP; times++) {
        end_last(75);
        settle(&next);
        assert_int_equal(state_of(1), STATE_EXECUTING);
        now = next;
        restart();
        settle(&next);
        assert_int_equal(start_count, 2 + times);
    }
    end_last(75);
    settle(&next);
    assert_int_equal(state_of(1), STATE_FAILED);
}

static void a_task_fails_after_a_day_of_temporary_failures(void **state) {
    struct wall next;
    (void)state;
    settle(&next);
    end_last(0);
    settle(&next);
    end_last(75);
    settle(&next);
    now = wall_add_ms(now, INT64_C(24) * 3600 * 1000);
    settle(&next);
    assert_int_equal(start_count, 3);
    end_last(75);
    settle(&next);
    assert_int_equal(state_of(1), STATE_FAILED);
}

static void
an_upgrade_does_not_start_again_what_starts_at_most_once(void **state) {
    struct wall next;
    (void)state;
    settle(&next);
    assert_int_equal(start_count, 1);
    is_upgrade = true;
    restart();
    is_upgrade = false;
    settle(&next);
    end_last(0);
    settle(&next);
    assert_int_equal(start_count, 2); /* the other task */
    assert_int_equal(state_of(1), STATE_FAILED);
}

static void
what_arrives_after_a_clock_was_set_back_waits_for_its_full_time(void **state) {
    struct wall next;
    (void)state;
    now = wall_from_s(10000);
    store = store_memory_new();
    restart_as(SCHEDULER_STAGES | SCHEDULER_STARTS);
    admit_dependent(SPAN("before"));
    settle(&next);
    assert_int_equal(wall_ms_since(next, now), WAIT_FOR_DEP_MS);
    now = wall_from_s(10030);
    settle(&next);
    now = wall_from_s(6430);
    scheduler_set_back(scheduler, now, 3600 * 1000);
    admit_dependent(SPAN("after"));
    settle(&next);
    assert_int_equal(wall_s(next), 6460);
    now = next;
    settle(&next);
    assert_int_equal(state_of(1), STATE_FAILED);
    assert_false(job_state_is_final(state_of(2)));
    assert_int_equal(wall_s(next), 6490);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            jobs_are_not_looked_at_before_their_time, setup, teardown),
        cmocka_unit_test_setup_teardown(
            due_jobs_that_cannot_start_yet_become_ordinary_pending_jobs, setup,
            teardown),
        cmocka_unit_test_setup_teardown(backed_off_jobs_keep_their_order, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_clock_that_is_set_back_does_not_make_a_back_off_longer, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            a_clock_set_back_while_nothing_ran_delays_by_one_back_off_at_most,
            setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_task_of_an_array_waits_no_longer_when_the_clock_is_set_back,
            setup_array, teardown),
        cmocka_unit_test_teardown(
            what_arrives_after_a_clock_was_set_back_waits_for_its_full_time,
            teardown),
        cmocka_unit_test_setup_teardown(a_person_may_end_a_back_off, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_person_may_end_the_back_offs_of_tasks,
                                        setup_array, teardown),
        cmocka_unit_test_setup_teardown(
            back_offs_that_a_person_ended_do_not_come_back_with_a_restart,
            setup_array, teardown),
        cmocka_unit_test_setup_teardown(
            what_a_task_has_counted_outlasts_restarts, setup_array, teardown),
        cmocka_unit_test_setup_teardown(
            an_upgrade_does_not_start_again_what_starts_at_most_once,
            setup_once, teardown),
        cmocka_unit_test_setup_teardown(
            a_task_fails_after_a_day_of_temporary_failures, setup_array,
            teardown),
        cmocka_unit_test_setup_teardown(
            a_person_may_let_an_unavailable_target_be_tried, setup_set,
            teardown),
        cmocka_unit_test_setup_teardown(a_task_that_is_never_complete_backs_off,
                                        setup_one, teardown),
    };
    return cmocka_run_group_tests_name("scheduler_backoff", tests, NULL, NULL);
}
