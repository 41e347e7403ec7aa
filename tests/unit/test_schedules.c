/* Schedules: the time of a simulated clock goes in, decisions come out. */
#include "support/test.h"

#include "core/schedules.h"

#define NOW INT64_C(1700000000) /* 2023-11-14T22:13:20Z */

struct rig {
    struct schedules *table;
    struct schedule *schedule;
    struct schedule_rule rule;
    int64_t now, boot;
    struct text decided;
};

static void begin(struct rig *rig, const char *item, int64_t max_shift_s) {
    struct err err = {0};
    *rig = (struct rig){.now = NOW, .boot = 5000};
    rig->table = schedules_new(rig->now, rig->boot);
    rig->rule = (struct schedule_rule){.max_shift_s = max_shift_s, .seed = 1};
    if (!repeat_parse(&rig->rule.repeat, span_of(item), NULL, &err))
        fail_msg("%s", err.text);
}

static void add(struct rig *rig, int64_t high_s, int32_t offset_s) {
    struct schedule_place place = {high_s, offset_s, 0};
    rig->schedule = schedules_add(rig->table, &rig->rule, &place, rig);
}

static void end(struct rig *rig) {
    schedules_free(rig->table);
    repeat_clear(&rig->rule.repeat);
    cron_zone_unref(rig->rule.zone);
    text_clear(&rig->decided);
}

static struct cron_zone *zone(const char *name) {
    struct cron_zone *found;
    struct cron_err err;
    if (!cron_zone_open(name, &found, &err))
        fail_msg("%s", err.text);
    return found;
}

/* The decisions, such as "fire 10 on-time; 20..80 x7 stale"; instants are in
 * seconds after `from`. */
static const char *decisions(struct rig *rig, int64_t from) {
    struct schedule_decision one;
    text_reset(&rig->decided);
    while (schedules_decide(rig->table, &one)) {
        text_addf(&rig->decided, "%s%s%d", rig->decided.len ? "; " : "",
                  one.fires ? "fire " : "", (int)(one.at - from));
        if (!one.fires)
            text_addf(&rig->decided, "..%d x%d", (int)(one.until - from),
                      (int)one.count);
        text_addf(&rig->decided, " %s%s", schedule_reason_word(one.reason),
                  one.replaces ? " replaces" : "");
        if (one.to.round)
            text_addf(&rig->decided, " r%u", one.to.round);
        if (one.fires)
            schedule_add_live(one.schedule, 1);
        schedules_recorded(rig->table, one.schedule);
    }
    return text_string(&rig->decided);
}

/* Time passes on both clocks. */
static const char *pass(struct rig *rig, int64_t s) {
    rig->now += s;
    rig->boot += s;
    schedules_tick(rig->table, rig->now, rig->boot);
    return decisions(rig, NOW);
}

/* The clock is set. */
static const char *step(struct rig *rig, int64_t s) {
    rig->now += s;
    schedules_tick(rig->table, rig->now, rig->boot);
    return decisions(rig, NOW);
}

#define EVERY_TEN "{\"epoch\": {\"period\": 10}}"

static void each_instant_fires_once_on_time(void **state) {
    struct rig rig;
    (void)state;
    begin(&rig, EVERY_TEN, 0);
    rig.rule.overlap = OVERLAP_ALLOW;
    add(&rig, NOW, 0);
    assert_string_equal(pass(&rig, 9), "");
    assert_int_equal(schedules_next(rig.table), NOW + 10);
    assert_string_equal(pass(&rig, 1), "fire 10 on-time");
    assert_string_equal(pass(&rig, 0), "");
    assert_string_equal(pass(&rig, 25), "fire 20 on-time; fire 30 on-time");
    end(&rig);
}

