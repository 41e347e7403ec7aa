/* The worked examples of the specification, and their consequences. */
#include <pointsman/cron.h>

#include "support/test.h"
#include "cron/draw.h"

#define LA "America/Los_Angeles"
#define NOTHING INT64_MIN

static struct cron_item *item_of(const char *text) {
    struct cron_item *item;
    struct cron_err err;

    if (!cron_item_parse(text, strlen(text), &item, &err))
        fail_msg("%s: %s", text, err.text);
    return item;
}

static struct cron_zone *zone_of(const char *name) {
    struct cron_zone *zone;
    struct cron_err err;

    if (!cron_zone_open(name, &zone, &err)) {
        if (strstr(err.text, "install tzdata") != NULL)
            test_skip("no zone database (package tzdata)");
        fail_msg("%s", err.text);
    }
    return zone;
}

/* Checks all instants after `from`; NOTHING means that there are no more. */
static void expect(const char *zone_name, const char *text, int64_t from,
                   const int64_t *wanted, size_t count) {
    struct cron_item *item = item_of(text);
    struct cron_zone *zone = zone_of(zone_name);

    for (size_t i = 0; i < count; i++) {
        int64_t at = NOTHING;
        enum cron_found found = cron_next(item, zone, from, &at, NULL);
        if (found == CRON_FAILED || at != wanted[i])
            fail_msg("%s in %s from %lld: %lld instead of %lld", text,
                     zone_name, (long long)from, (long long)at,
                     (long long)wanted[i]);
        if (found == CRON_NONE)
            break;
        assert_true(cron_matches(item, zone, at));
        int64_t back;
        assert_int_equal(cron_prev(item, zone, at, &back, NULL), CRON_FOUND);
        assert_true(back == at);
        if (at == INT64_MAX)
            break; /* no instant can follow */
        from = at + 1;
    }
    cron_item_unref(item);
    cron_zone_unref(zone);
}

