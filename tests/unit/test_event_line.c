#include "support/test.h"

#include "lib/arena.h"
#include "wire/event_line.h"

static struct arena arena;

static int teardown(void **state) {
    (void)state;
    arena_clear(&arena);
    return 0;
}

static void assert_round_trip(struct event_line event) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct event_line back;
    struct err err = {0};
    event_line_format(&event, &out);
    assert_true(out.len <= EVENT_LINE_BYTES);
    assert_ptr_equal(memchr(out.p, '\n', out.len), out.p + out.len - 1);
    if (!event_line_parse(span_make(out.p, out.len - 1), &arena, &back, &err))
        fail_msg("%s", err.text);
    assert_true(back.tai.ns == event.tai.ns);
    assert_int_equal(back.seq, event.seq);
    assert_int_equal(back.from, event.from);
    assert_int_equal(back.to, event.to);
    assert_int_equal(back.attempt, event.attempt);
    assert_true(span_equal(back.actor, event.actor));
    assert_true(span_equal(back.reason, event.reason));
    assert_true(span_equal(back.facts, event.facts));
}

static void a_line_is_formatted_as_documented(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct event_line event = {
        wall_from_s(0), 17, '-', 'Q', SPAN("uid:1000"), 0, SPAN("admitted")};
    event_line_format(&event, &out);
    assert_string_equal(out.p, "@400000000000000a00000000 17 - Q uid:1000 0 "
                               "admitted\n");
    text_reset(&out);
    event.facts = SPAN("{\"ticket\":\"a b\"}");
    event_line_format(&event, &out);
    assert_string_equal(out.p, "@400000000000000a00000000 17 - Q uid:1000 0 "
                               "{\"ticket\":\"a\\x20b\"} admitted\n");
}

static void an_event_is_parsed_as_it_was_formatted(void **state) {
    (void)state;
    assert_round_trip((struct event_line){wall_from_s(1795285221), UINT64_MAX,
                                          'X', 'F', SPAN("a b\n\\"), 3,
                                          SPAN("exit-2 of 'x\n\\y' \xff")});
    assert_round_trip((struct event_line){.from = 'Q', .to = 'S'});
    assert_round_trip((struct event_line){
        .from = 'D',
        .to = 'D',
        .facts = SPAN("{\"ticket\":\"a \\\"b\\\" \\\\ c\"}"),
        .reason = SPAN("approved:person -- {no} facts")});
    assert_round_trip((struct event_line){
        .from = 'D', .to = 'D', .facts = SPAN("{\"settled\":true}")});
}

static void a_long_reason_is_truncated_between_characters(void **state) {
    (void)state;
    static const char *const pieces[] = {"x", "\xc3\xa4", "\x01", "\\"};
    for (size_t i = 0; i < COUNT(pieces); i++) {
        CLEANUP(text_clear) struct text reason = TEXT_INIT;
        CLEANUP(text_clear) struct text out = TEXT_INIT;
        struct event_line back;
        while (reason.len < 5000)
            text_adds(&reason, pieces[i]);
        struct event_line event = {
            .from = 'X', .to = 'F', .reason = text_span(&reason)};
        event_line_format(&event, &out);
        assert_true(out.len <= EVENT_LINE_BYTES);
        assert_true(out.len > EVENT_LINE_BYTES - 8);
        assert_true(event_line_parse(span_make(out.p, out.len - 1), &arena,
                                     &back, NULL));
        assert_true(span_ends(back.reason, "..."));
        assert_true(span_is_utf8(back.reason));
    }
}

static void invalid_lines_are_refused(void **state) {
    (void)state;
    static const char *const lines[] = {
        "",
        "@400000000000000a00000000 17 - Q uid:1",
        "x 17 - Q uid:1 0 r",
        "@400000000000000a00000000 x - Q uid:1 0 r",
        "@400000000000000a00000000 17 Z Q uid:1 0 r",
        "@400000000000000a00000000 17 - QS uid:1 0 r",
        "@400000000000000a00000000 17 - Q uid:1 -1 r",
        "@400000000000000a00000000 17 - Q uid:1 0 \\",
        "@400000000000000a00000000 17 - Q uid:1 0 \\x1",
        "@400000000000000a00000000 17 - Q uid:1 0 {\"key\": r",
        "@400000000000000a00000000 17 - Q uid:1 0 {\"key\":7} r",
        "@400000000000000a00000000 17 - Q \\q 0 r"};
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct event_line event;
        assert_false(event_line_parse(span_of(lines[i]), &arena, &event, NULL));
    }
}

static void the_first_line_lists_the_dependencies(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct span ids[] = {SPAN("C3"), SPAN("C5")}, csid;
    struct lines dependencies = {ids, 2}, back;
    event_head_format(SPAN("C7"), &dependencies, &out);
    assert_string_equal(out.p, "C7 C3 C5\n");
    assert_true(event_head_parse(span_make(out.p, out.len - 1), &arena, &csid,
                                 &back, NULL));
    assert_true(span_is(csid, "C7"));
    assert_int_equal(back.count, 2);
    assert_true(span_is(back.items[1], "C5"));
    assert_false(event_head_parse(SPAN(""), &arena, &csid, &back, NULL));
    assert_false(event_head_parse(SPAN("a_b"), &arena, &csid, &back, NULL));
    assert_false(event_head_parse(SPAN("a  b"), &arena, &csid, &back, NULL));
}

static void a_long_list_of_dependencies_is_truncated_to_fit(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct span ids[2000], csid;
    for (size_t i = 0; i < COUNT(ids); i++)
        ids[i] = SPAN("C12345");
    struct lines dependencies = {ids, COUNT(ids)}, back;
    event_head_format(SPAN("C7"), &dependencies, &out);
    assert_true(out.len <= EVENT_LINE_BYTES);
    assert_true(event_head_parse(span_make(out.p, out.len - 1), &arena, &csid,
                                 &back, NULL));
    assert_in_range(back.count, 500, 600);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_formatted_as_documented),
        cmocka_unit_test(an_event_is_parsed_as_it_was_formatted),
        cmocka_unit_test(a_long_reason_is_truncated_between_characters),
        cmocka_unit_test(invalid_lines_are_refused),
        cmocka_unit_test(the_first_line_lists_the_dependencies),
        cmocka_unit_test(a_long_list_of_dependencies_is_truncated_to_fit),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
