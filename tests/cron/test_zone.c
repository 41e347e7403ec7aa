/* Zones: their names, rules and files, valid, hostile and changing. */
#include <pointsman/cron.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cron/zone_bytes.h"
#include "support/test.h"

static const struct zone_change two_changes[] = {{1000000, 1}, {2000000, 0}};
static const int32_t two_offsets[] = {3600, 7200};

static void make_valid(struct zone_bytes *ret, const char *footer) {
    zone_bytes_make(ret, two_changes, 2, two_offsets, 2, footer);
}

static bool decodes(const struct zone_bytes *bytes, struct cron_err *err) {
    struct cron_zone *zone;
    /* The buffer has the exact size, so that reads past the end are
     * detected. */
    void *copy = malloc(bytes->len + 1);
    bool ok;

    memcpy(copy, bytes->p, bytes->len);
    copy = realloc(copy, bytes->len > 0 ? bytes->len : 1);
    ok = cron_zone_decode(copy, bytes->len, &zone, err);
    free(copy);
    if (ok)
        cron_zone_unref(zone);
    return ok;
}

static void a_valid_file_is_decoded(void **state) {
    struct zone_bytes bytes;
    struct cron_zone *zone;
    int32_t before, after;
    int64_t at;

    (void)state;
    make_valid(&bytes, "ABC-1");
    assert_true(cron_zone_decode(bytes.p, bytes.len, &zone, NULL));
    assert_int_equal(cron_zone_offset_s(zone, INT64_MIN), 3600);
    assert_int_equal(cron_zone_offset_s(zone, 999999), 3600);
    assert_int_equal(cron_zone_offset_s(zone, 1000000), 7200);
    assert_int_equal(cron_zone_offset_s(zone, 2000000), 3600);
    assert_int_equal(cron_zone_offset_s(zone, INT64_MAX), 3600);
    assert_int_equal(cron_zone_change(zone, 0, &at, &before, &after, NULL),
                     CRON_FOUND);
    assert_true(at == 1000000 && before == 3600 && after == 7200);
    assert_int_equal(
        cron_zone_change(zone, 1000000, &at, &before, &after, NULL),
        CRON_FOUND);
    assert_true(at == 2000000);
    assert_int_equal(
        cron_zone_change(zone, 2000000, &at, &before, &after, NULL), CRON_NONE);
    cron_zone_unref(zone);
}

static void the_rule_applies_forever_after_the_last_change(void **state) {
    struct zone_bytes bytes;
    struct cron_zone *zone, *rule;

    (void)state;
    make_valid(&bytes, "ABC-1DEF,M3.5.0,M10.5.0/3");
    assert_true(cron_zone_decode(bytes.p, bytes.len, &zone, NULL));
    assert_true(cron_zone_parse("ABC-1DEF,M3.5.0,M10.5.0/3", &rule, NULL));
    for (int64_t at = 3000000; at < INT64_C(800000000000);
         at += 86400 * 29 + 3601)
        assert_int_equal(cron_zone_offset_s(zone, at),
                         cron_zone_offset_s(rule, at));
    cron_zone_unref(zone);
    cron_zone_unref(rule);
}

static void the_rule_applies_after_a_change_without_an_offset(void **state) {
    /* The rule applies after the last change, even if that changed only the
     * name; it must not apply earlier. */
    static const struct zone_change changes[] = {{1000000, 1}, {500000000, 1}};
    struct zone_bytes bytes;
    struct cron_zone *zone;

    (void)state;
    zone_bytes_make(&bytes, changes, 2, two_offsets, 2,
                    "ABC-2DEF,M3.5.0,M10.5.0/3");
    assert_true(cron_zone_decode(bytes.p, bytes.len, &zone, NULL));
    assert_int_equal(cron_zone_offset_s(zone, 15000000), 7200);
    assert_int_equal(cron_zone_offset_s(zone, 490000000), 7200);
    assert_int_equal(cron_zone_offset_s(zone, 522000000), 10800);
    cron_zone_unref(zone);
}

