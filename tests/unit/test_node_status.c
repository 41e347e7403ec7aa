/* The rows of the table in doc/design/nodes.md, N3, and N4. */
#include "core/node_status.h"

#include <limits.h>

#include "support/test.h"

static const uint32_t waits[] = {15, 30, 60};
static struct wall now;
static struct node_task task;
static struct node_rules rules;
static struct retry_verdict verdict;

static int setup(void **state) {
    (void)state;
    now = wall_from_s(1700000000);
    task = (struct node_task){0};
    rules = (struct node_rules){.limits = {.max_temp = 20,
                                           .max_crash = 3,
                                           .retries = UINT_MAX,
                                           .backoff_s = waits,
                                           .backoff_count = COUNT(waits)},
                                .lost_wait_ms = 66000,
                                .killed_waits = true};
    return 0;
}

static bool end_as(struct retry_end end) {
    return node_task_end(&task, task.attempt, &end, &rules, now, 1, &verdict);
}

static bool report(enum retry_status status) {
    return end_as((struct retry_end){.status = status});
}

static void start(void) {
    node_task_start(&task, now);
}

/* It waits for that many seconds from now. */
static void waits_for(enum task_status status, int64_t s) {
    assert_int_equal(task.status, status);
    assert_int_equal(task.not_before.ns, wall_add_ms(now, 1000 * s).ns);
}

static void is_at_once(enum task_status status) {
    assert_int_equal(task.status, status);
    assert_int_equal(task.not_before.ns, 0);
}

static void a_task_that_is_done_never_starts_again(void **state) {
    (void)state;
    start();
    assert_int_equal(task.attempt, 1);
    assert_int_equal(task.begun_s, 1700000000);
    assert_true(report(RETRY_STATUS_DONE));
    is_at_once(TASK_DONE);
    assert_false(node_task_is_open(&task));
    assert_false(node_task_forgive(&task));
}

static void failures_follow_the_list_and_repeat_its_last_wait(void **state) {
    const int64_t expected[] = {15, 30, 60, 60, 60};

    (void)state;
    for (size_t i = 0; i < COUNT(expected); i++) {
        start();
        assert_true(report(RETRY_STATUS_BACKOFF));
        waits_for(TASK_BACKOFF, expected[i]);
    }
}

static void
a_list_that_ends_with_fail_fails_behind_its_last_wait(void **state) {
    (void)state;
    rules.limits.backoff_fails = true;
    for (size_t i = 0; i < COUNT(waits); i++) {
        start();
        assert_true(report(RETRY_STATUS_BACKOFF));
        assert_int_equal(task.status, TASK_BACKOFF);
    }
    start();
    assert_true(report(RETRY_STATUS_BACKOFF));
    is_at_once(TASK_FAILED);
}

static void a_list_of_fail_alone_fails_at_once(void **state) {
    (void)state;
    rules.limits.backoff_fails = true;
    rules.limits.backoff_count = 0;
    start();
    assert_true(report(RETRY_STATUS_BACKOFF));
    is_at_once(TASK_FAILED);
}

static void
incomplete_starts_at_once_and_goes_back_to_the_first_wait(void **state) {
    (void)state;
    start();
    report(RETRY_STATUS_BACKOFF);
    start();
    report(RETRY_STATUS_INCOMPLETE);
    is_at_once(TASK_INCOMPLETE);
    start();
    report(RETRY_STATUS_BACKOFF);
    waits_for(TASK_BACKOFF, 15);
}

static void incomplete_waits_from_the_tenth_time_in_a_row_on(void **state) {
    (void)state;
    for (unsigned i = 1; i <= 12; i++) {
        start();
        report(RETRY_STATUS_INCOMPLETE);
        assert_int_equal(task.not_before.ns != 0, i >= 10);
    }
    start();
    report(RETRY_STATUS_BACKOFF);
    start();
    report(RETRY_STATUS_INCOMPLETE);
    is_at_once(TASK_INCOMPLETE);
}

