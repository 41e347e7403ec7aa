/* Order, failures and landings of the merge train; doc/design/train.md. */
#include "support/train_story.h"

#include "core/land_verdict.h"

static void eight_disjoint_sets_need_eight_runs(void **state) {
    (void)state;
    story_begin(4);
    join_all(8);
    expect("run 1 t.1, run 2 t.1.2, run 3 t.1.2.3, run 4 t.1.2.3.4");
    for (unsigned num = 1; num <= 4; num++)
        passes(num);
    expect("land 1 2 3 4, run 5 t.1.2.3.4.5, run 6 t.1.2.3.4.5.6, "
           "run 7 t.1.2.3.4.5.6.7, run 8 t.1.2.3.4.5.6.7.8");
    lands();
    expect("");
    for (unsigned num = 5; num <= 8; num++)
        passes(num);
    expect("land 5 6 7 8");
    story_end();
}

static unsigned count_in_log(const char *word) {
    unsigned count = 0;

    for (const char *at = text_string(&story.log);
         (at = strstr(at, word)) != NULL; at++)
        count++;
    return count;
}

static void five_hundred_sets_need_as_many_runs(void **state) {
    (void)state;
    story_begin(8);
    join_all(500);
    for (unsigned ended = 0; ended < 500; ended++) {
        go_on();
        assert_int_equal(story.busy, ended < 493 ? 8 : 500 - ended);
        passes(story.running[0]);
        go_on();
        if (story.landing_count > 0)
            lands();
        story.landing_count = 0;
    }
    assert_int_equal(count_in_log("run "), 500);
    expect(text_string(&story.log)); /* nothing is left to do */
    assert_false(train_has(story.train, 500));
    story_end();
}

static void one_lane_checks_one_set_at_a_time(void **state) {
    (void)state;
    story_begin(1);
    join_all(2);
    expect("run 1 t.1");
    passes(1);
    expect("land 1, run 2 t.1.2");
    lands();
    passes(2);
    expect("land 2");
    story_end();
}

static void a_set_in_the_middle_fails_and_the_rest_is_rebuilt(void **state) {
    (void)state;
    story_begin(4);
    join_all(4);
    expect("run 1 t.1, run 2 t.1.2, run 3 t.1.2.3, run 4 t.1.2.3.4");
    fails(2);
    expect("stop 3, stop 4, run 3 t.1.3, run 4 t.1.3.4");
    assert_int_equal(state_of(2), TRAIN_FAILING);
    passes(3);
    expect("");
    passes(1);
    expect("land 1");
    lands();
    expect("fail 2 check-failed, land 3");
    story_end();
}

static void
a_bad_first_set_makes_the_second_fail_only_for_a_while(void **state) {
    (void)state;
    story_begin(2);
    join_all(2);
    expect("run 1 t.1, run 2 t.1.2");
    fails(2);
    expect("");
    fails(1);
    expect("fail 1 check-failed, run 2 t.2");
    passes(2);
    expect("land 2");
    story_end();
}

static void a_failure_is_void_if_a_set_ahead_is_cancelled(void **state) {
    (void)state;
    story_begin(3);
    join_all(3);
    expect("run 1 t.1, run 2 t.1.2, run 3 t.1.2.3");
    fails(3);
    expect("");
    train_leave(story.train, 1, TRAIN_LEFT_ENDED);
    expect("stop 1, stop 2, run 2 t.2, run 3 t.2.3");
    story_end();
}

static void sets_behind_a_slow_one_land_in_one_move(void **state) {
    (void)state;
    story_begin(4);
    join_all(4);
    expect("run 1 t.1, run 2 t.1.2, run 3 t.1.2.3, run 4 t.1.2.3.4");
    passes(4);
    passes(3);
    passes(2);
    expect("");
    passes(1);
    expect("land 1 2 3 4");
    story_end();
}

