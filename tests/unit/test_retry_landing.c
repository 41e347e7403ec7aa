#include "core/retry_landing.h"

#include "support/test.h"
#include "wire/land_verdict.h"

static const struct wall now = {INT64_C(1700000000) * NS_PER_S};

static struct retry_landing landing_of(const char *line) {
    return (struct retry_landing){.said = land_verdict_parse(span_of(line)),
                                  .is_silent = line[0] == '\0'};
}

static struct retry_end exited(int code) {
    return (struct retry_end){.result = RETRY_RAN, .exit_code = code};
}

static struct retry_verdict after(struct retry_landing landing,
                                  struct retry_end end) {
    struct retry_counts counts = {0};
    struct retry_limits limits = {.max_temp = 20, .max_crash = 3};
    struct random random;
    random_init(&random, 1);
    return retry_after_landing(&landing, &end, &counts, &limits, now, &random);
}

static void is(struct retry_verdict verdict, enum job_state to,
               const char *reason, const char *detail) {
    assert_int_equal(verdict.to, to);
    assert_string_equal(verdict.reason, reason);
    assert_string_equal(verdict.detail, detail);
}

/* ---- one landing --------------------------------------------------------- */

static void the_status_line_of_a_landing_is_its_verdict(void **state) {
    (void)state;
    is(after(landing_of("done abc"), exited(0)), STATE_DONE, "ok", "abc");
    is(after(landing_of("already-landed abc"), exited(0)), STATE_DONE,
       "already-landed", "abc");
    is(after(landing_of("conflict a b"), exited(0)), STATE_FAILED, "conflict",
       "a b");
    is(after(landing_of("permanent no such file"), exited(0)), STATE_FAILED,
       "perm", "no such file");
}

static void a_failure_has_a_reason_from_life_def(void **state) {
    (void)state;
    is(after(landing_of("failed check-failed make broke"), exited(0)),
       STATE_FAILED, "check-failed", "make broke");
    is(after(landing_of("failed whatever make broke"), exited(0)), STATE_FAILED,
       "failed", "whatever make broke");
}

static void an_unavailable_target_does_not_count_as_an_attempt(void **state) {
    (void)state;
    struct retry_verdict verdict =
        after(landing_of("unavailable no such branch"), exited(0));
    is(verdict, STATE_PENDING, "unavailable", "no such branch");
    assert_int_equal(verdict.temps + verdict.crashes + verdict.fails, 0);
}

static void a_set_is_held_if_its_account_may_not_work_here(void **state) {
    (void)state;
    struct retry_verdict verdict = after(
        landing_of("forbidden user 'ann' cannot enter '/base'"), exited(111));
    is(verdict, STATE_PENDING, "forbidden", "user 'ann' cannot enter '/base'");
    assert_int_equal(verdict.hold, HOLD_ACCOUNT);
    assert_int_equal(verdict.temps + verdict.crashes + verdict.fails, 0);
}

static void a_lost_base_is_waited_for_longer_each_time(void **state) {
    (void)state;
    struct retry_landing landing = landing_of("base-lost C1 is not there");
    struct retry_end end = exited(0);
    struct retry_limits limits = {.max_temp = 1, .temp_max_ms = 1};
    struct random random;
    random_init(&random, 1);
    static const int64_t waits_s[] = {1, 2, 4, 512, 600, 600};
    static const unsigned before[] = {0, 1, 2, 9, 10, 5000};
    for (size_t i = 0; i < COUNT(before); i++) {
        struct retry_counts counts = {.base_lost = before[i],
                                      .first_begun = {1}};
        struct retry_verdict verdict =
            retry_after_landing(&landing, &end, &counts, &limits, now, &random);
        is(verdict, STATE_PENDING, "base-lost", "C1 is not there");
        assert_int_equal(verdict.temps + verdict.crashes + verdict.fails, 0);
        int64_t ms = wall_ms_since(verdict.not_before, now);
        assert_in_range(ms, waits_s[i] * 800, waits_s[i] * 1200);
    }
}