#define EXPECT(zone, text, from, ...)                        \
    expect(zone, text, from, (const int64_t[]){__VA_ARGS__}, \
           sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

#define FIX(skip, repeat) \
    "\"dst_fixes\":[\"" skip "\",\"repeat_use_" repeat "\"]}"

static void
skipped_local_times_fire_just_before_the_jump_or_not_at_all(void **state) {
    static const char skip[] = "{\"hour\":2,\"minute\":30," FIX("skip", "both");
    static const char unskip[] =
        "{\"hour\":2,\"minute\":30," FIX("unskip", "both");

    (void)state;
    EXPECT(LA, skip, 1362909540, 1362994200, 1363080600);
    EXPECT(LA, unskip, 1362909540, 1362909599, 1362994200);
    /* Searches that start within the last minute, and at the very second. */
    EXPECT(LA, unskip, 1362909570, 1362909599);
    EXPECT(LA, unskip, 1362909599, 1362909599);
    EXPECT(LA, unskip, 1362909600, 1362994200);
}

/* The tests of the library that this one replaces, in their time zone. */
static void instants_agree_with_the_original_library(void **state) {
    static const char zone[] = "PST+8PDT,M3.2.0,M11.1.0";

#define ORIGINAL(text, from, ...) \
    EXPECT(zone, "{" text "," FIX("skip", "both"), from, __VA_ARGS__)
    (void)state;
    ORIGINAL("\"minute\":{}", 0, 0);
    ORIGINAL("\"minute\":{\"start\":3}", 0, 180);
    /* Every 7 minutes, starting again with each hour and day. */
    ORIGINAL("\"minute\":{\"period\":7}", 1, 420, 840);
    ORIGINAL("\"minute\":{\"period\":7}", 2941, 3360, 3600, 4020);
    ORIGINAL("\"minute\":{\"period\":7}", 28799, 28800, 29220);
    /* September has no 31st. */
    ORIGINAL("\"minute\":{},\"day_of_month\":[31]", 211410000, 215593200);
    ORIGINAL("\"minute\":[37],\"hour\":17,\"day_of_month\":[29],"
             "\"month\":\"Feb\",\"year\":{\"start\":1999,\"period\":3}",
             1107214567, 1204335420);
    ORIGINAL("\"minute\":{},\"day_of_week\":7", 1390118400, 1390636800);
    ORIGINAL("\"minute\":{},\"day_of_week\":7", 1390636800, 1390636800);
    ORIGINAL("\"hour\":8,\"minute\":50,\"day_of_week\":3", 1494951618,
             1495554600);
    ORIGINAL("\"minute\":{},\"day_of_week\":1", 1390204800, 1390723200);
    ORIGINAL("\"minute\":{},\"day_of_week\":3,\"month\":[3,11]", 375523200,
             383904000);
    ORIGINAL("\"minute\":[3,7,9]", 1362909540, 1362909780);
    ORIGINAL("\"minute\":[3,7]", 1383465510, 1383465780, 1383466020, 1383469380,
             1383469620, 1383472980);
    ORIGINAL("\"year\":[2003,2005],\"month\":1,\"day_of_month\":1,"
             "\"hour\":0,\"minute\":0",
             0, 1041408000, 1104566400, NOTHING);
#undef ORIGINAL
    EXPECT(zone, "{\"minute\":3," FIX("unskip", "both"), 1362909540,
           1362909599);
    EXPECT(zone, "{\"minute\":[3,7]," FIX("skip", "only_early"), 1383465510,
           1383465780, 1383466020, 1383472980);
    EXPECT(zone, "{\"minute\":[3,7]," FIX("skip", "only_late"), 1383465510,
           1383469380, 1383469620, 1383472980);
}

/* Boost, and many users, use the opposite sign. */
static void the_sign_of_offsets_is_that_of_posix(void **state) {
    struct cron_zone *zone = zone_of("EST+5EDT+4,M3.2.0,M11.1.0");
    struct cron_zone *seven = zone_of("MST-07");

    (void)state;
    assert_int_equal(cron_zone_offset_s(zone, 720597599), -4 * 3600);
    assert_int_equal(cron_zone_offset_s(zone, 720597600), -5 * 3600);
    assert_int_equal(cron_zone_offset_s(seven, 0), 7 * 3600);
    cron_zone_unref(zone);
    cron_zone_unref(seven);
}

static void frequent_events_are_unskipped_once_per_jump(void **state) {
    (void)state;
    EXPECT(LA, "{\"minute\":3," FIX("skip", "both"), 1362909540, 1362909780);
    EXPECT(LA, "{\"minute\":3," FIX("unskip", "both"), 1362909540, 1362909599,
           1362909780);
    EXPECT(LA, "{\"minute\":{}," FIX("unskip", "both"), 1362909540, 1362909540,
           1362909599, 1362909600, 1362909660);
}

static void
an_item_determines_whether_a_repeated_time_fires_twice(void **state) {
    static const char both[] = "{\"hour\":1,\"minute\":0," FIX("skip", "both");
    static const char early[] =
        "{\"hour\":1,\"minute\":0," FIX("skip", "only_early");
    static const char late[] =
        "{\"hour\":1,\"minute\":0," FIX("skip", "only_late");

    (void)state;
    EXPECT(LA, both, 1383465600, 1383465600, 1383469200, 1383555600);
    EXPECT(LA, early, 1383465600, 1383465600, 1383555600);
    EXPECT(LA, early, 1383465601, 1383555600);
    EXPECT(LA, late, 1383465600, 1383469200, 1383555600);
}

static void
the_skipped_day_of_apia_fires_at_the_end_of_the_previous_day(void **state) {
    (void)state;
    EXPECT("Pacific/Apia", "{\"hour\":10,\"minute\":0," FIX("unskip", "both"),
           1325185200, 1325188800, 1325239199, 1325275200);
    EXPECT("Pacific/Apia", "{\"hour\":10,\"minute\":0," FIX("skip", "both"),
           1325188801, 1325275200);
    EXPECT("Pacific/Apia",
           "{\"hour\":10,\"minute\":0,\"year\":2011,\"month\":12,"
           "\"day_of_month\":30," FIX("skip", "both"),
           0, NOTHING);
}

static void
weekdays_apply_to_the_skipped_time_not_to_the_second_before(void **state) {
    /* Sao Paulo lost 00:00 to 01:00 of Sunday, 2018-11-04. */
    (void)state;
    EXPECT("America/Sao_Paulo",
           "{\"hour\":0,\"minute\":0,\"day_of_week\":\"Sun\"," FIX("unskip",
                                                                   "both"),
           1541200000, 1541300399, 1541901600);
    EXPECT("America/Sao_Paulo",
           "{\"hour\":0,\"minute\":0,\"day_of_week\":\"Sat\"," FIX("unskip",
                                                                   "both"),
           1541250000, 1541815200);
}

static void a_jump_may_be_half_an_hour(void **state) {
    /* Lord Howe lost 02:00 to 02:30 on 2013-10-06. */
    (void)state;
    EXPECT("Australia/Lord_Howe",
           "{\"hour\":2,\"minute\":[15,45]," FIX("unskip", "both"), 1380985000,
           1380986999, 1380987900);
}

static void distant_years_are_found_at_once(void **state) {
    (void)state;
    EXPECT("UTC", "{\"hour\":0,\"minute\":0,\"year\":2090," FIX("skip", "both"),
           0, 3786912000);
    EXPECT("UTC",
           "{\"hour\":0,\"minute\":0,\"month\":2,\"day_of_month\":29," FIX(
               "skip", "both"),
           4000000000, 4233686400);
    EXPECT("UTC",
           "{\"hour\":0,\"minute\":0,\"year\":9999,\"month\":\"dec\","
           "\"day_of_month\":31," FIX("skip", "both"),
           CRON_OLDEST, 253402214400, NOTHING);
}

static void epoch_items_need_no_zone(void **state) {
    (void)state;
    EXPECT("UTC", "{\"epoch\":{\"period\":300}}", 1, 300, 600);
    EXPECT("UTC", "{\"epoch\":{\"period\":300,\"start\":1300003260}}", -5,
           1300003260, 1300003560);
    EXPECT("UTC", "{\"epoch\":[5400,2700]}", 0, 2700, 5400, NOTHING);
    EXPECT("UTC", "{\"epoch\":{\"period\":3,\"end\":10}}", 9, 9, NOTHING);
    EXPECT("UTC", "{\"epoch\":{\"period\":9223372036854775806}}", 1,
           INT64_MAX - 1, NOTHING);
    EXPECT("UTC", "{\"epoch\":9223372036854775807}", INT64_MIN, INT64_MAX);
}

static void instants_out_of_range_are_errors(void **state) {
    static const int64_t bad[] = {INT64_MIN, CRON_OLDEST - 1, CRON_NEWEST + 1,
                                  INT64_MAX};
    struct cron_item *item = item_of("{\"minute\":0," FIX("skip", "both"));
    int64_t at;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct cron_err err = {0};
        assert_int_equal(cron_next(item, NULL, bad[i], &at, &err), CRON_FAILED);
        assert_int_equal(err.kind, CRON_ERR_RANGE);
    }
    assert_int_equal(cron_next(item, NULL, CRON_NEWEST, &at, NULL), CRON_NONE);
    assert_int_equal(cron_next(item, NULL, CRON_OLDEST, &at, NULL), CRON_FOUND);
    assert_true(at == -31536000);
    assert_int_equal(cron_prev(item, NULL, CRON_OLDEST, &at, NULL), CRON_NONE);
    cron_item_unref(item);
}

