#include "lib/time.h"

#include "lib/random.h"
#include "support/test.h"

static void a_time_is_formatted_as_in_rfc3339(void **state) {
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {INT64_C(951782400123999999), "2000-02-29T00:00:00.123Z"},
        {INT64_C(4102444799000000000), "2099-12-31T23:59:59.000Z"},
        {INT64_MAX, "2262-04-11T23:47:16.854Z"},
        {INT64_MIN, "1677-09-21T00:12:43.145Z"},
    };
    char text[WALL_TEXT_BYTES];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(wall_format((struct wall){cases[i].ns}, text),
                            cases[i].text);
}

static void all_forms_of_rfc3339_are_parsed(void **state) {
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01t00:00:00z", 0},
        {"1970-01-01 00:00:00Z", 0},
        {"1970-01-01T01:30:00+01:30", 0},
        {"1969-12-31T18:30:00-05:30", 0},
        {"1970-01-01T00:00:00.5Z", 500000000},
        {"1970-01-01T00:00:00.123456789123Z", 123456789},
        {"1970-01-01T00:00:00-00:00", 0},
        {"1969-12-31T23:59:60Z", 0},
        {"1969-12-31T23:59:59.999Z", -1000000},
        {"2000-02-29T00:00:00Z", INT64_C(951782400) * 1000000000},
    };
    struct wall wall;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_true(wall_parse(span_of(cases[i].text), &wall));
        assert_true(wall.ns == cases[i].ns);
    }
}

static void an_invalid_time_is_rejected(void **state) {
    static const char *const bad[] = {
        "",
        "1970",
        "1970-01-01",
        "1970-01-01T00:00:00",
        "1970-1-01T00:00:00Z",
        "1970-13-01T00:00:00Z",
        "1970-00-01T00:00:00Z",
        "1970-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "1970-01-32T00:00:00Z",
        "1970-01-00T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:61Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00ZZ",
        "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00+1:00",
        "1970-01-01T00:00:00+0100",
        " 1970-01-01T00:00:00Z",
        "+970-01-01T00:00:00Z",
        "9999-12-31T00:00:00Z",
        "1500-01-01T00:00:00Z",
    };
    struct wall wall;

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        if (wall_parse(span_of(bad[i]), &wall))
            fail_msg("'%s' was parsed as a time", bad[i]);
}

static void every_day_is_parsed_as_it_was_formatted(void **state) {
    (void)state;
    for (int64_t day = -100000; day < 100000; day++) {
        struct wall wall = wall_from_s(day * 86400 + 43210), again;
        char text[WALL_TEXT_BYTES];

        assert_true(wall_parse(span_of(wall_format(wall, text)), &again));
        assert_true(again.ns == wall.ns);
    }
}

static void tai_labels_agree_with_their_definition(void **state) {
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "@400000000000000a00000000"},
        {-1, "@40000000000000093b9ac9ff"},
        {INT64_C(951782400000000001), "@4000000038bb0c0a00000001"},
        {INT64_C(4102444799999999999), "@40000000f48657093b9ac9ff"},
        {INT64_MAX, NULL},
        {INT64_MIN, NULL},
    };
    char text[TAI_TEXT_BYTES];
    struct wall wall;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        tai_format((struct wall){cases[i].ns}, text);
        if (cases[i].text != NULL)
            assert_string_equal(text, cases[i].text);
        assert_int_equal(strlen(text), TAI_TEXT_BYTES - 1);
        if (cases[i].ns != INT64_MIN) {
            assert_true(tai_parse(span_of(text), &wall));
            assert_true(wall.ns == cases[i].ns);
        }
    }
}

static void an_invalid_tai_label_is_rejected(void **state) {
    static const char *const bad[] = {
        "",
        "@",
        "400000000000000a00000000",
        "@400000000000000a0000000",
        "@400000000000000a000000000",
        "@400000000000000A00000000",
        "@400000000000000g00000000",
        "@400000000000000a3b9aca00",
        "@ffffffffffffffff00000000",
        "@000000000000000000000000",
        "@400000000000000a 0000000",
    };
    struct wall wall;

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        if (tai_parse(span_of(bad[i]), &wall))
            fail_msg("'%s' was parsed as a label", bad[i]);
}

static void labels_sort_in_order_of_time(void **state) {
    struct random random;

    (void)state;
    random_init(&random, 5);
    for (int i = 0; i < 1000; i++) {
        struct wall a = {(int64_t)random_below(&random, UINT64_MAX)};
        struct wall b = {(int64_t)random_below(&random, UINT64_MAX)};
        char a_text[TAI_TEXT_BYTES], b_text[TAI_TEXT_BYTES];

        assert_int_equal(strcmp(tai_format(a, a_text), tai_format(b, b_text)) <
                             0,
                         a.ns < b.ns);
    }
}

