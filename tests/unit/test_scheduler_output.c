/* The scheduler when the output of an attempt cannot be stored. */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/log.h"
#include "scheduler/scheduler.h"
#include "store/simulated.h"

static struct store *store;
static struct scheduler *scheduler;
static struct wall now;
static uint64_t handle;
static struct run_sync answer; /* the result of the next write_outputs */
static unsigned writes;
static bool is_whole; /* the file system of the base was asked for */
static int ends[2];   /* a pipe, which cannot be synced */

static void runner_start(void *ctx, const struct run_start *start) {
    (void)ctx;
    handle = start->handle;
}

static void runner_stop(void *ctx, uint64_t which, enum run_stop how) {
    (void)ctx, (void)which, (void)how;
}

static void runner_flush(void *ctx) {
    (void)ctx;
}

/* Like the real function, it returns each descriptor only once. */
static struct run_sync runner_write_outputs(void *ctx, bool whole) {
    is_whole = whole;
    struct run_sync given = answer;
    (void)ctx;
    answer = (struct run_sync){.fd = -1};
    writes++;
    return given;
}

static void runner_release(void *ctx, uint64_t which) {
    (void)ctx, (void)which;
}

static void settle(void) {
    struct wall next;
    struct err err;
    do {
        if (!scheduler_turn(scheduler, now, &next, &err))
            fail_msg("%s", err.text);
        store_turn(store);
    } while (!scheduler_idle(scheduler) && next.ns <= now.ns);
}

static int setup(void **state) {
    static const struct scheduler_target target = {
        .name = {"main", 4}, .train = {.lanes = 1, .land_max = 64}};
    struct scheduler_options options = {.parts = SCHEDULER_STARTS,
                                        .slots = 1,
                                        .actor = SPAN("daemon:test"),
                                        .worker = SPAN("local"),
                                        .targets = &target,
                                        .target_count = 1};
    struct runner runner = {.start = runner_start,
                            .stop = runner_stop,
                            .flush = runner_flush,
                            .write_outputs = runner_write_outputs,
                            .release = runner_release};
    struct job job = {.id = SPAN("j1"),
                      .kind = JOB_COMMAND,
                      .job_class = CLASS_DC,
                      .state = STATE_PENDING,
                      .key = SPAN("4k"),
                      .actor = SPAN("uid:7"),
                      .spec = SPAN("{\"command\":[\"true\"]}")};
    (void)state;
    log_init("test", LOG_ERROR);
    assert_int_equal(pipe(ends), 0);
    now = wall_from_s(1000);
    store = store_new_sqlite();
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, now, SPAN("uid:7"));
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
    scheduler = scheduler_new(store, &options, &runner);
    answer = (struct run_sync){.fd = -1};
    handle = writes = 0;
    assert_true(scheduler_start(scheduler, now, true, NULL));
    settle();
    assert_int_not_equal(handle, 0);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    scheduler_free(scheduler);
    store_close(store);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static void end_it(const char *place) {
    struct run_end end = {.handle = handle,
                          .started = now,
                          .ended = now,
                          .place = span_of(place)};
    scheduler_ended(scheduler, &end);
    settle();
}

static enum job_state state_of(void) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    assert_true(store_job(store, 1, &arena, &job, NULL));
    return job.state;
}

static void expect_trace(const char *want) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_attempt *attempts;
    size_t count;
    assert_true(store_attempts(store, 1, &arena, &attempts, &count, NULL));
    assert_int_equal(count, 1);
    assert_string_equal(arena_string(&arena, attempts[0].trace), want);
}

/* In the second round there is nothing to sync; this must not make the end look
 * successful. */
static void an_output_that_was_not_synced_is_recorded_as_lost(void **state) {
    (void)state;
    answer.fd = ends[1];
    end_it("s1.0.5");
    assert_int_equal(state_of(), STATE_EXECUTING);
    now = wall_add_ms(now, 2000);
    settle();
    assert_int_equal(writes, 2);
    assert_int_equal(state_of(), STATE_DONE);
    expect_trace("lossy");
}

static void an_output_that_was_not_written_is_recorded_as_lost(void **state) {
    (void)state;
    answer.lost = true;
    answer.sys = ENOSPC;
    end_it("s1.0.5");
    assert_int_equal(state_of(), STATE_DONE);
    expect_trace("lossy errno 28");
}

static void an_attempt_without_output_loses_nothing(void **state) {
    (void)state;
    answer.fd = ends[1];
    end_it("");
    now = wall_add_ms(now, 2000);
    settle();
    assert_int_equal(state_of(), STATE_DONE);
    expect_trace("");
}