static void a_conflict_with_a_set_that_fails_is_void(void **state) {
    (void)state;
    story_begin(2);
    story.conflict_of = 2;
    story.conflict_with = 1;
    join_all(2);
    expect("run 1 t.1");
    assert_int_equal(state_of(2), TRAIN_FAILING);
    fails(1);
    expect("fail 1 check-failed, run 2 t.2");
    passes(2);
    expect("land 2");
    story_end();
}

static void a_conflict_with_a_set_that_landed_is_final(void **state) {
    (void)state;
    story_begin(2);
    story.conflict_of = 2;
    story.conflict_with = 1;
    join_all(2);
    passes((expect("run 1 t.1"), 1));
    expect("land 1");
    lands();
    expect("fail 2 conflict");
    story_end();
}

static void a_bug_fix_joins_behind_what_is_checked(void **state) {
    (void)state;
    story_begin(2);
    join_all(4);
    expect("run 1 t.1, run 2 t.1.2");
    joins(5, CLASS_BF);
    assert_int_equal(position_of(5), 3);
    expect("");
    passes(1);
    expect("land 1, run 5 t.1.2.5");
    story_end();
}

static void a_higher_rank_moves_a_set_that_has_no_run(void **state) {
    (void)state;
    story_begin(1);
    join_all(4);
    expect("run 1 t.1");
    assert_true(train_rank(story.train, 4, CLASS_BF));
    assert_int_equal(position_of(4), 2);
    /* A set that runs keeps its place ... */
    assert_true(train_rank(story.train, 1, CLASS_BF));
    assert_int_equal(position_of(1), 1);
    /* ... and a lower rank moves nothing. */
    assert_true(train_rank(story.train, 4, CLASS_DC));
    assert_int_equal(position_of(4), 2);
    assert_false(train_rank(story.train, 9, CLASS_BF));
    story_end();
}

static void what_a_set_waits_for_moves_with_it(void **state) {
    (void)state;
    story_begin(1);
    join_all(3);
    assert_true(joins_behind(4, CLASS_DC, 3, false));
    expect("run 1 t.1");
    assert_true(train_rank(story.train, 4, CLASS_EM));
    assert_int_equal(position_of(3), 1);
    assert_int_equal(position_of(4), 2);
    expect("stop 1, run 3 t.3");
    story_end();
}

static void a_held_set_leaves_and_may_come_back(void **state) {
    (void)state;
    story_begin(3);
    join_all(3);
    expect("run 1 t.1, run 2 t.1.2, run 3 t.1.2.3");
    assert_true(train_leave(story.train, 2, TRAIN_LEFT_ALIVE));
    expect("stop 2, stop 3, run 3 t.1.3");
    joins(2, CLASS_DC);
    expect("run 2 t.1.3.2");
    story_end();
}

static void a_set_cancelled_during_its_landing_waits_for_its_end(void **state) {
    (void)state;
    story_begin(2);
    join_all(2);
    expect("run 1 t.1, run 2 t.1.2");
    passes(1);
    expect("land 1");
    assert_true(train_leave(story.train, 1, TRAIN_LEFT_ENDED));
    expect("stop landing");
    landing_ends(TRAIN_LANDING_STOPPED);
    assert_false(train_has(story.train, 1));
    expect("stop 2, run 2 t.2");
    story_end();
}

static void a_cancellation_that_comes_too_late_changes_nothing(void **state) {
    (void)state;
    story_begin(2);
    join_all(2);
    expect("run 1 t.1, run 2 t.1.2");
    passes(1);
    expect("land 1");
    train_leave(story.train, 1, TRAIN_LEFT_ENDED);
    lands();
    expect("");
    assert_int_equal(position_of(2), 1);
    story_end();
}

