/* Runs of the merge train: lanes, slots, urgent sets, and results that are used
 * again; doc/design/train.md. */
#include "support/train_story.h"

static void an_emergency_takes_the_last_lane(void **state) {
    (void)state;
    story_begin(3);
    join_all(3);
    expect("run 1 t.1, run 2 t.1.2, run 3 t.1.2.3");
    joins(9, CLASS_EM);
    assert_int_equal(position_of(9), 1);
    /* All others are checked behind it. */
    expect("stop 1, stop 2, stop 3, run 9 t.9, run 1 t.9.1, run 2 t.9.1.2");
    story_end();
}

static void
an_emergency_that_fails_gives_the_others_back_their_trees(void **state) {
    (void)state;
    story_begin(2);
    join_all(1);
    expect("run 1 t.1");
    passes(1);
    expect("land 1");
    lands();
    joins(2, CLASS_DC);
    expect("run 2 t.1.2");
    passes(2);
    joins(9, CLASS_EM);
    expect("run 9 t.1.9, run 2 t.1.9.2");
    fails(9);
    expect("fail 9 check-failed, land 2");
    story_end();
}

static void an_emergency_joins_behind_those_that_are_landed(void **state) {
    (void)state;
    story_begin(2);
    join_all(3);
    expect("run 1 t.1, run 2 t.1.2");
    passes(1);
    expect("land 1, run 3 t.1.2.3");
    joins(9, CLASS_EM);
    assert_int_equal(position_of(9), 2);
    expect("stop 2, stop 3, run 9 t.1.9, run 2 t.1.9.2");
    /* The branch was moved by others: the emergency goes first now. */
    landing_ends(TRAIN_LANDING_LOST);
    pushed("u");
    assert_int_equal(position_of(9), 1);
    expect("stop 9, stop 2, run 9 u.9, run 1 u.9.1");
    story_end();
}

static void
an_emergency_behind_a_development_change_makes_it_urgent(void **state) {
    (void)state;
    story_begin(2);
    join_all(3);
    expect("run 1 t.1, run 2 t.1.2");
    assert_true(train_rank(story.train, 3, CLASS_EM));
    assert_true(joins_behind(9, CLASS_EM, 3, false));
    expect("stop 1, stop 2, run 3 t.3, run 9 t.3.9");
    story_end();
}

static void an_emergency_takes_a_slot_of_its_own_target(void **state) {
    (void)state;
    story_begin(4);
    story.slots = 2;
    join_all(3);
    expect("run 1 t.1, run 2 t.1.2");
    joins(9, CLASS_EM);
    expect("stop 1, stop 2, run 9 t.9, run 1 t.9.1");
    story_end();
}

static void without_interrupt_an_emergency_waits_for_a_lane(void **state) {
    (void)state;
    story_begin(2);
    story.config.interrupt = 0;
    story_config();
    join_all(3);
    expect("run 1 t.1, run 2 t.1.2");
    joins(9, CLASS_EM);
    assert_int_equal(position_of(9), 3);
    expect("");
    passes(1);
    expect("land 1, run 9 t.1.2.9");
    story_end();
}

static void lanes_can_become_fewer_and_more(void **state) {
    (void)state;
    story_begin(4);
    join_all(9);
    expect("run 1 t.1, run 2 t.1.2, run 3 t.1.2.3, run 4 t.1.2.3.4");
    story.config.lanes = 2;
    story_config();
    expect("stop 3, stop 4");
    story.config.lanes = 3;
    story_config();
    expect("run 3 t.1.2.3");
    story_end();
}

static void only_four_units_for_each_lane_have_a_candidate(void **state) {
    (void)state;
    story_begin(1);
    join_all(6);
    expect("run 1 t.1");
    assert_int_equal(state_of(4), TRAIN_WAITING);
    assert_int_equal(state_of(5), TRAIN_BEYOND);
    story_end();
}

static void a_failed_check_is_repeated_on_the_same_tree(void **state) {
    (void)state;
    story_begin(2);
    story.config.check_retries = 1;
    story_config();
    join_all(2);
    expect("run 1 t.1, run 2 t.1.2");
    fails(1);
    /* Nothing behind it is rebuilt before the second failure. */
    expect("run 1 t.1");
    passes(1);
    expect("land 1");
    story_end();
}

static void without_retries_a_flaky_check_fails_its_set(void **state) {
    (void)state;
    story_begin(2);
    join_all(2);
    expect("run 1 t.1, run 2 t.1.2");
    fails(1);
    expect("fail 1 check-failed, stop 2, run 2 t.2");
    story_end();
}