/* Cycle after cycle of 400 years, as far as a zone reaches. */
static void changes_are_found_in_every_year_or_refused(void **state) {
    const int64_t cycle_s = INT64_C(146097) * 86400;
    struct cron_zone *zone;
    struct cron_err err;
    int32_t before, after, far_before, far_after;
    int64_t at, far_at;

    (void)state;
    assert_true(cron_zone_parse("ABC-1DEF,M3.5.0,M10.5.0/3", &zone, NULL));
    for (int64_t cycles = 1; cycles < CRON_ZONE_MOST / cycle_s;
         cycles = cycles * 3 + 1)
        for (int64_t from = 0; from < cycle_s - 86400;
             from += cycle_s / 7 + 1) {
            assert_int_equal(
                cron_zone_change(zone, from, &at, &before, &after, NULL),
                CRON_FOUND);
            assert_int_equal(cron_zone_change(zone, from + cycles * cycle_s,
                                              &far_at, &far_before, &far_after,
                                              NULL),
                             CRON_FOUND);
            assert_int_equal(far_at - cycles * cycle_s, at);
            assert_int_equal(far_before, before);
            assert_int_equal(far_after, after);
        }
    assert_int_equal(
        cron_zone_change(zone, CRON_ZONE_MOST, &at, &before, &after, NULL),
        CRON_FOUND);
    assert_int_equal(
        cron_zone_change(zone, CRON_ZONE_MOST + 1, &at, &before, &after, &err),
        CRON_FAILED);
    assert_int_equal(err.kind, CRON_ERR_RANGE);
    assert_int_equal(
        cron_zone_change(zone, INT64_MIN, &at, &before, &after, NULL),
        CRON_FAILED);
    cron_zone_unref(zone);
}

/* The rule behind a change in the year 20000 would not be written out. */
static void a_file_of_a_distant_future_is_refused(void **state) {
    static const struct zone_change changes[] = {{1000000, 1},
                                                 {INT64_C(568971820800), 0}};
    struct zone_bytes bytes;
    struct cron_err err;

    (void)state;
    zone_bytes_make(&bytes, changes, 2, two_offsets, 2,
                    "ABC-1DEF,M3.5.0,M10.5.0/3");
    assert_false(decodes(&bytes, &err));
    assert_non_null(strstr(err.text, "year 10000"));
}

static void every_truncated_file_is_refused(void **state) {
    struct zone_bytes bytes, cut;
    struct cron_err err;

    (void)state;
    make_valid(&bytes, "ABC-1DEF,M3.5.0,M10.5.0/3");
    assert_true(decodes(&bytes, NULL));
    for (cut = bytes, cut.len = 0; cut.len < bytes.len; cut.len++) {
        err.kind = CRON_ERR_NONE;
        assert_false(decodes(&cut, &err));
        assert_int_equal(err.kind, CRON_ERR_ZONE);
    }
}

static void an_inconsistent_file_is_refused(void **state) {
    /* The offset of the change, and the new byte. */
    static const struct {
        size_t at;
        unsigned char value;
        const char *error;
    } faults[] = {
        {0, 'X', "does not begin with TZif"},
        {4, 0, "version 1"},
        {4, 'z', "version is invalid"},
        {32, 255, "shorter than its counts"},
        {36, 255, "shorter than its counts"},
        {51 + 0, 'X', "does not begin with TZif"},
        {51 + 31, 1, "shorter than its counts"},
        {51 + 32, 255, "shorter than its counts"},
        {51 + 39, 0, "no types"},
        {51 + 44 + 8, 1, "out of range"},
        {51 + 44 + 5, 0xff, "do not increase"},
        {51 + 44 + 16, 2, "a type that does not exist"},
        {51 + 44 + 18, 0x10, "more than a day"},
        {51 + 44 + 22, 2, "a type is invalid"},
        {51 + 44 + 23, 9, "a type is invalid"},
        {51 + 44 + 34, 'x', "footer is missing"},
        {51 + 44 + 35, '1', "not a POSIX TZ string"},
    };
    struct zone_bytes bytes;

    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        struct cron_err err = {0};
        make_valid(&bytes, "ABC-1");
        assert_true(bytes.p[faults[i].at] != faults[i].value);
        bytes.p[faults[i].at] = faults[i].value;
        if (decodes(&bytes, &err))
            fail_msg("fault %zu was accepted", i);
        if (strstr(err.text, faults[i].error) == NULL)
            fail_msg("fault %zu: %s", i, err.text);
    }
}

