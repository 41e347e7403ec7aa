/* Single disturbances: corner cases that a grid of round numbers misses. */
#include <pointsman/cron.h>

#include "support/test.h"

#define LA "PST8PDT,M3.2.0,M11.1.0"
#define X_KEY "\"max_shift_seconds_for_unskip_and_do_not_repeat\":"
enum { EVENTS = 256, SPRING = 1362909600, AUTUMN = 1383469200 };

/* A watch with one item, and its two clocks. */
struct rig {
    struct cron_watch *watch;
    int64_t system_s, monotonic_s;
    struct cron_event events[EVENTS];
    size_t count;
    struct cron_tick tick;
};

static void tick_now(struct rig *rig) {
    rig->count = cron_watch_tick(rig->watch, rig->system_s, rig->monotonic_s,
                                 rig->events, EVENTS, &rig->tick);
    assert_false(rig->tick.more);
}

/* Time passes by by_s, and the clock is set by set_s. */
static size_t pass(struct rig *rig, int64_t by_s, int64_t set_s) {
    rig->system_s += by_s + set_s;
    rig->monotonic_s += by_s;
    tick_now(rig);
    return rig->count;
}

static struct cron_item *item_of(const char *text) {
    struct cron_item *item;
    struct cron_err err;

    if (!cron_item_parse(text, strlen(text), &item, &err))
        fail_msg("%s: %s", text, err.text);
    return item;
}

static void move(struct rig *rig, const char *name) {
    struct cron_zone *zone;
    struct cron_err err;

    if (!cron_zone_parse(name, &zone, &err))
        fail_msg("%s: %s", name, err.text);
    cron_watch_set_zone(rig->watch, zone);
    cron_zone_unref(zone);
}

static void begin(struct rig *rig, const char *text, const char *zone,
                  int64_t system_s) {
    struct cron_item *item = item_of(text);

    *rig = (struct rig){.watch = cron_watch_new(NULL, NULL),
                        .system_s = system_s,
                        .monotonic_s = 77};
    assert_true(cron_watch_add(rig->watch, "it", item, NULL, NULL));
    cron_item_unref(item);
    move(rig, zone);
    tick_now(rig);
    assert_int_equal(rig->count, 0);
}

static void assert_event(const struct rig *rig, size_t index,
                         enum cron_event_kind kind, int64_t at) {
    assert_true(index < rig->count);
    assert_int_equal(rig->events[index].kind, kind);
    if (rig->events[index].at != at)
        fail_msg("at %lld, not %lld", (long long)rig->events[index].at,
                 (long long)at);
    assert_true(rig->events[index].shift_s == rig->system_s - at);
}

#define DAILY(time, skip, repeat, x)                                   \
    "{" time ",\"dst_fixes\":[\"" skip "\",\"repeat_use_" repeat "\"]" \
    "," X_KEY x "}"
#define HALF_PAST_TWO "\"hour\":2,\"minute\":30"
#define HALF_PAST_ONE "\"hour\":1,\"minute\":30"

/* ---- the edges of ticks -------------------------------------------------- */

static void an_event_at_the_time_of_a_tick_fires_in_it(void **state) {
    struct rig rig;

    (void)state;
    begin(&rig, "{\"epoch\":{\"period\":100}," X_KEY "10}", "UTC0", 1000);
    assert_int_equal(pass(&rig, 99, 0), 0);
    assert_int_equal(pass(&rig, 1, 0), 1);
    assert_event(&rig, 0, CRON_ON_TIME, 1100);
    assert_int_equal(pass(&rig, 0, 0), 0);
    assert_int_equal(pass(&rig, 1, 0), 0);
    cron_watch_free(rig.watch);
}

static void an_item_added_later_begins_at_the_last_tick(void **state) {
    struct cron_item *item = item_of("{\"epoch\":{\"period\":10}," X_KEY "9}");
    struct rig rig;

    (void)state;
    begin(&rig, "{\"epoch\":{\"period\":1000}," X_KEY "10}", "UTC0", 1001);
    assert_int_equal(pass(&rig, 19, 0), 0);
    assert_true(cron_watch_add(rig.watch, "new", item, NULL, NULL));
    assert_int_equal(pass(&rig, 10, 0), 1);
    assert_event(&rig, 0, CRON_ON_TIME, 1030);
    cron_item_unref(item);
    cron_watch_free(rig.watch);
}

static void a_monotonic_clock_that_goes_back_counts_as_stopped(void **state) {
    struct rig rig;

    (void)state;
    begin(&rig, "{\"epoch\":{\"period\":100}," X_KEY "500}", "UTC0", 1000);
    rig.system_s += 120;
    rig.monotonic_s -= 50;
    tick_now(&rig);
    assert_true(rig.tick.monotonic_went_back);
    assert_true(rig.tick.passed_s == 0 && rig.tick.clock_shift_s == 120);
    assert_int_equal(rig.count, 1);
    assert_event(&rig, 0, CRON_ON_TIME, 1100);
    assert_int_equal(pass(&rig, 100, 0), 1);
    assert_false(rig.tick.monotonic_went_back);
    cron_watch_free(rig.watch);
}

