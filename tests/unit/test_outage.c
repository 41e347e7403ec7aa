#include "core/outage.h"

#include "support/test.h"

static struct random generator;

static struct wall at_s(int64_t s) {
    return (struct wall){s * NS_PER_S};
}

static void the_back_off_grows_with_each_try(void **state) {
    (void)state;
    struct outage outage = {.since = at_s(100)};
    struct wall now = at_s(100);
    int64_t before_ms = 0;
    random_init(&generator, 1);
    for (unsigned i = 0; i < 8; i++) {
        assert_true(outage_extend(&outage, now, &generator));
        int64_t ms = wall_ms_since(outage.again, now);
        assert_true(ms > before_ms);
        before_ms = ms;
        now = outage.again;
    }
    assert_int_equal(outage.tries, 8);
    assert_int_equal(outage.since.ns, at_s(100).ns);
}

static void only_the_first_of_several_sets_counts(void **state) {
    (void)state;
    struct outage outage = {.since = at_s(100)};
    random_init(&generator, 1);
    assert_true(outage_extend(&outage, at_s(100), &generator));
    struct wall again = outage.again;
    assert_false(outage_extend(&outage, at_s(100), &generator));
    assert_int_equal(outage.again.ns, again.ns);
    assert_int_equal(outage.tries, 1);
}

static void a_repaired_target_is_tried_at_once(void **state) {
    (void)state;
    struct outage outage = {.since = at_s(100)};
    random_init(&generator, 1);
    assert_true(outage_extend(&outage, at_s(100), &generator));
    outage_retry(&outage);
    assert_int_equal(outage.again.ns, 0);
    assert_true(outage_extend(&outage, at_s(100), &generator));
    assert_int_equal(outage.tries, 2);
}

static void an_outage_lasts_no_longer_when_the_clock_is_set_back(void **state) {
    (void)state;
    struct outage outage = {.since = at_s(5000)};
    random_init(&generator, 1);
    assert_true(outage_extend(&outage, at_s(5000), &generator));
    struct wall again = outage.again;
    outage_set_back(&outage, 3600000);
    assert_int_equal(outage.again.ns, again.ns - 3600 * NS_PER_S);
    assert_int_equal(outage.since.ns, at_s(1400).ns);
    outage_retry(&outage);
    outage_set_back(&outage, 1000);
    assert_int_equal(outage.again.ns, 0);
}

static void the_last_step_of_a_landing_shows_an_outage(void **state) {
    (void)state;
    struct job job = {.kind = JOB_CHANGE,
                      .state = STATE_PENDING,
                      .reason = SPAN("unavailable")};
    assert_true(outage_shows(&job));
    job.reason = SPAN("temp");
    assert_false(outage_shows(&job));
    job.reason = SPAN("unavailable");
    job.state = STATE_EXECUTING;
    assert_false(outage_shows(&job));
    job.state = STATE_PENDING;
    job.kind = JOB_COMMAND;
    assert_false(outage_shows(&job));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_back_off_grows_with_each_try),
        cmocka_unit_test(only_the_first_of_several_sets_counts),
        cmocka_unit_test(a_repaired_target_is_tried_at_once),
        cmocka_unit_test(an_outage_lasts_no_longer_when_the_clock_is_set_back),
        cmocka_unit_test(the_last_step_of_a_landing_shows_an_outage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
