/* Several threads use the library at once. The test is also built with the
 * thread sanitizer, including the library (cron-races). */
#include <poll.h>
#include <pointsman/cron.h>

#include <pthread.h>

#include "cron/watch.h"
#include "cron/zone_bytes.h"
#include "support/test.h"

#define X_KEY "\"max_shift_seconds_for_unskip_and_do_not_repeat\":"
enum { START = 1699955900, ROUNDS = 2000, SEARCHERS = 4 };

static const char each_second[] = "{\"epoch\":{}," X_KEY "3600}";
static const char five_minutes[] =
    "{\"minute\":{\"period\":5},\"dst_fixes\":[\"skip\","
    "\"repeat_use_both\"]," X_KEY "7200}";

static struct cron_item *item_of(const char *text) {
    struct cron_item *item;
    struct cron_err err;

    if (!cron_item_parse(text, strlen(text), &item, &err))
        fail_msg("%s: %s", text, err.text);
    return item;
}

static struct cron_zone *zone_of(const char *text) {
    struct cron_zone *zone;
    struct cron_err err;

    if (!cron_zone_parse(text, &zone, &err))
        fail_msg("%s: %s", text, err.text);
    return zone;
}

static struct cron_watch *watch_of(const char *text) {
    struct cron_watch *watch = cron_watch_new(NULL, NULL);
    struct cron_item *item = item_of(text);

    assert_true(cron_watch_add(watch, "it", item, NULL, NULL));
    cron_item_unref(item);
    return watch;
}

/* ---- a watch and its zone ------------------------------------------------ */

static void *change_zones(void *arg) {
    struct cron_watch *watch = arg;

    for (int i = 0; i < ROUNDS; i++) {
        char text[16];
        struct cron_zone *zone;
        snprintf(text, sizeof(text), "%+03d:00", i % 20 - 10);
        zone = zone_of(text);
        cron_watch_set_zone(watch, zone);
        cron_zone_unref(zone);
    }
    return NULL;
}

static void *add_and_remove(void *arg) {
    struct cron_watch *watch = arg;
    struct cron_item *item = item_of(five_minutes);
    char state[4096];

    for (int i = 0; i < ROUNDS; i++) {
        assert_true(cron_watch_add(watch, "guest", item, NULL, NULL));
        (void)cron_watch_save(watch, state, sizeof(state));
        assert_true(cron_watch_remove(watch, "guest"));
    }
    cron_item_unref(item);
    return NULL;
}

static void the_zone_may_change_at_any_time(void **state) {
    struct cron_watch *watch = watch_of(five_minutes);
    struct cron_event events[64];
    pthread_t threads[2];
    int64_t now = START, due;

    (void)state;
    (void)cron_watch_tick(watch, now, 0, events, 64, NULL);
    assert_int_equal(pthread_create(&threads[0], NULL, change_zones, watch), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, add_and_remove, watch),
                     0);
    for (int i = 0; i < ROUNDS; i++) {
        struct cron_tick tick;
        now += 7;
        do {
            size_t count =
                cron_watch_tick(watch, now, now - START, events, 64, &tick);
            for (size_t n = 0; n < count; n++)
                assert_true(events[n].label % 300 == 0);
        } while (tick.more);
        (void)cron_watch_next(watch, &due);
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    cron_watch_free(watch);
}

static void count_call(void *ctx) {
    ++*(int *)ctx;
}

static void a_sleeping_thread_is_woken_for_an_earlier_item(void **state) {
    static const char at_noon[] = "{\"minute\":0,\"hour\":12,\"dst_fixes\":["
                                  "\"skip\",\"repeat_use_both\"]," X_KEY "5}";
    struct cron_watch *watch = watch_of(five_minutes);
    struct cron_item *sooner = item_of(each_second), *later = item_of(at_noon);
    struct cron_zone *zone = zone_of("+05:30");
    int calls = 0;

    (void)state;
    watch_attach(watch, count_call, NULL, &calls);
    (void)cron_watch_tick(watch, START, 0, NULL, 0, NULL);
    assert_true(cron_watch_add(watch, "later", later, NULL, NULL));
    assert_int_equal(calls, 0);
    assert_true(cron_watch_add(watch, "sooner", sooner, NULL, NULL));
    assert_int_equal(calls, 1);
    cron_watch_set_zone(watch, zone);
    assert_int_equal(calls, 2);
    watch_attach(watch, NULL, NULL, NULL);
    cron_watch_set_zone(watch, NULL);
    assert_int_equal(calls, 2);
    cron_item_unref(sooner);
    cron_item_unref(later);
    cron_zone_unref(zone);
    cron_watch_free(watch);
}