static void a_schedule_pauses_until_its_decision_is_recorded(void **state) {
    struct schedule_decision one;
    struct rig rig;
    (void)state;
    begin(&rig, EVERY_TEN, 0);
    rig.rule.overlap = OVERLAP_ALLOW;
    add(&rig, NOW, 0);
    schedules_tick(rig.table, NOW + 25, 5025);
    assert_true(schedules_decide(rig.table, &one));
    assert_int_equal(one.from.high_s, NOW);
    assert_int_equal(one.to.high_s, NOW + 10);
    assert_false(schedules_decide(rig.table, &one));
    assert_int_equal(schedules_next(rig.table), SCHEDULES_NEVER);
    /* The decision was not recorded, so it is made again. */
    struct schedule_place back = {NOW, 0, 0};
    schedules_reset(rig.table, rig.schedule, &back);
    assert_string_equal(decisions(&rig, NOW),
                        "fire 10 on-time; fire 20 on-time");
    end(&rig);
}

static void runs_missed_by_a_restart_fire_once_or_are_reported(void **state) {
    struct rig rig;
    (void)state;
    begin(&rig, EVERY_TEN, 25);
    rig.rule.overlap = OVERLAP_ALLOW;
    add(&rig, NOW - 60, 0);
    assert_string_equal(decisions(&rig, NOW),
                        "-50..-30 x3 stale; fire -20 late; fire -10 late; "
                        "fire 0 late");
    assert_string_equal(pass(&rig, 10), "fire 10 on-time");
    end(&rig);
    begin(&rig, EVERY_TEN, 25);
    rig.rule.overlap = OVERLAP_ALLOW;
    rig.rule.missed = MISSED_SKIP;
    add(&rig, NOW - 60, 0);
    assert_string_equal(decisions(&rig, NOW),
                        "-50..-30 x3 stale; -20..0 x3 skip");
    assert_string_equal(pass(&rig, 10), "fire 10 on-time");
    end(&rig);
}

static void a_long_absence_is_one_decision(void **state) {
    struct rig rig;
    (void)state;
    begin(&rig, "{\"epoch\": {\"period\": 1}}", 2);
    add(&rig, NOW - 1600000000, 0);
    assert_string_equal(decisions(&rig, NOW),
                        "-1599999999..-3 x1599999997 stale; fire -2 late; "
                        "fire -1 late; fire 0 late");
    end(&rig);
}

static void overlapping_runs_are_skipped_queued_or_replaced(void **state) {
    struct rig rig;
    (void)state;
    begin(&rig, EVERY_TEN, 0);
    add(&rig, NOW, 0);
    assert_string_equal(pass(&rig, 10), "fire 10 on-time");
    assert_string_equal(pass(&rig, 10), "20..20 x1 overlap");
    assert_string_equal(pass(&rig, 20), "30..40 x2 overlap");
    schedule_add_live(rig.schedule, -1);
    assert_string_equal(pass(&rig, 10), "fire 50 on-time");
    end(&rig);
    begin(&rig, EVERY_TEN, 0);
    rig.rule.overlap = OVERLAP_REPLACE;
    add(&rig, NOW, 0);
    assert_string_equal(pass(&rig, 20),
                        "fire 10 on-time; fire 20 on-time replaces");
    end(&rig);
    begin(&rig, EVERY_TEN, 0);
    rig.rule.overlap = OVERLAP_QUEUE;
    add(&rig, NOW, 0);
    assert_string_equal(pass(&rig, 20), "fire 10 on-time; fire 20 on-time");
    end(&rig);
}