/* ---- tolerance of shifts ------------------------------------------------- */

static void a_max_shift_of_zero_still_allows_for_the_poll(void **state) {
    struct rig rig;

    (void)state;
    begin(&rig, "{\"epoch\":{\"period\":100}," X_KEY "0}", "UTC0", 1000);
    assert_int_equal(pass(&rig, 160, 0), 1);
    assert_event(&rig, 0, CRON_ON_TIME, 1100);
    assert_int_equal(pass(&rig, 101, 0), 1);
    assert_event(&rig, 0, CRON_SKIPPED, 1200);
    /* Two seconds further back are beyond the limit: the event repeats. */
    assert_int_equal(pass(&rig, 40, 0), 1);
    assert_event(&rig, 0, CRON_ON_TIME, 1300);
    assert_int_equal(pass(&rig, 0, -2), 0);
    assert_int_equal(pass(&rig, 2, 0), 1);
    assert_event(&rig, 0, CRON_ON_TIME, 1300);
    cron_watch_free(rig.watch);
}

static void a_skip_of_ten_centuries_is_one_search(void **state) {
    struct rig rig;
    int64_t centuries = INT64_C(31556952000);

    (void)state;
    begin(&rig,
          "{\"second\":{},\"minute\":{},\"dst_fixes\":[\"unskip\","
          "\"repeat_use_only_late\"]," X_KEY "5}",
          LA, 1000);
    assert_int_equal(pass(&rig, 60, centuries), 62);
    assert_event(&rig, 0, CRON_SKIPPED, 1001);
    assert_true(rig.events[0].until == rig.system_s - 61);
    assert_event(&rig, 61, CRON_ON_TIME, rig.system_s);
    assert_int_equal(pass(&rig, 1, -centuries), 0);
    assert_int_equal(pass(&rig, 1, 0), 1);
    cron_watch_free(rig.watch);
}

static void a_clock_beyond_all_years_may_come_back(void **state) {
    struct rig rig;

    (void)state;
    begin(&rig, DAILY(HALF_PAST_TWO, "skip", "both", "3600"), LA, SPRING);
    (void)pass(&rig, 0, INT64_MAX / 4);
    assert_int_equal(pass(&rig, 0, -(INT64_MAX / 4)), 0);
    (void)pass(&rig, 0, INT64_MIN / 4);
    (void)pass(&rig, 0, -(INT64_MIN / 4));
    rig.system_s = SPRING + 86400 - 7200;
    tick_now(&rig);
    assert_int_equal(pass(&rig, 5400, 0), 1);
    assert_event(&rig, 0, CRON_ON_TIME, 1362994200);
    cron_watch_free(rig.watch);
}

static void a_clock_set_to_1970_and_back_reports_skipped_events(void **state) {
    struct rig rig;
    int64_t then = SPRING - 86400;

    (void)state;
    begin(&rig, DAILY(HALF_PAST_TWO, "unskip", "only_early", "3600"), LA, then);
    assert_int_equal(pass(&rig, 10, 20 - then), 0);
    assert_int_equal(pass(&rig, 10, 0), 0);
    assert_int_equal(pass(&rig, 10, then - 20), 1);
    assert_int_equal(rig.events[0].kind, CRON_SKIPPED);
    assert_true(rig.events[0].until == rig.system_s - 3601);
    assert_int_equal(pass(&rig, 1770, 0), 1);
    assert_event(&rig, 0, CRON_ON_TIME, then + 1800);
    assert_int_equal(pass(&rig, 86400 - 1860, 0), 0);
    assert_int_equal(pass(&rig, 60, 0), 1);
    assert_event(&rig, 0, CRON_ON_TIME, SPRING - 1);
    cron_watch_free(rig.watch);
}

/* ---- disturbances at changes to and from summer time --------------------- */

static void
the_second_before_a_jump_fires_once_between_two_ticks(void **state) {
    struct rig rig;

    (void)state;
    begin(&rig, DAILY(HALF_PAST_TWO, "unskip", "both", "60"), LA, SPRING - 2);
    assert_int_equal(pass(&rig, 2, 0), 1);
    assert_event(&rig, 0, CRON_ON_TIME, SPRING - 1);
    assert_true((rig.events[0].label + 1) % 3600 == 0);
    assert_int_equal(pass(&rig, 1, 0), 0);
    assert_int_equal(pass(&rig, 86400 - 1802, 0), 0);
    assert_int_equal(pass(&rig, 1, 0), 1);
    assert_event(&rig, 0, CRON_ON_TIME, 1362994200);
    cron_watch_free(rig.watch);
}

static void events_missed_by_a_suspension_over_a_jump_fire_once(void **state) {
    struct rig rig;

    (void)state;
    begin(&rig,
          DAILY("\"hour\":2,\"minute\":[10,30,50]", "unskip", "both", "14400"),
          LA, SPRING - 3600);
    assert_int_equal(pass(&rig, 4 * 3600, 0), 1);
    assert_event(&rig, 0, CRON_LATE, SPRING - 1);
    cron_watch_free(rig.watch);
}

