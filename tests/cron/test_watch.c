/* The watch under suspensions, changes of the clock and changes of the zone. */
#include <pointsman/cron.h>

#include "cron/draw.h"
#include "cron/naive.h"
#include "cron/zone_bytes.h"
#include "support/test.h"

#define X_KEY "\"max_shift_seconds_for_unskip_and_do_not_repeat\":"
enum { EVENTS = 4096, START = 1699955900, YEAR_S = 31556952 };

static const char *const texts[NAIVE_KINDS] = {
    "{\"epoch\":{\"period\":420}," X_KEY "%lld}",
    "{\"minute\":{\"period\":5},\"dst_fixes\":[\"skip\",\"repeat_use_both\"]"
    "," X_KEY "%lld}",
    "{\"minute\":0,\"hour\":10,\"dst_fixes\":[\"unskip\","
    "\"repeat_use_only_early\"]," X_KEY "%lld}",
};

static struct cron_item *item_of(const char *format, int64_t max_shift_s) {
    char text[512];
    struct cron_item *item;
    struct cron_err err;
    /* The format is an item whose max_shift is %lld. */
    const char *hole = strstr(format, "%lld");

    snprintf(text, sizeof(text), "%.*s%lld%s", (int)(hole - format), format,
             (long long)max_shift_s, hole + 4);
    if (!cron_item_parse(text, strlen(text), &item, &err))
        fail_msg("%s: %s", text, err.text);
    return item;
}

static struct cron_zone *zone_of(const struct naive_zone *naive) {
    struct zone_bytes bytes;
    struct zone_change change = {naive->change, 1};
    int32_t offsets[] = {naive->before_s, naive->after_s};
    struct cron_zone *zone;
    struct cron_err err;

    zone_bytes_make(&bytes, &change, naive->change == INT64_MAX ? 0 : 1,
                    offsets, 2, "");
    if (!cron_zone_decode(bytes.p, bytes.len, &zone, &err))
        fail_msg("%s", err.text);
    return zone;
}

/* ---- comparison with the naive watch ------------------------------------- */

struct pair {
    struct cron_watch *watch;
    struct naive naive;
    struct cron_zone *zone;
    struct cron_item *items[NAIVE_ITEMS];
    int64_t system_s, monotonic_s;
    const char *boot_id;
    size_t piece; /* events requested at once */
    char what[200];
};

static const char *name_of(size_t item) {
    static const char *const names[NAIVE_ITEMS] = {"epoch", "five", "daily"};

    return names[item];
}

static void pair_watch(struct pair *pair) {
    struct cron_watch_options options = {.size = sizeof(options),
                                         .poll_s = pair->naive.poll_s,
                                         .boot_id = pair->boot_id};

    pair->watch = cron_watch_new(&options, NULL);
    for (size_t i = 0; i < NAIVE_ITEMS; i++)
        assert_true(cron_watch_add(pair->watch, name_of(i), pair->items[i],
                                   pair->items[i], NULL));
    cron_watch_set_zone(pair->watch, pair->zone);
}

static void pair_begin(struct pair *pair, const struct naive_zone *zone,
                       int64_t system_s, const int64_t max_shift_s[]) {
    *pair = (struct pair){.system_s = system_s,
                          .monotonic_s = 5000,
                          .boot_id = "first",
                          .piece = EVENTS};
    pair->naive.poll_s = 60;
    for (size_t i = 0; i < NAIVE_ITEMS; i++) {
        pair->naive.items[i].kind = (enum naive_kind)i;
        pair->naive.items[i].max_shift_s = max_shift_s[i];
        pair->items[i] = item_of(texts[i], max_shift_s[i]);
    }
    pair->zone = zone_of(zone);
    pair_watch(pair);
    naive_begin(&pair->naive, zone, system_s, pair->monotonic_s);
    assert_int_equal(cron_watch_tick(pair->watch, system_s, pair->monotonic_s,
                                     NULL, 0, NULL),
                     0);
}

static void pair_end(struct pair *pair) {
    cron_watch_free(pair->watch);
    cron_zone_unref(pair->zone);
    for (size_t i = 0; i < NAIVE_ITEMS; i++)
        cron_item_unref(pair->items[i]);
}

