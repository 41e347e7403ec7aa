#include "scheduler/estimate.h"

#include "support/test.h"
#include "store/simulated.h"

static struct store *store;
static const struct wall now = {INT64_C(1700000000) * NS_PER_S};

static int setup(void **state) {
    (void)state;
    store = store_memory_new();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    store_close(store);
    return 0;
}

/* Admits sets for one target; their ids are also their order. */
static void admit(const char *prefix, const char *target, size_t count) {
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, now, SPAN("uid:7"));
    for (size_t i = 0; i < count; i++) {
        char id[24];
        snprintf(id, sizeof(id), "%s%05zu", prefix, i);
        struct job job = {.id = span_of(id),
                          .kind = JOB_CHANGE,
                          .job_class = CLASS_DC,
                          .state = STATE_PENDING,
                          .key = span_of(id),
                          .rank = span_of(id),
                          .target = span_of(target),
                          .actor = SPAN("uid:7")};
        store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    }
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
}

static struct estimate estimate_of(const char *id) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct estimate estimate;
    struct job job;
    bool found;
    assert_true(store_lookup(store, span_of(id), &arena, &job, &found, NULL) &&
                found);
    assert_true(estimate_make(store, &job, now, &estimate, NULL));
    return estimate;
}

static void earlier_sets_for_the_same_target_are_counted(void **state) {
    (void)state;
    admit("a", "main", 3);
    admit("b", "other", 5);
    admit("c", "main", 2);
    assert_int_equal(estimate_of("c00001").ahead, 4);
    assert_false(estimate_of("c00001").more);
    assert_int_equal(estimate_of("b00000").ahead, 0);
    assert_int_equal(estimate_of("c00001").each_ms, -1);
}

/* Lands the set after the number of attempts, of a second each. */
static void land(const char *id, unsigned attempts) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_batch *batch = store_batch_new(store);
    struct job job;
    bool found;
    assert_true(store_lookup(store, span_of(id), &arena, &job, &found, NULL));
    store_batch_actor(batch, now, SPAN("daemon:test"));
    store_move(batch, &(struct store_move){.num = job.num,
                                           .from = STATE_PENDING,
                                           .to = STATE_EXECUTING,
                                           .reason = SPAN("start"),
                                           .begin_attempt = true});
    for (unsigned i = 1; i <= attempts; i++) {
        struct store_attempt row = {.num = job.num,
                                    .attempt = i,
                                    .goes_on = i > 1,
                                    .status = TASK_RUNNING,
                                    .assigned = now,
                                    .exit_code = -1,
                                    .worker = SPAN("local")};
        store_assign(batch, &row);
        row.status = TASK_DONE;
        row.started = now;
        row.ended = wall_add_ms(now, 1000);
        row.reason = SPAN("ok");
        store_end(batch, &row);
    }
    store_move(batch, &(struct store_move){.num = job.num,
                                           .from = STATE_EXECUTING,
                                           .to = STATE_DONE,
                                           .reason = SPAN("ok")});
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
}

static void the_checks_and_the_landing_of_a_set_count(void **state) {
    (void)state;
    admit("a", "main", 3);
    land("a00000", 2);
    assert_int_equal(estimate_of("a00002").each_ms, 2000);
}

static void counting_stops_at_a_limit(void **state) {
    (void)state;
    admit("a", "main", ESTIMATE_SETS_MAX);
    assert_false(estimate_of("a00009").more);
    admit("b", "main", 50);
    assert_true(estimate_of("b00049").more);
    assert_int_equal(estimate_of("b00049").ahead, ESTIMATE_SETS_MAX);
    assert_int_equal(estimate_of("a00009").ahead, 9);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(earlier_sets_for_the_same_target_are_counted),
        T(the_checks_and_the_landing_of_a_set_count),
        T(counting_stops_at_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