static void a_group_is_landed_and_fails_as_one(void **state) {
    (void)state;
    struct train_set sets[] = {{2, SPAN("C2")}, {3, SPAN("C3")}};
    struct train_entry entry = {
        .num = 3, .job_class = CLASS_DC, .sets = sets, .set_count = 2};
    story_begin(3);
    joins(1, CLASS_DC);
    assert_true(train_join(story.train, &entry));
    assert_false(train_join(story.train, &entry));
    assert_true(train_has(story.train, 2));
    joins(4, CLASS_DC);
    expect("run 1 t.1, run 3 t.1.3, run 4 t.1.3.4");
    fails(3);
    expect("stop 4, run 4 t.1.4");
    passes(1);
    expect("land 1");
    lands();
    expect("fail 3 check-failed");
    story_end();
}

static void land_max_bounds_one_move(void **state) {
    (void)state;
    story_begin(4);
    story.config.land_max = 1;
    story_config();
    join_all(2);
    expect("run 1 t.1, run 2 t.1.2");
    passes(2);
    passes(1);
    expect("land 1");
    lands();
    expect("land 2");
    story_end();
}

static void a_move_is_bounded_by_the_length_of_its_answer(void **state) {
    (void)state;
    char id[JOB_ID_BYTES + 1] = {0};
    struct arena arena = ARENA_INIT;
    struct train_effect *effects;
    story_begin(1200);
    story.config.checks = false;
    story.config.land_max = 1200;
    story_config();
    memset(id, 'C', JOB_ID_BYTES);
    for (unsigned num = 1; num <= 1200; num++) {
        struct train_set set = {num, span_of(id)};
        struct train_entry entry = {
            .num = num, .job_class = CLASS_DC, .sets = &set, .set_count = 1};
        assert_true(train_join(story.train, &entry));
    }
    assert_int_equal(train_scan(story.train, story.now, &arena, &effects), 1);
    assert_int_equal(effects[0].kind, TRAIN_LAND);
    /* "COMMIT ID:COMMIT ID:COMMIT..." and NUL */
    size_t each = JOB_ID_BYTES + 2 + LAND_COMMIT_BYTES;
    size_t room = LAND_STATUS_BYTES - LAND_COMMIT_BYTES - 1;
    assert_int_equal(effects[0].unit_count, room / each);
    arena_clear(&arena);
    story_end();
}

/* What waits behind the window is found, moved and left out like the rest. */
static void a_train_may_be_long(void **state) {
    (void)state;
    enum { UNITS = 3000 };
    story_begin(UNITS);
    story.config.lanes = 1;
    story_config();
    for (unsigned num = 1; num <= UNITS; num++)
        joins(num, CLASS_DC);
    for (unsigned num = 1; num <= UNITS; num++)
        assert_int_equal(position_of(num), num);
    assert_true(train_rank(story.train, UNITS, CLASS_EM));
    assert_int_equal(position_of(UNITS), 1);
    assert_int_equal(position_of(UNITS - 1), UNITS);
    assert_true(train_leave(story.train, 10, TRAIN_LEFT_ALIVE));
    assert_false(train_has(story.train, 10));
    assert_int_equal(position_of(9), 10);
    assert_int_equal(position_of(11), 11);
    assert_true(train_leave(story.train, UNITS, TRAIN_LEFT_ALIVE));
    assert_int_equal(position_of(1), 1);
    assert_int_equal(position_of(UNITS - 1), UNITS - 2);
    story_end();
}

static void without_checks_many_sets_land_in_one_move(void **state) {
    (void)state;
    story_begin(50);
    story.config.checks = false;
    story.config.land_max = 200;
    story_config();
    for (unsigned num = 1; num <= 15; num++)
        joins(num, CLASS_DC);
    expect("land 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15");
    lands();
    expect("");
    story_end();
}

static void without_checks_nothing_is_merged_ahead(void **state) {
    (void)state;
    story_begin(1);
    story.config.checks = false;
    story_config();
    joins(1, CLASS_DC);
    joins(2, CLASS_BF);
    expect("land 2 1");
    assert_int_equal(story.merges, 0);
    story_end();
}