static void leap_seconds_are_refused(void **state) {
    struct zone_bytes bytes;
    struct cron_err err;

    (void)state;
    make_valid(&bytes, "ABC-1");
    /* Insert one record into the second block, before the footer. */
    bytes.p[51 + 31] = 1;
    memmove(bytes.p + 51 + 44 + 34 + 12, bytes.p + 51 + 44 + 34,
            bytes.len - 51 - 44 - 34);
    bytes.len += 12;
    assert_false(decodes(&bytes, &err));
    assert_non_null(strstr(err.text, "leap seconds"));
}

/* ---- rules --------------------------------------------------------------- */

static void invalid_rules_are_refused(void **state) {
    static const char *const bad[] = {"",
                                      "A",
                                      "AB1",
                                      "ABC",
                                      "ABC25",
                                      "ABC1:60",
                                      "ABC1:00:60",
                                      "<ABC1",
                                      "<A>1",
                                      "<AB",
                                      "ABC1DEF",
                                      "ABC1DEF2",
                                      "ABC1DEF,M3.5.0",
                                      "ABC1DEF,M13.1.0,M10.5.0",
                                      "ABC1DEF,M3.6.0,M10.5.0",
                                      "ABC1DEF,M3.5.7,M10.5.0",
                                      "ABC1DEF,J0,J365",
                                      "ABC1DEF,J1,J366",
                                      "ABC1DEF,0,366",
                                      "ABC1DEF,0/168,1",
                                      "ABC1DEF,M3.5.0,M10.5.0/3x",
                                      "ABC1DEF,M3,M10",
                                      "+25:00",
                                      "+5",
                                      "+05:60",
                                      "+05:00:00:00",
                                      "5",
                                      "UTC+99999999999999999999"};
    struct cron_zone *zone;
    struct cron_err err;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (cron_zone_parse(bad[i], &zone, &err))
            fail_msg("accepted: '%s'", bad[i]);
        assert_int_equal(err.kind, CRON_ERR_ZONE);
    }
}

static void rules_are_parsed(void **state) {
    static const struct {
        const char *text;
        int64_t at;
        int32_t offset;
    } cases[] = {
        {"MST-07", 0, 25200},
        {"MST7", 0, -25200},
        {"<+0530>-5:30", 0, 19800},
        {"Z", 0, 0},
        {"+05:30", 0, 19800},
        {"-0330", 0, -12600},
        {"+14", 0, 50400},
        {"EST5EDT,M3.2.0,M11.1.0", 1362909600 - 10801, -18000},
        {"EST5EDT,M3.2.0,M11.1.0", 1362909600 - 10800, -14400},
        /* Summer time all year round. */
        {"XXX3EDT4,0/0,J365/23", 0, -14400},
        {"XXX3EDT4,0/0,J365/23", 1388534400, -14400},
        {"XXX3EDT4,0/0,J365/23", 1388545199, -14400},
        {"XXX3EDT4,0/0,J365/23", 1388545200, -14400},
        /* Winter time is the exception in Dublin. */
        {"IST-1GMT0,M10.5.0,M3.5.0/1", 1388534400, 0},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", 1404172800, 3600},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cron_zone *zone;
        assert_true(cron_zone_parse(cases[i].text, &zone, NULL));
        if (cron_zone_offset_s(zone, cases[i].at) != cases[i].offset)
            fail_msg("%s at %lld: %d", cases[i].text, (long long)cases[i].at,
                     (int)cron_zone_offset_s(zone, cases[i].at));
        assert_true(cron_zone_is_rule(zone));
        assert_string_equal(cron_zone_name(zone), cases[i].text);
        cron_zone_unref(zone);
    }
}