static void a_temporary_end_is_tried_again(void **state) {
    (void)state;
    struct retry_verdict verdict =
        after(landing_of("temporary locked"), exited(0));
    is(verdict, STATE_PENDING, "temp", "locked");
    assert_int_equal(verdict.temps, 1);
    assert_true(verdict.not_before.ns > now.ns);
}

static void a_landing_without_a_status_line_has_crashed(void **state) {
    (void)state;
    struct retry_end killed = {
        .result = RETRY_RAN, .exit_code = -1, .signal = 9};
    is(after(landing_of(""), exited(1)), STATE_PENDING, "crash",
       "the landing exited with 1 and reported nothing");
    is(after(landing_of(""), killed), STATE_PENDING, "crash",
       "the landing was killed by signal 9");
}

static void
a_term_from_outside_cancels_unless_the_scheduler_stops(void **state) {
    (void)state;
    struct retry_landing stopped = landing_of("stopped");
    is(after(stopped, exited(102)), STATE_TERMINATED, "operator",
       "its process was sent TERM");
    stopped.is_stopping = true;
    assert_int_equal(after(stopped, exited(102)).to, STATE_PENDING);
}

static void the_verdict_depends_on_who_requested_the_end(void **state) {
    (void)state;
    struct retry_end end = exited(103);
    end.killer = RETRY_ROLLBACK;
    assert_int_equal(after(landing_of("stopped"), end).to, STATE_ABANDONED);
    end.killer = RETRY_OPERATOR;
    assert_int_equal(after(landing_of("stopped"), end).to, STATE_TERMINATED);
}

static void the_state_of_the_target_overrides_everything_else(void **state) {
    (void)state;
    struct retry_end end = exited(1);
    end.landed = true;
    end.killer = RETRY_OPERATOR;
    is(after(landing_of(""), end), STATE_DONE, "already-landed", "");
}

static void only_an_end_without_a_verdict_is_unclear(void **state) {
    (void)state;
    struct retry_end end = exited(0), found = {.result = RETRY_RECOVERED},
                     not_run = {.result = RETRY_NOT_NOW};
    struct retry_landing silent = landing_of(""),
                         stopped = landing_of("stopped"),
                         done = landing_of("done abc");
    assert_true(retry_landing_is_unclear(&silent, &end));
    assert_true(retry_landing_is_unclear(&stopped, &end));
    assert_true(retry_landing_is_unclear(&done, &found));
    assert_false(retry_landing_is_unclear(&done, &end));
    assert_false(retry_landing_is_unclear(&silent, &not_run));
}

/* ---- several sets -------------------------------------------------------- */

static struct retry_carried sets[3];

static int setup(void **state) {
    (void)state;
    sets[0] = (struct retry_carried){.id = SPAN("C1")};
    sets[1] = (struct retry_carried){.id = SPAN("C2")};
    sets[2] = (struct retry_carried){.id = SPAN("C3")};
    return 0;
}

static struct retry_verdict carried(size_t which, enum job_state to,
                                    const char *reason, const char *line) {
    struct retry_verdict whole = retry_verdict_make(to, reason, SPAN(""));
    return retry_of_carried(sets, COUNT(sets), which, &whole, span_of(line));
}

static void each_set_is_done_with_its_own_commit(void **state) {
    (void)state;
    const char *line = "f3 C1:a1 C2:b2";
    is(carried(0, STATE_DONE, "ok", line), STATE_DONE, "ok", "a1");
    is(carried(1, STATE_DONE, "ok", line), STATE_DONE, "ok", "b2");
    is(carried(2, STATE_DONE, "ok", line), STATE_DONE, "ok", "");
    is(carried(0, STATE_DONE, "ok", "f3"), STATE_DONE, "ok", "f3");
}

static void
the_set_at_fault_fails_with_its_reason_and_fails_the_others(void **state) {
    (void)state;
    is(carried(1, STATE_FAILED, "conflict", "C2: a.c"), STATE_FAILED,
       "conflict", "a.c");
    is(carried(0, STATE_FAILED, "conflict", "C2: a.c"), STATE_FAILED,
       "group-failed", "C2 of its group did not land: conflict: a.c");
    is(carried(0, STATE_FAILED, "policy", "nobody: x"), STATE_FAILED, "policy",
       "");
}

