/* Crontab lines become items, and items are explained in words. */
#include <pointsman/cron.h>

#include <time.h>

#include "cron/draw.h"
#include "support/test.h"

#define FREQUENT ", \"dst_fixes\": [\"skip\", \"repeat_use_both\"]}"
#define RARE ", \"dst_fixes\": [\"unskip\", \"repeat_use_only_early\"]}"

static const struct {
    const char *line, *first, *second;
} good[] = {
    {"* * * * *", "{\"minute\": {}" FREQUENT, NULL},
    {"*/5 * * * *", "{\"minute\": {\"period\": 5}" FREQUENT, NULL},
    {"*/59 * * * *", "{\"minute\": [0, 59]" FREQUENT, NULL},
    {"*/60 * * * *", "{\"minute\": 0" FREQUENT, NULL},
    {"0 * * * *", "{\"minute\": 0" FREQUENT, NULL},
    {"* 3 * * *", "{\"minute\": {}, \"hour\": 3" FREQUENT, NULL},
    {"30 2 * * *", "{\"minute\": 30, \"hour\": 2" RARE, NULL},
    {"5 0-23/2 * * *", "{\"minute\": 5, \"hour\": {\"period\": 2}" RARE, NULL},
    {"1,2,3,10-20/5 4 * * *",
     "{\"minute\": [1, 2, 3, 10, 15, 20], \"hour\": 4" RARE, NULL},
    {"0 22 * * 1-5",
     "{\"minute\": 0, \"hour\": 22, \"day_of_week\": {\"start\": \"Mon\", "
     "\"end\": \"Fri\"}" RARE,
     NULL},
    {"5 4 * * sun",
     "{\"minute\": 5, \"hour\": 4, \"day_of_week\": \"Sun\"" RARE, NULL},
    {"5 4 * * 7", "{\"minute\": 5, \"hour\": 4, \"day_of_week\": \"Sun\"" RARE,
     NULL},
    {"5 4 * * 5-7",
     "{\"minute\": 5, \"hour\": 4, \"day_of_week\": [\"Sun\", \"Fri\", "
     "\"Sat\"]" RARE,
     NULL},
    {"5 4 * * Sat-Sun",
     "{\"minute\": 5, \"hour\": 4, \"day_of_week\": [\"Sun\", \"Sat\"]" RARE,
     NULL},
    {"15 14 1 * *", "{\"minute\": 15, \"hour\": 14, \"day_of_month\": 1" RARE,
     NULL},
    {"0 0 1 Jan,jUL *",
     "{\"minute\": 0, \"hour\": 0, \"day_of_month\": 1, \"month\": [\"Jan\", "
     "\"Jul\"]" RARE,
     NULL},
    {"30 4 1,15 * 5",
     "{\"minute\": 30, \"hour\": 4, \"day_of_month\": [1, 15]" RARE,
     "{\"minute\": 30, \"hour\": 4, \"day_of_week\": \"Fri\"" RARE},
    {"0 4 8-14 * *",
     "{\"minute\": 0, \"hour\": 4, \"day_of_month\": {\"start\": 8, \"end\": "
     "14}" RARE,
     NULL},
    {"0 0 */2 * Mon",
     "{\"minute\": 0, \"hour\": 0, \"day_of_month\": {\"period\": 2}, "
     "\"weekday_of_month\": {\"n\": {}, \"day\": \"Mon\"}" RARE,
     NULL},
    /* Without a star the column is restricted, and either day column is
     * enough. */
    {"0 0 1-31 * Mon", "{\"minute\": 0, \"hour\": 0" RARE, NULL},
    {"0 0 1 * 0-6", "{\"minute\": 0, \"hour\": 0" RARE, NULL},
    {"0 0 30 2 Mon",
     "{\"minute\": 0, \"hour\": 0, \"day_of_week\": \"Mon\", \"month\": "
     "\"Feb\"" RARE,
     NULL},
    {"@hourly", "{\"minute\": 0" FREQUENT, NULL},
    {"@daily", "{\"minute\": 0, \"hour\": 0" RARE, NULL},
    {"@MidNight", "{\"minute\": 0, \"hour\": 0" RARE, NULL},
    {"@weekly", "{\"minute\": 0, \"hour\": 0, \"day_of_week\": \"Sun\"" RARE,
     NULL},
    {"@monthly", "{\"minute\": 0, \"hour\": 0, \"day_of_month\": 1" RARE, NULL},
    {"@annually",
     "{\"minute\": 0, \"hour\": 0, \"day_of_month\": 1, \"month\": "
     "\"Jan\"" RARE,
     NULL},
    {"@every 1h30m", "{\"epoch\": {\"period\": 5400}}", NULL},
    {"@every 90", "{\"epoch\": {\"period\": 90}}", NULL},
};

