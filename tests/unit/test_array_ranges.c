#include "support/test.h"

#include "lib/arena.h"
#include "wire/array_ranges.h"

static struct arena arena;

static int teardown(void **state) {
    (void)state;
    arena_clear(&arena);
    return 0;
}

/* The elements, separated by blanks. */
static const char *elements_of(const char *ranges) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct lines elements;
    struct err err = {0};
    assert_true(array_ranges_are_meant(span_of(ranges)));
    if (!array_ranges_parse(span_of(ranges), &arena, &elements, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < elements.count; i++)
        text_addf(&text, "%s%.*s", i ? " " : "", (int)elements.items[i].len,
                  elements.items[i].p);
    return arena_string(&arena, text_span(&text));
}

static void assert_refused(const char *ranges, const char *words) {
    struct lines elements;
    struct err err = {0};
    assert_true(array_ranges_are_meant(span_of(ranges)));
    if (array_ranges_parse(span_of(ranges), &arena, &elements, &err))
        fail_msg("accepted: %s", ranges);
    assert_int_equal(err.kind, ERR_DATA);
    if (!strstr(err.text, words))
        fail_msg("'%s' instead of '%s'", err.text, words);
}

static void ranges_steps_and_single_numbers_are_listed(void **state) {
    (void)state;
    assert_string_equal(elements_of("1-5"), "1 2 3 4 5");
    assert_string_equal(elements_of("0-10:5"), "0 5 10");
    assert_string_equal(elements_of("1-9:5"), "1 6");
    assert_string_equal(elements_of("7"), "7");
    assert_string_equal(elements_of("8-9,3,11-12"), "8 9 3 11 12");
    assert_string_equal(elements_of("4-4"), "4");
    assert_string_equal(elements_of("1-3:999999999999999999"), "1");
}

static void zeros_in_front_are_kept(void **state) {
    (void)state;
    assert_string_equal(elements_of("008-011"), "008 009 010 011");
    assert_string_equal(elements_of("08-101:93"), "008 101");
    assert_string_equal(elements_of("8-011:3"), "008 011");
    assert_string_equal(elements_of("01-2,9"), "01 02 9");
    assert_string_equal(elements_of("0-1"), "0 1");
}

static void what_is_no_range_is_refused(void **state) {
    (void)state;
    assert_refused("10-1", "'10-1' runs backwards");
    assert_refused("-5-3", "no range of numbers from 0 on");
    assert_refused("-3", "no range of numbers from 0 on");
    assert_refused("1-", "no range of numbers from 0 on");
    assert_refused("1-2-3", "no range of numbers from 0 on");
    assert_refused("1,,3", "'' is no range");
    assert_refused("1-3,", "'' is no range");
    assert_refused("1-9:", "no range of numbers from 0 on");
    assert_refused("1-9:2:2", "no range of numbers from 0 on");
    assert_refused("1-9:0", "a step of 0");
    assert_refused("1-99999999999999999999", "no range of numbers");
}

static void more_elements_than_a_job_may_have_are_refused(void **state) {
    (void)state;
    struct lines elements;
    struct err err;
    assert_refused("1-1000000000000", "more than 100000 elements");
    assert_refused("0-999999999999999999", "more than 100000 elements");
    assert_refused("1-60000,70001-120000", "more than 100000 elements");
    assert_true(array_ranges_parse(SPAN("1-100000"), &arena, &elements, &err));
    assert_int_equal(elements.count, 100000);
}

static void names_of_files_are_not_meant(void **state) {
    (void)state;
    assert_false(array_ranges_are_meant(SPAN("-")));
    assert_false(array_ranges_are_meant(SPAN("")));
    assert_false(array_ranges_are_meant(SPAN("./1-100")));
    assert_false(array_ranges_are_meant(SPAN("hosts.txt")));
    assert_true(array_ranges_are_meant(SPAN("2026-11-24")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_steps_and_single_numbers_are_listed),
        cmocka_unit_test(zeros_in_front_are_kept),
        cmocka_unit_test(what_is_no_range_is_refused),
        cmocka_unit_test(more_elements_than_a_job_may_have_are_refused),
        cmocka_unit_test(names_of_files_are_not_meant),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