static void a_repeated_pass_is_noted_as_flaky(void **state) {
    (void)state;
    struct train_note note;
    bool flaky = false;
    story_begin(1);
    story.config.check_retries = 1;
    story_config();
    join_all(1);
    expect("run 1 t.1");
    fails(1);
    expect("run 1 t.1");
    passes(1);
    expect("land 1");
    while (train_next_note(story.train, &note))
        flaky |= note.kind == TRAIN_NOTE_FLAKY && note.num == 1;
    assert_true(flaky);
    story_end();
}

static void a_recorded_pass_replaces_a_run(void **state) {
    (void)state;
    story_begin(2);
    story.records[1].passed = wall_from_s(900);
    join_all(2);
    expect("land 1, run 2 t.1.2");
    story_end();
}

static void a_pass_that_was_reused_can_be_forgotten(void **state) {
    (void)state;
    story_begin(2);
    story.records[2].passed = wall_from_s(900);
    join_all(2);
    expect("run 1 t.1");
    assert_int_equal(state_of(2), TRAIN_PASSED);
    train_forget_reused(story.train);
    expect("run 2 t.1.2");
    passes(2);
    /* What was run in this stay stays. */
    train_forget_reused(story.train);
    passes(1);
    expect("land 1 2");
    story_end();
}

static void an_unknown_environment_lets_runs_go_on(void **state) {
    (void)state;
    story_begin(2);
    join_all(1);
    expect("run 1 t.1");
    train_close(story.train, TRAIN_CLOSED_ENVIRONMENT);
    joins(2, CLASS_DC);
    passes(1);
    expect("");
    train_close(story.train, 0);
    expect("land 1, run 2 t.1.2");
    story_end();
}

static void a_recorded_failure_fails_no_set(void **state) {
    (void)state;
    story_begin(2);
    story.records[1].failed = wall_from_s(900);
    join_all(1);
    expect("run 1 t.1");
    story_end();
}

static void a_disputed_or_old_pass_is_run_again(void **state) {
    (void)state;
    story_begin(2);
    story.config.remember_for_ms = 60000;
    story_config();
    story.records[1].passed = wall_from_s(990);
    story.records[1].failed = wall_from_s(995);
    story.records[2].passed = wall_from_s(900);
    join_all(2);
    expect("run 1 t.1, run 2 t.1.2");
    story_end();
}

static void volatile_checks_use_no_recorded_result(void **state) {
    (void)state;
    story_begin(2);
    story.config.volatile_check = true;
    story_config();
    story.records[1].passed = wall_from_s(900);
    join_all(2);
    expect("run 1 t.1, run 2 t.1.2");
    /* A pass of this stay counts, although others joined meanwhile. */
    passes(2);
    joins(9, CLASS_EM);
    expect("stop 1, run 9 t.9, run 1 t.9.1");
    train_leave(story.train, 9, TRAIN_LEFT_ENDED);
    expect("stop 9, stop 1, run 1 t.1");
    passes(1);
    expect("land 1 2");
    story_end();
}

static void equal_trees_are_run_once_if_results_are_kept_by_tree(void **state) {
    (void)state;
    struct train_effect *effects;
    story_begin(4);
    story.config.remember = TRAIN_REMEMBER_TREE;
    story_config();
    join_all(2);
    story_answer();
    train_scan(story.train, story.now, &story.arena, &effects);
    /* The second set changes nothing more than the first. */
    train_merged(story.train, 1, TRAIN_MERGED_TREE, SPAN("t.1"));
    train_merged(story.train, 2, TRAIN_MERGED_TREE, SPAN("t.1"));
    train_merge_ended(story.train, TRAIN_MERGE_DONE);
    expect("run 1 t.1");
    passes(1);
    expect("land 1 2");
    story_end();
}

static void equal_trees_of_two_sets_are_run_twice_by_default(void **state) {
    (void)state;
    struct train_effect *effects;
    story_begin(4);
    join_all(2);
    story_answer();
    train_scan(story.train, story.now, &story.arena, &effects);
    train_merged(story.train, 1, TRAIN_MERGED_TREE, SPAN("t.1"));
    train_merged(story.train, 2, TRAIN_MERGED_TREE, SPAN("t.1"));
    train_merge_ended(story.train, TRAIN_MERGE_DONE);
    expect("run 1 t.1, run 2 t.1");
    story_end();
}

