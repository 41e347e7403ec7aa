#include "wire/attempt_trace.h"

#include "support/test.h"

static void a_trace_is_parsed_as_it_was_formatted(void **state) {
    (void)state;
    struct attempt_trace trace = {.exited_ms = 0,
                                  .closed_ms = 7,
                                  .gone_ms = -1,
                                  .leftovers = true,
                                  .status = true,
                                  .written_bytes = INT64_MAX,
                                  .procs = 3,
                                  .loss = {.any = true,
                                           .origins = true,
                                           .bytes = 512,
                                           .unmarked = 12,
                                           .sys = 28}};
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    attempt_trace_format(&trace, &line);
    assert_string_equal(
        text_string(&line),
        "exited 0 closed 7 leftovers status written 9223372036854775807 "
        "procs 3 lossy lost 512 unmarked 12 unstamped errno 28");
    struct attempt_trace back;
    attempt_trace_parse(text_span(&line), &back);
    assert_int_equal(back.exited_ms, 0);
    assert_int_equal(back.closed_ms, 7);
    assert_int_equal(back.gone_ms, -1);
    assert_true(back.leftovers && back.status && !back.survivors);
    assert_int_equal(back.read_bytes, 0);
    assert_int_equal(back.written_bytes, INT64_MAX);
    assert_int_equal(back.procs, 3);
    assert_true(back.loss.any && back.loss.origins);
    assert_int_equal(back.loss.bytes, 512);
    assert_int_equal(back.loss.unmarked, 12);
    assert_int_equal(back.loss.sys, 28);
}

static void an_empty_trace_has_unknown_values(void **state) {
    (void)state;
    struct attempt_trace trace;
    attempt_trace_parse((struct span){0}, &trace);
    assert_int_equal(trace.exited_ms, -1);
    assert_int_equal(trace.gone_ms, -1);
    assert_false(trace.leftovers);
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    attempt_trace_format(&trace, &line);
    assert_int_equal(line.len, 0);
}

static void words_of_later_versions_are_ignored(void **state) {
    (void)state;
    struct attempt_trace trace;
    attempt_trace_parse(SPAN("mood 5 exited x exited 12  12 survivors -3"),
                        &trace);
    assert_int_equal(trace.exited_ms, 12);
    assert_true(trace.survivors);
    assert_int_equal(trace.closed_ms, -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_is_parsed_as_it_was_formatted),
        cmocka_unit_test(an_empty_trace_has_unknown_values),
        cmocka_unit_test(words_of_later_versions_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