static void incomplete_backoff_waits_and_keeps_its_place(void **state) {
    (void)state;
    start();
    report(RETRY_STATUS_BACKOFF);
    for (unsigned i = 0; i < 3; i++) {
        start();
        report(RETRY_STATUS_INCOMPLETE_BACKOFF);
        waits_for(TASK_BACKOFF, 30);
    }
    start();
    report(RETRY_STATUS_BACKOFF);
    waits_for(TASK_BACKOFF, 30);
}

static void
a_task_that_was_killed_and_said_nothing_keeps_its_place(void **state) {
    struct retry_end killed = {
        .exit_code = -1, .signal = 15, .killer = RETRY_OPERATOR};

    (void)state;
    start();
    assert_true(end_as(killed));
    waits_for(TASK_BACKOFF, 15);
    start();
    killed.status = RETRY_STATUS_FAILED; /* its own word wins */
    assert_true(end_as(killed));
    is_at_once(TASK_FAILED);
}

/* A request to end a task does not make it fail for good if nothing ran, or if
 * its supervisor died first. */
static void
a_task_that_had_not_started_when_it_was_killed_is_open(void **state) {
    (void)state;
    start();
    assert_true(end_as((struct retry_end){
        .result = RETRY_WITHDRAWN, .exit_code = -1, .killer = RETRY_OPERATOR}));
    is_at_once(TASK_UNSTARTED);
    start();
    assert_true(end_as((struct retry_end){
        .result = RETRY_RECOVERED, .exit_code = -1, .killer = RETRY_OPERATOR}));
    is_at_once(TASK_LOST);
}

static void a_task_of_a_cancelled_job_ends(void **state) {
    (void)state;
    rules.killed_waits = false;
    start();
    assert_true(end_as((struct retry_end){
        .exit_code = -1, .signal = 15, .killer = RETRY_OPERATOR}));
    is_at_once(TASK_FAILED);
}

static void a_start_that_never_happened_is_no_attempt(void **state) {
    (void)state;
    start();
    assert_true(end_as((struct retry_end){.result = RETRY_WITHDRAWN}));
    is_at_once(TASK_UNSTARTED);
    assert_int_equal(task.attempt, 0);
}

static void
a_lost_task_waits_for_its_worker_and_counts_as_failed(void **state) {
    const struct retry_end lost = {.result = RETRY_LOST, .exit_code = -1};

    (void)state;
    start();
    assert_true(end_as(lost));
    waits_for(TASK_LOST, 66); /* longer than the first wait */
    start();
    report(RETRY_STATUS_BACKOFF);
    waits_for(TASK_BACKOFF, 30); /* the second, not one behind 66 */
    rules.lost_wait_ms = 5000;
    start();
    assert_true(end_as(lost));
    waits_for(TASK_LOST, 60); /* longer than that of the worker */
}

static void a_forgiven_task_starts_at_once_from_the_first_wait(void **state) {
    (void)state;
    start();
    report(RETRY_STATUS_BACKOFF);
    start();
    report(RETRY_STATUS_FAILED);
    assert_true(node_task_forgive(&task));
    is_at_once(TASK_UNSTARTED);
    assert_int_equal(task.attempt, 2);
    assert_false(node_task_forgive(&task));
    start();
    report(RETRY_STATUS_BACKOFF);
    waits_for(TASK_BACKOFF, 15);
}

static void a_lost_task_waits_even_if_it_failed_and_was_forgiven(void **state) {
    (void)state;
    rules.limits.backoff_fails = true;
    rules.limits.backoff_count = 0;
    start();
    assert_true(end_as((struct retry_end){.result = RETRY_LOST}));
    assert_int_equal(task.status, TASK_FAILED);
    assert_true(node_task_forgive(&task));
    waits_for(TASK_LOST, 66);
    assert_true(node_task_is_open(&task));
}