static void a_set_that_does_not_land_is_found_by_halves(void **state) {
    (void)state;
    story_begin(1);
    story.config.checks = false;
    story_config();
    for (unsigned num = 1; num <= 5; num++)
        joins(num, CLASS_DC);
    expect("land 1 2 3 4 5");
    landing_ends(TRAIN_LANDING_TEMPORARY); /* for the second */
    expect("land 1 2");
    landing_ends(TRAIN_LANDING_TEMPORARY);
    expect("land 1");
    lands();
    expect("land 2 3");
    landing_ends(TRAIN_LANDING_TEMPORARY);
    expect("land 2");
    landing_ends(TRAIN_LANDING_STOPPED);
    train_leave(story.train, 2, TRAIN_LEFT_ENDED); /* alone, it is to blame */
    expect("land 3");
    lands();
    expect("land 4 5");
    lands();
    expect("");
    story_end();
}

static void a_set_that_is_on_the_branch_lands_without_a_check(void **state) {
    (void)state;
    struct train_effect *effects;
    story_begin(2);
    join_all(2);
    story_answer();
    train_scan(story.train, story.now, &story.arena, &effects);
    train_merged(story.train, 1, TRAIN_MERGED_LANDED, (struct span){0});
    train_merged(story.train, 2, TRAIN_MERGED_TREE, SPAN("t.2"));
    train_merge_ended(story.train, TRAIN_MERGE_DONE);
    expect("land 1, run 2 t.2");
    story_end();
}

static void what_the_configuration_refuses_fails_as_policy(void **state) {
    (void)state;
    struct train_effect *effects;
    story_begin(2);
    story.refuse = true;
    join_all(1);
    story_answer();
    train_scan(story.train, story.now, &story.arena, &effects);
    train_merged(story.train, 1, TRAIN_MERGED_REFUSED, SPAN("blind = deny"));
    train_merge_ended(story.train, TRAIN_MERGE_DONE);
    expect("fail 1 policy");
    story_end();
}

static void checks_that_are_new_need_the_tree_of_the_tip(void **state) {
    (void)state;
    story_begin(1);
    story.config.checks = false;
    story_config();
    joins(1, CLASS_DC);
    expect("land 1");
    story.config.checks = true;
    story_config();
    train_checks_changed(story.train);
    joins(2, CLASS_DC);
    train_landing_ended(story.train, TRAIN_LANDED, SPAN("c9"));
    expect("");
    train_tip(story.train, SPAN("c9"), SPAN("u"));
    expect("run 2 u.2");
    story_end();
}

static void a_follower_lands_in_the_same_move(void **state) {
    (void)state;
    struct train_follow follow = {1, true};
    story_begin(2);
    assert_false(train_can_follow(story.train, &follow, 1));
    joins(1, CLASS_DC);
    assert_true(train_can_follow(story.train, &follow, 1));
    assert_true(joins_behind(2, CLASS_EM, 1, true));
    assert_int_equal(position_of(2), 2);
    expect("run 1 t.1, run 2 t.1.2");
    passes(2);
    passes(1);
    expect("land 1 2");
    story_end();
}

static void a_dependency_that_fails_takes_its_follower_along(void **state) {
    (void)state;
    story_begin(2);
    joins(1, CLASS_DC);
    assert_true(joins_behind(2, CLASS_DC, 1, true));
    expect("run 1 t.1, run 2 t.1.2");
    passes(2);
    expect("");
    fails(1);
    expect("fail 1 check-failed, fail 2 dep-failed");
    story_end();
}

static void a_follower_that_only_shares_a_file_stays(void **state) {
    (void)state;
    story_begin(2);
    joins(1, CLASS_DC);
    assert_true(joins_behind(2, CLASS_DC, 1, false));
    expect("run 1 t.1, run 2 t.1.2");
    fails(1);
    expect("fail 1 check-failed, stop 2, run 2 t.2");
    story_end();
}