/* All events of one tick, taken in pieces. */
static size_t take_all(struct pair *pair, struct cron_event *events) {
    struct cron_tick result = {.more = true};
    size_t count = 0;

    while (result.more) {
        size_t room = EVENTS - count;
        count += cron_watch_tick(
            pair->watch, pair->system_s, pair->monotonic_s, events + count,
            pair->piece < room ? pair->piece : room, &result);
        assert_true(count < EVENTS);
    }
    return count;
}

/* Compares fired events one by one, and recent skipped events by their number
 * for each item. */
static void compare(struct pair *pair, const struct cron_event *events,
                    size_t count) {
    uint64_t ours[NAIVE_ITEMS] = {0}, theirs[NAIVE_ITEMS] = {0};
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        size_t item = 0;
        while (strcmp(name_of(item), events[i].name) != 0)
            item++;
        assert_ptr_equal(events[i].data, pair->items[item]);
        assert_int_not_equal(events[i].kind, CRON_SUPPRESSED_REPEAT);
        if (events[i].kind == CRON_SKIPPED) {
            int64_t from = events[i].at;
            uint64_t skipped = 0;
            assert_true(naive_fires(pair->naive.items[item].kind,
                                    &pair->naive.zone, from));
            if (from < pair->system_s - 4 * 86400)
                from = pair->system_s - 4 * 86400 + 1;
            if (events[i].until >= from)
                assert_true(cron_count(pair->items[item], pair->zone, from,
                                       events[i].until + 1, &skipped, NULL));
            ours[item] += skipped;
            continue;
        }
        while (n < pair->naive.event_count && !pair->naive.events[n].fired)
            n++;
        if (n == pair->naive.event_count)
            fail_msg("%s: %s at %lld is not due", pair->what, events[i].name,
                     (long long)events[i].at);
        if (pair->naive.events[n].item != item ||
            pair->naive.events[n].at != events[i].at)
            fail_msg("%s: %s at %lld, but %s at %lld comes first", pair->what,
                     events[i].name, (long long)events[i].at,
                     name_of(pair->naive.events[n].item),
                     (long long)pair->naive.events[n].at);
        assert_true(events[i].shift_s == pair->system_s - events[i].at);
        n++;
    }
    for (size_t i = 0; i < pair->naive.event_count; i++) {
        const struct naive_event *event = &pair->naive.events[i];
        if (event->fired && i >= n)
            fail_msg("%s: %s at %lld was lost", pair->what,
                     name_of(event->item), (long long)event->at);
        theirs[event->item] +=
            !event->fired && event->at > pair->system_s - 4 * 86400;
    }
    for (size_t i = 0; i < NAIVE_ITEMS; i++)
        if (ours[i] != theirs[i])
            fail_msg("%s: %s skipped %llu, not %llu", pair->what, name_of(i),
                     (unsigned long long)ours[i],
                     (unsigned long long)theirs[i]);
}

/* Time advances by `a` and the clock is set by `c`; `zone` may be new. */
static void step(struct pair *pair, int64_t a, int64_t c,
                 const struct naive_zone *zone) {
    static struct cron_event events[EVENTS];
    struct naive_zone now = zone == NULL ? pair->naive.zone : *zone;

    pair->system_s += a + c;
    pair->monotonic_s += a;
    if (zone != NULL) {
        cron_zone_unref(pair->zone);
        pair->zone = zone_of(zone);
        cron_watch_set_zone(pair->watch, pair->zone);
    }
    naive_tick(&pair->naive, &now, zone != NULL, pair->system_s,
               pair->monotonic_s);
    compare(pair, events, take_all(pair, events));
}

/* ---- all combinations ---------------------------------------------------- */

static const int64_t passed[] = {0, 30, 120, 240, 900, 3600, 86400};
static const int64_t clock_shifts[] = {0,    2,     -2,     120,    -120,
                                       3600, -3600, YEAR_S, -YEAR_S};
static const int32_t zone_shifts[] = {0,     1800,  -1800, 3600,
                                      -3600, 64800, -64800};
static const int64_t max_shifts[] = {0, 150, 7200};
#define COUNT_OF(list) (sizeof(list) / sizeof(*(list)))