static void durations_have_units(void **state) {
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"0", 0},
        {"90", 90000},
        {"90s", 90000},
        {"15m", 900000},
        {"2h", 7200000},
        {"7d", 604800000},
        {"9223372036854775", INT64_C(9223372036854775000)},
    };
    static const char *const bad[] = {
        "",
        "s",
        "-1",
        "1.5h",
        "1w",
        "1 s",
        "1ms",
        "1hh",
        "+3",
        "9223372036854776",
        "106751991168d",
        "99999999999999999999s",
    };
    int64_t ms;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_true(duration_parse(span_of(cases[i].text), &ms));
        assert_true(ms == cases[i].ms);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        if (duration_parse(span_of(bad[i]), &ms))
            fail_msg("'%s' was parsed as a duration", bad[i]);
}

static void arithmetic_saturates(void **state) {
    struct wall late = {INT64_MAX - 1}, early = {INT64_MIN + 1};

    (void)state;
    assert_true(wall_add_ms(late, 1).ns == INT64_MAX);
    assert_true(wall_add_ms(early, -1).ns == INT64_MIN);
    assert_true(wall_add_ms((struct wall){0}, INT64_MAX).ns == INT64_MAX);
    assert_true(wall_add_ms((struct wall){0}, INT64_MIN).ns == INT64_MIN);
    assert_true(mono_add_ms((struct mono){5}, 2).ns == 2000005);
    assert_true(mono_add_ms(MONO_NEVER, 1000).ns == MONO_NEVER.ns);
    assert_true(wall_from_s(INT64_MAX).ns == INT64_MAX);
    assert_true(wall_from_s(INT64_MIN).ns == INT64_MIN);
    assert_true(wall_ms_since(late, early) == INT64_MAX / 1000000);
    assert_true(wall_ms_since(early, late) == INT64_MIN / 1000000 - 1);
    assert_true(mono_ms_since((struct mono){3999999}, (struct mono){1000000}) ==
                2);
    assert_true(mono_ms_since((struct mono){0}, (struct mono){1}) == -1);
    assert_true(wall_s((struct wall){-1}) == -1);
    assert_true(wall_s((struct wall){1999999999}) == 1);
}

static int64_t step(struct wall_watch *watch, int64_t wall_ms,
                    int64_t boot_ms) {
    return wall_watch_step(watch, (struct wall){wall_ms * NS_PER_MS},
                           (struct boot){boot_ms * NS_PER_MS});
}

static void a_clock_that_was_set_back_is_noticed_once(void **state) {
    struct wall_watch watch = {0};

    (void)state;
    assert_true(step(&watch, 500000, 1000) == 0);
    assert_true(step(&watch, 501000, 2000) == 0);
    assert_true(step(&watch, 441500, 2500) == 60000);
    assert_true(step(&watch, 442000, 3000) == 0);
    /* Forward is no matter, but then the same way back is. */
    assert_true(step(&watch, 542000, 3000) == 0);
    assert_true(step(&watch, 442000, 3000) == 100000);
}

static void small_steps_of_the_clock_add_up(void **state) {
    struct wall_watch watch = {0};

    (void)state;
    assert_true(step(&watch, 1000, 0) == 0);
    assert_true(step(&watch, 1940, 1000) == 0);
    assert_true(step(&watch, 2880, 2000) == 120);
    assert_true(step(&watch, 3880, 3000) == 0);
}

static void what_is_planned_moves_with_the_clock(void **state) {
    (void)state;
    assert_true(wall_set_back(wall_from_s(100), 3000).ns == wall_from_s(97).ns);
    assert_true(wall_set_back((struct wall){0}, 3000).ns == 0);
    assert_true(wall_set_back(WALL_NEVER, 3000).ns == WALL_NEVER.ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_is_formatted_as_in_rfc3339),
        cmocka_unit_test(all_forms_of_rfc3339_are_parsed),
        cmocka_unit_test(an_invalid_time_is_rejected),
        cmocka_unit_test(every_day_is_parsed_as_it_was_formatted),
        cmocka_unit_test(tai_labels_agree_with_their_definition),
        cmocka_unit_test(an_invalid_tai_label_is_rejected),
        cmocka_unit_test(labels_sort_in_order_of_time),
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(arithmetic_saturates),
        cmocka_unit_test(a_clock_that_was_set_back_is_noticed_once),
        cmocka_unit_test(small_steps_of_the_clock_add_up),
        cmocka_unit_test(what_is_planned_moves_with_the_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
