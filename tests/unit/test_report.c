#include "support/test.h"

#include "core/report.h"

static struct report_sample sample(enum job_class job_class,
                                   enum job_state state, int64_t wait_ms,
                                   const char *reason) {
    return (struct report_sample){.admitted = wall_from_s(86400 * 3 + 5),
                                  .job_class = job_class,
                                  .state = state,
                                  .target = SPAN("main"),
                                  .reason = span_of(reason),
                                  .wait_ms = wait_ms,
                                  .run_ms = wait_ms < 0 ? -1 : 2 * wait_ms};
}

static void
the_median_and_a_high_percentile_of_waits_are_reported(void **state) {
    (void)state;
    struct report *report = report_new(&(struct report_by){0});
    struct arena arena = ARENA_INIT;
    struct report_group *groups;
    size_t count;
    for (int64_t i = 100; i > 0; i--) {
        struct report_sample one = sample(CLASS_DC, STATE_DONE, i, "ok");
        report_add(report, &one);
    }
    struct report_sample waiting = sample(CLASS_DC, STATE_STAGED, -1, "staged");
    report_add(report, &waiting);
    waiting.owed = waiting.rollback = true;
    report_add(report, &waiting);
    waiting.overdue = waiting.rollback_empty = true;
    report_add(report, &waiting);
    report_finish(report, &arena, &groups, &count);
    assert_int_equal(count, 1);
    assert_int_equal(groups[0].owed, 2);
    assert_int_equal(groups[0].overdue, 1);
    assert_int_equal(groups[0].rollbacks, 2);
    assert_int_equal(groups[0].rollbacks_empty, 1);
    assert_int_equal(groups[0].jobs, 103);
    assert_int_equal(groups[0].wait_p50_ms, 50);
    assert_int_equal(groups[0].wait_p95_ms, 95);
    assert_int_equal(groups[0].run_p50_ms, 100);
    assert_int_equal(groups[0].count[STATE_STAGED], 3);
    assert_int_equal(groups[0].day.len, 0);
    report_free(report);
    arena_clear(&arena);
}

static void groups_are_sorted_by_urgency(void **state) {
    (void)state;
    struct report_by by = {.day = true, .job_class = true, .target = true};
    struct report *report = report_new(&by);
    struct arena arena = ARENA_INIT;
    struct report_group *groups;
    size_t count;
    struct report_sample dc = sample(CLASS_DC, STATE_DONE, 1, "ok");
    struct report_sample em = sample(CLASS_EM, STATE_DONE, 1, "ok");
    struct report_sample later = em;
    later.admitted = wall_from_s(86400 * 4);
    dc.rolled_back = em.inverted = true;
    report_add(report, &later);
    report_add(report, &dc);
    report_add(report, &em);
    report_finish(report, &arena, &groups, &count);
    assert_int_equal(count, 3);
    assert_true(span_is(groups[0].day, "1970-01-04"));
    assert_true(span_is(groups[0].job_class, "EM"));
    assert_int_equal(groups[0].inverted, 1);
    assert_true(span_is(groups[1].job_class, "DC"));
    assert_int_equal(groups[1].rolled_back, 1);
    assert_true(span_is(groups[2].day, "1970-01-05"));
    report_free(report);
    arena_clear(&arena);
}

static void failures_are_counted_by_kind(void **state) {
    (void)state;
    struct report *report = report_new(&(struct report_by){0});
    struct arena arena = ARENA_INIT;
    struct report_group *groups;
    size_t count;
    static const char *const reasons[] = {"conflict", "timeout", "conflict"};
    for (size_t i = 0; i < COUNT(reasons); i++) {
        struct report_sample one =
            sample(CLASS_DC, STATE_FAILED, 1, reasons[i]);
        report_add(report, &one);
    }
    report_finish(report, &arena, &groups, &count);
    assert_int_equal(groups[0].failure_count, 2);
    assert_true(span_is(groups[0].failures[0].reason, "conflict"));
    assert_int_equal(groups[0].failures[0].count, 2);
    report_free(report);
    arena_clear(&arena);
}

static void usage_is_added_and_its_peak_is_the_highest(void **state) {
    struct report_by by = {.job_class = true};
    struct report *report = report_new(&by);
    struct arena arena = ARENA_INIT;
    struct report_group *groups;
    size_t count;
    (void)state;
    for (uint64_t i = 1; i <= 3; i++) {
        struct report_sample one = sample(CLASS_DC, STATE_DONE, 1, "ok");
        one.cpu_us = 10 * i;
        one.peak_kib = i == 2 ? 700 : 5;
        report_add(report, &one);
    }
    report_finish(report, &arena, &groups, &count);
    assert_int_equal(count, 1);
    assert_int_equal(groups[0].cpu_us, 60);
    assert_int_equal(groups[0].peak_kib, 700);
    report_free(report);
    arena_clear(&arena);
}

static void times_are_those_of_the_processes(void **state) {
    (void)state;
    struct report_sample one = sample(CLASS_DC, STATE_DONE, -1, "ok");
    struct wall none = {0}, admitted = one.admitted;
    /* An array: its attempts are listed by node. */
    report_sample_attempt(&one, none, wall_add_ms(admitted, 100));
    assert_int_equal(one.wait_ms, -1);
    assert_int_equal(one.run_ms, -1);
    report_sample_attempt(&one, wall_add_ms(admitted, 700),
                          wall_add_ms(admitted, 900));
    report_sample_attempt(&one, wall_add_ms(admitted, 300),
                          wall_add_ms(admitted, 400));
    report_sample_attempt(&one, wall_add_ms(admitted, 950), none);
    assert_int_equal(one.wait_ms, 300);
    assert_int_equal(one.run_ms, 200);
    /* The checks and the landing of a set. */
    one = sample(CLASS_DC, STATE_DONE, -1, "ok");
    one.adds = true;
    report_sample_attempt(&one, wall_add_ms(admitted, 300),
                          wall_add_ms(admitted, 400));
    report_sample_attempt(&one, wall_add_ms(admitted, 700),
                          wall_add_ms(admitted, 720));
    assert_int_equal(one.wait_ms, 300);
    assert_int_equal(one.run_ms, 120);
    /* The clock was set back. */
    one = sample(CLASS_DC, STATE_DONE, -1, "ok");
    report_sample_attempt(&one, wall_add_ms(admitted, -50),
                          wall_add_ms(admitted, -60));
    assert_int_equal(one.wait_ms, 0);
    assert_int_equal(one.run_ms, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            the_median_and_a_high_percentile_of_waits_are_reported),
        cmocka_unit_test(usage_is_added_and_its_peak_is_the_highest),
        cmocka_unit_test(times_are_those_of_the_processes),
        cmocka_unit_test(groups_are_sorted_by_urgency),
        cmocka_unit_test(failures_are_counted_by_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