static void check_all(int64_t start, const struct naive_zone *zone,
                      int64_t max_shift_s, const char *kind) {
    const int64_t each[NAIVE_ITEMS] = {max_shift_s, max_shift_s, max_shift_s};

    for (size_t a = 0; a < COUNT_OF(passed); a++)
        for (size_t c = 0; c < COUNT_OF(clock_shifts); c++)
            for (size_t b = 0; b < COUNT_OF(zone_shifts); b++) {
                struct naive_zone moved = *zone;
                struct pair pair;
                pair_begin(&pair, zone, start, each);
                snprintf(pair.what, sizeof(pair.what),
                         "%s, A %lld C %lld B %d X %lld", kind,
                         (long long)passed[a], (long long)clock_shifts[c],
                         (int)zone_shifts[b], (long long)max_shift_s);
                moved.before_s += zone_shifts[b];
                moved.after_s += zone_shifts[b];
                step(&pair, passed[a], clock_shifts[c],
                     zone_shifts[b] == 0 ? NULL : &moved);
                for (int i = 0; i < 12; i++)
                    step(&pair, 60, 0, NULL);
                step(&pair, 3000, 0, NULL);
                /* Undo both changes. */
                step(&pair, 30, -clock_shifts[c],
                     zone_shifts[b] == 0 ? NULL : zone);
                step(&pair, 7000, 0, NULL);
                pair_end(&pair);
            }
}

/* The start is 09:58:20. */
static const struct naive_zone constant = {INT64_MAX, 0, 0};
static const struct naive_zone spring = {START + 500, 0, 3600};
static const struct naive_zone autumn = {START + 900, 0, -3600};

static void combined_disturbances_are_handled_in_a_constant_zone(void **state) {
    (void)state;
    for (size_t x = 0; x < COUNT_OF(max_shifts); x++)
        check_all(START, &constant, max_shifts[x], "constant");
}

static void
combined_disturbances_are_handled_when_summer_time_begins(void **state) {
    (void)state;
    for (size_t x = 0; x < COUNT_OF(max_shifts); x++)
        check_all(START, &spring, max_shifts[x], "spring");
}

static void
combined_disturbances_are_handled_when_summer_time_ends(void **state) {
    (void)state;
    for (size_t x = 0; x < COUNT_OF(max_shifts); x++)
        check_all(START, &autumn, max_shifts[x], "autumn");
}

/* ---- random walks -------------------------------------------------------- */

static struct naive_zone draw_zone(struct draw *draw, int64_t now) {
    struct naive_zone zone = {INT64_MAX, 0, 0};

    zone.before_s = ((int32_t)draw_below(draw, 53) - 26) * 1800;
    zone.after_s = zone.before_s;
    if (draw_percent(draw, 50)) {
        zone.change = now - 20000 + (int64_t)draw_below(draw, 60000);
        zone.after_s += draw_percent(draw, 50) ? 3600 : -3600;
    }
    return zone;
}

/* The watch is saved, freed, and recreated from the saved state. */
static void restart(struct pair *pair) {
    size_t len = cron_watch_save(pair->watch, NULL, 0);
    char *text = malloc(len + 1);
    struct cron_err err;

    assert_int_equal(cron_watch_save(pair->watch, text, len + 1), len);
    cron_watch_free(pair->watch);
    pair_watch(pair);
    if (!cron_watch_restore(pair->watch, text, len, &err))
        fail_msg("%s: %s", text, err.text);
    free(text);
}

static void walk(uint64_t seed) {
    static const int64_t away[] = {0,    0,     1,     -1,    2,    -3,
                                   20,   -45,   100,   -100,  3600, -3600,
                                   5000, -9000, 80000, -80000};
    int64_t max_shift_s[NAIVE_ITEMS];
    struct naive_zone zone;
    struct pair pair;
    struct draw draw;

    draw_init(&draw, seed);
    for (size_t i = 0; i < NAIVE_ITEMS; i++)
        max_shift_s[i] = (int64_t)draw_below(&draw, 4) * 2500;
    zone = draw_zone(&draw, START);
    pair_begin(&pair, &zone, START + (int64_t)draw_below(&draw, 86400),
               max_shift_s);
    for (int i = 0; i < 60; i++) {
        int64_t a = draw_percent(&draw, 80) ? (int64_t)draw_below(&draw, 90)
                                            : (int64_t)draw_below(&draw, 40000);
        int64_t c = draw_percent(&draw, 75)
                        ? 0
                        : away[draw_below(&draw, COUNT_OF(away))];
        bool move = draw_percent(&draw, 8);
        snprintf(pair.what, sizeof(pair.what), "seed %llu, step %d",
                 (unsigned long long)seed, i);
        pair.piece = draw_percent(&draw, 30) ? 1 : EVENTS;
        if (draw_percent(&draw, 10))
            restart(&pair);
        if (move)
            zone = draw_zone(&draw, pair.system_s);
        step(&pair, a, c, move ? &zone : NULL);
    }
    pair_end(&pair);
}

