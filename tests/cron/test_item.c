/* Valid items, and the errors reported for invalid ones. */
#include <pointsman/cron.h>

#include "support/test.h"

#define FIXES "\"dst_fixes\":[\"skip\",\"repeat_use_both\"]}"

static const struct {
    const char *text, *error; /* a part of the message */
} bad[] = {
    {"", "the text ends too soon"},
    {"{", "the text ends too soon"},
    {"5", "an item must be an object"},
    {"{\"minute\":0}", "'dst_fixes' is missing"},
    {"{\"minute\":{\"period\":1}}",
     "{\"minute\":{\"period\":1}, \"dst_fixes\": [\"skip\", "
     "\"repeat_use_both\"]}"},
    {"{\"minute\":0,\"hour\":3}", "[\"unskip\", \"repeat_use_only_early\"]}"},
    {"{\"hour\":5," FIXES, "'minute' is missing"},
    {"{\"day\":30,\"minute\":0," FIXES, "did you mean 'day_of_month'?"},
    {"{\"minutes\":0," FIXES, "did you mean 'minute'?"},
    {"{\"Minute\":0," FIXES, "did you mean 'minute'?"},
    {"{\"colour\":0," FIXES, "unknown key 'colour'"},
    {"{\"minute\":0,\"minute\":1," FIXES, "'minute' is given twice"},
    {"{\"epoch\":5,\"minute\":1}", "'minute' cannot be combined with 'epoch'"},
    {"{\"epoch\":5," FIXES, "'dst_fixes' cannot be combined with 'epoch'"},
    {"{\"epoch\":-1}", "epoch must be from 0 to"},
    {"{\"epoch\":9223372036854775808}", "whole number"},
    {"{\"epoch\":{\"period\":0}}", "the period of epoch must be from 1"},
    {"{\"minute\":60," FIXES, "minute must be from 0 to 59, not 60"},
    {"{\"minute\":-1," FIXES, "minute must be from 0 to 59, not -1"},
    {"{\"minute\":5.0," FIXES, "whole number of at most 64 bits, not 5.0"},
    {"{\"minute\":1e1," FIXES, "not 1e1"},
    {"{\"minute\":true," FIXES, "not true, false or null"},
    {"{\"minute\":[[1]]," FIXES, "not a list"},
    {"{\"minute\":[{}]," FIXES, "not an object"},
    {"{\"minute\":\"5\"," FIXES, "not the string '5'"},
    {"{\"minute\":{\"period\":59}," FIXES, "must be from 1 to 58"},
    {"{\"minute\":{\"period\":\"x\"}," FIXES, "must be a number, not 'x'"},
    {"{\"minute\":{\"step\":5}," FIXES, "did you mean 'period'?"},
    {"{\"minute\":{\"ned\":5}," FIXES, "did you mean 'end'?"},
    {"{\"minute\":{\"end\":5,\"end\":5}," FIXES, "'end' is given twice"},
    {"{\"minute\":{\"start\":9,\"end\":5}," FIXES, "ranges do not wrap"},
    {"{\"minute\":01," FIXES, "may not begin with 0"},
    {"{\"minute\":[1,]," FIXES, "expected a value"},
    {"{\"minute\":0,\"hour\":{\"period\":23}," FIXES, "from 1 to 22"},
    {"{\"minute\":0,\"month\":{\"period\":11}," FIXES, "from 1 to 10"},
    {"{\"minute\":0,\"day_of_week\":{\"period\":6}," FIXES, "from 1 to 5"},
    {"{\"minute\":0,\"day_of_week\":0," FIXES, "from 1 to 7, not 0"},
    {"{\"minute\":0,\"day_of_week\":\"Tu\"," FIXES, "too short"},
    {"{\"minute\":0,\"day_of_week\":\"Tusday\"," FIXES,
     "did you mean 'Tuesday'?"},
    {"{\"minute\":0,\"day_of_week\":\"Tuesdays\"," FIXES,
     "did you mean 'Tuesday'?"},
    {"{\"minute\":0,\"month\":\"Juno\"," FIXES, "did you mean 'June'?"},
    {"{\"minute\":0,\"year\":1968," FIXES, "from 1969 to 9999"},
    {"{\"minute\":0,\"year\":10000," FIXES, "from 1969 to 9999"},
    {"{\"minute\":0,\"day_of_month\":32," FIXES, "from 1 to 31"},
    {"{\"minute\":0,\"day_of_month\":0," FIXES, "from 1 to 31"},
    {"{\"minute\":0,\"day_of_month\":-32," FIXES, "from 1 to 31"},
    {"{\"minute\":0,\"day_of_month\":1,\"day_of_week\":1," FIXES,
     "day_of_week and day_of_month cannot be combined"},
    {"{\"minute\":0,\"month\":2,\"day_of_month\":30," FIXES, "never fires"},
    {"{\"minute\":0,\"month\":[2,4,6],\"day_of_month\":31," FIXES,
     "never fires"},
    {"{\"minute\":0,\"month\":2,\"day_of_month\":29,\"year\":[2023,2100]"
     "," FIXES,
     "never fires"},
    {"{\"minute\":0,\"month\":2,\"day_of_month\":29,\"year\":{\"start\":1970,"
     "\"period\":100}," FIXES,
     "never fires"},
    {"{\"minute\":0,\"dst_fixes\":\"skip\"}", "must be a list of two words"},
    {"{\"minute\":0,\"dst_fixes\":[]}", "needs skip or unskip"},
    {"{\"minute\":0,\"dst_fixes\":[\"skip\"]}", "needs repeat_use_both"},
    {"{\"minute\":0,\"dst_fixes\":[\"repeat_use_both\"]}", "needs skip"},
    {"{\"minute\":0,\"dst_fixes\":[\"skip\",\"unskip\"]}",
     "'unskip' contradicts 'skip'"},
    {"{\"minute\":0,\"dst_fixes\":[\"skip\",\"skip\"]}", "given twice"},
    {"{\"minute\":0,\"dst_fixes\":[\"skip\",\"repeat_use_both\","
     "\"repeat_use_only_late\"]}",
     "contradicts 'repeat_use_both'"},
    {"{\"minute\":0,\"dst_fixes\":[\"skip\",\"repeat_use_earl\"]}",
     "did you mean"},
    {"{\"minute\":0," FIXES " x", "unexpected text after the value"},
    {"{\"minute\":0,\"max_shift_seconds_for_unskip_and_do_not_repeat\":-"
     "1," FIXES,
     "must be from 0"},
    {"{\"minute\":0,\"weekday_of_month\":{\"n\":6,\"day\":\"Tue\"}," FIXES,
     "n must be from 1 to 5"},
    {"{\"minute\":0,\"weekday_of_month\":{\"n\":1}," FIXES, "needs 'day'"},
    {"{\"minute\":0,\"weekday_of_month\":{\"n\":1,\"day\":\"Mon\"},"
     "\"day_of_week\":\"Tue\"," FIXES,
     "never fires"},
    {"{\"minute\":0,\"iter_day\":{\"period\":2}," FIXES, "'start' is missing"},
    {"{\"minute\":0,\"iter_day\":{\"start\":\"2023-02-29\"}," FIXES,
     "must be a date"},
    {"{\"minute\":0,\"iter_day\":{\"start\":\"2024-01-01\",\"period\":0}"
     "," FIXES,
     "from 1 to 10000"},
    {"{\"minute\":0,\"except\":\"2024-1-1\"," FIXES, "must be a date"},
    {"{\"minute\":0,\"except\":\"02-30\"," FIXES, "must be a date"},
    {"{\"minute\":0,\"day_of_month\":1,\"except\":[\"01-01\",\"02-01\","
     "\"03-01\",\"04-01\",\"05-01\",\"06-01\",\"07-01\",\"08-01\",\"09-01\","
     "\"10-01\",\"11-01\",\"12-01\"]," FIXES,
     "never fires"},
    {"{\"min\xc3\", 3}", "invalid UTF-8"},
    {"{\"\\ud800\":1}", "half of a surrogate pair"},
};

