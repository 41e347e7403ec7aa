#include "support/order_story.h"

/* Dependencies on another end than success, and on a share of the tasks. */

static void tasks(const char *id, size_t count, size_t done, size_t failed) {
    struct order_tasks all = {count, done, failed};
    order_set_tasks(order, span_of(id), &all);
}

static void after_any_end_a_job_runs(void **state) {
    (void)state;
    static const enum job_state ends[] = {STATE_DONE, STATE_FAILED,
                                          STATE_TERMINATED, STATE_ABANDONED};
    static const char *const ids[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < COUNT(ends); i++) {
        char id[8], says[8];
        dc(ids[i], "");
        snprintf(id, sizeof(id), "%s2", ids[i]);
        snprintf(says, sizeof(says), "!%s", ids[i]);
        dc(id, says);
        settle();
        is(id, STATE_STAGED);
        assert_string_equal(set_of(id)->record, ids[i]);
        move(ids[i], STATE_EXECUTING);
        settle();
        is(id, STATE_STAGED);
        move(ids[i], ends[i]);
        settle();
        is(id, STATE_PENDING);
    }
}

static void after_a_failure_a_job_runs_only_if_there_was_one(void **state) {
    (void)state;
    dc("a", "");
    dc("b", "");
    dc("fixes-a", "?a");
    dc("fixes-b", "?b");
    settle();
    is("fixes-a", STATE_STAGED);
    move("a", STATE_EXECUTING);
    move("a", STATE_FAILED);
    run("b");
    settle();
    is("fixes-a", STATE_PENDING);
    failed(
        "fixes-b", "dep-failed",
        "dependency b did not fail, and this job runs only after its failure");
}

static void a_failure_that_follows_from_another_one_counts(void **state) {
    (void)state;
    dc("a", "");
    dc("b", "<a");
    dc("c", "?b");
    dc("d", "!b");
    settle();
    move("a", STATE_EXECUTING);
    move("a", STATE_FAILED);
    settle();
    is("b", STATE_FAILED);
    is("c", STATE_PENDING);
    is("d", STATE_PENDING);
}

static void a_share_of_the_tasks_is_enough(void **state) {
    (void)state;
    dc("a", "");
    dc("b", "60%a");
    dc("c", "<a");
    settle();
    move("a", STATE_EXECUTING);
    tasks("a", 10, 5, 3);
    settle();
    is("b", STATE_STAGED);
    assert_true(order_counts_tasks(order, SPAN("a")));
    tasks("a", 10, 6, 4);
    settle();
    is("b", STATE_PENDING);
    is("c", STATE_STAGED);
    assert_string_equal(set_of("b")->record, "");
}

static void a_share_out_of_reach_fails_at_once(void **state) {
    (void)state;
    dc("a", "");
    dc("b", "60%a");
    dc("c", "50%a");
    settle();
    move("a", STATE_EXECUTING);
    tasks("a", 10, 1, 4);
    settle();
    is("b", STATE_STAGED);
    tasks("a", 10, 1, 5);
    settle();
    failed("b", "dep-failed",
           "dependency a can no longer have 60% of its tasks done: 5 of 10 "
           "failed");
    is("c", STATE_STAGED);
}

static void a_job_that_ends_below_the_share_fails_its_dependent(void **state) {
    (void)state;
    dc("a", "");
    dc("b", "60%a");
    dc("c", "10%a");
    settle();
    move("a", STATE_EXECUTING);
    tasks("a", 10, 1, 0);
    move("a", STATE_TERMINATED);
    settle();
    failed("b", "dep-failed",
           "dependency a was terminated with 1 of 10 tasks done, not 60%");
    is("c", STATE_PENDING);
}

static void a_job_of_one_task_is_done_or_not(void **state) {
    (void)state;
    dc("a", "");
    dc("b", "1%a");
    dc("c", "100%a");
    settle();
    tasks("a", 1, 0, 0);
    settle();
    is("b", STATE_STAGED);
    run("a");
    is("b", STATE_PENDING);
    is("c", STATE_PENDING);
}

/* As after a restart: the record of a job in P does not name what it waits for
 * no more, although that is still running. */
static void a_share_that_was_reached_does_not_count_again(void **state) {
    (void)state;
    add_as(CLASS_DC, "a", "", STATE_EXECUTING, "main");
    add_as(CLASS_DC, "b", "60%a", STATE_PENDING, "main");
    tasks("a", 10, 7, 0);
    settle();
    is("b", STATE_PENDING);
    tasks("a", 10, 7, 3);
    move("a", STATE_FAILED);
    settle();
    is("b", STATE_PENDING);
}

static void what_is_outside_counts_too(void **state) {
    (void)state;
    dc("b", "60%old");
    dc("c", "!old");
    dc("d", "?old");
    tasks("old", 5, 3, 2);
    outside("old", STATE_FAILED);
    settle();
    is("b", STATE_PENDING);
    is("c", STATE_PENDING);
    is("d", STATE_PENDING);
    assert_false(order_counts_tasks(order, SPAN("c")));
}

static void why_names_the_condition(void **state) {
    (void)state;
    struct order_reason *reasons;
    size_t count;
    dc("a", "");
    dc("b", "60%a");
    settle();
    tasks("a", 10, 2, 1);
    settle();
    assert_int_equal(
        order_why(order, num_of("b"), now, 5, &arena, &reasons, &count), 1);
    assert_int_equal(reasons[0].kind, ORDER_WHY_DEPENDENCY);
    assert_int_equal(reasons[0].relation, EDGE_AFTER_SHARE);
    assert_int_equal(reasons[0].share, 60);
    assert_int_equal(reasons[0].tasks.done, 2);
}

static void a_cycle_through_such_dependencies_is_detected(void **state) {
    (void)state;
    dc("a", "!b");
    dc("b", "60%a");
    settle();
    is("b", STATE_FAILED);
    assert_string_equal(set_of("b")->reason, "dep-cycle");
    is("a", STATE_PENDING);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STORY(after_any_end_a_job_runs),
        STORY(after_a_failure_a_job_runs_only_if_there_was_one),
        STORY(a_failure_that_follows_from_another_one_counts),
        STORY(a_share_of_the_tasks_is_enough),
        STORY(a_share_out_of_reach_fails_at_once),
        STORY(a_job_that_ends_below_the_share_fails_its_dependent),
        STORY(a_job_of_one_task_is_done_or_not),
        STORY(a_share_that_was_reached_does_not_count_again),
        STORY(what_is_outside_counts_too),
        STORY(why_names_the_condition),
        STORY(a_cycle_through_such_dependencies_is_detected),
    };
    return cmocka_run_group_tests_name("order_after", tests, NULL, NULL);
}
