/* The tip below the merge train: proven, broken, moved by others;
 * doc/design/train.md. */
#include "support/train_story.h"

static enum train_proof proof(void) {
    struct train_overview overview;

    train_overview(story.train, &overview);
    return overview.proof;
}

static void later_s(int64_t s) {
    story.now = wall_add_ms(story.now, 1000 * s);
}

/* A train whose tip "u" was pushed by somebody and is not known to pass. */
static void unproven(unsigned lanes) {
    story_begin(lanes);
    story.records[0] = (struct train_record){0};
    pushed("u");
}

static void no_set_fails_before_the_tip_has_passed(void **state) {
    (void)state;
    unproven(2);
    join_all(2);
    expect("run 1 u.1, run 2 u.1.2");
    fails(1);
    expect("stop 2, run 0 u, run 2 u.2");
    passes(0);
    expect("fail 1 check-failed");
    assert_int_equal(proof(), TRAIN_TIP_PROVEN);
    story_end();
}

static void a_set_that_passes_needs_no_proof(void **state) {
    (void)state;
    unproven(2);
    join_all(1);
    expect("run 1 u.1");
    passes(1);
    expect("land 1");
    lands();
    expect("");
    assert_int_equal(proof(), TRAIN_TIP_PROVEN);
    story_end();
}

static void
on_a_broken_branch_each_set_is_tried_alone_and_a_fix_lands(void **state) {
    (void)state;
    unproven(3);
    join_all(3);
    expect("run 1 u.1, run 2 u.1.2, run 3 u.1.2.3");
    fails(1);
    expect("stop 2, stop 3, run 0 u, run 2 u.2, run 3 u.2.3");
    fails(0);
    /* Set 2 is alone already. */
    expect("stop 3, run 3 u.3");
    assert_int_equal(proof(), TRAIN_TIP_BROKEN);
    /* All at first, 2 and 3 without 1, and then those not alone at once. */
    assert_int_equal(story.merges, 3);
    fails(2);
    expect("");
    passes(3);
    expect("land 3");
    lands();
    /* All others count anew, behind the fix. */
    expect("run 1 u.3.1, run 2 u.3.1.2");
    assert_int_equal(proof(), TRAIN_TIP_PROVEN);
    story_end();
}

static void on_a_broken_branch_urgent_sets_are_tried_first(void **state) {
    (void)state;
    unproven(1);
    join_all(2);
    expect("run 1 u.1");
    joins(3, CLASS_BF);
    fails(1);
    expect("run 0 u");
    fails(0);
    expect("run 3 u.3");
    story_end();
}

static void a_broken_tip_is_run_again_after_a_while(void **state) {
    (void)state;
    unproven(1);
    join_all(1);
    expect("run 1 u.1");
    fails(1);
    expect("run 0 u");
    fails(0);
    expect("");
    assert_true(train_next_time(story.train).ns > story.now.ns);
    later_s(2);
    expect("run 0 u");
    fails(0);
    expect("");
    later_s(1);
    expect("");
    later_s(3);
    expect("run 0 u");
    passes(0);
    /* Its failure counts no more: the branch itself did not pass then. */
    expect("run 1 u.1");
    assert_true(train_next_time(story.train).ns == WALL_NEVER.ns);
    story_end();
}

static void the_wait_for_a_broken_tip_is_bounded(void **state) {
    (void)state;
    unproven(1);
    join_all(1);
    expect("run 1 u.1");
    fails(1);
    expect("run 0 u");
    fails(0);
    expect("");
    for (unsigned i = 0; i < 20; i++) {
        later_s(600);
        expect("run 0 u");
        fails(0);
        expect("");
    }
    story_end();
}

static void an_operator_can_have_the_tip_run_at_once(void **state) {
    (void)state;
    story_begin(2);
    expect("");
    train_recheck(story.train);
    expect("run 0 t");
    fails(0);
    expect("");
    assert_int_equal(proof(), TRAIN_TIP_BROKEN);
    train_recheck(story.train);
    expect("run 0 t");
    passes(0);
    assert_int_equal(proof(), TRAIN_TIP_PROVEN);
    story_end();
}

static void a_push_repairs_a_broken_branch(void **state) {
    (void)state;
    unproven(2);
    join_all(1);
    expect("run 1 u.1");
    fails(1);
    expect("run 0 u");
    fails(0);
    expect("");
    pushed("v");
    expect("run 1 v.1");
    assert_int_equal(proof(), TRAIN_TIP_UNPROVEN);
    story_end();
}

static void a_flaky_tip_is_repeated(void **state) {
    (void)state;
    unproven(2);
    story.config.check_retries = 1;
    story_config();
    join_all(1);
    expect("run 1 u.1");
    fails(1);
    expect("run 1 u.1");
    fails(1);
    expect("run 0 u");
    fails(0);
    expect("run 0 u");
    passes(0);
    expect("fail 1 check-failed");
    story_end();
}

