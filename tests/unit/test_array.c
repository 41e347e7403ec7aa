#include "core/array.h"

#include "support/test.h"

static struct array_task tasks[3];
static struct array array;

static int setup(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(tasks); i++)
        tasks[i] = (struct array_task){.status = TASK_UNSTARTED};
    array = (struct array){.tasks = tasks, .count = COUNT(tasks)};
    return 0;
}

static struct wall at_s(int64_t s) {
    return (struct wall){s * NS_PER_S};
}

static size_t start_next(void) {
    size_t at = array_next(&array, at_s(1));
    assert_true(at < array.count);
    array_task_start(&array, at);
    return at;
}

static void end(size_t at, enum job_state to) {
    struct retry_verdict verdict = retry_verdict_make(to, "", SPAN(""));
    array_task_end(&array, at, &verdict, false);
}

static void tasks_start_in_order(void **state) {
    (void)state;
    assert_int_equal(start_next(), 0);
    assert_int_equal(start_next(), 1);
    assert_int_equal(start_next(), 2);
    assert_int_equal(array_next(&array, at_s(1)), array.count);
}

static void no_task_starts_while_as_many_run_as_may(void **state) {
    (void)state;
    array.limit = 2;
    assert_int_equal(start_next(), 0);
    assert_int_equal(start_next(), 1);
    assert_int_equal(array_next(&array, at_s(1)), array.count);
    end(0, STATE_DONE);
    assert_int_equal(start_next(), 2);
    /* A smaller limit waits until fewer are running. */
    array.limit = 1;
    end(1, STATE_FAILED);
    assert_int_equal(array_next(&array, at_s(1)), array.count);
    array.limit = 0;
    assert_int_equal(array_next(&array, at_s(1)), array.count);
    array_task_start_failed(&array, 2);
    assert_int_equal(start_next(), 2);
}

static void a_start_that_was_not_recorded_is_repeated(void **state) {
    (void)state;
    assert_int_equal(start_next(), 0);
    assert_int_equal(start_next(), 1);
    array_task_start_failed(&array, 0);
    assert_int_equal(array.running, 1);
    assert_int_equal(start_next(), 0);
}

static void a_withdrawn_start_is_no_attempt(void **state) {
    (void)state;
    struct retry_verdict withdrawn = {
        .action = RETRY_UNCOUNT, .to = STATE_PENDING, .task = TASK_UNSTARTED};
    size_t at = start_next();
    tasks[at].attempt = 1;
    struct array_task before = array_task_end(&array, at, &withdrawn, false);
    assert_int_equal(tasks[at].attempt, 0);
    array_task_end_failed(&array, at, &before);
    assert_int_equal(tasks[at].attempt, 1);
}

static void a_task_that_backs_off_lets_others_go_first(void **state) {
    (void)state;
    struct retry_verdict later = {.to = STATE_PENDING,
                                  .task = TASK_BACKOFF,
                                  .not_before = at_s(9),
                                  .temps = 1};
    array_task_end(&array, start_next(), &later, false);
    assert_int_equal(tasks[0].counts.temps, 1);
    assert_int_equal(array_next(&array, at_s(1)), 1);
    assert_int_equal(array_next_time(&array, at_s(1)).ns, at_s(9).ns);
    assert_int_equal(array_next(&array, at_s(9)), 0);
    assert_int_equal(array_next_time(&array, at_s(9)).ns, WALL_NEVER.ns);
}

static void
the_time_of_a_task_moves_with_a_clock_that_is_set_back(void **state) {
    (void)state;
    tasks[1].not_before = at_s(5000);
    array_set_back(&array, 3600 * 1000);
    assert_int_equal(array_next_time(&array, at_s(1)).ns, at_s(1400).ns);
    assert_int_equal(tasks[0].not_before.ns, 0);
}