/* ---- names --------------------------------------------------------------- */

static void put_file(const char *path, const struct zone_bytes *bytes) {
    char draft[512];
    FILE *file;

    snprintf(draft, sizeof(draft), "%s.draft", path);
    file = fopen(draft, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->p, 1, bytes->len, file), bytes->len);
    fclose(file);
    assert_int_equal(rename(draft, path), 0);
}

/* A database with one zone, Test/City. */
static void make_database(char path[512], const char *footer) {
    struct zone_bytes bytes;
    char dir[512];

    snprintf(dir, sizeof(dir), "%s/Test", test_dir());
    assert_true(mkdir(dir, 0777) == 0 || errno == EEXIST);
    setenv("ZONEINFO", test_dir(), 1);
    snprintf(path, 512, "%.500s/City", dir);
    make_valid(&bytes, footer);
    put_file(path, &bytes);
}

static void names_never_lead_out_of_the_database(void **state) {
    static const char *const bad[] = {
        "/etc/localtime", "../Test/City", "Test/../Test/City", "Test//City",
        "Test/City/",     "./Test/City",  "Test/./City",       "Test",
        "Test\n/City",    "Test/Cita"};
    char path[512];
    struct cron_zone *zone;
    struct cron_err err;

    (void)state;
    make_database(path, "ABC-1");
    assert_true(cron_zone_open("Test/City", &zone, NULL));
    assert_string_equal(cron_zone_name(zone), "Test/City");
    cron_zone_unref(zone);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (cron_zone_open(bad[i], &zone, &err))
            fail_msg("'%s' was opened", bad[i]);
    assert_false(cron_zone_open("Test/Cita", &zone, &err));
    assert_non_null(strstr(err.text, "did you mean 'Test/City'?"));
    unsetenv("ZONEINFO");
}

