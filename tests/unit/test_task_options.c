#include "wire/task_options.h"

#include "support/test.h"

#include <sys/resource.h>

#include "worker/task_start.h"
#include "wire/submission.h"

static struct arena arena;

static int teardown(void **state) {
    (void)state;
    arena_clear(&arena);
    return 0;
}

static bool parse(const char *members, struct submission *ret,
                  struct err *err) {
    const char *text = arena_printf(&arena, "{\"command\":[\"a\"]%s}", members);
    return submission_parse(span_of(text), SUBMISSION_LINE, &arena, ret, err);
}

static struct task_options parsed(const char *members) {
    struct submission submission;
    struct err err = {0};
    if (!parse(members, &submission, &err))
        fail_msg("%s", err.text);
    return submission.task;
}

static void assert_refused(const char *members, const char *words) {
    struct submission submission;
    struct err err = {0};
    if (parse(members, &submission, &err))
        fail_msg("accepted: %s", members);
    assert_int_equal(err.kind, ERR_DATA);
    if (strstr(err.text, words) == NULL)
        fail_msg("'%s' instead of '%s'", err.text, words);
}

#define EVERY_KEY                                              \
    ",\"kill_method\":\"term-wait-kill\",\"kill_wait\":15,"    \
    "\"kill_to\":\"cgroup\",\"parent_death_signal\":\"TERM\"," \
    "\"process_group_leader\":\"no\",\"canary_pipe\":\"no\","  \
    "\"user\":\"bob\",\"limit\":{\"core\":0,\"nofile\":64,"    \
    "\"stack\":\"unlimited\"},\"sandbox\":\"on\","             \
    "\"memory\":1048576,\"pids\":20,\"cpu_weight\":50,"        \
    "\"log_rate\":100,\"argv_style\":\"bistro\""

static void every_option_is_formatted_as_it_was_parsed(void **state) {
    (void)state;
    struct submission submission;
    struct err err = {0};
    if (!parse(EVERY_KEY, &submission, &err))
        fail_msg("%s", err.text);
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    submission_format(&submission, &out);
    assert_string_equal(text_string(&out),
                        "{\"command\":[\"a\"]" EVERY_KEY "}");
    const struct task_option *option;
    for (size_t i = 0; (option = task_option_at(i)) != NULL; i++)
        if (strstr(EVERY_KEY, option->key) == NULL)
            fail_msg("'%s' is not in this test", option->key);
}

static void options_at_their_default_are_not_written(void **state) {
    (void)state;
    struct submission submission;
    struct err err = {0};
    assert_true(parse(",\"kill_to\":null", &submission, &err));
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    submission_format(&submission, &out);
    assert_string_equal(text_string(&out), "{\"command\":[\"a\"]}");
}

static void alternative_spellings_are_accepted(void **state) {
    (void)state;
    struct task_options options =
        parsed(",\"kill_method\":\"term_wait_kill\",\"parent_death_signal\":9,"
               "\"process_group_leader\":true,\"canary_pipe\":false");
    assert_int_equal(options.kill_method, TASK_TERM_WAIT_KILL);
    assert_int_equal(options.parent_death_signal, TASK_DEATH_KILL);
    assert_int_equal(options.process_group_leader, TASK_YES);
    assert_int_equal(options.canary_pipe, TASK_NO);
    options = parsed(",\"parent_death_signal\":0");
    assert_int_equal(options.parent_death_signal, TASK_DEATH_NONE);
}

static void kill_wait_may_be_shorter_than_a_second(void **state) {
    (void)state;
    assert_int_equal(parsed(",\"kill_wait\":\"5ms\"").kill_wait_ms, 5);
    assert_int_equal(parsed(",\"kill_wait\":\"2m\"").kill_wait_ms, 120000);
    assert_int_equal(parsed(",\"kill_wait\":0").kill_wait_ms, 0);
}

static void invalid_values_are_refused_with_their_key(void **state) {
    (void)state;
    assert_refused(",\"kill_method\":\"shoot\"",
                   "'kill_method' = 'shoot' is not one of term-wait-kill|");
    assert_refused(",\"kill_wait\":-1", "'kill_wait' = '-1' is not a duration");
    assert_refused(",\"kill_wait\":\"\"", "not a duration");
    assert_refused(",\"kill_to\":[]", "not one of group|child|cgroup");
    assert_refused(",\"parent_death_signal\":1", "not one of KILL|TERM|none");
    assert_refused(",\"user\":\"\"", "not the name of an account");
    assert_refused(",\"user\":\"a b\"", "not the name of an account");
    assert_refused(",\"limit\":5", "'limit' is not an object");
    assert_refused(",\"limit\":{\"files\":5}", "unknown limit 'files'");
    assert_refused(",\"limit\":{\"nofile\":\"4K\"}",
                   "limit 'nofile' = '4K' is neither a number nor");
    assert_refused(",\"limit\":{\"as\":-1}", "neither a number (64K, 2G) nor");
    assert_refused(",\"memory\":\"much\"", "not a size such as");
    assert_refused(",\"memory\":\"unlimited\"", "not a size such as");
    assert_refused(",\"pids\":0", "not a number in its range");
    assert_refused(",\"pids\":\"1K\"", "not a number in its range");
    assert_refused(",\"cpu_weight\":10001", "not a number in its range");
    assert_refused(",\"sandbox\":\"maybe\"", "not one of off|on");
    assert_refused(",\"kill_metod\":\"term\"", "did you mean 'kill_method'?");
}