static void random_walks_agree_with_the_naive_watch(void **state) {
    const char *given = getenv("CRON_WATCH_WALKS");
    uint64_t walks = given == NULL ? test_cases(60) : strtoull(given, NULL, 10);

    (void)state;
    for (uint64_t seed = 1; seed <= walks; seed++)
        walk(seed);
}

/* ---- single cases -------------------------------------------------------- */

static size_t tick(struct cron_watch *watch, int64_t system_s,
                   int64_t monotonic_s, struct cron_event *events,
                   struct cron_tick *result) {
    return cron_watch_tick(watch, system_s, monotonic_s, events, 64, result);
}

static struct cron_watch *watch_of(enum naive_kind kind, int64_t max_shift_s,
                                   bool all) {
    struct cron_watch_options options = {.size = sizeof(options), .all = all};
    struct cron_watch *watch = cron_watch_new(&options, NULL);
    struct cron_item *item = item_of(texts[kind], max_shift_s);

    assert_true(cron_watch_add(watch, "it", item, NULL, NULL));
    cron_item_unref(item);
    return watch;
}

static void
a_suspension_undone_by_setting_the_clock_has_no_effect(void **state) {
    struct cron_watch *watch = watch_of(NAIVE_EPOCH, 150, false);
    struct cron_event events[64];
    struct cron_tick result;

    (void)state;
    assert_int_equal(tick(watch, 42000, 0, events, &result), 0);
    assert_int_equal(tick(watch, 42000, 3600, events, &result), 0);
    assert_int_equal(result.passed_s, 3600);
    assert_int_equal(result.clock_shift_s, -3600);
    assert_int_equal(tick(watch, 42420, 4020, events, &result), 1);
    assert_true(events[0].at == 42420 && events[0].kind == CRON_ON_TIME);
    /* Two ticks in the same second. */
    assert_int_equal(tick(watch, 42420, 4020, events, &result), 0);
    cron_watch_free(watch);
}

static void a_jump_of_ten_centuries_is_one_search(void **state) {
    struct cron_watch *watch = watch_of(NAIVE_FIVE, 600, false);
    struct cron_event events[64];
    struct cron_tick result;
    int64_t far = START + 1000 * (int64_t)YEAR_S;

    (void)state;
    assert_int_equal(tick(watch, START, 0, events, &result), 0);
    size_t count = tick(watch, far, 60, events, &result);
    assert_int_equal(count, 3); /* one for all skipped events, then two */
    assert_int_equal(events[0].kind, CRON_SKIPPED);
    assert_true(events[0].at == START + 100 && events[0].until == far - 601);
    assert_int_equal(events[1].kind, CRON_LATE);
    /* Back again: the watch must not be silent for ten centuries. */
    assert_int_equal(tick(watch, START + 120, 120, events, &result), 0);
    assert_int_equal(tick(watch, START + 400, 400, events, &result), 1);
    assert_true(events[0].at == START + 400);
    cron_watch_free(watch);
}

static void small_steps_back_never_cause_a_repeat(void **state) {
    struct cron_watch *watch = watch_of(NAIVE_EPOCH, 1000, false);
    struct cron_event events[64];
    int64_t system_s = 42000, monotonic_s = 0, last = 0;

    (void)state;
    (void)tick(watch, system_s, monotonic_s, events, NULL);
    for (int i = 0; i < 4000; i++) {
        system_s += i % 3 == 0 ? -40 : 30;
        monotonic_s += 30;
        size_t count = tick(watch, system_s, monotonic_s, events, NULL);
        for (size_t n = 0; n < count; n++) {
            assert_true(events[n].at > last);
            last = events[n].at;
        }
    }
    assert_true(last >= system_s - 420);
    cron_watch_free(watch);
}