static void a_missed_run_fires_whatever_overlap_says(void **state) {
    /* Three instants were missed, and the next one is on time. */
    static const char *const wanted[] = {
        [OVERLAP_FORBID] = "10..10 x1 overlap",
        [OVERLAP_ALLOW] = "fire 10 on-time",
        [OVERLAP_REPLACE] = "fire 10 on-time replaces",
        [OVERLAP_QUEUE] = "fire 10 on-time",
    };
    struct rig rig;
    (void)state;
    for (size_t i = 0; i < COUNT(wanted); i++) {
        begin(&rig, EVERY_TEN, 25);
        rig.rule.overlap = (enum schedule_overlap)i;
        add(&rig, NOW - 25, 0);
        assert_string_equal(decisions(&rig, NOW),
                            "fire -20 late; fire -10 late; fire 0 late");
        assert_string_equal(pass(&rig, 10), wanted[i]);
        end(&rig);
        begin(&rig, EVERY_TEN, 25);
        rig.rule.overlap = (enum schedule_overlap)i;
        rig.rule.missed = MISSED_SKIP;
        add(&rig, NOW - 25, 0);
        assert_string_equal(decisions(&rig, NOW), "-20..0 x3 skip");
        assert_string_equal(pass(&rig, 10), "fire 10 on-time");
        end(&rig);
    }
}

static void runs_missed_by_a_long_suspension_are_late(void **state) {
    struct rig rig;
    (void)state;
    begin(&rig, EVERY_TEN, 100);
    rig.rule.overlap = OVERLAP_ALLOW;
    add(&rig, NOW, 0);
    assert_string_equal(
        pass(&rig, 160),
        "10..50 x5 stale; fire 60 late; fire 70 late; fire 80 late; "
        "fire 90 late; fire 100 on-time; fire 110 on-time; "
        "fire 120 on-time; fire 130 on-time; fire 140 on-time; "
        "fire 150 on-time; fire 160 on-time");
    end(&rig);
}

static void a_clock_set_back_a_little_repeats_nothing(void **state) {
    struct rig rig;
    (void)state;
    begin(&rig, EVERY_TEN, 100);
    rig.rule.overlap = OVERLAP_ALLOW;
    add(&rig, NOW, 0);
    assert_string_equal(pass(&rig, 10), "fire 10 on-time");
    assert_string_equal(step(&rig, -60), "");
    /* Many small steps do not cause a repetition either. */
    assert_string_equal(step(&rig, -40), "");
    assert_string_equal(pass(&rig, 100), "");
    assert_string_equal(pass(&rig, 10), "fire 20 on-time");
    end(&rig);
}

static void a_clock_set_back_far_starts_a_new_round(void **state) {
    struct rig rig;
    (void)state;
    begin(&rig, EVERY_TEN, 100);
    rig.rule.overlap = OVERLAP_ALLOW;
    add(&rig, NOW, 0);
    assert_string_equal(pass(&rig, 10), "fire 10 on-time");
    assert_string_equal(step(&rig, -101), "");
    assert_string_equal(pass(&rig, 2), "fire -90 on-time r1");
    end(&rig);
}

/* The clock is set to the year 3010 and back; the schedule must not stay silent
 * for a thousand years. */
static void
a_clock_set_far_ahead_and_back_does_not_silence_a_schedule(void **state) {
    struct rig rig;
    (void)state;
    begin(&rig,
          "{\"minute\": 0, \"dst_fixes\": [\"skip\", "
          "\"repeat_use_both\"]}",
          100);
    rig.rule.overlap = OVERLAP_ALLOW;
    add(&rig, NOW, 0);
    (void)step(&rig, INT64_C(31000000000));
    (void)step(&rig, INT64_C(-31000000000));
    assert_string_equal(pass(&rig, 2800), "fire 2800 on-time r1");
    end(&rig);
}

static void a_small_step_forward_loses_nothing(void **state) {
    struct rig rig;
    (void)state;
    begin(&rig, EVERY_TEN, 0);
    rig.rule.overlap = OVERLAP_ALLOW;
    add(&rig, NOW, 0);
    assert_string_equal(step(&rig, 12), "fire 10 on-time");
    end(&rig);
}

