#include "core/retry.h"

#include "support/test.h"

static const struct wall now = {INT64_C(1700000000) * NS_PER_S};

static struct retry_limits change_limits(void) {
    return (struct retry_limits){.max_temp = 20,
                                 .max_crash = 3,
                                 .temp_max_ms = INT64_C(24) * 3600 * 1000};
}

/* The generator starts afresh, so equal arguments give equal verdicts. */
static struct retry_verdict after(struct retry_end end,
                                  struct retry_counts counts,
                                  struct retry_limits limits) {
    struct random random;

    random_init(&random, 1);
    return retry_after(&end, &counts, &limits, now, &random);
}

static struct retry_end exited(int code) {
    return (struct retry_end){.result = RETRY_RAN, .exit_code = code};
}

static struct retry_end killed(int signal) {
    return (struct retry_end){
        .result = RETRY_RAN, .exit_code = -1, .signal = signal};
}

static void is(struct retry_verdict v, enum job_state to, const char *reason) {
    assert_int_equal(v.action, RETRY_MOVE);
    assert_int_equal(v.to, to);
    assert_string_equal(v.reason, reason);
}

static void exit_status_zero_is_done(void **state) {
    (void)state;
    struct retry_verdict v =
        after(exited(0), (struct retry_counts){0}, change_limits());
    is(v, STATE_DONE, "ok");
    assert_int_equal(v.task, TASK_DONE);
    assert_int_equal(v.temps + v.crashes + v.fails, 0);
}

static void exit_codes_75_and_111_are_temporary(void **state) {
    (void)state;
    const int codes[] = {75, 111};
    for (size_t i = 0; i < COUNT(codes); i++) {
        struct retry_verdict v =
            after(exited(codes[i]), (struct retry_counts){0}, change_limits());
        is(v, STATE_PENDING, "temp");
        assert_int_equal(v.temps, 1);
        assert_true(v.not_before.ns > now.ns);
    }
}

static void
exit_codes_100_126_and_127_are_permanent_despite_retries(void **state) {
    (void)state;
    const int codes[] = {100, 126, 127};
    struct retry_limits limits = change_limits();
    limits.retries = 5;
    for (size_t i = 0; i < COUNT(codes); i++)
        is(after(exited(codes[i]), (struct retry_counts){0}, limits),
           STATE_FAILED, "perm");
}

static void other_codes_and_signals_fail(void **state) {
    (void)state;
    struct retry_counts none = {0};
    is(after(exited(3), none, change_limits()), STATE_FAILED, "exit-3");
    is(after(exited(255), none, change_limits()), STATE_FAILED, "exit-255");
    is(after(killed(11), none, change_limits()), STATE_FAILED, "signal-11");
}

/* The delay is min(600, 2^k) s, +-20 % (doc/design/processes.md, P11). */
static void
the_delay_after_temporary_ends_doubles_up_to_ten_minutes(void **state) {
    (void)state;
    struct random random;
    random_init(&random, 7);
    for (unsigned k = 0; k < 40; k++) {
        int64_t middle = k < 10 ? 1000 << k : 600000, least = INT64_MAX,
                most = 0;
        for (int i = 0; i < 1000; i++) {
            int64_t ms = retry_delay_ms(k, &random);
            least = ms < least ? ms : least;
            most = ms > most ? ms : most;
        }
        assert_true(least >= middle * 8 / 10 && most <= middle * 12 / 10);
        /* The whole range of the jitter is used. */
        assert_true(least < middle * 85 / 100 && most > middle * 115 / 100);
    }
    struct retry_verdict v =
        after(exited(75), (struct retry_counts){.temps = 5}, change_limits());
    int64_t ms = wall_ms_since(v.not_before, now);
    assert_true(ms >= 25600 && ms <= 38400);
}

static void the_twentieth_temporary_end_is_the_last(void **state) {
    (void)state;
    is(after(exited(75), (struct retry_counts){.temps = 18}, change_limits()),
       STATE_PENDING, "temp");
    is(after(exited(75), (struct retry_counts){.temps = 19}, change_limits()),
       STATE_FAILED, "temp-exhausted");
}

static void temporary_ends_stop_after_a_day(void **state) {
    (void)state;
    struct retry_counts counts = {.temps = 2};
    counts.first_begun = wall_add_ms(now, -24 * 3600 * 1000 + 1);
    is(after(exited(111), counts, change_limits()), STATE_PENDING, "temp");
    counts.first_begun = wall_add_ms(now, -24 * 3600 * 1000);
    is(after(exited(111), counts, change_limits()), STATE_FAILED,
       "temp-exhausted");
}