static void all_events_are_returned_on_request(void **state) {
    static const struct {
        int64_t at;
        enum cron_event_kind kind;
    } wanted[] = {
        {42420, CRON_SKIPPED},
        {42840, CRON_SKIPPED},
        {43260, CRON_LATE},
        {43680, CRON_ON_TIME},
    };
    struct cron_watch *watch = watch_of(NAIVE_EPOCH, 600, true);
    struct cron_event events[64];

    (void)state;
    (void)tick(watch, 42000, 0, events, NULL);
    assert_int_equal(tick(watch, 43700, 1700, events, NULL), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_true(events[i].at == wanted[i].at);
        assert_true(events[i].until == wanted[i].at);
        assert_int_equal(events[i].kind, wanted[i].kind);
        assert_true(events[i].shift_s == 43700 - wanted[i].at);
    }
    /* 500 s back: events are repeated, but must not fire. */
    assert_int_equal(tick(watch, 43200, 1700, events, NULL), 0);
    assert_int_equal(tick(watch, 43700, 2200, events, NULL), 2);
    assert_int_equal(events[0].kind, CRON_SUPPRESSED_REPEAT);
    assert_int_equal(events[1].kind, CRON_SUPPRESSED_REPEAT);
    assert_int_equal(tick(watch, 44100, 2600, events, NULL), 1);
    assert_int_equal(events[0].kind, CRON_ON_TIME);
    cron_watch_free(watch);
}

static void a_restarted_machine_counts_as_suspended(void **state) {
    int64_t max_shift_s[] = {2000, 2000, 2000};
    static struct cron_event events[EVENTS];
    struct pair pair;

    (void)state;
    pair_begin(&pair, &constant, START, max_shift_s);
    pair.boot_id = "second";
    restart(&pair);
    snprintf(pair.what, sizeof(pair.what), "after a reboot");
    /* The monotonic clock restarted; the naive model is given the true time. */
    pair.system_s += 1500;
    naive_tick(&pair.naive, &constant, false, pair.system_s,
               pair.monotonic_s + 1500);
    pair.naive.monotonic_s = pair.monotonic_s = 7;
    compare(&pair, events, take_all(&pair, events));
    assert_true(pair.naive.event_count > 0);
    /* The saved state is newer than the present time. */
    pair.boot_id = "third";
    restart(&pair);
    pair.system_s -= 500;
    naive_tick(&pair.naive, &constant, false, pair.system_s, 7);
    pair.naive.monotonic_s = pair.monotonic_s = 3;
    compare(&pair, events, take_all(&pair, events));
    step(&pair, 400, 0, NULL);
    step(&pair, 400, 0, NULL);
    pair_end(&pair);
}

static void the_rest_of_a_tick_survives_a_restart(void **state) {
    int64_t max_shift_s[] = {5000, 5000, 5000};
    struct cron_event events[64];
    struct cron_tick result;
    struct pair pair;
    size_t count = 0;
    int64_t last = 0;

    (void)state;
    pair_begin(&pair, &constant, START, max_shift_s);
    naive_tick(&pair.naive, &constant, false, START + 3000, 8000);
    assert_int_equal(
        cron_watch_tick(pair.watch, START + 3000, 8000, events, 5, &result), 5);
    assert_true(result.more);
    last = events[4].at;
    restart(&pair);
    count = 5 + cron_watch_tick(pair.watch, START + 3000, 8000, events, 64,
                                &result);
    assert_false(result.more);
    assert_int_equal(count, pair.naive.event_count);
    assert_true(events[0].at >= last);
    pair_end(&pair);
}

static void a_new_or_changed_item_begins_at_the_first_tick(void **state) {
    int64_t max_shift_s[] = {5000, 5000, 5000};
    struct cron_item *other = item_of(texts[NAIVE_FIVE], 4000);
    struct cron_event events[64];
    struct cron_watch *watch;
    struct pair pair;
    char text[1024];
    size_t len;

    (void)state;
    pair_begin(&pair, &constant, START, max_shift_s);
    len = cron_watch_save(pair.watch, text, sizeof(text));
    watch = cron_watch_new(NULL, NULL);
    assert_true(cron_watch_add(watch, "five", other, NULL, NULL));
    assert_true(cron_watch_add(watch, "epoch", pair.items[0], NULL, NULL));
    assert_true(cron_watch_restore(watch, text, len, NULL));
    assert_true(cron_watch_add(watch, "new", pair.items[0], NULL, NULL));
    len = cron_watch_tick(watch, START + 1000, 6000, events, 64, NULL);
    assert_true(len > 0);
    for (size_t i = 0; i < len; i++)
        assert_string_equal(events[i].name, "epoch");
    cron_watch_free(watch);
    cron_item_unref(other);
    pair_end(&pair);
}