static void
a_changed_file_is_read_again_and_zones_in_use_stay_valid(void **state) {
    struct cron_zones *zones = cron_zones_new(60);
    struct cron_zone *old, *new, *same;
    char path[512];

    (void)state;
    make_database(path, "ABC-1");
    assert_true(cron_zones_find(zones, "Test/City", &old, NULL));
    assert_int_equal(cron_zones_refresh(zones, 1000), 0);
    make_database(path, "ABC-5");
    /* Not before the interval has passed. */
    assert_int_equal(cron_zones_refresh(zones, 1059), 0);
    assert_true(cron_zones_find(zones, "Test/City", &same, NULL));
    assert_true(same == old);
    assert_int_equal(cron_zones_refresh(zones, 1060), 1);
    assert_true(cron_zones_find(zones, "Test/City", &new, NULL));
    assert_int_equal(cron_zone_offset_s(old, 3000000), 3600);
    assert_int_equal(cron_zone_offset_s(new, 3000000), 18000);
    /* The file was rewritten with the same content. */
    make_database(path, "ABC-5");
    assert_int_equal(cron_zones_refresh(zones, 1200), 0);
    /* If the file is gone or invalid, the last valid zone is kept. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(cron_zones_refresh(zones, 1300), 0);
    cron_zone_unref(same);
    assert_true(cron_zones_find(zones, "Test/City", &same, NULL));
    assert_int_equal(cron_zone_offset_s(same, 3000000), 18000);
    cron_zone_unref(old);
    cron_zone_unref(new);
    cron_zone_unref(same);
    cron_zones_free(zones);
    unsetenv("ZONEINFO");
}

static void an_unknown_name_may_become_known_later(void **state) {
    struct cron_zones *zones = cron_zones_new(60);
    struct cron_zone *zone;
    struct cron_err err;
    char path[512];

    (void)state;
    make_database(path, "ABC-1");
    assert_int_equal(unlink(path), 0);
    for (int i = 0; i < 3; i++)
        assert_false(cron_zones_find(zones, "Test/City", &zone, &err));
    make_database(path, "ABC-1");
    (void)cron_zones_refresh(zones, 1000);
    assert_true(cron_zones_find(zones, "Test/City", &zone, &err));
    cron_zone_unref(zone);
    for (int i = 0; i < 3000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "+%02d:%02d", i / 60 % 24, i % 60);
        assert_true(cron_zones_find(zones, name, &zone, &err));
        assert_int_equal(cron_zone_offset_s(zone, 0), i % 1440 * 60);
        cron_zone_unref(zone);
    }
    cron_zones_free(zones);
    unsetenv("ZONEINFO");
}

static void the_system_zone_follows_tz(void **state) {
    struct cron_zones *zones = cron_zones_new(60);
    struct cron_zone *zone;
    char path[512];

    (void)state;
    make_database(path, "ABC-1");
    setenv("TZ", ":Test/City", 1);
    assert_true(cron_zones_find(zones, NULL, &zone, NULL));
    assert_int_equal(cron_zone_offset_s(zone, 0), 3600);
    assert_string_equal(cron_zone_name(zone), "");
    cron_zone_unref(zone);
    setenv("TZ", "XYZ3", 1);
    assert_int_equal(cron_zones_refresh(zones, 5), 1);
    assert_true(cron_zones_find(zones, "", &zone, NULL));
    assert_int_equal(cron_zone_offset_s(zone, 0), -10800);
    cron_zone_unref(zone);
    setenv("TZ", path, 1);
    assert_int_equal(cron_zones_refresh(zones, 100), 1);
    setenv("TZ", "", 1);
    assert_int_equal(cron_zones_refresh(zones, 200), 1);
    unsetenv("TZ");
    cron_zones_free(zones);
    unsetenv("ZONEINFO");
}

/* ---- zones with many changes --------------------------------------------- */

enum { WILD = 60, WILD_FROM = 900000, WILD_UNTIL = 1500000 };
static const int32_t wild_offsets[] = {0, 3600, -7200, 86400, 90000, -86400};
static struct zone_change wild[WILD];

/* Period k ends with change k. */
static int64_t wild_start(int k) {
    return k == 0 ? INT64_MIN : wild[k - 1].at;
}

static int64_t wild_end(int k) {
    return k == WILD ? INT64_MAX : wild[k].at;
}

static int32_t wild_offset(int k) {
    return wild_offsets[k == 0 ? 0 : wild[k - 1].type];
}

struct wild_item {
    const char *text;
    int minutes[2], hours[2]; /* hours -1: every hour */
    bool unskip, early, late;
};

static bool wild_admits(const struct wild_item *item, int64_t label) {
    int64_t s = (label % 86400 + 86400) % 86400;
    int64_t hour = s / 3600, minute = s / 60 % 60;

    return s % 60 == 0 &&
           (minute == item->minutes[0] || minute == item->minutes[1]) &&
           (item->hours[0] < 0 || hour == item->hours[0] ||
            hour == item->hours[1]);
}

/* The first and the last instant at which the clock shows the label. */
static bool wild_instants(int64_t label, int64_t *ret_first,
                          int64_t *ret_last) {
    bool any = false;

    for (int k = 0; k <= WILD; k++) {
        int64_t at = label - wild_offset(k);
        if (at < wild_start(k) || at >= wild_end(k))
            continue;
        if (!any || at < *ret_first)
            *ret_first = at;
        if (!any || at > *ret_last)
            *ret_last = at;
        any = true;
    }
    return any;
}

static bool wild_fires(const struct wild_item *item, int64_t at, int k) {
    int64_t first, last, label = at + wild_offset(k);

    if (wild_admits(item, label) && wild_instants(label, &first, &last) &&
        (!item->early || at == first) && (!item->late || at == last))
        return true;
    if (!item->unskip || k == WILD || at + 1 != wild_end(k))
        return false;
    for (label = wild_end(k) + wild_offset(k);
         label < wild_end(k) + wild_offset(k + 1); label++)
        if (wild_admits(item, label) && !wild_instants(label, &first, &last))
            return true;
    return false;
}

static void judge_wild(const struct wild_item *item,
                       const struct cron_zone *zone) {
    struct cron_item *parsed;
    int64_t from = WILD_FROM, next;
    int k = 0, events = 0;

    assert_true(cron_item_parse(item->text, strlen(item->text), &parsed, NULL));
    for (int64_t at = WILD_FROM; at < WILD_UNTIL; at++) {
        while (at >= wild_end(k))
            k++;
        if (!wild_fires(item, at, k))
            continue;
        assert_int_equal(cron_next(parsed, zone, from, &next, NULL),
                         CRON_FOUND);
        if (next != at)
            fail_msg("%s from %lld: %lld, not %lld", item->text,
                     (long long)from, (long long)next, (long long)at);
        from = at + 1;
        events++;
    }
    assert_true(events > 20);
    cron_item_unref(parsed);
}

static void hostile_zones_give_correct_instants(void **state) {
#define WILD_ITEM "{\"minute\":[7,50],\"hour\":[0,5],\"dst_fixes\":[\"unskip\","
    static const struct wild_item items[] = {
        {"{\"minute\":0,\"dst_fixes\":[\"skip\","
         "\"repeat_use_only_early\"]}",
         {0, 0},
         {-1, -1},
         false,
         true,
         false},
        {WILD_ITEM "\"repeat_use_only_late\"]}",
         {7, 50},
         {0, 5},
         true,
         false,
         true},
        {WILD_ITEM "\"repeat_use_only_early\"]}",
         {7, 50},
         {0, 5},
         true,
         true,
         false},
        {WILD_ITEM "\"repeat_use_both\"]}",
         {7, 50},
         {0, 5},
         true,
         false,
         false},
    };
    struct zone_bytes bytes;
    struct cron_zone *zone;
    int64_t at = 1000000;

    (void)state;
    for (int i = 0; i < WILD; i++) {
        at += 1000 + i * 7919 % 9000;
        wild[i] = (struct zone_change){at, (unsigned char)(i * 5 % 6)};
    }
    zone_bytes_make(&bytes, wild, WILD, wild_offsets, 6, "");
    assert_true(cron_zone_decode(bytes.p, bytes.len, &zone, NULL));
    for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++)
        judge_wild(&items[i], zone);
    cron_zone_unref(zone);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_valid_file_is_decoded),
        cmocka_unit_test(the_rule_applies_forever_after_the_last_change),
        cmocka_unit_test(the_rule_applies_after_a_change_without_an_offset),
        cmocka_unit_test(changes_are_found_in_every_year_or_refused),
        cmocka_unit_test(a_file_of_a_distant_future_is_refused),
        cmocka_unit_test(every_truncated_file_is_refused),
        cmocka_unit_test(an_inconsistent_file_is_refused),
        cmocka_unit_test(leap_seconds_are_refused),
        cmocka_unit_test(invalid_rules_are_refused),
        cmocka_unit_test(rules_are_parsed),
        cmocka_unit_test(names_never_lead_out_of_the_database),
        cmocka_unit_test(
            a_changed_file_is_read_again_and_zones_in_use_stay_valid),
        cmocka_unit_test(an_unknown_name_may_become_known_later),
        cmocka_unit_test(the_system_zone_follows_tz),
        cmocka_unit_test(hostile_zones_give_correct_instants),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
