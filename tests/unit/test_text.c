#include "lib/text.h"

#include "support/test.h"

static void a_text_grows_and_stays_terminated(void **state) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;

    (void)state;
    assert_string_equal(text_string(&text), "");
    assert_null(text.p);
    for (int i = 0; i < 1000; i++) {
        text_addf(&text, "%d,", i % 10);
        assert_int_equal(strlen(text.p), text.len);
    }
    assert_int_equal(text.len, 2000);
    text_reset(&text);
    assert_string_equal(text_string(&text), "");
    text_add(&text, "a\0b", 3);
    assert_int_equal(text.len, 3);
    assert_int_equal(text.p[3], 0);
}

static void long_formatted_strings_are_complete(void **state) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    char wide[5001];

    (void)state;
    memset(wide, 'w', sizeof(wide) - 1);
    wide[sizeof(wide) - 1] = '\0';
    text_addc(&text, '<');
    text_addf(&text, "%s|%s>", wide, wide);
    assert_int_equal(text.len, 1 + 5000 + 1 + 5000 + 1);
    assert_int_equal(text.p[5001], '|');
    assert_int_equal(text.p[text.len - 1], '>');
}

static void the_caller_owns_a_taken_text(void **state) {
    struct text text = TEXT_INIT;
    char *p;

    (void)state;
    p = text_take(&text);
    assert_string_equal(p, "");
    free(p);
    text_adds(&text, "mine");
    p = text_take(&text);
    assert_string_equal(p, "mine");
    assert_null(text.p);
    free(p);
}

static const char *escaped(struct span span) {
    static struct text text;

    text_clear(&text);
    text_addescaped(&text, span);
    return text_string(&text);
}

static void escaped_text_is_one_printable_line(void **state) {
    (void)state;
    assert_string_equal(escaped(SPAN("plain \xc3\xa9\xf0\x9f\x9a\x82")),
                        "plain \xc3\xa9\xf0\x9f\x9a\x82");
    assert_string_equal(escaped(SPAN("a\nb\tc\\d\x01\x7f\0z")),
                        "a\\nb\\tc\\\\d\\x01\\x7f\\x00z");
    assert_string_equal(escaped(SPAN("\xff\xc3")), "\\xff\\xc3");
    assert_string_equal(escaped(SPAN("\xc2\x9b"
                                     "31m")),
                        "\\xc2\\x9b31m");
    assert_string_equal(escaped(SPAN(".g\xe2\x80\x8cit \xe2\x80\xaexe")),
                        ".g\\xe2\\x80\\x8cit \\xe2\\x80\\xaexe");
    assert_string_equal(escaped(SPAN("\xef\xbb\xbf\xc2\xad\xe2\x80\xa6")),
                        "\\xef\\xbb\\xbf\\xc2\\xad\xe2\x80\xa6");
    escaped(SPAN(""));
    escaped((struct span){0});
}

static void printable_text_keeps_its_backslashes(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text text = TEXT_INIT;

    text_add_printable(&text, SPAN("a\\b\n\x1b[1m\xff\xc3\xa9"));
    assert_string_equal(text_string(&text), "a\\b\\n\\x1b[1m\\xff\xc3\xa9");
}