static void an_invalid_state_is_refused(void **state) {
    int64_t max_shift_s[] = {5000, 5000, 5000};
    static const char *const bad[] = {
        "",
        "{}",
        "[]",
        "{\"version\": 2}",
        "{\"version\": 1, \"system\": 5}",
        "{\"version\": 1} x",
        "{\"version\": 1, \"colour\": 5}",
        "{\"version\": 1, \"items\": {}}",
        "{\"version\": 1, \"boot\": \"\", \"system\": 9223372036854775807, "
        "\"monotonic\": 0, \"offset\": 0, \"items\": {}}",
        "{\"version\": 1, \"boot\": \"\", \"system\": 5, \"monotonic\": 0, "
        "\"offset\": 1000000, \"items\": {}}",
        "{\"version\": 1, \"boot\": \"\", \"system\": 5, \"monotonic\": 0, "
        "\"offset\": 0, \"items\": {\"a\": {\"high\": 5}}}",
        "{\"version\": 1, \"boot\": \"\", \"system\": 5, \"monotonic\": 0, "
        "\"offset\": 0, \"items\": {\"a\": {\"item\": \"xyz\"}}}"};
    struct pair pair;
    char text[1024];
    struct cron_err err;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct cron_watch *watch = cron_watch_new(NULL, NULL);
        if (cron_watch_restore(watch, bad[i], strlen(bad[i]), &err))
            fail_msg("accepted: %s", bad[i]);
        cron_watch_free(watch);
    }
    /* A truncated state is refused, and any state after the first tick. */
    pair_begin(&pair, &constant, START, max_shift_s);
    size_t len = cron_watch_save(pair.watch, text, sizeof(text));
    assert_false(cron_watch_restore(pair.watch, text, len, &err));
    for (size_t cut = 0; cut < len; cut++) {
        struct cron_watch *watch = cron_watch_new(NULL, NULL);
        assert_false(cron_watch_restore(watch, text, cut, &err));
        cron_watch_free(watch);
    }
    pair_end(&pair);
}

static void an_item_that_cannot_be_watched_is_rejected(void **state) {
    static const char bare[] = "{\"epoch\":5}";
    struct cron_watch *watch = watch_of(NAIVE_EPOCH, 5, false);
    struct cron_item *item, *good = item_of(texts[NAIVE_EPOCH], 5);
    struct cron_err err;

    (void)state;
    assert_true(cron_item_parse(bare, strlen(bare), &item, NULL));
    assert_false(cron_watch_add(watch, "bare", item, NULL, &err));
    assert_non_null(strstr(err.text, "max_shift_seconds"));
    assert_false(cron_watch_add(watch, "it", good, NULL, &err));
    assert_non_null(strstr(err.text, "already"));
    assert_false(cron_watch_add(watch, "", good, NULL, &err));
    assert_false(cron_watch_add(watch, "a\nb", good, NULL, &err));
    assert_false(cron_watch_add(watch, "\xff", good, NULL, &err));
    assert_true(cron_watch_remove(watch, "it"));
    assert_false(cron_watch_remove(watch, "it"));
    assert_true(cron_watch_add(watch, "it", good, NULL, &err));
    cron_item_unref(item);
    cron_item_unref(good);
    cron_watch_free(watch);
}

