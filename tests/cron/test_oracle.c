/* The library is compared with a walk minute by minute, for random items in
 * zones with all kinds of clock changes.
 *
 * CRON_ORACLE_CASES sets the number of cases, CRON_ORACLE_SEED the seed, and
 * CRON_ORACLE_ZONES the zones, separated by spaces: tools/cron-oracle.sh. */
#include <pointsman/cron.h>

#include "cron/draw.h"
#include "support/test.h"

static const char *const famous_zones[] = {
    "America/Los_Angeles", "Australia/Lord_Howe", "Pacific/Apia",
    "America/Sao_Paulo",   "Africa/Casablanca",   "Antarctica/Troll",
    "Asia/Pyongyang",      "America/Caracas",     "Europe/London",
    "Europe/Dublin",       "Asia/Kathmandu",      "America/St_Johns",
    "Africa/Cairo",        "Asia/Gaza",           "Pacific/Kiritimati",
    "Pacific/Kwajalein",   "Antarctica/Casey",    "Asia/Tehran",
    "America/Nuuk",        "America/Havana",      "America/Santiago",
    "Pacific/Chatham",     "Europe/Moscow",       "Europe/Istanbul",
    "Asia/Kolkata",        "Asia/Manila",         "Africa/El_Aaiun",
    "America/New_York",    "Europe/Lisbon",       "Africa/Monrovia",
};
enum {
    FAMOUS_ZONES = sizeof(famous_zones) / sizeof(*famous_zones),
    CASES = 25000,
    ZONES_MOST = 1024,
    CHANGES_MOST = 512,
    DAY_S = 86400,
};

static struct counts { uint64_t cases, near, none, refused, far; } counts;

static const char *zones[ZONES_MOST];
static size_t zone_count;

static void list_zones(void) {
    const char *given = getenv("CRON_ORACLE_ZONES");
    char *rest = given == NULL ? NULL : strdup(given), *name;

    zone_count = 0;
    if (rest == NULL)
        for (; zone_count < FAMOUS_ZONES; zone_count++)
            zones[zone_count] = famous_zones[zone_count];
    for (name = rest == NULL ? NULL : strtok_r(rest, " \n", &rest);
         name != NULL && zone_count < ZONES_MOST;
         name = strtok_r(NULL, " \n", &rest))
        zones[zone_count++] = name; /* valid until the program ends */
}

static int64_t number_of(const char *name, int64_t otherwise) {
    const char *value = getenv(name);

    return value == NULL ? otherwise : strtoll(value, NULL, 10);
}

/* The walk stops there; items that do not fire for three years are rare. */
static int64_t horizon(int64_t from) {
    return from + 3 * 366 * DAY_S;
}

static void fail_case(const char *zone, const char *text, int64_t from,
                      int64_t ours, int64_t theirs) {
    fail_msg("%s\nin %s from %lld: %lld, but the walk gives %lld", text, zone,
             (long long)from, (long long)ours, (long long)theirs);
}

static void judge(const char *zone_name, const struct cron_zone *zone,
                  const char *text, const struct oracle_item *oracle,
                  int64_t from, bool back) {
    struct cron_item *item;
    struct cron_err err = {0};
    int64_t ours = -1, theirs = -1;
    enum cron_found found;
    bool exists;

    if (!cron_item_parse(text, strlen(text), &item, &err)) {
        /* It may be refused only because it never fires. */
        if (strstr(err.text, "never fires") == NULL)
            fail_msg("%s: %s", text, err.text);
        counts.refused++;
        if (oracle_next(oracle, from, horizon(from), &theirs))
            fail_case(zone_name, text, from, -1, theirs);
        return;
    }
    found = cron_next(item, zone, from, &ours, &err);
    assert_int_not_equal(found, CRON_FAILED);
    exists = oracle_next(oracle, from, horizon(from), &theirs);
    if (exists ? found != CRON_FOUND || ours != theirs
               : found == CRON_FOUND && ours < horizon(from))
        fail_case(zone_name, text, from, ours, theirs);
    counts.none += !exists;
    if (back && exists) {
        /* There must be no event between the previous one and this one. */
        int64_t before;
        if (cron_prev(item, zone, from - 1, &before, NULL) == CRON_FOUND &&
            from - before < 40 * DAY_S) {
            assert_true(before < from);
            assert_true(oracle_next(oracle, before, before + 1, &theirs));
            assert_true(oracle_next(oracle, before + 1, ours + 1, &theirs));
            if (theirs != ours)
                fail_case(zone_name, text, before + 1, ours, theirs);
        }
    }
    cron_item_unref(item);
}

static int year_of(int64_t at) {
    int year = 1970 + (int)(at / 31556952);

    return year < 1969 ? 1969 : year > 9999 ? 9999 : year;
}