static void an_invalid_item_is_rejected_with_a_reason(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct cron_item *item = NULL;
        struct cron_err err = {0};
        if (cron_item_parse(bad[i].text, strlen(bad[i].text), &item, &err))
            fail_msg("accepted: %s", bad[i].text);
        if (strstr(err.text, bad[i].error) == NULL || err.line != 1)
            fail_msg("%s\nreports: %s\nnot: %s", bad[i].text, err.text,
                     bad[i].error);
    }
}

static void an_error_reports_its_position(void **state) {
    static const char text[] =
        "{\n  \"minute\": 0,\n  \"h\xc3\xb6ur\": 5, \"x\": 2\n}";
    struct cron_item *item;
    struct cron_err err = {0};

    (void)state;
    assert_false(cron_item_parse(text, strlen(text), &item, &err));
    assert_int_equal(err.line, 3);
    assert_int_equal(err.column, 3);
    assert_non_null(strstr(err.text, "line 3, column 3: "));
    assert_false(cron_item_parse(text, strlen(text), &item, NULL));
}

/* Each pair must give the same instants over some years. */
static const char *const same[][2] = {
    {"{\"minute\":[]," FIXES, "{\"minute\":{}," FIXES},
    {"{\"minute\":{\"period\":\"20\"}," FIXES,
     "{\"minute\":[40,0,20,0]," FIXES},
    {"{\"minute\":{\"start\":5,\"end\":30,\"period\":20}," FIXES,
     "{\"minute\":[5,25]," FIXES},
    {"{\"minute\":0,\"hour\":3,\"day_of_week\":[\"Tues\",\"SUNDAY\",\"thu\"]"
     "," FIXES,
     "{\"hour\":3,\"minute\":0,\"day_of_week\":[1,3,5]," FIXES},
    {"{\"minute\":0,\"hour\":3,\"day_of_week\":{\"start\":\"Tue\",\"period\":5}"
     "," FIXES,
     "{\"hour\":3,\"minute\":0,\"day_of_week\":3," FIXES},
    {"{\"minute\":0,\"hour\":3,\"month\":\"sEpTe\",\"day_of_month\":[]," FIXES,
     "{\"minute\":0,\"hour\":3,\"month\":9," FIXES},
    {"{\"minute\":0,\"hour\":3,\"day_of_month\":-1,\"month\":[1,2,4]," FIXES,
     "{\"minute\":0,\"hour\":3,\"month\":[1,2,4],\"day_of_month\":[-1]," FIXES},
    {"{\"minute\":0,\"hour\":3,\"day_of_month\":-1,\"month\":[4,6]," FIXES,
     "{\"minute\":0,\"hour\":3,\"month\":[4,6],\"day_of_month\":30," FIXES},
    {"{\"minute\":0,\"hour\":3,\"weekday_of_month\":{\"n\":2,\"day\":\"Tue\"}"
     "," FIXES,
     "{\"minute\":0,\"hour\":3,\"day_of_month\":{\"start\":8,\"end\":14},"
     "\"weekday_of_month\":{\"n\":[1,2,3,4,5],\"day\":3}," FIXES},
    {"{\"minute\":0,\"second\":0," FIXES, "{\"minute\":0," FIXES},
    {"{\"minute\":0,\"hour\":3,\"iter_day_of_week\":{\"start\":\"1999-12-28\","
     "\"period\":2}," FIXES,
     "{\"minute\":0,\"hour\":3,\"iter_week\":{\"start\":\"1999-12-26\","
     "\"period\":2},"
     "\"day_of_week\":\"Tue\"," FIXES},
    {"{\"minute\":0,\"hour\":3,\"iter_day\":{\"start\":\"1999-12-28\","
     "\"period\":14}," FIXES,
     "{\"minute\":0,\"hour\":3,\"iter_day_of_week\":{\"start\":\"1999-12-28\","
     "\"period\":2}," FIXES},
    {"{\"minute\":0,\"hour\":3,\"day_of_month\":1,\"iter_month\":{\"start\":"
     "\"1999-11-01\",\"period\":3}," FIXES,
     "{\"minute\":0,\"hour\":3,\"day_of_month\":1,\"month\":[2,5,8,11]," FIXES},
    {"{\"minute\":0,\"hour\":3,\"day_of_month\":[24,25],\"except\":[\"12-24\","
     "{\"start\":\"2000-12-20\",\"end\":\"2001-12-20\"}],\"month\":12," FIXES,
     "{\"minute\":0,\"hour\":3,\"month\":12,\"day_of_month\":25,"
     "\"except\":\"2000-12-25\"," FIXES},
};