static void the_events_of_thousands_of_items_are_in_order(void **state) {
    struct cron_watch *watch = cron_watch_new(NULL, NULL);
    struct cron_event events[64];
    struct cron_tick result = {.more = true};
    int64_t last = 0;
    size_t count = 0;
    char name[32];

    (void)state;
    for (int i = 0; i < 5000; i++) {
        char text[200];
        struct cron_item *item;
        snprintf(text, sizeof(text),
                 "{\"epoch\":{\"start\":%d,\"period\":100000}," X_KEY "9999}",
                 i * 7919 % 100000);
        assert_true(cron_item_parse(text, strlen(text), &item, NULL));
        snprintf(name, sizeof(name), "item %d", i);
        assert_true(cron_watch_add(watch, name, item, NULL, NULL));
        cron_item_unref(item);
    }
    for (int i = 0; i < 5000; i += 3) {
        snprintf(name, sizeof(name), "item %d", i);
        assert_true(cron_watch_remove(watch, name));
    }
    (void)tick(watch, 999999, 0, events, NULL);
    for (int64_t at = 1000000; at <= 1100000; at += 5000) {
        result.more = true;
        while (result.more) {
            size_t got = tick(watch, at, at, events, &result);
            for (size_t i = 0; i < got; i++) {
                assert_true(events[i].at >= last && events[i].at <= at);
                last = events[i].at;
            }
            count += got;
        }
    }
    assert_true(count >= 3333);
    cron_watch_free(watch);
}

/* ---- zones of items ------------------------------------------------------ */

enum { ZONES = 3, WALK_TICKS = 60, WALKS = 150 };

/* One watch whose items have zones of their own, and a watch for each zone. */
struct zoned {
    struct cron_watch *all, *each[ZONES];
    struct cron_item *items[NAIVE_KINDS];
    struct cron_zone *zones[ZONES];
    int64_t system_s, monotonic_s;
    struct draw draw;
};

static struct cron_zone *draw_own_zone(struct draw *draw) {
    struct naive_zone naive = {
        .change = START + (int64_t)draw_below(draw, 400000) - 200000,
        .before_s = 1800 * ((int32_t)draw_below(draw, 40) - 20),
    };

    naive.after_s = naive.before_s + 1800 * ((int32_t)draw_below(draw, 9) - 4);
    return zone_of(&naive);
}

static void zoned_watches(struct zoned *zoned) {
    char name[32];

    zoned->all = cron_watch_new(NULL, NULL);
    for (size_t z = 0; z < ZONES; z++) {
        zoned->each[z] = cron_watch_new(NULL, NULL);
        cron_watch_set_zone(zoned->each[z], zoned->zones[z]);
        for (size_t i = 0; i < NAIVE_KINDS; i++) {
            snprintf(name, sizeof(name), "%zu %zu", z, i);
            assert_true(cron_watch_add(zoned->each[z], name, zoned->items[i],
                                       NULL, NULL));
            assert_true(cron_watch_add_in(zoned->all, name, zoned->items[i],
                                          zoned->zones[z], NULL, NULL));
        }
    }
}

static void zoned_free(struct zoned *zoned) {
    cron_watch_free(zoned->all);
    for (size_t z = 0; z < ZONES; z++)
        cron_watch_free(zoned->each[z]);
}

/* Each event of the common watch is the next one of its zone's watch. */
static void zoned_tick(struct zoned *zoned) {
    static struct cron_event all[EVENTS], each[ZONES][EVENTS];
    size_t taken[ZONES] = {0}, counts[ZONES];
    size_t count = cron_watch_tick(zoned->all, zoned->system_s,
                                   zoned->monotonic_s, all, EVENTS, NULL);

    assert_true(count < EVENTS);
    for (size_t z = 0; z < ZONES; z++)
        counts[z] = cron_watch_tick(zoned->each[z], zoned->system_s,
                                    zoned->monotonic_s, each[z], EVENTS, NULL);
    for (size_t i = 0; i < count; i++) {
        size_t z = (size_t)(all[i].name[0] - '0');
        const struct cron_event *other = &each[z][taken[z]++];
        assert_true(taken[z] <= counts[z]);
        if (strcmp(all[i].name, other->name) != 0 ||
            all[i].kind != other->kind || all[i].at != other->at ||
            all[i].until != other->until || all[i].label != other->label ||
            all[i].shift_s != other->shift_s)
            fail_msg("%s at %lld (%d) instead of %s at %lld (%d)", all[i].name,
                     (long long)all[i].at, (int)all[i].kind, other->name,
                     (long long)other->at, (int)other->kind);
    }
    for (size_t z = 0; z < ZONES; z++)
        assert_int_equal(taken[z], counts[z]);
}

static void zoned_set(struct zoned *zoned, size_t z) {
    char name[32];

    cron_zone_unref(zoned->zones[z]);
    zoned->zones[z] = draw_own_zone(&zoned->draw);
    cron_watch_set_zone(zoned->each[z], zoned->zones[z]);
    for (size_t i = 0; i < NAIVE_KINDS; i++) {
        snprintf(name, sizeof(name), "%zu %zu", z, i);
        assert_true(cron_watch_set_zone_of(zoned->all, name, zoned->zones[z]));
    }
}