static void the_count_is_the_number_of_instants(void **state) {
    static const char *const texts[] = {
        "{\"minute\":[0,17]," FIX("unskip", "only_early"),
        "{\"minute\":0,\"hour\":2," FIX("unskip", "only_late"),
        "{\"minute\":{\"period\":7},\"hour\":[1,2],\"day_of_month\":-1," FIX(
            "skip", "both"),
    };
    struct cron_zone *zone = zone_of(LA);

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct cron_item *item = item_of(texts[i]);
        int64_t from = 1362000000, until = 1384000000, at;
        uint64_t count, walked = 0;
        assert_true(cron_count(item, zone, from, until, &count, NULL));
        while (cron_next(item, zone, from, &at, NULL) == CRON_FOUND &&
               at < until) {
            walked++;
            from = at + 1;
        }
        assert_true(count == walked);
        cron_item_unref(item);
    }
    cron_zone_unref(zone);
}

static void several_instants_are_found_none_or_it_is_an_error(void **state) {
    struct cron_item *item = item_of("{\"epoch\":[5,7,9]}");
    struct cron_item *daily =
        item_of("{\"minute\":0,\"hour\":0,\"year\":[2000,2001],"
                "\"dst_fixes\":[\"skip\",\"repeat_use_both\"]}");
    int64_t at[4];
    size_t count = 77;
    struct cron_err err;

    (void)state;
    assert_int_equal(cron_next_n(item, NULL, 6, at, 4, &count, &err),
                     CRON_FOUND);
    assert_int_equal(count, 2);
    assert_int_equal(at[0], 7);
    assert_int_equal(at[1], 9);
    assert_int_equal(cron_next_n(item, NULL, 10, at, 4, &count, &err),
                     CRON_NONE);
    assert_int_equal(count, 0);
    assert_int_equal(cron_next_n(item, NULL, 5, at, 0, &count, &err),
                     CRON_NONE);
    assert_int_equal(
        cron_next_n(daily, NULL, INT64_C(1009756800), at, 4, &count, &err),
        CRON_FOUND);
    assert_int_equal(count, 1);
    count = 77;
    assert_int_equal(
        cron_next_n(daily, NULL, CRON_NEWEST + 1, at, 4, &count, &err),
        CRON_FAILED);
    assert_int_equal(count, 0);
    assert_int_equal(err.kind, CRON_ERR_RANGE);
    cron_item_unref(item);
    cron_item_unref(daily);
}