static void contradictions_are_refused(void **state) {
    (void)state;
    assert_refused(",\"process_group_leader\":\"no\",\"kill_to\":\"group\"",
                   "needs 'process_group_leader'");
    assert_refused(",\"kill_method\":\"term\",\"kill_wait\":5",
                   "no KILL to wait for");
}

static void limits_may_have_units(void **state) {
    (void)state;
    struct task_options options =
        parsed(",\"limit\":{\"as\":\"2G\",\"cpu\":60}");
    assert_int_equal(options.limit.value[TASK_LIMIT_AS], INT64_C(2) << 30);
    assert_int_equal(options.limit.value[TASK_LIMIT_CPU], 60);
    struct err err = {0};
    assert_true(
        task_option_set(&options, SPAN("limit"), SPAN("core=1K"), &err));
    assert_int_equal(options.limit.value[TASK_LIMIT_CORE], 1024);
    assert_false(task_option_set(&options, SPAN("limit"), SPAN("core"), &err));
}

/* ---- translation to a start of the guard ---- */

static struct guard_start start_with(const char *members, bool terminal) {
    struct task_options options = parsed(members);
    struct guard_start start = {0};
    struct task_start task = {
        .options = &options, .terminal = terminal, .grace_ms = 10000};
    task_start_fill(&task, &arena, &start);
    return start;
}

static void tasks_of_the_service_have_their_own_group(void **state) {
    (void)state;
    struct guard_start start = start_with("", false);
    assert_false(start.keep_group);
    assert_int_equal(start.kill_to, GUARD_TO_GROUP);
    assert_int_equal(start.death, GUARD_DEATH_KILL);
    assert_int_equal(start.grace_ms, 10000);
    assert_true(start.canary);
}

static void tasks_at_a_terminal_stay_in_its_group_by_default(void **state) {
    (void)state;
    struct guard_start start = start_with("", true);
    assert_true(start.keep_group);
    assert_int_equal(start.kill_to, GUARD_TO_CHILD);
    start = start_with(",\"process_group_leader\":\"yes\"", true);
    assert_false(start.keep_group);
    assert_int_equal(start.kill_to, GUARD_TO_GROUP);
    start = start_with(",\"kill_to\":\"group\"", true);
    assert_false(start.keep_group);
}

static void limits_and_user_are_passed_to_the_guard(void **state) {
    (void)state;
    struct task_options options =
        parsed(",\"limit\":{\"core\":0,\"stack\":\"unlimited\"},"
               "\"memory\":\"64K\"");
    gid_t groups[] = {7, 8};
    struct account account = {
        .uid = 5, .gid = 7, .groups = groups, .group_count = 2};
    struct guard_start start = {0};
    struct task_start task = {.options = &options, .account = &account};
    task_start_fill(&task, &arena, &start);
    assert_int_equal(start.limit_count, 3);
    assert_int_equal(start.limits[0].what, RLIMIT_CORE);
    assert_int_equal(start.limits[0].value, 0);
    assert_int_equal(start.limits[1].what, RLIMIT_STACK);
    assert_int_equal(start.limits[1].value, GUARD_UNLIMITED);
    assert_int_equal(start.limits[2].what, GUARD_MEMORY);
    assert_int_equal(start.limits[2].value, 65536);
    assert_int_equal(start.user->uid, 5);
    assert_int_equal(start.user->group_count, 2);
}

static void kill_methods_determine_the_grace_period(void **state) {
    (void)state;
    assert_int_equal(start_with(",\"kill_method\":\"kill\"", false).grace_ms,
                     0);
    assert_int_equal(start_with(",\"kill_method\":\"term\"", false).grace_ms,
                     GUARD_NO_KILL);
    assert_int_equal(start_with(",\"kill_wait\":\"5ms\"", false).grace_ms, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_is_formatted_as_it_was_parsed),
        cmocka_unit_test(options_at_their_default_are_not_written),
        cmocka_unit_test(alternative_spellings_are_accepted),
        cmocka_unit_test(kill_wait_may_be_shorter_than_a_second),
        cmocka_unit_test(invalid_values_are_refused_with_their_key),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(tasks_of_the_service_have_their_own_group),
        cmocka_unit_test(tasks_at_a_terminal_stay_in_its_group_by_default),
        cmocka_unit_test(limits_may_have_units),
        cmocka_unit_test(limits_and_user_are_passed_to_the_guard),
        cmocka_unit_test(kill_methods_determine_the_grace_period),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