static void a_late_label_repeats_only_beyond_max_shift(void **state) {
    struct rig rig;

    (void)state;
    begin(&rig, DAILY(HALF_PAST_ONE, "skip", "only_late", "3600"), LA,
          AUTUMN - 3600);
    assert_int_equal(pass(&rig, 3600, 0), 0); /* the earlier 1:30 */
    assert_int_equal(pass(&rig, 1830, 0), 1);
    assert_event(&rig, 0, CRON_ON_TIME, AUTUMN + 1800);
    assert_int_equal(pass(&rig, 0, -600), 0);
    assert_int_equal(pass(&rig, 600, 0), 0);
    assert_int_equal(pass(&rig, 0, -3700), 0);
    assert_int_equal(pass(&rig, 3700, 0), 1);
    assert_event(&rig, 0, CRON_ON_TIME, AUTUMN + 1800);
    cron_watch_free(rig.watch);
}

/* ---- zones --------------------------------------------------------------- */

static void a_zone_with_the_same_offsets_is_no_change(void **state) {
    struct rig rig;

    (void)state;
    begin(&rig, DAILY(HALF_PAST_ONE, "skip", "both", "60"), LA, SPRING - 3600);
    move(&rig, LA);
    assert_int_equal(pass(&rig, 1800, 0), 1);
    assert_true(rig.tick.zone_shift_s == 0 && rig.tick.rule_shift_s == 0);
    assert_event(&rig, 0, CRON_ON_TIME, SPRING - 1800);
    move(&rig, LA);
    assert_int_equal(pass(&rig, 0, 0), 0);
    cron_watch_free(rig.watch);
}

/* The rule changes on this very day, which the offset at the last tick does not
 * show. */
static void a_rule_change_between_two_ticks_is_reported(void **state) {
    struct rig rig;

    (void)state;
    begin(&rig, DAILY(HALF_PAST_TWO, "skip", "both", "60"), LA, SPRING - 60);
    move(&rig, "PST8");
    assert_int_equal(pass(&rig, 1860, 0), 1);
    assert_event(&rig, 0, CRON_ON_TIME, SPRING + 1800);
    assert_true(rig.tick.zone_shift_s == 0);
    assert_true(rig.tick.rule_shift_s == -3600);
    cron_watch_free(rig.watch);
}

/* As in Samoa: a move to the other side of the date line, and back. */
static void a_move_by_a_day_is_handled_according_to_max_shift(void **state) {
    static const char *const texts[] = {
        DAILY("\"hour\":10,\"minute\":0", "skip", "both", "7200"),
        DAILY("\"hour\":10,\"minute\":0", "skip", "both", "90000"),
    };
    enum cron_event_kind kinds[] = {CRON_SKIPPED, CRON_TZ_UNSKIPPED};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct rig rig;
        begin(&rig, texts[i], "-10:00", 20 * 86400);
        move(&rig, "+14:00");
        assert_int_equal(pass(&rig, 5, 0), 1);
        assert_true(rig.tick.zone_shift_s == 86400);
        assert_int_equal(rig.events[0].kind, kinds[i]);
        assert_true(rig.events[0].label % 86400 == 36000);
        /* After the move back, events that were handled repeat only beyond
         * max_shift. */
        move(&rig, "-10:00");
        assert_int_equal(pass(&rig, 5, 0), 0);
        assert_int_equal(pass(&rig, 86400, 0), 2 - (i + 1));
        cron_watch_free(rig.watch);
    }
}

static void epoch_items_do_not_depend_on_the_zone(void **state) {
    struct rig rig;

    (void)state;
    begin(&rig, "{\"epoch\":{\"period\":3600}," X_KEY "60}", "-10:00", 7200);
    for (int i = 1; i <= 50; i++) {
        move(&rig, i % 2 == 0 ? "-10:00" : "+14:00");
        assert_int_equal(pass(&rig, 3600, 0), 1);
        assert_event(&rig, 0, CRON_ON_TIME, 7200 + i * 3600);
    }
    cron_watch_free(rig.watch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_at_the_time_of_a_tick_fires_in_it),
        cmocka_unit_test(an_item_added_later_begins_at_the_last_tick),
        cmocka_unit_test(a_monotonic_clock_that_goes_back_counts_as_stopped),
        cmocka_unit_test(a_max_shift_of_zero_still_allows_for_the_poll),
        cmocka_unit_test(a_skip_of_ten_centuries_is_one_search),
        cmocka_unit_test(a_clock_beyond_all_years_may_come_back),
        cmocka_unit_test(a_clock_set_to_1970_and_back_reports_skipped_events),
        cmocka_unit_test(the_second_before_a_jump_fires_once_between_two_ticks),
        cmocka_unit_test(events_missed_by_a_suspension_over_a_jump_fire_once),
        cmocka_unit_test(a_late_label_repeats_only_beyond_max_shift),
        cmocka_unit_test(a_zone_with_the_same_offsets_is_no_change),
        cmocka_unit_test(a_rule_change_between_two_ticks_is_reported),
        cmocka_unit_test(a_move_by_a_day_is_handled_according_to_max_shift),
        cmocka_unit_test(epoch_items_do_not_depend_on_the_zone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