/* ---- items as text ------------------------------------------------------- */

static char *text_of(const struct cron_item *item) {
    size_t len = cron_item_format(item, NULL, 0);
    char *text = malloc(len + 1);

    assert_non_null(text);
    assert_int_equal(cron_item_format(item, text, len + 1), len);
    assert_int_equal(strlen(text), len);
    return text;
}

/* The item that its text describes; the text of that is the same. */
static struct cron_item *again_of(const struct cron_item *item) {
    char *text = text_of(item), *second;
    struct cron_item *again;
    struct cron_err err;

    if (!cron_item_parse(text, strlen(text), &again, &err))
        fail_msg("%s: %s", text, err.text);
    second = text_of(again);
    assert_string_equal(text, second);
    free(text);
    free(second);
    return again;
}

static void an_item_is_written_in_a_fixed_form(void **state) {
    static const struct {
        const char *from, *text;
    } cases[] = {
        {"{ \"dst_fixes\":[\"repeat_use_both\",\"skip\"],\"hour\":[20,10,10],"
         "\"day_of_week\":\"tues\",\"minute\":[0]}",
         "{\"minute\": 0, \"hour\": [10, 20], \"day_of_week\": 3, "
         "\"dst_fixes\": [\"skip\", \"repeat_use_both\"]}"},
        {"{\"minute\":{},\"hour\":{\"period\":\"5\"},\"month\":[1,2,3],"
         "\"dst_fixes\":[\"unskip\",\"repeat_use_only_late\"]}",
         "{\"minute\": {}, \"hour\": {\"period\": 5}, \"month\": {\"end\": "
         "3}, \"dst_fixes\": [\"unskip\", \"repeat_use_only_late\"]}"},
        {"{\"epoch\":{\"start\":7,\"period\":300}}",
         "{\"epoch\": {\"start\": 7, \"period\": 300}}"},
        {"{\"epoch\":[]}", "{\"epoch\": {}}"},
        {"{\"minute\":5,\"second\":[0,30],\"day_of_month\":[-1,15],\"year\":"
         "{\"start\":2030},\"except\":[\"12-25\",\"2030-01-01\",{\"start\":"
         "\"2031-05-01\",\"end\":\"2031-06-01\"}],\"dst_fixes\":[\"skip\","
         "\"repeat_use_both\"],"
         "\"max_shift_seconds_for_unskip_and_do_not_repeat\":9}",
         "{\"second\": [0, 30], \"minute\": 5, \"day_of_month\": [15, -1], "
         "\"year\": {\"start\": 2030}, \"except\": [\"12-25\", "
         "\"2030-01-01\", {\"start\": \"2031-05-01\", \"end\": "
         "\"2031-06-01\"}], \"dst_fixes\": [\"skip\", \"repeat_use_both\"], "
         "\"max_shift_seconds_for_unskip_and_do_not_repeat\": 9}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cron_item *item = item_of(cases[i].from);
        char *text = text_of(item);
        assert_string_equal(text, cases[i].text);
        cron_item_unref(again_of(item));
        cron_item_unref(item);
        free(text);
    }
}

static void a_written_item_has_the_same_instants(void **state) {
    struct draw draw;

    (void)state;
    draw_init(&draw, 19);
    for (int i = 0; i < 2000; i++) {
        struct oracle_item values;
        char text[DRAW_TEXT_BYTES];
        struct cron_item *item, *again;
        draw_item(&draw, 2024, true, &values, text);
        if (!cron_item_parse(text, strlen(text), &item, NULL))
            continue;
        again = again_of(item);
        for (int k = 0; k < 10; k++) {
            int64_t from = 1600000000 + (int64_t)draw_below(&draw, 300000000);
            int64_t at = 0, other = 0;
            assert_int_equal(cron_next(item, NULL, from, &at, NULL),
                             cron_next(again, NULL, from, &other, NULL));
            if (at != other)
                fail_msg("%s", text);
        }
        cron_item_unref(item);
        cron_item_unref(again);
    }
}

/* ---- steps and excepted days --------------------------------------------- */

enum { DAYS_LEAST = -365, DAYS = 2933075 }; /* 1969-01-01 to 9999-12-31 */

struct day {
    int16_t year;
    int8_t month, of_month;
};

static struct day *days_made(void) {
    static const int8_t lengths[] = {31, 28, 31, 30, 31, 30,
                                     31, 31, 30, 31, 30, 31};
    struct day *days = malloc(DAYS * sizeof(*days));
    struct day day = {1969, 1, 1};

    assert_non_null(days);
    for (int i = 0; i < DAYS; i++) {
        bool leap =
            (day.year % 4 == 0 && day.year % 100 != 0) || day.year % 400 == 0;
        days[i] = day;
        if (++day.of_month <= lengths[day.month - 1] + (day.month == 2 && leap))
            continue;
        day.of_month = 1;
        if (++day.month == 13) {
            day.month = 1;
            day.year++;
        }
    }
    return days;
}

/* A step of each kind; period 0: it is not given. */
struct walk_step {
    int start, end, period; /* days are counted from 1969-01-01 */
};

struct walked {
    struct walk_step steps[4]; /* day, day of week, week, month */
    int weekday;               /* 0 is Sunday; -1: any */
    int except_from, except_to;
};

static bool walk_admits(const struct walked *walked, const struct day *days,
                        int day) {
    static const int units[] = {1, 7, 7, 0};

    for (int i = 0; i < 4; i++) {
        const struct walk_step *step = &walked->steps[i];
        const struct day *from = &days[step->start], *at = &days[day];
        int passed = day - step->start;
        if (step->period == 0)
            continue;
        if (passed < 0 || day > step->end)
            return false;
        if (i == 1 && passed % 7 != 0)
            return false;
        passed = i == 3 ? (at->year - from->year) * 12 + at->month - from->month
                        : passed / units[i];
        if (passed % step->period != 0)
            return false;
    }
    /* 1969-01-01 was a Wednesday. */
    return (walked->weekday < 0 || (day + 3) % 7 == walked->weekday) &&
           !(day >= walked->except_from && day <= walked->except_to);
}

static size_t add_date(char *text, size_t bytes, const char *key,
                       const struct day *day) {
    return (size_t)snprintf(text, bytes, "\"%s\":\"%04d-%02d-%02d\"", key,
                            day->year, day->month, day->of_month);
}

static void draw_walked(struct draw *draw, const struct day *days,
                        struct walked *ret, char *text, size_t bytes) {
    static const char *const keys[] = {"iter_day", "iter_day_of_week",
                                       "iter_week", "iter_month"};
    size_t len = (size_t)snprintf(text, bytes, "{\"minute\":0,\"hour\":0");

    *ret = (struct walked){.weekday = -1, .except_from = 1, .except_to = 0};
    for (int i = 0; i < 4; i++) {
        struct walk_step *step = &ret->steps[i];
        if (!draw_percent(draw, 45))
            continue;
        step->start =
            (int)draw_below(draw, draw_percent(draw, 20) ? DAYS - 1 : 40000);
        step->period =
            1 + (int)draw_below(draw, draw_percent(draw, 30) ? 10000 : 40);
        step->end =
            draw_percent(draw, 30)
                ? step->start +
                      (int)draw_below(draw, (uint64_t)(DAYS - step->start))
                : DAYS;
        len += (size_t)snprintf(text + len, bytes - len, ",\"%s\":{", keys[i]);
        len += add_date(text + len, bytes - len, "start", &days[step->start]);
        if (step->end < DAYS) {
            text[len++] = ',';
            len += add_date(text + len, bytes - len, "end", &days[step->end]);
        }
        len += (size_t)snprintf(text + len, bytes - len, ",\"period\":%d}",
                                step->period);
    }
    if (draw_percent(draw, 30)) {
        ret->weekday = (int)draw_below(draw, 7);
        len += (size_t)snprintf(text + len, bytes - len, ",\"day_of_week\":%d",
                                ret->weekday + 1);
    }
    if (draw_percent(draw, 30)) {
        ret->except_from = (int)draw_below(draw, DAYS);
        ret->except_to =
            ret->except_from +
            (int)draw_below(draw, (uint64_t)(DAYS - ret->except_from));
        len += (size_t)snprintf(text + len, bytes - len, ",\"except\":{");
        len +=
            add_date(text + len, bytes - len, "start", &days[ret->except_from]);
        text[len++] = ',';
        len += add_date(text + len, bytes - len, "end", &days[ret->except_to]);
        text[len++] = '}';
    }
    (void)snprintf(text + len, bytes - len,
                   ",\"dst_fixes\":[\"skip\",\"repeat_use_both\"]}");
}

static int walk_next(const struct walked *walked, const struct day *days,
                     int day) {
    while (day < DAYS && !walk_admits(walked, days, day))
        day++;
    return day;
}

static void expect_walk(const struct walked *walked, const struct day *days,
                        const struct cron_item *item, int from,
                        const char *text) {
    int day = walk_next(walked, days, from);
    int64_t at;
    enum cron_found found =
        cron_next(item, NULL, (from + DAYS_LEAST) * INT64_C(86400), &at, NULL);

    if (found != (day < DAYS ? CRON_FOUND : CRON_NONE) ||
        (found == CRON_FOUND && at != (day + DAYS_LEAST) * INT64_C(86400)))
        fail_msg("%s from day %d: %lld, not day %d", text, from,
                 found == CRON_FOUND ? (long long)at / 86400 - DAYS_LEAST : -1,
                 day);
}

/* A walk day by day over all the years; items that never fire are refused. */
static void steps_agree_with_a_walk_of_days(void **state) {
    enum { CASES = 400, STARTS = 6 };
    struct day *days = days_made();
    struct draw draw;
    size_t refused = 0;
    (void)state;

    draw_init(&draw, 2812);
    for (int i = 0; i < CASES; i++) {
        char text[1000];
        struct cron_item *item;
        struct walked walked;
        draw_walked(&draw, days, &walked, text, sizeof(text));
        if (!cron_item_parse(text, strlen(text), &item, NULL)) {
            if (walk_next(&walked, days, 0) != DAYS)
                fail_msg("refused: %s", text);
            refused++;
            continue;
        }
        expect_walk(&walked, days, item, 0, text);
        struct cron_item *given = item;
        item = again_of(given);
        cron_item_unref(given);
        for (int k = 0; k < STARTS; k++)
            expect_walk(&walked, days, item, (int)draw_below(&draw, DAYS),
                        text);
        cron_item_unref(item);
    }
    assert_true(refused > 10 && refused < CASES / 2);
    free(days);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epoch_items_need_no_zone),
        cmocka_unit_test(distant_years_are_found_at_once),
        cmocka_unit_test(instants_out_of_range_are_errors),
        cmocka_unit_test(instants_agree_with_the_original_library),
        cmocka_unit_test(the_sign_of_offsets_is_that_of_posix),
        cmocka_unit_test(
            skipped_local_times_fire_just_before_the_jump_or_not_at_all),
        cmocka_unit_test(frequent_events_are_unskipped_once_per_jump),
        cmocka_unit_test(
            an_item_determines_whether_a_repeated_time_fires_twice),
        cmocka_unit_test(
            the_skipped_day_of_apia_fires_at_the_end_of_the_previous_day),
        cmocka_unit_test(
            weekdays_apply_to_the_skipped_time_not_to_the_second_before),
        cmocka_unit_test(a_jump_may_be_half_an_hour),
        cmocka_unit_test(the_count_is_the_number_of_instants),
        cmocka_unit_test(several_instants_are_found_none_or_it_is_an_error),
        cmocka_unit_test(an_item_is_written_in_a_fixed_form),
        cmocka_unit_test(a_written_item_has_the_same_instants),
        cmocka_unit_test(steps_agree_with_a_walk_of_days),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