/* ---- the thread of a watch ----------------------------------------------- */

static void a_thread_returns_each_event_once(void **state) {
    struct cron_watch *watch = watch_of(each_second);
    struct cron_thread_options options = {.size = sizeof(options),
                                          .queue_most = 1};
    struct cron_thread *thread;
    struct cron_zone *zones[2] = {zone_of("+01:00"), zone_of("-05:00")};
    struct cron_event event;
    struct cron_err err;
    int64_t last = 0;

    (void)state;
    thread = cron_thread_start(watch, &options, &err);
    if (thread == NULL)
        fail_msg("%s", err.text);
    for (int i = 0; i < 3; i++) {
        assert_true(cron_thread_take(thread, 120000, &event));
        assert_true(last == 0 || event.at == last + 1);
        last = event.at;
        cron_watch_set_zone(watch, zones[i % 2]);
    }
    cron_thread_stop(thread);
    cron_thread_stop(NULL);
    cron_watch_free(watch);
    cron_zone_unref(zones[0]);
    cron_zone_unref(zones[1]);
}

/* The system clock jumps ahead by an hour whenever it is read. */
static int64_t system_jump_s(void *ctx) {
    static int64_t at = START;

    (void)ctx;
    return at += 3600;
}

static int64_t monotonic_stopped_s(void *ctx) {
    (void)ctx;
    return 0;
}

/* Each tick has 600 events, the queue holds three, and the last events are
 * never taken. */
static void a_full_queue_loses_nothing_and_can_be_stopped(void **state) {
    struct cron_clocks clocks = {system_jump_s, monotonic_stopped_s, NULL};
    struct cron_thread_options options = {
        .size = sizeof(options), .clocks = &clocks, .queue_most = 3};
    struct cron_watch *watch =
        watch_of("{\"epoch\":{\"period\":6}," X_KEY "86400}");
    struct cron_thread *thread = cron_thread_start(watch, &options, NULL);
    struct cron_event event;
    int64_t last = 0;

    (void)state;
    assert_non_null(thread);
    for (int i = 0; i < 1500; i++) {
        assert_true(cron_thread_take(thread, 120000, &event));
        assert_true(last == 0 || event.at == last + 6);
        last = event.at;
    }
    cron_thread_stop(thread);
    cron_watch_free(watch);
}

/* There are two items with equally many events. The queue is almost always
 * full, so it contains events of the item that is removed. */
static void a_removed_item_has_no_more_events(void **state) {
    struct cron_clocks clocks = {system_jump_s, monotonic_stopped_s, NULL};
    struct cron_thread_options options = {
        .size = sizeof(options), .clocks = &clocks, .queue_most = 64};
    struct cron_watch *watch = watch_of(each_second);
    struct cron_thread *thread = cron_thread_start(watch, &options, NULL);
    struct cron_item *item = item_of(each_second);
    struct cron_event event;
    int gone;

    (void)state;
    assert_non_null(thread);
    for (int i = 0; i < 100; i++) {
        assert_true(cron_watch_add(watch, "guest", item, &gone, NULL));
        do
            assert_true(cron_thread_take(thread, 120000, &event));
        while (event.data != &gone);
        assert_true(cron_watch_remove(watch, "guest"));
        for (int k = 0; k < 200; k++) {
            assert_true(cron_thread_take(thread, 120000, &event));
            assert_null(event.data);
        }
    }
    cron_thread_stop(thread);
    cron_item_unref(item);
    cron_watch_free(watch);
}

/* The name in an event is the event's own. */
static void an_event_outlives_its_item(void **state) {
    struct cron_watch *watch = cron_watch_new(NULL, NULL);
    struct cron_item *item = item_of(each_second);
    struct cron_event events[4];

    (void)state;
    assert_true(cron_watch_add(watch, "one", item, NULL, NULL));
    assert_true(cron_watch_add(watch, "other", item, NULL, NULL));
    (void)cron_watch_tick(watch, START, 0, NULL, 0, NULL);
    assert_int_equal(cron_watch_tick(watch, START + 2, 2, events, 2, NULL), 2);
    assert_true(cron_watch_remove(watch, "other"));
    assert_true(cron_watch_add(watch, "third", item, NULL, NULL));
    assert_string_equal(events[0].name, "one");
    assert_string_equal(events[1].name, "other");
    assert_int_equal(cron_watch_tick(watch, START + 2, 2, events + 2, 2, NULL),
                     1);
    assert_string_equal(events[2].name, "one");
    cron_item_unref(item);
    cron_watch_free(watch);
}