static void a_new_check_list_stops_all_runs(void **state) {
    (void)state;
    story_begin(2);
    join_all(2);
    expect("run 1 t.1, run 2 t.1.2");
    passes(2);
    train_checks_changed(story.train);
    expect("stop 1, run 1 t.1, run 2 t.1.2");
    story_end();
}

static void a_new_check_list_stops_a_landing(void **state) {
    (void)state;
    story_begin(2);
    join_all(1);
    expect("run 1 t.1");
    passes(1);
    expect("land 1");
    train_checks_changed(story.train);
    expect("stop landing");
    landing_ends(TRAIN_LANDING_STOPPED);
    expect("run 1 t.1");
    story_end();
}

static void a_run_that_fails_later_disputes_a_recorded_pass(void **state) {
    (void)state;
    struct train_record record = {.passed = wall_from_s(999)};
    story_begin(2);
    join_all(1);
    expect("run 1 t.1");
    train_record(story.train, 1, SPAN("t.1"), &record, story.now);
    fails(1);
    expect("fail 1 check-failed");
    story_end();
}

static void the_run_of_a_set_that_left_counts_when_it_comes_back(void **state) {
    (void)state;
    story_begin(2);
    join_all(1);
    expect("run 1 t.1");
    train_leave(story.train, 1, TRAIN_LEFT_ALIVE);
    joins(1, CLASS_DC);
    story.manual_stops = true;
    expect("stop 1");
    story.records[1].passed = story.now;
    passes(1);
    expect("land 1");
    story_end();
}

static void the_youngest_stale_run_is_stopped_first(void **state) {
    (void)state;
    story_begin(4);
    story.records[3].passed = story.records[4].passed = wall_from_s(900);
    text_adds(&story.recorded_tree, "t.1.3");
    train_record(story.train, 0, SPAN("t"), &story.records[3], story.now);
    join_all(4);
    expect("run 1 t.1, run 2 t.1.2, run 3 t.1.2.3, run 4 t.1.2.3.4");
    fails(2);
    expect("");
    joins(5, CLASS_DC);
    joins(6, CLASS_DC);
    expect("stop 4, run 5 t.1.3.4.5, run 6 t.1.3.4.5.6");
    story_end();
}

static void a_stale_run_goes_on_until_its_lane_is_wanted(void **state) {
    (void)state;
    story_begin(3);
    story.records[3].passed = wall_from_s(900);
    text_adds(&story.recorded_tree, "t.1.3");
    train_record(story.train, 0, SPAN("t"), &story.records[3], story.now);
    join_all(3);
    expect("run 1 t.1, run 2 t.1.2, run 3 t.1.2.3");
    fails(2);
    /* Set 3 has passed without 2, so nobody wants its lane ... */
    expect("");
    assert_int_equal(state_of(3), TRAIN_PASSED);
    joins(4, CLASS_DC);
    expect("run 4 t.1.3.4");
    /* ... until the next one does. */
    joins(5, CLASS_DC);
    expect("stop 3, run 5 t.1.3.4.5");
    story_end();
}

static void a_stale_run_that_ends_is_remembered(void **state) {
    (void)state;
    story_begin(3);
    story.records[3].passed = wall_from_s(900);
    text_adds(&story.recorded_tree, "t.1.3");
    train_record(story.train, 0, SPAN("t"), &story.records[3], story.now);
    story.config.check_retries = 0;
    join_all(3);
    expect("run 1 t.1, run 2 t.1.2, run 3 t.1.2.3");
    fails(2);
    expect("");
    passes(3);
    /* With another retry the failure of 2 counts no more: what was found of
     * 3 behind it is used. */
    story.config.check_retries = 1;
    story_config();
    expect("run 2 t.1.2");
    passes(2);
    passes(1);
    expect("land 1 2 3");
    story_end();
}

static void runs_far_behind_are_worth_less(void **state) {
    (void)state;
    struct train_run run;
    unsigned before = 1000001;
    story_begin(16);
    story.slots = 0;
    join_all(16);
    expect("");
    for (unsigned at = 1; at <= 16; at++) {
        assert_true(train_next_run(story.train, story.now, &run));
        assert_int_equal(run.position, at);
        assert_true(run.worth_ppm < before);
        before = run.worth_ppm;
        train_run_begun(story.train, run.num, story.now);
    }
    /* 0.95^15 */
    assert_in_range(before, 463000, 464000);
    story_end();
}