/* The end of a start that failed, or from another worker. */
static void a_durable_end_waits_for_no_sync(void **state) {
    struct run_end end = {.handle = handle,
                          .started = now,
                          .ended = now,
                          .place = SPAN("s1.0.5"),
                          .is_durable = true};
    (void)state;
    answer.fd = ends[1];
    scheduler_ended(scheduler, &end);
    settle();
    assert_int_equal(writes, 0);
    assert_int_equal(state_of(), STATE_DONE);
    expect_trace("");
}

/* An end whose output is lost, then one that is durable, in one batch. */
static void end_both(const char *trace_of_lost) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_batch *batch = store_batch_new(store);
    struct store_attempt *attempts;
    struct job job = {.id = SPAN("j2"),
                      .kind = JOB_COMMAND,
                      .job_class = CLASS_DC,
                      .state = STATE_PENDING,
                      .key = SPAN("4l"),
                      .actor = SPAN("uid:7"),
                      .spec = SPAN("{\"command\":[\"true\"]}")};
    struct run_end lost = {
        .started = now, .ended = now, .place = SPAN("s1.5.9")};
    struct run_end durable = {.handle = handle,
                              .started = now,
                              .ended = now,
                              .place = SPAN("s1.0.5"),
                              .is_durable = true};
    size_t count;
    scheduler_configure(
        scheduler, &(struct scheduler_options){.parts = SCHEDULER_STARTS,
                                               .slots = 2,
                                               .actor = SPAN("daemon:test"),
                                               .worker = SPAN("local")});
    store_batch_actor(batch, now, SPAN("uid:7"));
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
    settle();
    assert_int_not_equal(handle, durable.handle);
    lost.handle = handle;
    scheduler_ended(scheduler, &lost);
    scheduler_ended(scheduler, &durable);
    settle();
    now = wall_add_ms(now, 2000);
    settle();
    assert_int_equal(state_of(), STATE_DONE);
    expect_trace("");
    assert_true(store_attempts(store, 2, &arena, &attempts, &count, NULL));
    assert_string_equal(arena_string(&arena, attempts[0].trace), trace_of_lost);
}

static void a_durable_end_loses_nothing_beside_one_not_written(void **state) {
    (void)state;
    answer.lost = true;
    end_both("lossy");
}

static void a_durable_end_loses_nothing_beside_one_not_synced(void **state) {
    (void)state;
    answer.fd = ends[1];
    end_both("lossy");
}

static void an_output_that_was_synced_is_not_mentioned(void **state) {
    (void)state;
    int fd = open(test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    answer.fd = fd;
    end_it("s1.0.5");
    close(fd);
    assert_int_equal(state_of(), STATE_DONE);
    expect_trace("");
}

/* The landing left the sync of the branch to the scheduler, and it is asked for
 * until it succeeds. */
static void a_landing_is_recorded_when_its_branch_is_synced(void **state) {
    (void)state;
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_batch *batch = store_batch_new(store);
    struct job job = {.id = SPAN("c1"),
                      .kind = JOB_CHANGE,
                      .job_class = CLASS_DC,
                      .state = STATE_PENDING,
                      .key = SPAN("4m"),
                      .target = SPAN("main"),
                      .actor = SPAN("uid:7")};
    store_batch_actor(batch, now, SPAN("uid:7"));
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
    uint64_t command = handle;
    settle();
    assert_int_not_equal(handle, command);
    struct run_end end = {
        .handle = handle,
        .started = now,
        .ended = now,
        .status = SPAN("done 0123456789012345678901234567890123456789")};
    answer.fd = ends[1];
    scheduler_ended(scheduler, &end);
    settle();
    assert_true(is_whole);
    assert_true(store_job(store, 2, &arena, &job, NULL));
    assert_int_equal(job.state, STATE_EXECUTING);
    is_whole = false;
    now = wall_add_ms(now, 2000);
    settle();
    assert_true(is_whole);
    assert_true(store_job(store, 2, &arena, &job, NULL));
    assert_int_equal(job.state, STATE_DONE);
    handle = command;
    end_it("");
    assert_false(is_whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_landing_is_recorded_when_its_branch_is_synced, setup, teardown),
        cmocka_unit_test_setup_teardown(
            an_output_that_was_synced_is_not_mentioned, setup, teardown),
        cmocka_unit_test_setup_teardown(a_durable_end_waits_for_no_sync, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_durable_end_loses_nothing_beside_one_not_written, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            a_durable_end_loses_nothing_beside_one_not_synced, setup, teardown),
        cmocka_unit_test_setup_teardown(
            an_output_that_was_not_synced_is_recorded_as_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(
            an_output_that_was_not_written_is_recorded_as_lost, setup,
            teardown),
        cmocka_unit_test_setup_teardown(an_attempt_without_output_loses_nothing,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
