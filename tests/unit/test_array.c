#include "core/array.h"

#include "support/test.h"

static struct array_task tasks[3];
static struct array array;

static int setup(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(tasks); i++)
        tasks[i] = (struct array_task){.task = {.status = TASK_UNSTARTED}};
    array = (struct array){.tasks = tasks, .count = COUNT(tasks)};
    return 0;
}

static struct wall at_s(int64_t s) {
    return (struct wall){s * NS_PER_S};
}

static struct node_task before_start;

static size_t start_next(void) {
    size_t at = array_next(&array, at_s(1));
    assert_true(at < array.count);
    before_start = array_task_start(&array, at, at_s(1));
    return at;
}

static const struct node_rules rules = {
    .limits = {.max_temp = 20, .max_crash = 3, .retries = 1}};

static struct retry_verdict verdict;

static struct node_task end_as(size_t at, const struct retry_end *end) {
    return array_task_end(&array, at, end, &rules, at_s(1), 1, &verdict);
}

static const struct retry_end done = {.result = RETRY_RAN};
static const struct retry_end refused = {.result = RETRY_RAN, .exit_code = 100};
static const struct retry_end later = {.result = RETRY_RAN, .exit_code = 75};
static const struct retry_end crash = {.result = RETRY_CRASHED};

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
    end_as(0, &done);
    assert_int_equal(start_next(), 2);
    /* A smaller limit waits until fewer are running. */
    array.limit = 1;
    end_as(1, &refused);
    assert_int_equal(array_next(&array, at_s(1)), array.count);
    array.limit = 0;
    assert_int_equal(array_next(&array, at_s(1)), array.count);
    array_task_start_failed(&array, 2, &before_start);
    assert_int_equal(start_next(), 2);
}

static void a_start_that_was_not_recorded_is_repeated(void **state) {
    (void)state;
    assert_int_equal(start_next(), 0);
    struct node_task before = before_start;
    assert_int_equal(start_next(), 1);
    array_task_start_failed(&array, 0, &before);
    assert_int_equal(array.running, 1);
    assert_int_equal(tasks[0].task.attempt, 0);
    assert_int_equal(start_next(), 0);
}

static void a_withdrawn_start_is_no_attempt(void **state) {
    (void)state;
    static const struct retry_end withdrawn = {.result = RETRY_WITHDRAWN};
    size_t at = start_next();
    struct node_task before = end_as(at, &withdrawn);
    assert_int_equal(verdict.action, RETRY_UNCOUNT);
    assert_int_equal(tasks[at].task.attempt, 0);
    array_task_end_failed(&array, at, &before);
    assert_int_equal(tasks[at].task.attempt, 1);
}

static void a_task_that_backs_off_lets_others_go_first(void **state) {
    (void)state;
    end_as(start_next(), &later);
    assert_int_equal(tasks[0].task.temps, 1);
    struct wall until = tasks[0].task.not_before;
    assert_int_equal(array_next(&array, at_s(1)), 1);
    assert_int_equal(array_next_time(&array, at_s(1)).ns, until.ns);
    assert_int_equal(array_next(&array, until), 0);
    assert_int_equal(array_next_time(&array, until).ns, WALL_NEVER.ns);
    array_at_once(&array);
    assert_int_equal(array_next(&array, at_s(1)), 0);
}

/* As after a start of the program, which reads them. */
static void counts_go_on_from_what_is_on_record(void **state) {
    (void)state;
    static const struct retry_end fail = {.result = RETRY_RAN, .exit_code = 3};
    tasks[0].task =
        (struct node_task){.status = TASK_BACKOFF, .attempt = 1, .fails = 1};
    end_as(start_next(), &fail);
    assert_int_equal(tasks[0].task.status, TASK_FAILED);
    assert_int_equal(tasks[0].task.fails, 2);
}

static void an_attempt_that_runs_already_ends_as_any_other(void **state) {
    (void)state;
    array_task_adopt(&array, 1, 3);
    assert_int_equal(array.running, 1);
    assert_int_equal(start_next(), 0);
    assert_int_equal(start_next(), 2);
    end_as(1, &done);
    assert_int_equal(tasks[1].task.status, TASK_DONE);
    assert_int_equal(tasks[1].task.attempt, 3);
}

static void
the_time_of_a_task_moves_with_a_clock_that_is_set_back(void **state) {
    (void)state;
    tasks[1].task.not_before = at_s(5000);
    array_set_back(&array, 3600 * 1000);
    assert_int_equal(array_next_time(&array, at_s(1)).ns, at_s(1400).ns);
    assert_int_equal(tasks[0].task.not_before.ns, 0);
}

static void an_end_that_was_not_recorded_changes_nothing(void **state) {
    (void)state;
    size_t at = start_next();
    for (int i = 0; i < 2; i++) {
        struct node_task before = end_as(at, &crash);
        assert_int_equal(tasks[at].task.crashes, 1);
        array_task_end_failed(&array, at, &before);
    }
    assert_int_equal(tasks[at].task.status, TASK_RUNNING);
    assert_int_equal(tasks[at].task.crashes, 0);
    assert_int_equal(array.running, 1);
}

static void an_array_is_over_when_every_task_is_final(void **state) {
    (void)state;
    end_as(start_next(), &done);
    end_as(start_next(), &refused);
    size_t last = start_next();
    assert_false(array_is_over(&array, false));
    end_as(last, &later);
    assert_int_equal(tasks[last].task.status, TASK_BACKOFF);
    assert_false(array_is_over(&array, false));
    array_at_once(&array);
    end_as(start_next(), &done);
    assert_true(array_is_over(&array, false));
}

static void a_killed_array_waits_only_for_running_tasks(void **state) {
    (void)state;
    static const struct retry_end killed = {
        .result = RETRY_RAN, .signal = 15, .killer = RETRY_OPERATOR};
    size_t at = start_next();
    assert_false(array_is_over(&array, true));
    end_as(at, &killed);
    assert_int_equal(tasks[at].task.status, TASK_FAILED);
    assert_true(array_is_over(&array, true));
    assert_false(array_is_over(&array, false));
}

/* As of `run`, which does not wait for another try. */
static void a_task_that_gives_up_fails_alone(void **state) {
    (void)state;
    struct node_rules impatient = rules;
    impatient.limits.temp_ends = true;
    array_task_end(&array, start_next(), &later, &impatient, at_s(1), 1,
                   &verdict);
    assert_int_equal(verdict.to, STATE_TERMINATED);
    assert_int_equal(tasks[0].task.status, TASK_FAILED);
    assert_int_equal(array_next(&array, at_s(1)), 1);
}

static void one_failed_task_fails_the_job(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(tasks); i++)
        tasks[i].task.status = TASK_DONE;
    assert_int_equal(array_verdict(&array, RETRY_NOBODY).to, STATE_DONE);
    tasks[1].task.status = TASK_FAILED;
    verdict = array_verdict(&array, RETRY_NOBODY);
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
    static const struct retry_end forbidden = {.result = RETRY_FORBIDDEN,
                                               .error = {"why", 3}};
    size_t running = start_next();
    struct node_task before = end_as(start_next(), &forbidden);
    assert_int_equal(array_next(&array, at_s(1)), array.count);
    assert_false(array_is_over(&array, false));
    end_as(running, &done);
    assert_true(array_is_over(&array, false));
    verdict = array_verdict(&array, RETRY_NOBODY);
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
        T(counts_go_on_from_what_is_on_record),
        T(an_attempt_that_runs_already_ends_as_any_other),
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