static void lines_are_converted_to_items(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        struct cron_crontab crontab;
        struct cron_err err = {0};
        if (!cron_crontab_parse(good[i].line, NULL, &crontab, &err))
            fail_msg("%s: %s", good[i].line, err.text);
        assert_int_equal(crontab.kind, CRON_LINE_TIMES);
        assert_int_equal(crontab.item_count, good[i].second == NULL ? 1 : 2);
        assert_string_equal(crontab.items[0], good[i].first);
        if (good[i].second != NULL)
            assert_string_equal(crontab.items[1], good[i].second);
        assert_string_equal(crontab.rest, "");
        for (size_t n = 0; n < crontab.item_count; n++) {
            struct cron_item *item;
            if (!cron_item_parse(crontab.items[n], strlen(crontab.items[n]),
                                 &item, &err))
                fail_msg("%s: %s", crontab.items[n], err.text);
            cron_item_unref(item);
        }
        cron_crontab_clear(&crontab);
    }
}

static void invalid_lines_are_refused_with_their_position(void **state) {
    static const struct {
        const char *line;
        int column;
        const char *error;
    } bad[] = {
        {"60 * * * *", 1, "minute must be from 0 to 59"},
        {"* 24 * * *", 3, "hour must be from 0 to 23"},
        {"* * 0 * *", 5, "day_of_month must be from 1"},
        {"* * * 13 *", 7, "month must be from 1 to 12"},
        {"* * * * 8", 9, "day_of_week must be from 0 to 7"},
        {"* * * *", 8, "'day_of_week' is missing"},
        {"*/0 * * * *", 3, "the step of minute"},
        {"5/10 * * * *", 2, "must follow a range, as in 5-59/5"},
        {"20-10 * * * *", 1, "ends before it begins"},
        {"1-5x * * * *", 4, "is not allowed in"},
        {"0~30 * * * *", 2, "random times"},
        {"0 0 * Janu *", 7, "not a value of month"},
        {"foo 0 * * *", 1, "not a value of minute"},
        {"1, 0 * * *", 3, "expected a number"},
        {"H * * * *", 1, "needs a name"},
        {"@reboot", 1, "@reboot is not supported"},
        {"@fortnightly", 1, "unknown '@fortnightly'; use"},
        {"@dialy", 1, "did you mean '@daily'?"},
        {"0 0 31 2,4 *", 5, "never fires"},
        {"0 0 30 2 */2", 5, "never fires"},
        {"0 0 L * *", 5, "the last day is -1"},
        {"0 0 * * 1#2", 10, "weekday_of_month"},
        {"@every x", 8, "needs a time"},
        {"@every 99999999999999999999d", 8, "longer than a century"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct cron_crontab crontab;
        struct cron_err err = {0};
        if (cron_crontab_parse(bad[i].line, NULL, &crontab, &err))
            fail_msg("accepted: %s", bad[i].line);
        if (strstr(err.text, bad[i].error) == NULL ||
            err.column != bad[i].column)
            fail_msg("%s: %s", bad[i].line, err.text);
    }
}

/* ---- comparison with Vixie cron ------------------------------------------ */

struct column {
    bool set[60], star;
    char text[64];
};

/* Chooses the text of a column and the values it admits. */
static void draw_column(struct draw *draw, int least, int most,
                        struct column *ret) {
    size_t len = 0;

    *ret = (struct column){.star = draw_percent(draw, 45)};
    for (int part = 0, parts = 1 + (int)draw_below(draw, 2); part < parts;
         part++) {
        int low = least + (int)draw_below(draw, (uint64_t)(most - least + 1));
        int high = low + (int)draw_below(draw, (uint64_t)(most - low + 1));
        int step = draw_percent(draw, 40) ? 1 + (int)draw_below(draw, 9) : 1;
        bool star = part == 0 ? ret->star : draw_percent(draw, 5);
        if (star) {
            low = least;
            high = most;
        } else if (draw_percent(draw, 50)) {
            high = low;
            step = 1;
        } else if (draw_percent(draw, 10)) {
            low = least;
            high = most;
        }
        if (!star && high == low)
            step = 1; /* a step must follow a range */
        len += (size_t)snprintf(ret->text + len, sizeof(ret->text) - len,
                                part == 0 ? "" : ",");
        len += star ? (size_t)snprintf(ret->text + len, sizeof(ret->text) - len,
                                       "*")
               : high == low
                   ? (size_t)snprintf(ret->text + len, sizeof(ret->text) - len,
                                      "%d", low)
                   : (size_t)snprintf(ret->text + len, sizeof(ret->text) - len,
                                      "%d-%d", low, high);
        if (step > 1)
            len += (size_t)snprintf(ret->text + len, sizeof(ret->text) - len,
                                    "/%d", step);
        for (; low <= high; low += step)
            ret->set[low] = true;
        if (star && step == 1 && draw_percent(draw, 80))
            break;
    }
}

/* crontab(5): if both day columns are restricted, either is enough. A column is
 * restricted if it does not begin with a star. */
static bool day_admitted(const struct column columns[5], const struct tm *tm) {
    bool day = columns[2].set[tm->tm_mday];
    bool weekday = columns[4].set[tm->tm_wday];

    return columns[3].set[tm->tm_mon + 1] &&
           (columns[2].star || columns[4].star ? day && weekday
                                               : day || weekday);
}

static bool walk_days(const struct column columns[5], int64_t from,
                      int64_t *ret_at) {
    for (int64_t day = from / 86400; day < from / 86400 + 9 * 366; day++) {
        time_t noon = (time_t)(day * 86400 + 43200);
        struct tm tm;
        gmtime_r(&noon, &tm);
        if (!day_admitted(columns, &tm))
            continue;
        for (int minute = 0; minute < 1440; minute++)
            if (columns[1].set[minute / 60] && columns[0].set[minute % 60] &&
                day * 86400 + minute * 60 >= from) {
                *ret_at = day * 86400 + minute * 60;
                return true;
            }
    }
    return false;
}

static bool ask_items(const char *line, int64_t from, int64_t *ret_at) {
    struct cron_crontab crontab;
    struct cron_err err = {0};
    bool found = false;

    if (!cron_crontab_parse(line, NULL, &crontab, &err)) {
        assert_non_null(strstr(err.text, "never fires"));
        return false;
    }
    for (size_t i = 0; i < crontab.item_count; i++) {
        const char *text = crontab.items[i];
        struct cron_item *item;
        int64_t at;
        if (!cron_item_parse(text, strlen(text), &item, &err))
            fail_msg("%s: %s: %s", line, text, err.text);
        if (cron_next(item, NULL, from, &at, NULL) == CRON_FOUND &&
            (!found || at < *ret_at))
            *ret_at = at;
        found = true;
        cron_item_unref(item);
    }
    cron_crontab_clear(&crontab);
    return found;
}

static void crontab_lines_mean_the_same_as_in_vixie_cron(void **state) {
    static const int bounds[5][2] = {
        {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}};
    struct draw draw;
    int refused = 0;

    (void)state;
    draw_init(&draw, 5);
    for (int i = 0; i < 4000; i++) {
        struct column columns[5];
        int64_t from = (int64_t)draw_below(&draw, 2000000000), ours = 0,
                theirs = 0;
        char line[400];
        for (int which = 0; which < 5; which++)
            draw_column(&draw, bounds[which][0], bounds[which][1],
                        &columns[which]);
        snprintf(line, sizeof(line), "%s %s %s %s %s", columns[0].text,
                 columns[1].text, columns[2].text, columns[3].text,
                 columns[4].text);
        bool theirs_found = walk_days(columns, from, &theirs);
        bool ours_found = ask_items(line, from, &ours);
        refused += !ours_found;
        if (theirs_found ? !ours_found || ours != theirs
                         : ours_found && ours < from + 9 * 365 * 86400)
            fail_msg("'%s' from %lld: %lld, not %lld", line, (long long)from,
                     (long long)ours, (long long)theirs);
    }
    assert_true(refused > 0 && refused < 400);
}

static void the_kinds_of_crontab_lines_are_recognised(void **state) {
    static const struct {
        const char *line;
        enum cron_line kind;
        const char *rest;
    } cases[] = {
        {"", CRON_LINE_EMPTY, ""},
        {"   \n", CRON_LINE_EMPTY, "\n"},
        {"# m h dom mon dow user command", CRON_LINE_EMPTY,
         "# m h dom mon dow user command"},
        {"SHELL=/bin/sh", CRON_LINE_SETTING, "SHELL=/bin/sh"},
        {"MAILTO = \"\"", CRON_LINE_SETTING, "MAILTO = \"\""},
        {"17 * * * * root cd / && run-parts --report /etc/cron.hourly",
         CRON_LINE_TIMES, "root cd / && run-parts --report /etc/cron.hourly"},
        {"25\t6\t* * *\troot\tx", CRON_LINE_TIMES, "root\tx"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cron_crontab crontab;
        assert_true(cron_crontab_parse(cases[i].line, NULL, &crontab, NULL));
        assert_int_equal(crontab.kind, cases[i].kind);
        assert_string_equal(crontab.rest, cases[i].rest);
        cron_crontab_clear(&crontab);
    }
}

/* Vixie's rule: a column that begins with a star does not restrict. */
static void the_rule_of_the_day_columns_is_told(void **state) {
    static const struct {
        const char *line;
        enum cron_days days;
    } lines[] = {
        {"0 0 1 * 1", CRON_DAYS_EITHER},  {"0 0 */2 * 1", CRON_DAYS_BOTH},
        {"0 0 1 * */2", CRON_DAYS_BOTH},  {"0 0 1 * *", CRON_DAYS_PLAIN},
        {"0 0 * * 1", CRON_DAYS_PLAIN},   {"0 0 1-31 * 1", CRON_DAYS_PLAIN},
        {"0 0 */1 * 1", CRON_DAYS_PLAIN}, {"@daily", CRON_DAYS_PLAIN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct cron_crontab crontab;
        assert_true(cron_crontab_parse(lines[i].line, NULL, &crontab, NULL));
        assert_int_equal(crontab.days, lines[i].days);
        cron_crontab_clear(&crontab);
    }
}

static void h_is_stable_and_evenly_spread(void **state) {
    unsigned seen[60] = {0}, different = 0;

    (void)state;
    for (int i = 0; i < 600; i++) {
        struct cron_crontab a, b;
        char name[16];
        snprintf(name, sizeof(name), "job%d", i);
        assert_true(cron_crontab_parse("H H(0-7) H * *", name, &a, NULL));
        assert_true(cron_crontab_parse("H H(0-7) H * *", name, &b, NULL));
        assert_string_equal(a.items[0], b.items[0]);
        seen[cron_stable_offset(name, 0, 60)]++;
        cron_crontab_clear(&a);
        cron_crontab_clear(&b);
    }
    for (int i = 0; i < 60; i++) {
        different += seen[i] > 0;
        assert_true(seen[i] < 40);
    }
    assert_true(different > 50);
    assert_int_equal(cron_stable_offset("x", 5, 0), 0);
    assert_int_equal(cron_stable_offset("x", 5, 1), 0);
}

/* The delay looks random from day to day, but is the same after a restart. */
static void a_random_delay_depends_only_on_its_instant(void **state) {
    unsigned seen[60] = {0}, repeated = 0;
    uint32_t last = 60;

    (void)state;
    for (int64_t day = -3000; day < 3000; day++) {
        uint32_t delay = cron_random_delay("backup", 7, day * 86400, 60);
        assert_int_equal(cron_random_delay("backup", 7, day * 86400, 60),
                         delay);
        assert_true(delay < 60);
        seen[delay]++;
        repeated += delay == last;
        last = delay;
    }
    for (int i = 0; i < 60; i++)
        assert_true(seen[i] > 50 && seen[i] < 200);
    assert_true(repeated < 300);
    assert_int_equal(cron_random_delay("backup", 7, 5, 0), 0);
}

static void items_are_explained(void **state) {
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"{\"epoch\":{\"period\":300}}",
         "every 5 minutes, counted from 0 (1970-01-01T00:00:00Z). "},
        {"{\"epoch\":2700}", "once, at 2700 (1970-01-01T00:45:00Z). "},
        {"{\"epoch\":5,\"max_shift_seconds_for_unskip_and_do_not_repeat\":60}",
         "once, at 5 (1970-01-01T00:00:05Z). Time zones and clock changes do "
         "not matter. It makes up for suspensions and for changes of clock "
         "and zone of up to 60 seconds."},
        {"{\"minute\":{}" FREQUENT,
         "every minute. When clocks change, a time that is skipped does not "
         "fire; a time that occurs twice fires both times."},
        {"{\"minute\":{\"period\":15},\"hour\":[9,10,11]" FREQUENT,
         "every 15 minutes of hours 9 to 11 every day. "},
        {"{\"minute\":[0,30],\"hour\":{}" RARE,
         "every 30 minutes. When clocks change, a time that is skipped fires "
         "one second before the jump; a time that occurs twice fires only the "
         "first time."},
        {"{\"minute\":3" FREQUENT, "at minute 3 of every hour. "},
        {"{\"minute\":0,\"hour\":4,\"day_of_month\":[1,-1],\"month\":[\"jan\","
         "\"dec\"]" RARE,
         "at 04:00 on the 1st and last day of the month in January and "
         "December. "},
        {"{\"minute\":0,\"hour\":4,\"weekday_of_month\":{\"n\":[2,-1],"
         "\"day\":\"Tue\"}" RARE,
         "at 04:00 on the second Tuesday or the last Tuesday of the month. "},
        {"{\"minute\":0,\"hour\":4,\"iter_day\":{\"start\":\"2026-01-06\","
         "\"period\":3},\"except\":[\"12-25\",\"2026-01-09\"]" RARE,
         "at 04:00, every 3rd day counted from 2026-01-06, but not on 25 "
         "December and 2026-01-09. "},
        {"{\"minute\":0,\"hour\":4,\"second\":30,\"year\":2030" RARE,
         "at 04:00, at second 30 every day in 2030. "},
    };
    char words[1024], few[10];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cron_item *item;
        struct cron_err err;
        if (!cron_item_parse(cases[i].text, strlen(cases[i].text), &item, &err))
            fail_msg("%s: %s", cases[i].text, err.text);
        size_t len = cron_item_explain(item, words, sizeof(words));
        assert_int_equal(len, strlen(words));
        if (strncmp(words, cases[i].words, strlen(cases[i].words)) != 0)
            fail_msg("%s: %s", cases[i].text, words);
        assert_int_equal(cron_item_explain(item, few, sizeof(few)), len);
        assert_int_equal(strncmp(few, words, 9), 0);
        assert_int_equal(few[9], '\0');
        assert_int_equal(cron_item_explain(item, NULL, 0), len);
        cron_item_unref(item);
    }
}