static void an_end_that_was_not_recorded_changes_nothing(void **state) {
    (void)state;
    struct retry_verdict crash = {
        .to = STATE_PENDING, .task = TASK_LOST, .crashes = 1};
    size_t at = start_next();
    for (int i = 0; i < 2; i++) {
        struct array_task before = array_task_end(&array, at, &crash, false);
        assert_int_equal(tasks[at].counts.crashes, 1);
        array_task_end_failed(&array, at, &before);
    }
    assert_true(tasks[at].running);
    assert_int_equal(tasks[at].counts.crashes, 0);
    assert_int_equal(array.running, 1);
}

static void an_array_is_over_when_every_task_is_final(void **state) {
    (void)state;
    end(start_next(), STATE_DONE);
    end(start_next(), STATE_FAILED);
    size_t last = start_next();
    assert_false(array_is_over(&array, false));
    end(last, STATE_PENDING);
    tasks[last].status = TASK_BACKOFF;
    assert_false(array_is_over(&array, false));
    end(start_next(), STATE_DONE);
    assert_true(array_is_over(&array, false));
}

static void a_killed_array_waits_only_for_running_tasks(void **state) {
    (void)state;
    size_t at = start_next();
    assert_false(array_is_over(&array, true));
    end(at, STATE_TERMINATED);
    assert_true(array_is_over(&array, true));
    assert_false(array_is_over(&array, false));
}

static void a_task_that_gives_up_fails_alone(void **state) {
    (void)state;
    end(start_next(), STATE_TERMINATED);
    assert_int_equal(tasks[0].status, TASK_FAILED);
    assert_int_equal(array_next(&array, at_s(1)), 1);
}

static void one_failed_task_fails_the_job(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(tasks); i++)
        tasks[i].status = TASK_DONE;
    assert_int_equal(array_verdict(&array, RETRY_NOBODY).to, STATE_DONE);
    tasks[1].status = TASK_FAILED;
    struct retry_verdict verdict = array_verdict(&array, RETRY_NOBODY);
    assert_int_equal(verdict.to, STATE_FAILED);
    assert_string_equal(verdict.detail, "1 of 3 tasks failed");
}

static void the_verdict_depends_on_who_requested_the_end(void **state) {
    (void)state;
    assert_int_equal(array_verdict(&array, RETRY_OPERATOR).to,
                     STATE_TERMINATED);
    assert_int_equal(array_verdict(&array, RETRY_STOP).to, STATE_PENDING);
}

static void a_task_that_may_not_run_holds_the_whole_job(void **state) {
    (void)state;
    struct retry_verdict held =
        retry_verdict_make(STATE_PENDING, "forbidden", SPAN("why"));
    held.task = TASK_UNSTARTED;
    held.hold = HOLD_ACCOUNT;
    size_t running = start_next();
    struct array_task before =
        array_task_end(&array, start_next(), &held, false);
    assert_int_equal(array_next(&array, at_s(1)), array.count);
    assert_false(array_is_over(&array, false));
    end(running, STATE_DONE);
    assert_true(array_is_over(&array, false));
    struct retry_verdict verdict = array_verdict(&array, RETRY_NOBODY);
    assert_int_equal(verdict.to, STATE_PENDING);
    assert_int_equal(verdict.hold, HOLD_ACCOUNT);
    assert_string_equal(verdict.detail, "why");
    assert_int_equal(array_verdict(&array, RETRY_OPERATOR).to,
                     STATE_TERMINATED);
    array_task_end_failed(&array, 1, &before);
    assert_int_equal(array_next(&array, at_s(1)), 2);
}

int main(void) {
#define T(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        T(tasks_start_in_order),
        T(no_task_starts_while_as_many_run_as_may),
        T(a_start_that_was_not_recorded_is_repeated),
        T(a_withdrawn_start_is_no_attempt),
        T(a_task_that_backs_off_lets_others_go_first),
        T(the_time_of_a_task_moves_with_a_clock_that_is_set_back),
        T(an_end_that_was_not_recorded_changes_nothing),
        T(an_array_is_over_when_every_task_is_final),
        T(a_killed_array_waits_only_for_running_tasks),
        T(a_task_that_gives_up_fails_alone),
        T(one_failed_task_fails_the_job),
        T(the_verdict_depends_on_who_requested_the_end),
        T(a_task_that_may_not_run_holds_the_whole_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