static void a_cancelled_set_fails_the_others(void **state) {
    (void)state;
    sets[1].killer = RETRY_OPERATOR;
    is(carried(1, STATE_TERMINATED, "operator", ""), STATE_TERMINATED,
       "operator", "");
    is(carried(2, STATE_TERMINATED, "operator", ""), STATE_FAILED,
       "group-failed", "C2 of its group was cancelled");
}

static void sets_that_a_rollback_did_not_stop_wait_again(void **state) {
    (void)state;
    sets[0].killer = RETRY_ROLLBACK;
    assert_int_equal(carried(0, STATE_ABANDONED, "rollback", "").to,
                     STATE_ABANDONED);
    is(carried(2, STATE_ABANDONED, "rollback", ""), STATE_PENDING, "returned",
       "");
}

static void only_the_set_that_may_not_run_is_held(void **state) {
    (void)state;
    struct retry_verdict whole =
        retry_verdict_make(STATE_PENDING, "forbidden", SPAN("C2: why"));
    whole.hold = HOLD_ACCOUNT;
    for (size_t i = 0; i < COUNT(sets); i++) {
        struct retry_verdict own =
            retry_of_carried(sets, COUNT(sets), i, &whole, SPAN("C2: why"));
        is(own, STATE_PENDING, "forbidden", "C2: why");
        assert_int_equal(own.hold, i == 1 ? HOLD_ACCOUNT : 0);
    }
    assert_int_equal(
        retry_of_carried(sets, COUNT(sets), 0, &whole, SPAN("why")).hold,
        HOLD_ACCOUNT);
}

static void a_single_set_has_the_verdict_of_its_attempt(void **state) {
    (void)state;
    struct retry_verdict whole =
        retry_verdict_make(STATE_DONE, "ok", SPAN("C1:a1"));
    is(retry_of_carried(sets, 1, 0, &whole, SPAN("f3 C1:a1")), STATE_DONE, "ok",
       "C1:a1");
}

static void
a_set_whose_content_was_there_has_a_reason_of_its_own(void **state) {
    (void)state;
    const char *line = "f3 C1:a1 C2~b2 C3=c3";
    const char *detail = "its content is on the branch already: b2";
    struct retry_verdict whole =
        retry_verdict_make(STATE_DONE, "ok", SPAN("b2 C2~b2"));
    is(carried(1, STATE_DONE, "ok", line), STATE_DONE, "no-change", detail);
    is(carried(0, STATE_DONE, "ok", line), STATE_DONE, "ok", "a1");
    is(carried(2, STATE_DONE, "ok", line), STATE_DONE, "already-landed", "c3");
    is(retry_of_carried(&sets[1], 1, 0, &whole, SPAN("b2 C2~b2")), STATE_DONE,
       "no-change", detail);
    assert_true(
        job_step_is_legal(STATE_EXECUTING, STATE_DONE, SPAN("no-change")));
}

int main(void) {
#define T(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        T(the_status_line_of_a_landing_is_its_verdict),
        T(a_failure_has_a_reason_from_life_def),
        T(an_unavailable_target_does_not_count_as_an_attempt),
        T(a_set_is_held_if_its_account_may_not_work_here),
        cmocka_unit_test(a_set_is_held_if_its_account_may_not_work_here),
        T(a_lost_base_is_waited_for_longer_each_time),
        T(a_temporary_end_is_tried_again),
        T(a_landing_without_a_status_line_has_crashed),
        T(a_term_from_outside_cancels_unless_the_scheduler_stops),
        T(the_verdict_depends_on_who_requested_the_end),
        T(the_state_of_the_target_overrides_everything_else),
        T(only_an_end_without_a_verdict_is_unclear),
        T(a_single_set_has_the_verdict_of_its_attempt),
        T(each_set_is_done_with_its_own_commit),
        T(a_set_whose_content_was_there_has_a_reason_of_its_own),
        T(the_set_at_fault_fails_with_its_reason_and_fails_the_others),
        T(a_cancelled_set_fails_the_others),
        T(sets_that_a_rollback_did_not_stop_wait_again),
        T(only_the_set_that_may_not_run_is_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