static void a_follower_leaves_with_a_held_set(void **state) {
    (void)state;
    story_begin(3);
    joins(1, CLASS_DC);
    assert_true(joins_behind(2, CLASS_DC, 1, false));
    assert_true(joins_behind(3, CLASS_DC, 2, true));
    expect("run 1 t.1, run 2 t.1.2, run 3 t.1.2.3");
    train_leave(story.train, 1, TRAIN_LEFT_ALIVE);
    expect("leave 2 left, stop 1, leave 3 left, stop 2, stop 3");
    story_end();
}

static void
a_follower_of_a_set_that_ended_stays_behind_what_that_followed(void **state) {
    (void)state;
    story_begin(3);
    joins(1, CLASS_DC);
    assert_true(joins_behind(2, CLASS_DC, 1, false));
    assert_true(joins_behind(3, CLASS_DC, 2, false));
    expect("run 1 t.1, run 2 t.1.2, run 3 t.1.2.3");
    train_leave(story.train, 2, TRAIN_LEFT_ENDED);
    expect("stop 2, stop 3, run 3 t.1.3");
    train_leave(story.train, 1, TRAIN_LEFT_ALIVE);
    expect("leave 3 left, stop 1, stop 3");
    story_end();
}

static void a_rollback_takes_a_set_and_its_follower(void **state) {
    (void)state;
    story_begin(2);
    joins(1, CLASS_DC);
    assert_true(joins_behind(2, CLASS_DC, 1, true));
    expect("run 1 t.1, run 2 t.1.2");
    train_leave(story.train, 1, TRAIN_LEFT_ROLLED_BACK);
    train_leave(story.train, 2, TRAIN_LEFT_ROLLED_BACK);
    expect("stop 1, stop 2");
    story_end();
}

static void a_temporary_end_lets_the_others_land(void **state) {
    (void)state;
    story_begin(2);
    join_all(2);
    expect("run 1 t.1, run 2 t.1.2");
    ends(1, TRAIN_RUN_TEMPORARY);
    expect("leave 1 temp, stop 2, run 2 t.2");
    passes(2);
    expect("land 2");
    story_end();
}

static void a_follower_does_not_overtake_a_set_that_has_to_leave(void **state) {
    (void)state;
    story_begin(2);
    story.refuse = true;
    joins(1, CLASS_DC);
    assert_true(joins_behind(2, CLASS_DC, 1, false));
    expect("run 1 t.1, run 2 t.1.2");
    ends(1, TRAIN_RUN_TEMPORARY);
    expect("leave 1 temp");
    assert_int_equal(state_of(2), TRAIN_BLOCKED);
    story_end();
}

static void a_landing_that_ends_temporarily_sends_its_sets_back(void **state) {
    (void)state;
    story_begin(2);
    join_all(1);
    expect("run 1 t.1");
    passes(1);
    expect("land 1");
    landing_ends(TRAIN_LANDING_TEMPORARY);
    expect("leave 1 temp");
    story_end();
}

static void a_proposal_that_was_not_committed_is_made_again(void **state) {
    (void)state;
    story_begin(1);
    story.refuse = true;
    join_all(1);
    expect("run 1 t.1");
    fails(1);
    expect("fail 1 check-failed");
    expect("");
    assert_true(train_again(story.train, 1));
    expect("fail 1 check-failed");
    assert_false(train_again(story.train, 9));
    story_end();
}

static void a_refused_landing_waits_for_the_next_report(void **state) {
    (void)state;
    story_begin(1);
    join_all(1);
    expect("run 1 t.1");
    passes(1);
    expect("land 1");
    landing_ends(TRAIN_LANDING_REFUSED);
    expect("");
    train_leave(story.train, 1, TRAIN_LEFT_ALIVE); /* it had been held */
    joins(1, CLASS_DC);
    expect("run 1 t.1");
    story_end();
}