static bool is_readable(int fd, int timeout_ms) {
    struct pollfd look = {.fd = fd, .events = POLLIN};

    return poll(&look, 1, timeout_ms) == 1;
}

static void a_descriptor_is_readable_while_events_wait(void **state) {
    struct cron_clocks clocks = {system_jump_s, monotonic_stopped_s, NULL};
    struct cron_thread_options options = {.size = sizeof(options),
                                          .clocks = &clocks};
    struct cron_watch *watch = cron_watch_new(NULL, NULL);
    struct cron_item *item = item_of(each_second);
    struct cron_thread *thread;
    struct cron_event event;
    int gone;

    (void)state;
    thread = cron_thread_start(watch, &options, NULL);
    assert_non_null(thread);
    assert_false(is_readable(cron_thread_fd(thread), 0));
    assert_true(cron_watch_add(watch, "it", item, &gone, NULL));
    assert_true(is_readable(cron_thread_fd(thread), 120000));
    assert_true(cron_thread_take(thread, 0, &event));
    assert_true(is_readable(cron_thread_fd(thread), 0));
    /* Removing the item takes the events away, and with them the signal. */
    assert_true(cron_watch_remove(watch, "it"));
    assert_false(is_readable(cron_thread_fd(thread), 0));
    assert_false(cron_thread_take(thread, 0, &event));
    assert_true(cron_watch_add(watch, "it", item, &gone, NULL));
    assert_true(is_readable(cron_thread_fd(thread), 120000));
    cron_thread_stop(thread);
    cron_item_unref(item);
    cron_watch_free(watch);
}

/* A clock that stands where the test sets it. */
static int64_t set_clock_s;

static int64_t system_set_s(void *ctx) {
    (void)ctx;
    return __atomic_load_n(&set_clock_s, __ATOMIC_SEQ_CST);
}

static void a_descriptor_is_quiet_once_all_events_are_taken(void **state) {
    struct cron_clocks clocks = {system_set_s, monotonic_stopped_s, NULL};
    struct cron_thread_options options = {.size = sizeof(options),
                                          .clocks = &clocks};
    struct cron_watch *watch = watch_of(each_second);
    struct cron_thread *thread;
    struct cron_event event;

    (void)state;
    set_clock_s = START;
    thread = cron_thread_start(watch, &options, NULL);
    assert_non_null(thread);
    /* Its first tick, which has no events, may come late. */
    while (!is_readable(cron_thread_fd(thread), 10))
        (void)__atomic_add_fetch(&set_clock_s, 3, __ATOMIC_SEQ_CST);
    do {
        assert_true(is_readable(cron_thread_fd(thread), 120000));
        assert_true(cron_thread_take(thread, 0, &event));
    } while (event.at < set_clock_s);
    assert_false(is_readable(cron_thread_fd(thread), 0));
    cron_thread_stop(thread);
    cron_watch_free(watch);
}

static void options_of_another_version_are_understood_or_refused(void **state) {
    struct {
        struct cron_watch_options known;
        long unknown;
    } newer = {.known = {.size = sizeof(newer), .all = true}};
    struct cron_watch_options none = {.poll_s = 5};
    struct cron_watch_options older = {.size = sizeof(size_t), .poll_s = -7};
    struct cron_thread_options thread = {.queue_most = 5};
    struct cron_watch *watch;
    struct cron_err err;

    (void)state;
    assert_null(cron_watch_new(&none, &err));
    assert_int_equal(err.kind, CRON_ERR_OPTION);
    assert_non_null(strstr(err.text, ".size"));
    watch = cron_watch_new(&newer.known, &err);
    assert_non_null(watch);
    assert_true(watch->options.all);
    assert_null(cron_thread_start(watch, &thread, &err));
    assert_int_equal(err.kind, CRON_ERR_OPTION);
    cron_watch_free(watch);
    newer.unknown = 1;
    assert_null(cron_watch_new(&newer.known, &err));
    assert_non_null(strstr(err.text, "does not know"));
    watch = cron_watch_new(&older, NULL);
    assert_int_equal(watch->options.poll_s, 60);
    cron_watch_free(watch);
    assert_int_equal(cron_version(), CRON_VERSION_NUMBER);
}

static void put_zone(const char *path, int32_t offset_s) {
    struct zone_bytes bytes;
    char draft[600];
    FILE *file;

    zone_bytes_make(&bytes, NULL, 0, &offset_s, 1, "");
    snprintf(draft, sizeof(draft), "%s.draft", path);
    file = fopen(draft, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.p, 1, bytes.len, file), bytes.len);
    fclose(file);
    assert_int_equal(rename(draft, path), 0);
}