static void instants_are_formatted_and_parsed(void **state) {
    static const struct {
        const char *text;
        int64_t at;
    } good_ones[] = {
        {"0", 0},
        {"-1", -1},
        {"-9223372036854775808", INT64_MIN},
        {"9223372036854775807", INT64_MAX},
        {"2013-03-10T01:59:59-08:00", 1362909599},
        {"2013-03-10 09:59:59.75Z", 1362909599},
        {"1969-12-31T23:59:59z", -1},
        {"2000-02-29T00:00:00+05:30", 951762600},
    };
    static const char *const bad[] = {"",
                                      "-",
                                      "x",
                                      "1.5",
                                      "9223372036854775808",
                                      "2013-03-10",
                                      "2013-03-10T01:59:59",
                                      "2013-02-29T00:00:00Z",
                                      "2013-03-10T24:00:00Z",
                                      "2013-03-10T01:59:59+0800",
                                      "2013-03-10T01:59:59+08",
                                      "2013-03-10T01:59:59Zx",
                                      "2013-03-10T01:59:59.Z"};
    char text[CRON_INSTANT_BYTES];
    struct cron_zone *zone;
    int64_t at;

    (void)state;
    for (size_t i = 0; i < sizeof(good_ones) / sizeof(*good_ones); i++) {
        if (!cron_instant_parse(good_ones[i].text, &at))
            fail_msg("refused: %s", good_ones[i].text);
        assert_true(at == good_ones[i].at);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (cron_instant_parse(bad[i], &at))
            fail_msg("accepted: %s", bad[i]);
    assert_true(cron_zone_parse("<+0530>-5:30", &zone, NULL));
    assert_string_equal(cron_instant_format(zone, 951762600, text),
                        "2000-02-29T00:00:00+05:30");
    cron_zone_unref(zone);
    assert_string_equal(cron_instant_format(NULL, INT64_MAX, text),
                        "9223372036854775807");
    assert_string_equal(cron_instant_format(NULL, INT64_C(253402300799), text),
                        "9999-12-31T23:59:59+00:00");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instants_are_formatted_and_parsed),
        cmocka_unit_test(lines_are_converted_to_items),
        cmocka_unit_test(invalid_lines_are_refused_with_their_position),
        cmocka_unit_test(crontab_lines_mean_the_same_as_in_vixie_cron),
        cmocka_unit_test(the_kinds_of_crontab_lines_are_recognised),
        cmocka_unit_test(the_rule_of_the_day_columns_is_told),
        cmocka_unit_test(h_is_stable_and_evenly_spread),
        cmocka_unit_test(a_random_delay_depends_only_on_its_instant),
        cmocka_unit_test(items_are_explained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