static void a_merge_that_crashes_blames_the_set_it_was_at(void **state) {
    (void)state;
    struct train_effect *effects;
    story_begin(2);
    join_all(2);
    story_answer();
    assert_int_equal(train_scan(story.train, story.now, &story.arena, &effects),
                     1);
    assert_int_equal(effects[0].step_count, 2);
    train_merged(story.train, 1, TRAIN_MERGED_TREE, SPAN("t.1"));
    train_merge_ended(story.train, TRAIN_MERGE_TEMPORARY);
    expect("leave 2 temp, run 1 t.1");
    story_end();
}

static void a_closed_target_starts_and_lands_nothing(void **state) {
    (void)state;
    story_begin(2);
    join_all(2);
    expect("run 1 t.1, run 2 t.1.2");
    passes(1);
    train_close(story.train, TRAIN_CLOSED_ROLLBACK);
    joins(3, CLASS_DC);
    fails(2);
    expect("");
    train_close(story.train, 0);
    expect("land 1, run 3 t.1.3");
    story_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_disjoint_sets_need_eight_runs),
        cmocka_unit_test(five_hundred_sets_need_as_many_runs),
        cmocka_unit_test(one_lane_checks_one_set_at_a_time),
        cmocka_unit_test(a_set_in_the_middle_fails_and_the_rest_is_rebuilt),
        cmocka_unit_test(
            a_bad_first_set_makes_the_second_fail_only_for_a_while),
        cmocka_unit_test(a_failure_is_void_if_a_set_ahead_is_cancelled),
        cmocka_unit_test(sets_behind_a_slow_one_land_in_one_move),
        cmocka_unit_test(a_conflict_with_a_set_that_fails_is_void),
        cmocka_unit_test(a_conflict_with_a_set_that_landed_is_final),
        cmocka_unit_test(a_bug_fix_joins_behind_what_is_checked),
        cmocka_unit_test(a_higher_rank_moves_a_set_that_has_no_run),
        cmocka_unit_test(what_a_set_waits_for_moves_with_it),
        cmocka_unit_test(a_held_set_leaves_and_may_come_back),
        cmocka_unit_test(a_set_cancelled_during_its_landing_waits_for_its_end),
        cmocka_unit_test(a_cancellation_that_comes_too_late_changes_nothing),
        cmocka_unit_test(a_group_is_landed_and_fails_as_one),
        cmocka_unit_test(land_max_bounds_one_move),
        cmocka_unit_test(a_move_is_bounded_by_the_length_of_its_answer),
        cmocka_unit_test(a_train_may_be_long),
        cmocka_unit_test(without_checks_many_sets_land_in_one_move),
        cmocka_unit_test(without_checks_nothing_is_merged_ahead),
        cmocka_unit_test(a_set_that_does_not_land_is_found_by_halves),
        cmocka_unit_test(a_set_that_is_on_the_branch_lands_without_a_check),
        cmocka_unit_test(what_the_configuration_refuses_fails_as_policy),
        cmocka_unit_test(checks_that_are_new_need_the_tree_of_the_tip),
        cmocka_unit_test(a_follower_lands_in_the_same_move),
        cmocka_unit_test(a_dependency_that_fails_takes_its_follower_along),
        cmocka_unit_test(a_follower_that_only_shares_a_file_stays),
        cmocka_unit_test(a_follower_leaves_with_a_held_set),
        cmocka_unit_test(
            a_follower_of_a_set_that_ended_stays_behind_what_that_followed),
        cmocka_unit_test(a_rollback_takes_a_set_and_its_follower),
        cmocka_unit_test(a_temporary_end_lets_the_others_land),
        cmocka_unit_test(a_follower_does_not_overtake_a_set_that_has_to_leave),
        cmocka_unit_test(a_landing_that_ends_temporarily_sends_its_sets_back),
        cmocka_unit_test(a_proposal_that_was_not_committed_is_made_again),
        cmocka_unit_test(a_refused_landing_waits_for_the_next_report),
        cmocka_unit_test(a_merge_that_crashes_blames_the_set_it_was_at),
        cmocka_unit_test(a_closed_target_starts_and_lands_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