static void the_third_crash_fails_and_raises_an_alarm(void **state) {
    (void)state;
    struct retry_end end = {.result = RETRY_CRASHED, .exit_code = -1};
    struct retry_verdict v =
        after(end, (struct retry_counts){.crashes = 1}, change_limits());
    is(v, STATE_PENDING, "crash");
    assert_int_equal(v.crashes, 1);
    v = after(end, (struct retry_counts){.crashes = 2}, change_limits());
    is(v, STATE_FAILED, "crash-exhausted");
    assert_true(v.alarm);
}

static void a_restart_of_the_server_does_not_count_as_a_failure(void **state) {
    (void)state;
    struct retry_end end = {.result = RETRY_RECOVERED, .exit_code = -1};
    struct retry_verdict v =
        after(end, (struct retry_counts){.crashes = 9}, change_limits());
    is(v, STATE_PENDING, "recovered");
    assert_int_equal(v.not_before.ns, 0);
    assert_int_equal(v.temps + v.crashes + v.fails, 0);
}

static void a_recovered_job_that_landed_is_done(void **state) {
    (void)state;
    struct retry_end end = {
        .result = RETRY_RECOVERED, .exit_code = -1, .landed = true};
    is(after(end, (struct retry_counts){0}, change_limits()), STATE_DONE,
       "already-landed");
}

static void stopping_the_server_does_not_count_as_a_failure(void **state) {
    (void)state;
    struct retry_end end = killed(9);
    end.killer = RETRY_STOP;
    struct retry_verdict v =
        after(end, (struct retry_counts){.fails = 1}, change_limits());
    is(v, STATE_PENDING, "returned");
    assert_int_equal(v.temps + v.crashes + v.fails, 0);
    /* A set that succeeded anyway is done. */
    end = exited(0);
    end.killer = RETRY_STOP;
    is(after(end, (struct retry_counts){0}, change_limits()), STATE_DONE, "ok");
}

static void a_job_cancelled_by_the_operator_is_terminated(void **state) {
    (void)state;
    struct retry_end end = killed(15);
    end.killer = RETRY_OPERATOR;
    is(after(end, (struct retry_counts){0}, change_limits()), STATE_TERMINATED,
       "operator");
    /* This also holds if it exits cleanly on TERM or was found after a
     * crash. */
    end = exited(0);
    end.killer = RETRY_OPERATOR;
    is(after(end, (struct retry_counts){0}, change_limits()), STATE_TERMINATED,
       "operator");
    end.result = RETRY_RECOVERED;
    is(after(end, (struct retry_counts){0}, change_limits()), STATE_TERMINATED,
       "operator");
}

static void a_set_that_landed_cannot_be_cancelled(void **state) {
    (void)state;
    struct retry_end end = killed(15);
    end.killer = RETRY_OPERATOR;
    end.landed = true;
    is(after(end, (struct retry_counts){0}, change_limits()), STATE_DONE, "ok");
}

static void a_job_stopped_by_a_rollback_is_abandoned(void **state) {
    (void)state;
    struct retry_end end = killed(1);
    end.killer = RETRY_ROLLBACK;
    is(after(end, (struct retry_counts){0}, change_limits()), STATE_ABANDONED,
       "rollback");
}

static void a_timeout_is_a_failure_with_its_own_reason(void **state) {
    (void)state;
    struct retry_end end = killed(15);
    end.timed_out = true;
    is(after(end, (struct retry_counts){0}, change_limits()), STATE_FAILED,
       "timeout");
    struct retry_limits limits = change_limits();
    limits.retries = 1;
    is(after(end, (struct retry_counts){0}, limits), STATE_PENDING, "timeout");
    is(after(end, (struct retry_counts){.fails = 1}, limits), STATE_FAILED,
       "timeout");
}

static void a_command_is_retried_as_often_as_requested(void **state) {
    (void)state;
    struct retry_limits limits = change_limits();
    limits.retries = 2;
    struct retry_verdict v = after(exited(1), (struct retry_counts){0}, limits);
    is(v, STATE_PENDING, "exit-1");
    assert_string_equal(v.detail, "next is try 2 of 3");
    assert_int_equal(v.fails, 1);
    assert_true(v.not_before.ns > now.ns);
    is(after(exited(1), (struct retry_counts){.fails = 1}, limits),
       STATE_PENDING, "exit-1");
    is(after(exited(1), (struct retry_counts){.fails = 2}, limits),
       STATE_FAILED, "exit-1");
}