static void a_run_worth_little_gives_its_slot_to_other_work(void **state) {
    (void)state;
    uint64_t num;
    story_begin(4);
    join_all(4);
    expect("run 1 t.1, run 2 t.1.2, run 3 t.1.2.3, run 4 t.1.2.3.4");
    assert_false(train_spare(story.train, TRAIN_CLAIM_OTHER, &num));
    for (unsigned i = 5; i < 20; i++) { /* many sets fail */
        joins(i, CLASS_BF);
        expect("");
        train_leave(story.train, i, TRAIN_LEFT_ALIVE);
    }
    for (unsigned i = 0; i < 8; i++) {
        unsigned first = i == 0 ? 1 : 20 + i;
        fails(first);
        go_on();
        joins(21 + i, CLASS_EM);
        go_on();
    }
    text_reset(&story.log);
    assert_true(train_spare(story.train, TRAIN_CLAIM_OTHER, &num));
    assert_true(num != 28);
    /* One at a time. */
    assert_false(train_spare(story.train, TRAIN_CLAIM_OTHER, &num));
    story_end();
}

static void the_first_run_keeps_its_slot(void **state) {
    (void)state;
    uint64_t num;
    story_begin(1);
    join_all(1);
    expect("run 1 t.1");
    assert_false(train_spare(story.train, TRAIN_CLAIM_OTHER, &num));
    assert_false(train_spare(story.train, TRAIN_CLAIM_RUN, &num));
    story_end();
}

static void the_same_calls_give_the_same_notes(void **state) {
    (void)state;
    struct train_note note;
    struct text words = TEXT_INIT;
    story_begin(2);
    join_all(2);
    expect("run 1 t.1, run 2 t.1.2");
    fails(2);
    expect("");
    fails(1);
    expect("fail 1 check-failed, run 2 t.2");
    while (train_next_note(story.train, &note))
        text_addf(&words, "%u %s; ", (unsigned)note.num,
                  train_note_word(note.kind));
    assert_string_equal(
        text_string(&words),
        "1 joined; 2 joined; 1 run; 2 run; 2 failing; 1 failing; 2 void; "
        "2 candidate without; 1 left; 2 run; ");
    text_clear(&words);
    story_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_emergency_takes_the_last_lane),
        cmocka_unit_test(
            an_emergency_that_fails_gives_the_others_back_their_trees),
        cmocka_unit_test(an_emergency_joins_behind_those_that_are_landed),
        cmocka_unit_test(
            an_emergency_behind_a_development_change_makes_it_urgent),
        cmocka_unit_test(an_emergency_takes_a_slot_of_its_own_target),
        cmocka_unit_test(without_interrupt_an_emergency_waits_for_a_lane),
        cmocka_unit_test(lanes_can_become_fewer_and_more),
        cmocka_unit_test(only_four_units_for_each_lane_have_a_candidate),
        cmocka_unit_test(a_failed_check_is_repeated_on_the_same_tree),
        cmocka_unit_test(without_retries_a_flaky_check_fails_its_set),
        cmocka_unit_test(a_repeated_pass_is_noted_as_flaky),
        cmocka_unit_test(a_recorded_pass_replaces_a_run),
        cmocka_unit_test(a_pass_that_was_reused_can_be_forgotten),
        cmocka_unit_test(an_unknown_environment_lets_runs_go_on),
        cmocka_unit_test(a_recorded_failure_fails_no_set),
        cmocka_unit_test(a_disputed_or_old_pass_is_run_again),
        cmocka_unit_test(volatile_checks_use_no_recorded_result),
        cmocka_unit_test(equal_trees_are_run_once_if_results_are_kept_by_tree),
        cmocka_unit_test(equal_trees_of_two_sets_are_run_twice_by_default),
        cmocka_unit_test(a_new_check_list_stops_all_runs),
        cmocka_unit_test(a_new_check_list_stops_a_landing),
        cmocka_unit_test(a_run_that_fails_later_disputes_a_recorded_pass),
        cmocka_unit_test(the_run_of_a_set_that_left_counts_when_it_comes_back),
        cmocka_unit_test(the_youngest_stale_run_is_stopped_first),
        cmocka_unit_test(a_stale_run_goes_on_until_its_lane_is_wanted),
        cmocka_unit_test(a_stale_run_that_ends_is_remembered),
        cmocka_unit_test(runs_far_behind_are_worth_less),
        cmocka_unit_test(a_run_worth_little_gives_its_slot_to_other_work),
        cmocka_unit_test(the_first_run_keeps_its_slot),
        cmocka_unit_test(the_same_calls_give_the_same_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