static void equivalent_items_give_the_same_instants(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        struct cron_item *a, *b;
        struct cron_err err = {0};
        int64_t at = 946684800, other;
        if (!cron_item_parse(same[i][0], strlen(same[i][0]), &a, &err))
            fail_msg("%s: %s", same[i][0], err.text);
        if (!cron_item_parse(same[i][1], strlen(same[i][1]), &b, &err))
            fail_msg("%s: %s", same[i][1], err.text);
        for (int n = 0; n < 300; n++) {
            assert_int_equal(cron_next(a, NULL, at, &other, NULL), CRON_FOUND);
            assert_int_equal(cron_next(b, NULL, at, &at, NULL), CRON_FOUND);
            if (at != other)
                fail_msg("%s\n%s\nfirst %lld, then %lld", same[i][0],
                         same[i][1], (long long)other, (long long)at);
            at++;
        }
        cron_item_unref(a);
        cron_item_unref(b);
    }
}

static void only_epoch_items_need_no_zone(void **state) {
    static const char epoch[] =
        "{\"epoch\":{},\"max_shift_seconds_for_unskip_and_do_not_repeat\":7}";
    static const char minute[] = "{\"minute\":{}," FIXES;
    struct cron_item *item;

    (void)state;
    assert_true(cron_item_parse(epoch, strlen(epoch), &item, NULL));
    assert_false(cron_item_is_timezone_dependent(item));
    assert_true(cron_item_max_shift_s(item) == 7);
    cron_item_unref(item);
    assert_true(cron_item_parse(minute, strlen(minute), &item, NULL));
    assert_true(cron_item_is_timezone_dependent(item));
    assert_true(cron_item_max_shift_s(item) == -1);
    cron_item_unref(item);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_invalid_item_is_rejected_with_a_reason),
        cmocka_unit_test(an_error_reports_its_position),
        cmocka_unit_test(equivalent_items_give_the_same_instants),
        cmocka_unit_test(only_epoch_items_need_no_zone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