static void
a_schedule_waits_for_a_saved_place_in_the_near_future(void **state) {
    struct rig rig;
    (void)state;
    begin(&rig, EVERY_TEN, 100);
    rig.rule.overlap = OVERLAP_ALLOW;
    add(&rig, NOW + 50, 0);
    assert_string_equal(pass(&rig, 50), "");
    assert_string_equal(pass(&rig, 10), "fire 60 on-time");
    end(&rig);
    begin(&rig, EVERY_TEN, 10);
    rig.rule.overlap = OVERLAP_ALLOW;
    add(&rig, NOW + 50, 0);
    assert_string_equal(pass(&rig, 10), "fire 10 on-time r1");
    end(&rig);
}

static void instants_skipped_by_a_change_of_zone_fire_late(void **state) {
    struct rig rig;
    (void)state;
    /* 22:30 is 1000 s ahead in UTC, but was 2600 s ago an hour further east. */
    begin(&rig, "30 22 * * *", 3600);
    rig.rule.zone = zone("+00:00");
    add(&rig, NOW, 0);
    struct cron_zone *east = zone("+01:00");
    schedules_zone(rig.table, rig.schedule, east);
    assert_string_equal(pass(&rig, 0), "fire -2600 late");
    cron_zone_unref(east);
    end(&rig);
    begin(&rig, "30 22 * * *", 3599);
    rig.rule.zone = zone("+00:00");
    add(&rig, NOW, 0);
    east = zone("+01:00");
    schedules_zone(rig.table, rig.schedule, east);
    assert_string_equal(pass(&rig, 0), "-2600..-2600 x1 stale");
    cron_zone_unref(east);
    end(&rig);
}

static void a_small_change_of_zone_repeats_nothing(void **state) {
    struct rig rig;
    (void)state;
    /* 22:10 was 200 s ago in UTC, but is 3400 s ahead an hour further west. */
    begin(&rig, "10 22 * * *", 3600);
    rig.rule.zone = zone("+00:00");
    add(&rig, NOW, 0);
    struct cron_zone *west = zone("-01:00");
    schedules_zone(rig.table, rig.schedule, west);
    assert_string_equal(pass(&rig, 3400), "");
    assert_string_equal(pass(&rig, 86340), "");
    assert_string_equal(pass(&rig, 60), "fire 89800 on-time");
    cron_zone_unref(west);
    end(&rig);
    begin(&rig, "10 22 * * *", 3000);
    rig.rule.zone = zone("+00:00");
    add(&rig, NOW, 0);
    west = zone("-01:00");
    schedules_zone(rig.table, rig.schedule, west);
    assert_string_equal(pass(&rig, 3400), "fire 3400 on-time");
    cron_zone_unref(west);
    end(&rig);
}

/* A change of the zone while no server was running is detected by the recorded
 * offset. */
static void a_change_of_zone_during_a_restart_is_noticed(void **state) {
    struct rig rig;
    (void)state;
    begin(&rig, "30 22 * * *", 7200);
    rig.rule.zone = zone("+01:00");
    add(&rig, NOW, 0); /* the recorded offset is 0 */
    assert_string_equal(decisions(&rig, NOW), "fire -2600 late");
    end(&rig);
}

static void epoch_items_do_not_depend_on_the_zone(void **state) {
    struct rig rig;
    (void)state;
    begin(&rig, EVERY_TEN, 7200);
    rig.rule.zone = zone("+00:00");
    add(&rig, NOW, 3600);
    assert_string_equal(decisions(&rig, NOW), "");
    struct cron_zone *east = zone("+10:00");
    schedules_zone(rig.table, rig.schedule, east);
    assert_string_equal(pass(&rig, 10), "fire 10 on-time");
    cron_zone_unref(east);
    end(&rig);
}