static void zoned_restart(struct zoned *zoned) {
    static char all[8192], each[ZONES][8192];
    size_t len = cron_watch_save(zoned->all, all, sizeof(all)), lens[ZONES];

    for (size_t z = 0; z < ZONES; z++)
        lens[z] = cron_watch_save(zoned->each[z], each[z], sizeof(each[z]));
    zoned_free(zoned);
    for (size_t z = 0; z < ZONES; z++)
        if (draw_percent(&zoned->draw, 50)) {
            cron_zone_unref(zoned->zones[z]);
            zoned->zones[z] = draw_own_zone(&zoned->draw);
        }
    zoned_watches(zoned);
    assert_true(cron_watch_restore(zoned->all, all, len, NULL));
    for (size_t z = 0; z < ZONES; z++)
        assert_true(cron_watch_restore(zoned->each[z], each[z], lens[z], NULL));
}

static void zoned_walk(uint64_t seed) {
    struct zoned zoned = {.system_s = START, .monotonic_s = 100};

    draw_init(&zoned.draw, seed);
    for (size_t z = 0; z < ZONES; z++)
        zoned.zones[z] = draw_own_zone(&zoned.draw);
    for (size_t i = 0; i < NAIVE_KINDS; i++)
        zoned.items[i] =
            item_of(texts[i], (int64_t)draw_below(&zoned.draw, 9000));
    zoned_watches(&zoned);
    zoned_tick(&zoned);
    for (int i = 0; i < WALK_TICKS; i++) {
        int64_t elapsed = (int64_t)draw_below(
            &zoned.draw, draw_percent(&zoned.draw, 80) ? 400 : 20000);
        zoned.system_s += elapsed;
        zoned.monotonic_s += elapsed;
        if (draw_percent(&zoned.draw, 20))
            zoned.system_s += (int64_t)draw_below(&zoned.draw, 16000) - 8000;
        if (draw_percent(&zoned.draw, 30))
            zoned_set(&zoned, draw_below(&zoned.draw, ZONES));
        if (draw_percent(&zoned.draw, 10))
            zoned_restart(&zoned);
        zoned_tick(&zoned);
    }
    zoned_free(&zoned);
    for (size_t z = 0; z < ZONES; z++)
        cron_zone_unref(zoned.zones[z]);
    for (size_t i = 0; i < NAIVE_KINDS; i++)
        cron_item_unref(zoned.items[i]);
}

static void an_item_may_have_a_zone_of_its_own(void **state) {
    struct cron_watch *watch = watch_of(NAIVE_EPOCH, 5, false);

    (void)state;
    for (uint64_t seed = 1; seed <= WALKS; seed++)
        zoned_walk(seed);
    assert_false(cron_watch_set_zone_of(watch, "it", NULL));
    assert_false(cron_watch_set_zone_of(watch, "none", NULL));
    cron_watch_free(watch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_suspension_undone_by_setting_the_clock_has_no_effect),
        cmocka_unit_test(an_item_that_cannot_be_watched_is_rejected),
        cmocka_unit_test(a_jump_of_ten_centuries_is_one_search),
        cmocka_unit_test(small_steps_back_never_cause_a_repeat),
        cmocka_unit_test(all_events_are_returned_on_request),
        cmocka_unit_test(the_events_of_thousands_of_items_are_in_order),
        cmocka_unit_test(a_restarted_machine_counts_as_suspended),
        cmocka_unit_test(the_rest_of_a_tick_survives_a_restart),
        cmocka_unit_test(a_new_or_changed_item_begins_at_the_first_tick),
        cmocka_unit_test(an_invalid_state_is_refused),
        cmocka_unit_test(an_item_may_have_a_zone_of_its_own),
        cmocka_unit_test(combined_disturbances_are_handled_in_a_constant_zone),
        cmocka_unit_test(
            combined_disturbances_are_handled_when_summer_time_begins),
        cmocka_unit_test(
            combined_disturbances_are_handled_when_summer_time_ends),
        cmocka_unit_test(random_walks_agree_with_the_naive_watch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
