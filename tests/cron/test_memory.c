/* Lack of memory: each allocation fails once in every place. The result must be
 * an error or a slower answer, never a wrong one. The allocation functions are
 * replaced with --wrap, even in the library. */
#include <pointsman/cron.h>

#include "cron/zone_bytes.h"
#include "support/test.h"

#define X_KEY "\"max_shift_seconds_for_unskip_and_do_not_repeat\":"
#define FIXES "\"dst_fixes\":[\"skip\",\"repeat_use_both\"]," X_KEY "60}"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t each);
void *__real_realloc(void *old, size_t bytes);
char *__real_strdup(const char *string);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t each);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *string);

/* Allocations until one fails; never if negative. */
static long left = -1;
static bool failed;

static bool fails(void) {
    if (left < 0 || left-- > 0)
        return false;
    failed = true;
    return true;
}

void *__wrap_malloc(size_t bytes) {
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t each) {
    return fails() ? NULL : __real_calloc(count, each);
}

void *__wrap_realloc(void *old, size_t bytes) {
    return fails() ? NULL : __real_realloc(old, bytes);
}

char *__wrap_strdup(const char *string) {
    return fails() ? NULL : __real_strdup(string);
}

/* ---- the trials ---------------------------------------------------------- */

static const char item_text[] =
    "{\"minute\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20],"
    "\"year\":[2001,2002,2003,2004,2005,2006,2007,2008,2009,2010,2011,2012,"
    "2013,2014,2015,2016,2017,2018,2019,2020],"
    "\"except\":[\"2001-01-01\",\"2001-03-01\",\"2001-05-01\"]," FIXES;
static const char minute_text[] = "{\"minute\":{}," FIXES;
static struct cron_item *minute; /* created before anything fails */

static bool try_item(struct cron_err *err) {
    struct cron_item *item;

    if (!cron_item_parse(item_text, sizeof(item_text) - 1, &item, err))
        return false;
    cron_item_unref(item);
    return true;
}

static bool try_rule(struct cron_err *err) {
    struct cron_zone *zone;
    int64_t at;

    if (!cron_zone_open("ABC-1DEF,M3.5.0,M10.5.0/3", &zone, err))
        return false;
    assert_int_equal(cron_next(minute, zone, 1396141170, &at, NULL),
                     CRON_FOUND);
    assert_true(at == 1396141200);
    assert_int_equal(cron_zone_offset_s(zone, 1396141200), 7200);
    cron_zone_unref(zone);
    return true;
}

static bool try_file(struct cron_err *err) {
    static const struct zone_change changes[] = {{1000000, 1}, {2000000, 0}};
    static const int32_t offsets[] = {0, 3600};
    struct zone_bytes bytes;
    struct cron_zone *zone;

    zone_bytes_make(&bytes, changes, 2, offsets, 2, "UTC0");
    if (!cron_zone_decode(bytes.p, bytes.len, &zone, err))
        return false;
    assert_int_equal(cron_zone_offset_s(zone, 1500000), 3600);
    cron_zone_unref(zone);
    return true;
}

static bool try_crontab(struct cron_err *err) {
    struct cron_crontab crontab;

    if (!cron_crontab_parse("*/5 3 1,2 * Mon command", NULL, &crontab, err))
        return false;
    assert_int_equal(crontab.item_count, 2);
    cron_crontab_clear(&crontab);
    return true;
}

static bool try_zones(struct cron_err *err) {
    struct cron_zones *zones = cron_zones_new(0);
    struct cron_zone *zone;
    char name[16];
    bool ok = true;

    if (zones == NULL)
        return false;
    for (int i = 0; i < 70 && ok; i++) {
        snprintf(name, sizeof(name), "+01:%02d", i % 60);
        ok = cron_zones_find(zones, name, &zone, err);
        if (ok)
            cron_zone_unref(zone);
    }
    (void)cron_zones_refresh(zones, 100);
    cron_zones_free(zones);
    return ok;
}

static bool try_watch(struct cron_err *err) {
    struct cron_watch *watch = cron_watch_new(NULL, NULL);
    struct cron_event events[8];
    char name[16];
    bool ok = true;

    if (watch == NULL)
        return false;
    for (int i = 0; i < 70 && ok; i++) {
        snprintf(name, sizeof(name), "item %d", i);
        ok = cron_watch_add(watch, name, minute, NULL, err);
    }
    if (ok) {
        (void)cron_watch_tick(watch, 1000, 0, NULL, 0, NULL);
        assert_int_equal(cron_watch_tick(watch, 1020, 20, events, 8, NULL), 8);
        assert_true(cron_watch_remove(watch, "item 69"));
    }
    cron_watch_free(watch);
    return ok;
}

static bool try_thread(struct cron_err *err) {
    struct cron_watch *watch = cron_watch_new(NULL, NULL);
    struct cron_thread *thread = NULL;

    if (watch == NULL)
        return false;
    thread = cron_thread_start(watch, NULL, err);
    left = -1; /* allocations in the thread do not count */
    cron_thread_stop(thread);
    cron_watch_free(watch);
    return thread != NULL;
}

static const struct {
    const char *name;
    bool (*run)(struct cron_err *err);
    bool silent; /* may fail without an error, as some objects have none */
} trials[] = {
    {"item", try_item, false},    {"rule", try_rule, false},
    {"file", try_file, false},    {"crontab", try_crontab, false},
    {"zones", try_zones, true},   {"watch", try_watch, true},
    {"thread", try_thread, true},
};

/* Lets each allocation fail once, until there is none left. */
static void fail_each_allocation(size_t index) {
    for (long nth = 0;; nth++) {
        struct cron_err err = {0};
        left = nth;
        failed = false;
        bool ok = trials[index].run(&err);
        left = -1;
        if (!failed) {
            assert_true(ok && nth > 0);
            return;
        }
        if (ok)
            continue; /* it succeeded without this memory */
        if (trials[index].silent && err.kind == CRON_ERR_NONE)
            continue;
        if (err.kind != CRON_ERR_SYSTEM || err.text[0] == '\0')
            fail_msg("%s, allocation %ld: '%s'", trials[index].name, nth,
                     err.text);
    }
}

static void each_failed_allocation_is_reported_or_survived(void **state) {
    (void)state;
    assert_true(
        cron_item_parse(minute_text, sizeof(minute_text) - 1, &minute, NULL));
    for (size_t i = 0; i < sizeof(trials) / sizeof(*trials); i++)
        fail_each_allocation(i);
    cron_item_unref(minute);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failed_allocation_is_reported_or_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