static void invalid_utf8_is_detected(void **state) {
    static const char *const bad[] = {
        "\x80",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc3",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xe2\x82",
        "a\xffz",
        "\xf0\x9f\x9a",
    };
    static const char *const good[] = {
        "",
        "a",
        "\x7f",
        "\xc2\x80",
        "\xdf\xbf",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(span_is_utf8(span_of(bad[i])));
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(span_is_utf8(span_of(good[i])));
    assert_true(span_is_utf8(SPAN("a\0b")));
}

static void cutting_a_span_returns_each_part_once(void **state) {
    static const char *const want[] = {"a", "", "b", ""};
    struct span rest = SPAN("a,,b,"), part;
    size_t count = 0;

    (void)state;
    while (span_cut(&rest, ',', &part))
        assert_true(count < COUNT(want) && span_is(part, want[count++]));
    assert_int_equal(count, COUNT(want));
    assert_null(rest.p);
    rest = SPAN("");
    assert_true(span_cut(&rest, ',', &part));
    assert_int_equal(part.len, 0);
    assert_false(span_cut(&rest, ',', &part));
    rest = (struct span){0};
    assert_false(span_cut(&rest, ',', &part));
}

static void spans_compare_as_bytes(void **state) {
    (void)state;
    assert_true(span_compare(SPAN("a"), SPAN("b")) < 0);
    assert_true(span_compare(SPAN("a"), SPAN("a\xff")) < 0);
    assert_true(span_compare(SPAN("\xff"), SPAN("a")) > 0);
    assert_int_equal(span_compare(SPAN("x"), SPAN("x")), 0);
    assert_true(span_equal(span_of(NULL), SPAN("")));
    assert_false(span_is(SPAN("a\0b"), "a"));
    assert_true(span_starts(SPAN("prequeue"), "pre"));
    assert_false(span_starts(SPAN("pr"), "pre"));
    assert_true(span_ends(SPAN("a.why"), ".why"));
    assert_false(span_ends(SPAN("why"), ".why"));
    assert_true(span_is(span_trim(SPAN(" \t a b\r\n")), "a b"));
    assert_int_equal(span_trim(SPAN("  ")).len, 0);
}

static void numbers_are_parsed_up_to_their_limits(void **state) {
    static const char *const bad[] = {
        "", "-", "+1", " 1", "1 ", "0x1", "1.0", "--1", "18446744073709551616"};
    uint64_t u;
    int64_t i;

    (void)state;
    assert_true(span_u64(SPAN("18446744073709551615"), &u));
    assert_true(u == UINT64_MAX);
    assert_true(span_i64(SPAN("-9223372036854775808"), &i));
    assert_true(i == INT64_MIN);
    assert_true(span_i64(SPAN("9223372036854775807"), &i));
    assert_true(i == INT64_MAX);
    assert_false(span_i64(SPAN("9223372036854775808"), &i));
    assert_false(span_i64(SPAN("-9223372036854775809"), &i));
    assert_false(span_u64(SPAN("-1"), &u));
    for (size_t n = 0; n < COUNT(bad); n++) {
        assert_false(span_u64(span_of(bad[n]), &u));
        assert_false(span_i64(span_of(bad[n]), &i));
    }
}

static void the_nearest_word_is_suggested(void **state) {
    static const char *const verbs[] = {"status", "list", "submit",
                                        "run",    "logs", "why"};
    size_t n = COUNT(verbs);

    (void)state;
    assert_string_equal(text_nearest("stauts", verbs, n), "status");
    assert_string_equal(text_nearest("lst", verbs, n), "list");
    assert_string_equal(text_nearest("SUBMTI", verbs, n), "submit");
    assert_string_equal(text_nearest("log", verbs, n), "logs");
    assert_null(text_nearest("frobnicate", verbs, n));
    assert_null(text_nearest("x", verbs, n));
    assert_null(text_nearest("", verbs, n));
    assert_null(text_nearest("an-endless-word-that-nobody-would-ever-type-in",
                             verbs, n));
    assert_null(text_nearest("run", verbs, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printable_text_keeps_its_backslashes),
        cmocka_unit_test(a_text_grows_and_stays_terminated),
        cmocka_unit_test(long_formatted_strings_are_complete),
        cmocka_unit_test(the_caller_owns_a_taken_text),
        cmocka_unit_test(escaped_text_is_one_printable_line),
        cmocka_unit_test(invalid_utf8_is_detected),
        cmocka_unit_test(cutting_a_span_returns_each_part_once),
        cmocka_unit_test(spans_compare_as_bytes),
        cmocka_unit_test(numbers_are_parsed_up_to_their_limits),
        cmocka_unit_test(the_nearest_word_is_suggested),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