static void offset_and_jitter_delay_without_moving_the_instant(void **state) {
    struct rig rig;
    (void)state;
    begin(&rig, EVERY_TEN, 0);
    rig.rule.offset_s = 7;
    rig.rule.overlap = OVERLAP_ALLOW;
    add(&rig, NOW, 0);
    assert_int_equal(schedules_next(rig.table), NOW + 17);
    assert_string_equal(pass(&rig, 16), "");
    /* The clock is set back before the instant fires; it still fires once. */
    assert_string_equal(step(&rig, -10), "");
    assert_string_equal(pass(&rig, 10), "");
    assert_string_equal(pass(&rig, 1), "fire 10 on-time");
    rig.rule.jitter_s = 5;
    bool differs = false;
    for (int64_t at = NOW; at < NOW + 100; at++) {
        int64_t due = schedule_due(&rig.rule, at);
        assert_true(due >= at + 7 && due <= at + 12);
        assert_int_equal(due, schedule_due(&rig.rule, at));
        differs |= due != schedule_due(&rig.rule, NOW) + (at - NOW);
    }
    assert_true(differs);
    end(&rig);
}

static void a_run_past_its_deadline_is_skipped(void **state) {
    struct rig rig;
    (void)state;
    begin(&rig, EVERY_TEN, 1000);
    rig.rule.overlap = OVERLAP_ALLOW;
    rig.rule.deadline_s = 15;
    add(&rig, NOW - 50, 0);
    assert_string_equal(decisions(&rig, NOW),
                        "-40..-20 x3 deadline; fire -10 late; fire 0 late");
    end(&rig);
}

static void an_instant_of_two_items_fires_once(void **state) {
    struct rig rig;
    (void)state;
    /* On the 15th and on Wednesdays; 2023-11-15 is both. */
    begin(&rig, "0 0 15 * 3", 0);
    rig.rule.overlap = OVERLAP_ALLOW;
    assert_int_equal(rig.rule.repeat.count, 2);
    add(&rig, NOW, 0);
    assert_string_equal(pass(&rig, 6400), "fire 6400 on-time");
    assert_int_equal(repeat_count(&rig.rule.repeat, NULL, NOW, NOW + 86400), 1);
    end(&rig);
}

static void removing_a_schedule_leaves_the_others(void **state) {
    struct rig rig;
    (void)state;
    begin(&rig, EVERY_TEN, 0);
    rig.rule.overlap = OVERLAP_ALLOW;
    add(&rig, NOW, 0);
    struct schedule *first = rig.schedule;
    add(&rig, NOW, 0);
    schedules_remove(rig.table, first);
    assert_string_equal(pass(&rig, 10), "fire 10 on-time");
    end(&rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_instant_fires_once_on_time),
        cmocka_unit_test(a_schedule_pauses_until_its_decision_is_recorded),
        cmocka_unit_test(runs_missed_by_a_restart_fire_once_or_are_reported),
        cmocka_unit_test(a_long_absence_is_one_decision),
        cmocka_unit_test(overlapping_runs_are_skipped_queued_or_replaced),
        cmocka_unit_test(a_missed_run_fires_whatever_overlap_says),
        cmocka_unit_test(runs_missed_by_a_long_suspension_are_late),
        cmocka_unit_test(a_clock_set_back_a_little_repeats_nothing),
        cmocka_unit_test(a_clock_set_back_far_starts_a_new_round),
        cmocka_unit_test(
            a_clock_set_far_ahead_and_back_does_not_silence_a_schedule),
        cmocka_unit_test(a_small_step_forward_loses_nothing),
        cmocka_unit_test(a_schedule_waits_for_a_saved_place_in_the_near_future),
        cmocka_unit_test(instants_skipped_by_a_change_of_zone_fire_late),
        cmocka_unit_test(a_small_change_of_zone_repeats_nothing),
        cmocka_unit_test(a_change_of_zone_during_a_restart_is_noticed),
        cmocka_unit_test(epoch_items_do_not_depend_on_the_zone),
        cmocka_unit_test(offset_and_jitter_delay_without_moving_the_instant),
        cmocka_unit_test(a_run_past_its_deadline_is_skipped),
        cmocka_unit_test(an_instant_of_two_items_fires_once),
        cmocka_unit_test(removing_a_schedule_leaves_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