static void a_list_of_delays_is_followed_to_the_second(void **state) {
    (void)state;
    const uint32_t waits[] = {15, 60};
    struct retry_limits limits = change_limits();
    limits.retries = 9;
    limits.backoff_s = waits;
    limits.backoff_count = COUNT(waits);
    const int64_t expected[] = {15000, 60000, 60000};
    for (unsigned fails = 0; fails < 3; fails++) {
        struct retry_verdict v =
            after(exited(1), (struct retry_counts){.fails = fails}, limits);
        assert_int_equal(wall_ms_since(v.not_before, now), expected[fails]);
    }
    limits.backoff_fails = true;
    is(after(exited(1), (struct retry_counts){.fails = 2}, limits),
       STATE_FAILED, "exit-1");
}

static void a_list_of_fail_alone_allows_no_retry(void **state) {
    (void)state;
    struct retry_limits limits = change_limits();
    limits.retries = 9;
    limits.backoff_fails = true;
    is(after(exited(1), (struct retry_counts){0}, limits), STATE_FAILED,
       "exit-1");
}

static void incomplete_backoff_waits_as_the_next_failure_would(void **state) {
    (void)state;
    const uint32_t waits[] = {15, 60};
    const int64_t expected[] = {15000, 60000, 60000};
    struct retry_end end = {.status = RETRY_STATUS_INCOMPLETE_BACKOFF};
    struct retry_limits limits = change_limits();
    limits.backoff_s = waits;
    limits.backoff_count = COUNT(waits);
    for (unsigned fails = 0; fails < 3; fails++) {
        struct retry_verdict v =
            after(end, (struct retry_counts){.fails = fails}, limits);
        is(v, STATE_PENDING, "returned");
        assert_int_equal(wall_ms_since(v.not_before, now), expected[fails]);
        assert_int_equal(v.fails, 0);
    }
}

static void a_job_whose_worker_is_lost_counts_as_failed(void **state) {
    (void)state;
    struct retry_end lost = {.result = RETRY_LOST, .exit_code = -1};
    struct retry_limits limits = change_limits();
    struct retry_verdict v = after(lost, (struct retry_counts){0}, limits);
    is(v, STATE_FAILED, "failed");
    assert_int_equal(v.fails, 1);
    limits.retries = 1;
    v = after(lost, (struct retry_counts){0}, limits);
    is(v, STATE_PENDING, "failed");
    assert_int_equal(v.task, TASK_LOST);
    assert_true(v.not_before.ns > now.ns);
    limits.at_most_once = true;
    is(after(lost, (struct retry_counts){0}, limits), STATE_FAILED,
       "at-most-once");
}

static void a_temporary_exit_code_ends_a_run_without_retries(void **state) {
    (void)state;
    struct retry_limits limits = change_limits();
    limits.temp_ends = true;
    is(after(exited(75), (struct retry_counts){0}, limits), STATE_TERMINATED,
       "temp-ended");
    /* A start that could not be made is not a result of the command. */
    struct retry_end end = {.result = RETRY_NOT_NOW, .exit_code = -1};
    is(after(end, (struct retry_counts){0}, limits), STATE_PENDING, "temp");
}

static void an_at_most_once_job_is_never_started_again(void **state) {
    (void)state;
    struct retry_limits limits = change_limits();
    limits.at_most_once = true;
    limits.retries = 3;
    struct retry_counts none = {0};
    struct retry_end end = {.result = RETRY_RECOVERED, .exit_code = -1};
    is(after(end, none, limits), STATE_FAILED, "at-most-once");
    end.result = RETRY_CRASHED;
    is(after(end, none, limits), STATE_FAILED, "at-most-once");
    is(after(exited(75), none, limits), STATE_FAILED, "at-most-once");
    is(after(exited(2), none, limits), STATE_FAILED, "exit-2");
    end = killed(9);
    end.killer = RETRY_STOP;
    is(after(end, none, limits), STATE_FAILED, "at-most-once");
    /* A job that never started may be started again. */
    end = (struct retry_end){.result = RETRY_WITHDRAWN, .exit_code = -1};
    assert_int_equal(after(end, none, limits).to, STATE_PENDING);
}