/* The monotonic clock jumps ahead by an hour as well. */
static int64_t monotonic_jump_s(void *ctx) {
    static int64_t at;

    (void)ctx;
    return at += 3600;
}

/* Takes events until they follow the new zone; older ones may be queued. */
static void take_until(struct cron_thread *thread, int64_t rest,
                       struct cron_event *ret_event) {
    for (int i = 0; i < 1000; i++) {
        assert_true(cron_thread_take(thread, 120000, ret_event));
        if (ret_event->at % 3600 == rest)
            return;
    }
    fail_msg("events still follow the old zone");
}

static const char hourly[] = "{\"minute\":0,\"dst_fixes\":[\"skip\","
                             "\"repeat_use_both\"]," X_KEY "86400}";

static void a_thread_follows_the_file_of_its_zone(void **state) {
    struct cron_clocks clocks = {system_jump_s, monotonic_jump_s, NULL};
    struct cron_zones *zones = cron_zones_new(1);
    struct cron_thread_options options = {.size = sizeof(options),
                                          .clocks = &clocks,
                                          .queue_most = 1,
                                          .zones = zones,
                                          .zone_name = "Here"};
    struct cron_watch *watch = watch_of(hourly);
    struct cron_thread *thread;
    struct cron_event event;
    char path[512];

    (void)state;
    snprintf(path, sizeof(path), "%s/Here", test_dir());
    put_zone(path, 0);
    setenv("ZONEINFO", test_dir(), 1);
    if (*state != NULL) {
        /* The item has the zone, and the watch has none. */
        struct cron_item *item = item_of(hourly);
        struct cron_zone *zone;
        options.zone_name = "+00:15";
        assert_true(cron_zone_open("Here", &zone, NULL));
        assert_true(cron_watch_remove(watch, "it"));
        assert_true(cron_watch_add_in(watch, "it", item, zone, NULL, NULL));
        cron_zone_unref(zone);
        cron_item_unref(item);
    }
    thread = cron_thread_start(watch, &options, NULL);
    assert_non_null(thread);
    take_until(thread, 0, &event);
    put_zone(path, 1800);
    take_until(thread, 1800, &event);
    assert_true(event.label % 3600 == 0);
    cron_thread_stop(thread);
    cron_watch_free(watch);
    cron_zones_free(zones);
    unsetenv("ZONEINFO");
}

static void a_thread_follows_the_file_of_an_items_zone(void **state) {
    void *own = state;

    a_thread_follows_the_file_of_its_zone(&own);
}

/* ---- shared items and zones ---------------------------------------------- */

struct shared {
    struct cron_item *item;
    struct cron_zones *zones;
};

static void *search(void *arg) {
    static const char *const names[] = {"EST5EDT,M3.2.0,M11.1.0", "+05:30",
                                        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"};
    struct shared *shared = arg;
    int64_t at = START;

    for (int i = 0; i < ROUNDS; i++) {
        struct cron_zone *zone;
        assert_true(cron_zones_find(shared->zones, names[i % 3], &zone, NULL));
        assert_int_equal(cron_next(shared->item, zone, at + 1, &at, NULL),
                         CRON_FOUND);
        assert_true(cron_matches(shared->item, zone, at));
        cron_zone_unref(zone);
        (void)cron_zones_refresh(shared->zones, i);
    }
    return NULL;
}

static void items_and_zones_are_shared_by_threads(void **state) {
    struct shared shared = {item_of(five_minutes), cron_zones_new(1)};
    pthread_t threads[SEARCHERS];

    (void)state;
    for (int i = 0; i < SEARCHERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, search, &shared), 0);
    for (int i = 0; i < SEARCHERS; i++)
        pthread_join(threads[i], NULL);
    cron_item_unref(shared.item);
    cron_zones_free(shared.zones);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_and_zones_are_shared_by_threads),
        cmocka_unit_test(a_sleeping_thread_is_woken_for_an_earlier_item),
        cmocka_unit_test(the_zone_may_change_at_any_time),
        cmocka_unit_test(a_thread_returns_each_event_once),
        cmocka_unit_test(a_thread_follows_the_file_of_its_zone),
        cmocka_unit_test(a_thread_follows_the_file_of_an_items_zone),
        cmocka_unit_test(an_event_outlives_its_item),
        cmocka_unit_test(a_descriptor_is_readable_while_events_wait),
        cmocka_unit_test(a_descriptor_is_quiet_once_all_events_are_taken),
        cmocka_unit_test(options_of_another_version_are_understood_or_refused),
        cmocka_unit_test(a_full_queue_loses_nothing_and_can_be_stopped),
        cmocka_unit_test(a_removed_item_has_no_more_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
