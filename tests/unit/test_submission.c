#include "support/test.h"

#include "lib/arena.h"
#include "wire/submission.h"

static struct arena arena;

static int teardown(void **state) {
    (void)state;
    arena_clear(&arena);
    return 0;
}

static struct submission parsed(const char *text, enum submission_form form) {
    struct submission s;
    struct err err = {0};
    if (!submission_parse(span_of(text), form, &arena, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

static void assert_refused(const char *text, const char *words) {
    struct submission s;
    struct err err = {0};
    if (submission_parse(span_of(text), SUBMISSION_LINE, &arena, &s, &err))
        fail_msg("accepted: %s", text);
    assert_int_equal(err.kind, ERR_DATA);
    if (!strstr(err.text, words))
        fail_msg("'%s' instead of '%s'", err.text, words);
}

#define WHOLE                                                             \
    "{\"id\":\"n-7\",\"command\":[\"make\",\"-k\"],\"class\":\"BF.200\"," \
    "\"after\":[\"C3\"],\"touches\":[\"db\"],\"retries\":2,"              \
    "\"timeout\":900,\"node\":\"tag:big\",\"env\":{\"CC\":\"clang\"},"    \
    "\"dir\":\"/srv/x\""

static void every_key_is_parsed(void **state) {
    (void)state;
    struct submission s = parsed(WHOLE "}", SUBMISSION_LINE);
    assert_true(span_is(s.id, "n-7"));
    assert_int_equal(s.command.count, 2);
    assert_true(span_is(s.command.items[1], "-k"));
    assert_int_equal(s.class, SET_BF);
    assert_int_equal(s.sub_priority, 200);
    assert_true(span_is(s.after.items[0], "C3"));
    assert_true(span_is(s.touches.items[0], "db"));
    assert_int_equal(s.retries, 2);
    assert_int_equal(s.timeout_ms, 900000);
    assert_true(span_is(s.node, "tag:big"));
    assert_true(span_is(s.env[0].name, "CC"));
    assert_true(span_is(s.dir, "/srv/x"));
}

static void a_body_is_formatted_as_it_was_parsed(void **state) {
    (void)state;
    static const char *const bodies[] = {
        "{\"command\":[\"a\"]}", WHOLE "}",
        WHOLE ",\"clean\":true,\"at_most_once\":true,\"umask\":\"022\","
              "\"array\":[\"1\",\"2\"],\"hold\":true}",
        "{\"command\":[\"a\"],\"begin\":\"2026-12-01T02:00:00.500Z\"}",
        "{\"command\":[\"\xc3\xa4\\n\\\"\",\"\"],\"class\":\"RB\"}"};
    for (size_t i = 0; i < COUNT(bodies); i++) {
        struct submission s = parsed(bodies[i], SUBMISSION_BODY);
        CLEANUP(text_clear) struct text out = TEXT_INIT;
        submission_format(&s, &out);
        assert_string_equal(text_string(&out), bodies[i]);
    }
}

static void missing_keys_have_default_values(void **state) {
    (void)state;
    struct submission s =
        parsed("{\"command\":[\"a\"],\"node\":null}", SUBMISSION_LINE);
    assert_int_equal(s.class, SET_DC);
    assert_int_equal(s.sub_priority, SET_SUB_PRIORITY);
    assert_int_equal(s.umask, -1);
    assert_int_equal(s.timeout_ms, 0);
    assert_int_equal(s.id.len, 0);
    s = parsed("{\"command\":[\"a\"],\"timeout\":\"15m\"}", SUBMISSION_LINE);
    assert_int_equal(s.timeout_ms, 900000);
}

static void invalid_lines_are_refused(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", "JSON"},
        {"[]", "not a JSON object"},
        {"{}", "a command is missing"},
        {"{\"command\":[]}", "a command is missing"},
        {"{\"command\":[\"\"]}", "a command is missing"},
        {"{\"command\":\"make\"}", "'command' is not a list"},
        {"{\"command\":[1]}", "'command' has a member"},
        {"{\"command\":[\"a\\u0000b\"]}", "'command' has a member"},
        {"{\"comand\":[\"a\"]}",
         "unknown key 'comand', did you mean 'command'?"},
        {"{\"command\":[\"a\"],\"umask\":\"022\"}", "unknown key 'umask'"},
        {"{\"command\":[\"a\"],\"id\":\"a_b\"}", "'a_b' is not an id"},
        {"{\"command\":[\"a\"],\"id\":7}", "'id' is not a string"},
        {"{\"command\":[\"a\"],\"after\":[\"\"]}", "after: '' is not an id"},
        {"{\"command\":[\"a\"],\"id\":\"x\",\"after\":[\"x\"]}", "itself"},
        {"{\"command\":[\"a\"],\"class\":\"XX\"}", "'class'"},
        {"{\"command\":[\"a\"],\"retries\":-1}", "'retries'"},
        {"{\"command\":[\"a\"],\"retries\":1.5}", "'retries'"},
        {"{\"command\":[\"a\"],\"timeout\":\"soon\"}", "'timeout'"},
        {"{\"command\":[\"a\"],\"touches\":[\"a\\nb\"]}", "'touches'"},
        {"{\"command\":[\"a\"],\"env\":{\"A=B\":\"c\"}}", "'A=B'"},
        {"{\"command\":[\"a\"],\"env\":[\"A\"]}", "'env'"},
        {"{\"command\":[\"a\"],\"dir\":\"x\"}", "'dir'"},
        {"{\"command\":[\"a\"]} x", ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_refused(cases[i][0], cases[i][1]);
}

static void relations_are_parsed_and_formatted(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct submission s =
        parsed("{\"command\":[\"x\"],\"after\":[\"a[60%]\",\"b\"],\"after_"
               "any\":[\"c\"],"
               "\"after_failed\":[\"d\"],\"singleton\":\"k\"}",
               SUBMISSION_LINE);
    struct span id;
    unsigned share;
    assert_true(submission_share_parse(s.after.items[0], &id, &share));
    assert_int_equal(share, 60);
    assert_true(span_is(id, "a"));
    assert_true(submission_share_parse(s.after.items[1], &id, &share));
    assert_int_equal(share, 0);
    assert_int_equal(s.after_any.count, 1);
    assert_int_equal(s.after_failed.count, 1);
    submission_format(&s, &text);
    assert_string_equal(text_string(&text),
                        "{\"command\":[\"x\"],\"after\":[\"a[60%]\",\"b\"],"
                        "\"after_any\":[\"c\"],"
                        "\"after_failed\":[\"d\"],\"singleton\":\"k\"}");
    assert_refused("{\"command\":[\"x\"],\"after\":[\"a[60]\"]}",
                   "is not an id");
    assert_refused("{\"command\":[\"x\"],\"after\":[\"[60%]\"]}",
                   "a share from");
    assert_refused("{\"command\":[\"x\"],\"after\":[\"a[1000%]\"]}",
                   "a share from");
    assert_refused("{\"command\":[\"x\"],\"singleton\":\"a\\nb\"}",
                   "more than a line");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relations_are_parsed_and_formatted),
        cmocka_unit_test(every_key_is_parsed),
        cmocka_unit_test(a_body_is_formatted_as_it_was_parsed),
        cmocka_unit_test(missing_keys_have_default_values),
        cmocka_unit_test(invalid_lines_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
