#include "support/test.h"

#include "lib/arena.h"
#include "lib/text.h"
#include "wire/sections.h"

static struct arena arena;

static int teardown(void **state) {
    (void)state;
    arena_clear(&arena);
    return 0;
}

static struct sections parsed(struct span text) {
    struct sections sections;
    struct refusal why = {0};
    if (!sections_parse(text, &arena, &sections, &why))
        fail_msg("%s", why.text);
    return sections;
}

static void assert_refused(struct span text, const char *words) {
    struct sections sections;
    struct refusal why = {0};
    assert_false(sections_parse(text, &arena, &sections, &why));
    assert_int_equal(why.kind, REFUSAL_META_TEXT);
    assert_non_null(strstr(why.text, words));
}

static void trailing_blanks_and_empty_lines_are_removed(void **state) {
    (void)state;
    struct sections s = parsed(SPAN("\n \n##files \t\r\n a b \t\r\n\n\nc"));
    assert_int_equal(s.count, 1);
    assert_true(span_is(s.items[0].name, "files"));
    assert_int_equal(s.items[0].lines.count, 2);
    assert_true(span_is(s.items[0].lines.items[0], " a b"));
    assert_true(span_is(s.items[0].lines.items[1], "c"));
}

static void a_message_keeps_its_empty_lines(void **state) {
    (void)state;
    struct sections s = parsed(SPAN("##message\nA\n\n  B\n\n##files\n\nx\n"));
    assert_int_equal(s.items[0].lines.count, 4);
    assert_true(span_is(s.items[0].lines.items[1], ""));
    assert_true(span_is(s.items[0].lines.items[2], "  B"));
    assert_int_equal(s.items[1].lines.count, 1);
}

static void a_backslash_escapes_a_line(void **state) {
    (void)state;
    struct sections s = parsed(SPAN("##files\n\\##x\n\\\\y\n\\\nz\\\n"));
    const struct lines *lines = &s.items[0].lines;
    assert_int_equal(lines->count, 4);
    assert_true(span_is(lines->items[0], "##x"));
    assert_true(span_is(lines->items[1], "\\y"));
    assert_true(span_is(lines->items[2], ""));
    assert_true(span_is(lines->items[3], "z\\"));
}

static void a_section_line_may_have_an_argument(void **state) {
    (void)state;
    struct sections s = parsed(SPAN("##precursors-computed   17 \n##x"));
    assert_true(span_is(s.items[0].name, "precursors-computed"));
    assert_true(span_is(s.items[0].argument, "17"));
    assert_non_null(sections_find(&s, "x"));
    assert_null(sections_find(&s, "y"));
}

static void invalid_text_is_refused(void **state) {
    (void)state;
    assert_refused(SPAN("hello\n##x\n"), "before the first section");
    assert_refused(SPAN("##\n"), "name of a section");
    assert_refused(SPAN("## x\n"), "name of a section");
    assert_refused(SPAN("##Files\n"), "name of a section");
    assert_refused(SPAN("###x\n"), "name of a section");
    assert_refused(span_make("##x\na\0b\n", 8), "NUL");
    assert_refused(SPAN("##x\n\xff\n"), "UTF-8");
}

static void a_formatted_text_is_parsed_with_the_same_content(void **state) {
    (void)state;
    static const char *const texts[] = {
        "##a\n\\##b\n\\\\c\n\\\n##message\n\nx\n\n\n\\##y\n##a 1\n", "", "##m",
        "##message\n\\\n"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct sections once = parsed(span_of(texts[i]));
        CLEANUP(text_clear) struct text out = TEXT_INIT;
        CLEANUP(text_clear) struct text again = TEXT_INIT;
        sections_format(&once, &out);
        struct sections twice = parsed(text_span(&out));
        sections_format(&twice, &again);
        assert_string_equal(text_string(&out), text_string(&again));
        assert_int_equal(once.count, twice.count);
        for (size_t k = 0; k < once.count; k++)
            assert_int_equal(once.items[k].lines.count,
                             twice.items[k].lines.count);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trailing_blanks_and_empty_lines_are_removed),
        cmocka_unit_test(a_message_keeps_its_empty_lines),
        cmocka_unit_test(a_backslash_escapes_a_line),
        cmocka_unit_test(a_section_line_may_have_an_argument),
        cmocka_unit_test(invalid_text_is_refused),
        cmocka_unit_test(a_formatted_text_is_parsed_with_the_same_content),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