static void a_late_report_takes_the_place_of_a_loss_once(void **state) {
    const struct retry_end failed = {.status = RETRY_STATUS_BACKOFF};
    const struct retry_end done = {.result = RETRY_RAN};

    (void)state;
    start();
    end_as((struct retry_end){.result = RETRY_LOST});
    assert_true(node_task_end(&task, 1, &failed, &rules, now, 1, &verdict));
    waits_for(TASK_BACKOFF, 15); /* the position has advanced once */
    assert_false(node_task_end(&task, 1, &done, &rules, now, 1, &verdict));
    waits_for(TASK_BACKOFF, 15);
}

static void reports_of_other_attempts_change_nothing(void **state) {
    const struct retry_end done = {.result = RETRY_RAN};
    struct node_task before;

    (void)state;
    start();
    end_as((struct retry_end){.result = RETRY_LOST});
    start();
    before = task;
    assert_false(node_task_end(&task, 1, &done, &rules, now, 1, &verdict));
    assert_false(node_task_end(&task, 3, &done, &rules, now, 1, &verdict));
    assert_memory_equal(&task, &before, sizeof(task));
}

static void a_second_loss_does_not_take_the_place_of_the_first(void **state) {
    const struct retry_end lost = {.result = RETRY_LOST};

    (void)state;
    start();
    assert_true(end_as(lost));
    assert_false(end_as(lost));
    assert_false(end_as((struct retry_end){.result = RETRY_WITHDRAWN}));
}

static void counts_stop_at_what_they_can_hold(void **state) {
    (void)state;
    task.fails = UINT16_MAX;
    task.crashes = UINT8_MAX;
    task.incompletes = UINT8_MAX;
    start();
    report(RETRY_STATUS_BACKOFF);
    assert_int_equal(task.fails, UINT16_MAX);
    rules.limits.max_crash = 0;
    start();
    end_as((struct retry_end){.result = RETRY_CRASHED});
    assert_int_equal(task.crashes, UINT8_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_task_that_is_done_never_starts_again, setup),
        cmocka_unit_test_setup(
            failures_follow_the_list_and_repeat_its_last_wait, setup),
        cmocka_unit_test_setup(
            a_list_that_ends_with_fail_fails_behind_its_last_wait, setup),
        cmocka_unit_test_setup(a_list_of_fail_alone_fails_at_once, setup),
        cmocka_unit_test_setup(
            incomplete_starts_at_once_and_goes_back_to_the_first_wait, setup),
        cmocka_unit_test_setup(incomplete_waits_from_the_tenth_time_in_a_row_on,
                               setup),
        cmocka_unit_test_setup(incomplete_backoff_waits_and_keeps_its_place,
                               setup),
        cmocka_unit_test_setup(
            a_task_that_was_killed_and_said_nothing_keeps_its_place, setup),
        cmocka_unit_test_setup(
            a_task_that_had_not_started_when_it_was_killed_is_open, setup),
        cmocka_unit_test_setup(a_task_of_a_cancelled_job_ends, setup),
        cmocka_unit_test_setup(a_start_that_never_happened_is_no_attempt,
                               setup),
        cmocka_unit_test_setup(
            a_lost_task_waits_for_its_worker_and_counts_as_failed, setup),
        cmocka_unit_test_setup(
            a_forgiven_task_starts_at_once_from_the_first_wait, setup),
        cmocka_unit_test_setup(
            a_lost_task_waits_even_if_it_failed_and_was_forgiven, setup),
        cmocka_unit_test_setup(a_late_report_takes_the_place_of_a_loss_once,
                               setup),
        cmocka_unit_test_setup(reports_of_other_attempts_change_nothing, setup),
        cmocka_unit_test_setup(
            a_second_loss_does_not_take_the_place_of_the_first, setup),
        cmocka_unit_test_setup(counts_stop_at_what_they_can_hold, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