static void the_recorded_pass_of_a_pushed_tip_is_used(void **state) {
    (void)state;
    story_begin(1);
    join_all(1);
    pushed("u");
    expect("run 1 u.1");
    fails(1);
    expect("fail 1 check-failed");
    story_end();
}

static void a_push_rebuilds_all_candidates(void **state) {
    (void)state;
    story_begin(2);
    join_all(2);
    expect("run 1 t.1, run 2 t.1.2");
    pushed("u");
    expect("stop 1, stop 2, run 1 u.1, run 2 u.1.2");
    story_end();
}

static void runs_whose_tree_stays_the_same_go_on(void **state) {
    (void)state;
    story_begin(2);
    join_all(2);
    expect("run 1 t.1, run 2 t.1.2");
    pushed("t"); /* another commit of the same tree */
    expect("");
    passes(1);
    expect("land 1");
    story_end();
}

static void a_lost_landing_is_made_again_on_the_new_tip(void **state) {
    (void)state;
    story_begin(2);
    join_all(1);
    expect("run 1 t.1");
    passes(1);
    expect("land 1");
    landing_ends(TRAIN_LANDING_LOST);
    pushed("u");
    expect("run 1 u.1");
    passes(1);
    expect("land 1");
    lands();
    expect("");
    story_end();
}

static void pushes_faster_than_checks_only_delay_a_set(void **state) {
    (void)state;
    story_begin(2);
    join_all(1);
    expect("run 1 t.1");
    for (unsigned i = 0; i < 20; i++) {
        const char *tree = arena_printf(&story.arena, "p%u", i);

        pushed(tree);
        expect(arena_printf(&story.arena, "stop 1, run 1 %s.1", tree));
        assert_int_equal(position_of(1), 1);
    }
    passes(1);
    expect("land 1");
    story_end();
}

static void five_lost_landings_are_a_temporary_end(void **state) {
    (void)state;
    char tree[8], expected[32];
    story_begin(2);
    join_all(1);
    expect("run 1 t.1");
    for (unsigned i = 0; i < 5; i++) {
        passes(1);
        expect("land 1");
        landing_ends(TRAIN_LANDING_LOST);
        snprintf(tree, sizeof(tree), "u%u", i);
        pushed(tree);
        snprintf(expected, sizeof(expected), "run 1 u%u.1", i);
        expect(i < 4 ? expected : "leave 1 temp");
    }
    story_end();
}

static void a_landing_with_another_tree_is_checked_again(void **state) {
    (void)state;
    story_begin(2);
    join_all(1);
    expect("run 1 t.1");
    passes(1);
    expect("land 1");
    landing_ends(TRAIN_LANDING_CHANGED);
    /* Merged again; here the tree is the one that passed. */
    expect("land 1");
    assert_int_equal(story.merges, 2);
    story_end();
}

static void a_rolled_back_set_makes_the_tip_unproven(void **state) {
    (void)state;
    story_begin(4);
    join_all(4);
    story.records[0] = (struct train_record){0};
    expect("run 1 t.1, run 2 t.1.2, run 3 t.1.2.3, run 4 t.1.2.3.4");
    passes(1);
    expect("land 1");
    lands();
    expect("");
    train_close(story.train, TRAIN_CLOSED_ROLLBACK);
    expect("");
    pushed("t-1");
    train_close(story.train, 0);
    expect("stop 2, stop 3, stop 4, run 2 t-1.2, run 3 t-1.2.3, "
           "run 4 t-1.2.3.4");
    assert_int_equal(proof(), TRAIN_TIP_UNPROVEN);
    story_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_set_fails_before_the_tip_has_passed),
        cmocka_unit_test(a_set_that_passes_needs_no_proof),
        cmocka_unit_test(
            on_a_broken_branch_each_set_is_tried_alone_and_a_fix_lands),
        cmocka_unit_test(on_a_broken_branch_urgent_sets_are_tried_first),
        cmocka_unit_test(a_broken_tip_is_run_again_after_a_while),
        cmocka_unit_test(the_wait_for_a_broken_tip_is_bounded),
        cmocka_unit_test(an_operator_can_have_the_tip_run_at_once),
        cmocka_unit_test(a_push_repairs_a_broken_branch),
        cmocka_unit_test(a_flaky_tip_is_repeated),
        cmocka_unit_test(the_recorded_pass_of_a_pushed_tip_is_used),
        cmocka_unit_test(a_push_rebuilds_all_candidates),
        cmocka_unit_test(runs_whose_tree_stays_the_same_go_on),
        cmocka_unit_test(a_lost_landing_is_made_again_on_the_new_tip),
        cmocka_unit_test(pushes_faster_than_checks_only_delay_a_set),
        cmocka_unit_test(five_lost_landings_are_a_temporary_end),
        cmocka_unit_test(a_landing_with_another_tree_is_checked_again),
        cmocka_unit_test(a_rolled_back_set_makes_the_tip_unproven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