static void an_attempt_that_never_started_is_not_counted(void **state) {
    (void)state;
    struct retry_end end = {.result = RETRY_WITHDRAWN, .exit_code = -1};
    struct retry_verdict v =
        after(end, (struct retry_counts){0}, change_limits());
    assert_int_equal(v.action, RETRY_UNCOUNT);
    assert_int_equal(v.to, STATE_PENDING);
    assert_string_equal(v.reason, "returned");
    end.killer = RETRY_OPERATOR;
    is(after(end, (struct retry_counts){0}, change_limits()), STATE_TERMINATED,
       "operator");
}

static void an_attempt_for_a_locked_job_is_ignored(void **state) {
    (void)state;
    struct retry_end end = {.result = RETRY_TAKEN};
    assert_int_equal(
        after(end, (struct retry_counts){0}, change_limits()).action,
        RETRY_NOTHING);
}

static void
an_attempt_that_cannot_be_executed_fails_with_a_reason(void **state) {
    (void)state;
    struct retry_end end = {.result = RETRY_CANNOT,
                            .exit_code = -1,
                            .error = SPAN("cannot start '/no/such'")};
    struct retry_verdict v =
        after(end, (struct retry_counts){0}, change_limits());
    is(v, STATE_FAILED, "perm");
    assert_string_equal(v.detail, "cannot start '/no/such'");
    assert_true(v.alarm);
}

static void the_status_line_overrides_the_exit_status(void **state) {
    (void)state;
    struct retry_counts none = {0};
    struct retry_end end = exited(1);
    end.status = RETRY_STATUS_DONE;
    is(after(end, none, change_limits()), STATE_DONE, "ok");
    end = exited(0);
    end.status = RETRY_STATUS_FAILED;
    is(after(end, none, change_limits()), STATE_FAILED, "failed");
    end.status = RETRY_STATUS_UNREADABLE;
    is(after(end, none, change_limits()), STATE_FAILED, "failed");
    struct retry_limits limits = change_limits();
    limits.retries = 1;
    end.status = RETRY_STATUS_BACKOFF;
    is(after(end, none, limits), STATE_PENDING, "failed");
    end.status = RETRY_STATUS_FAILED;
    is(after(end, none, limits), STATE_FAILED, "failed");
}

static void an_incomplete_job_is_restarted_without_being_counted(void **state) {
    (void)state;
    struct retry_counts some = {.temps = 3, .fails = 1};
    struct retry_end end = exited(0);
    end.status = RETRY_STATUS_INCOMPLETE;
    struct retry_verdict v = after(end, some, change_limits());
    is(v, STATE_PENDING, "returned");
    assert_true(v.clear_counts);
    assert_int_equal(v.not_before.ns, 0);
    end.status = RETRY_STATUS_INCOMPLETE_BACKOFF;
    v = after(end, some, change_limits());
    is(v, STATE_PENDING, "returned");
    assert_true(v.not_before.ns > now.ns);
    assert_int_equal(v.temps + v.fails, 0);
}

static void an_incomplete_job_backs_off_from_the_tenth_time_on(void **state) {
    (void)state;
    struct retry_end end = exited(0);
    end.status = RETRY_STATUS_INCOMPLETE;
    for (unsigned before = 0; before < 13; before++) {
        struct retry_counts counts = {.incompletes = before};
        struct retry_verdict v = after(end, counts, change_limits());
        int64_t ms = wall_ms_since(v.not_before, now);
        int64_t least = before >= 9 ? INT64_C(800) << (before - 9) : 0;
        is(v, STATE_PENDING, "returned");
        assert_int_equal(v.task, TASK_INCOMPLETE);
        if (before < 9)
            assert_int_equal(v.not_before.ns, 0);
        else
            assert_true(ms >= least && ms <= least * 3 / 2);
    }
}

static void a_job_that_may_not_run_here_is_held(void **state) {
    (void)state;
    struct retry_end end = {.result = RETRY_FORBIDDEN,
                            .exit_code = -1,
                            .error = SPAN("not as the owner")};
    struct retry_limits limits = change_limits();
    limits.at_most_once = true;
    struct retry_verdict v = after(end, (struct retry_counts){0}, limits);
    assert_int_equal(v.to, STATE_PENDING);
    assert_int_equal(v.hold, HOLD_ACCOUNT);
    assert_string_equal(v.reason, "forbidden");
    assert_string_equal(v.detail, "not as the owner");
    assert_int_equal(v.temps + v.fails + v.crashes, 0);
    assert_false(v.alarm);
}