/* Most times are within a day of a change; some are in distant years. */
static int64_t draw_from(struct draw *draw, const int64_t *changes,
                         size_t change_count, size_t far_count) {
    if (draw_percent(draw, 60) && change_count > 0) {
        bool far = far_count > 0 && draw_percent(draw, 15);
        size_t index = far ? change_count + draw_below(draw, far_count)
                           : draw_below(draw, change_count);
        counts.near++;
        counts.far += far;
        return changes[index] - DAY_S + (int64_t)draw_below(draw, 2 * DAY_S);
    }
    if (draw_percent(draw, 10)) {
        counts.far++;
        return (int64_t)draw_below(draw, INT64_C(253340000000));
    }
    return (int64_t)draw_below(draw, 2145916800);
}

static void judge_zone(const char *name, size_t index, int64_t cases) {
    static int64_t changes[2 * CHANGES_MOST];
    static struct oracle_item oracle;
    char text[DRAW_TEXT_BYTES];
    struct cron_zone *zone;
    struct cron_err err;
    struct draw draw;
    size_t count, far_count;

    draw_init(&draw, (uint64_t)number_of("CRON_ORACLE_SEED", 1) * 1000 + index);
    oracle_zone(name);
    if (!cron_zone_open(name, &zone, &err))
        fail_msg("%s", err.text);
    count = oracle_changes(0, 2145916800, changes, CHANGES_MOST);
    far_count = oracle_changes(INT64_C(253000000000), INT64_C(253340000000),
                               changes + count, CHANGES_MOST);
    for (int64_t i = 0; i < cases; i++) {
        int64_t from = draw_from(&draw, changes, count, far_count);
        draw_item(&draw, year_of(from), draw_percent(&draw, 40), &oracle, text);
        judge(name, zone, text, &oracle, from, i % 8 == 0);
        counts.cases++;
    }
    cron_zone_unref(zone);
}

static void need_database(void) {
    struct cron_zone *zone;

    if (!cron_zone_open("Europe/London", &zone, NULL))
        test_skip("no zone database (package tzdata)");
    cron_zone_unref(zone);
}

static void next_and_prev_agree_with_a_walk_by_minutes(void **state) {
    int64_t cases = number_of("CRON_ORACLE_CASES", test_cases(CASES));

    (void)state;
    need_database();
    for (size_t i = 0; i < zone_count; i++)
        judge_zone(zones[i], i,
                   (cases + (int64_t)zone_count - 1) / (int64_t)zone_count);
    printf("# %llu cases in %zu zones, %llu within a day of a change, %llu "
           "in far years; %llu without an event in three years, %llu refused\n",
           (unsigned long long)counts.cases, zone_count,
           (unsigned long long)counts.near, (unsigned long long)counts.far,
           (unsigned long long)counts.none, (unsigned long long)counts.refused);
}

/* Offsets, sampled every few days, must equal those of the C library. */
static void offsets_agree_with_the_c_library(void **state) {
    (void)state;
    need_database();
    for (size_t i = 0; i < zone_count; i++) {
        struct cron_zone *zone;
        assert_true(cron_zone_open(zones[i], &zone, NULL));
        oracle_zone(zones[i]);
        for (int64_t at = -3000000000; at < 8000000000; at += 86400 * 5 + 1801)
            if (cron_zone_offset_s(zone, at) != oracle_offset(at))
                fail_msg("%s at %lld: %d, not %d", zones[i], (long long)at,
                         (int)cron_zone_offset_s(zone, at),
                         (int)oracle_offset(at));
        for (int64_t at = INT64_C(252000000000); at < INT64_C(253402300800);
             at += 86400 * 3 + 1801)
            assert_int_equal(cron_zone_offset_s(zone, at), oracle_offset(at));
        cron_zone_unref(zone);
    }
}

/* The same for rules without a file, which glibc reads as well. */
static void offsets_of_rules_agree_with_the_c_library(void **state) {
    static const char *const rules[] = {
        "EST5EDT,M3.2.0,M11.1.0",
        "MST-07",
        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        "IST-1GMT0,M10.5.0,M3.5.0/1",
        "EET-2EEST,M3.5.0/3,M10.5.0/4",
        "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
        "AAA4BBB,J60/0,J300/25:30",
        "AAA-4BBB-6:30,59/1,299/2:15:10",
        "XXX3",
        "<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        struct cron_zone *zone;
        assert_true(cron_zone_parse(rules[i], &zone, NULL));
        oracle_zone(rules[i]);
        /* glibc starts years at midnight UTC, so its answers near New Year may
         * be wrong. */
        for (int64_t at = 0; at < 14000000000; at += 86400 * 3 + 1801)
            if (cron_zone_offset_s(zone, at) != oracle_offset(at))
                fail_msg("%s at %lld: %d, not %d", rules[i], (long long)at,
                         (int)cron_zone_offset_s(zone, at),
                         (int)oracle_offset(at));
        cron_zone_unref(zone);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_of_rules_agree_with_the_c_library),
        cmocka_unit_test(offsets_agree_with_the_c_library),
        cmocka_unit_test(next_and_prev_agree_with_a_walk_by_minutes),
    };

    list_zones();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