/* Every possible end leads to a step that life.def allows. */
static void every_end_has_a_legal_step(void **state) {
    (void)state;
    const int codes[] = {-1, 0, 1, 75, 99, 100, 111, 126, 127, 255};
    unsigned asked = 0;
    for (int result = RETRY_RAN; result <= RETRY_RECOVERED; result++)
        for (int killer = RETRY_NOBODY; killer <= RETRY_STOP; killer++)
            for (int status = RETRY_STATUS_NONE;
                 status <= RETRY_STATUS_UNREADABLE; status++)
                for (size_t code = 0; code < COUNT(codes); code++)
                    for (unsigned bits = 0; bits < 128; bits++) {
                        struct retry_end end = {
                            .result = (enum retry_result)result,
                            .killer = (enum retry_killer)killer,
                            .status = (enum retry_status)status,
                            .exit_code = codes[code],
                            .signal = codes[code] < 0 && bits & 1 ? 9 : 0,
                            .timed_out = bits & 2,
                            .landed = bits & 4};
                        struct retry_limits limits = change_limits();
                        limits.retries = bits & 8 ? 2 : 0;
                        limits.temp_ends = bits & 16;
                        limits.at_most_once = bits & 32;
                        struct retry_counts counts = {
                            .temps = bits & 64 ? 19 : 0,
                            .crashes = bits & 64 ? 2 : 0,
                            .fails = bits & 64 ? 2 : 0};
                        struct retry_verdict v = after(end, counts, limits);
                        asked++;
                        if (v.action == RETRY_NOTHING)
                            continue;
                        assert_true(job_step_is_legal(STATE_EXECUTING, v.to,
                                                      span_of(v.reason)));
                        if (v.to != STATE_PENDING)
                            assert_int_equal(v.not_before.ns, 0);
                        if (limits.at_most_once && v.to == STATE_PENDING)
                            assert_true(end.result == RETRY_WITHDRAWN ||
                                        end.result == RETRY_NOT_NOW ||
                                        end.result == RETRY_UNAVAILABLE ||
                                        end.result == RETRY_BASE_LOST ||
                                        end.result == RETRY_FORBIDDEN);
                    }
    assert_true(asked > 100000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_status_zero_is_done),
        cmocka_unit_test(exit_codes_75_and_111_are_temporary),
        cmocka_unit_test(
            exit_codes_100_126_and_127_are_permanent_despite_retries),
        cmocka_unit_test(other_codes_and_signals_fail),
        cmocka_unit_test(
            the_delay_after_temporary_ends_doubles_up_to_ten_minutes),
        cmocka_unit_test(the_twentieth_temporary_end_is_the_last),
        cmocka_unit_test(temporary_ends_stop_after_a_day),
        cmocka_unit_test(the_third_crash_fails_and_raises_an_alarm),
        cmocka_unit_test(a_restart_of_the_server_does_not_count_as_a_failure),
        cmocka_unit_test(a_recovered_job_that_landed_is_done),
        cmocka_unit_test(stopping_the_server_does_not_count_as_a_failure),
        cmocka_unit_test(a_job_cancelled_by_the_operator_is_terminated),
        cmocka_unit_test(a_set_that_landed_cannot_be_cancelled),
        cmocka_unit_test(a_job_stopped_by_a_rollback_is_abandoned),
        cmocka_unit_test(a_timeout_is_a_failure_with_its_own_reason),
        cmocka_unit_test(a_command_is_retried_as_often_as_requested),
        cmocka_unit_test(a_list_of_delays_is_followed_to_the_second),
        cmocka_unit_test(a_list_of_fail_alone_allows_no_retry),
        cmocka_unit_test(incomplete_backoff_waits_as_the_next_failure_would),
        cmocka_unit_test(a_job_whose_worker_is_lost_counts_as_failed),
        cmocka_unit_test(a_temporary_exit_code_ends_a_run_without_retries),
        cmocka_unit_test(an_at_most_once_job_is_never_started_again),
        cmocka_unit_test(an_attempt_that_never_started_is_not_counted),
        cmocka_unit_test(an_attempt_for_a_locked_job_is_ignored),
        cmocka_unit_test(
            an_attempt_that_cannot_be_executed_fails_with_a_reason),
        cmocka_unit_test(the_status_line_overrides_the_exit_status),
        cmocka_unit_test(an_incomplete_job_is_restarted_without_being_counted),
        cmocka_unit_test(an_incomplete_job_backs_off_from_the_tenth_time_on),
        cmocka_unit_test(a_job_that_may_not_run_here_is_held),
        cmocka_unit_test(every_end_has_a_legal_step),
    };
    return cmocka_run_group_tests_name("retry", tests, NULL, NULL);
}
