/* What people are shown of a merge train. */
#include "support/train_story.h"

static void why_is(uint64_t num, unsigned slots, unsigned busy,
                   const char *what) {
    struct text text = TEXT_INIT;

    go_on();
    assert_true(train_why(story.train, num, slots, busy, story.now, &text));
    assert_string_equal(text_string(&text), what);
    text_clear(&text);
}

static void a_run_tells_its_time_and_what_is_usual(void **state) {
    (void)state;
    story_begin(3);
    join_all(3);
    expect("run 1 t.1, run 2 t.1.2, run 3 t.1.2.3");
    story.now = wall_add_ms(story.now, 41000);
    why_is(3, 8, 3,
           "position 3 of 3 on the train of main, on top of C1 and C2; run 1 "
           "for 0:41");
    story.now = wall_add_ms(story.now, 29000);
    passes(1);
    expect("land 1");
    lands();
    why_is(3, 8, 3,
           "position 2 of 2 on the train of main, on top of C2; run 1 for "
           "1:10 of about 1:10");
    story_end();
}

static void a_passed_set_names_those_it_waits_for(void **state) {
    (void)state;
    story_begin(2);
    join_all(2);
    expect("run 1 t.1, run 2 t.1.2");
    passes(2);
    why_is(2, 8, 1,
           "position 2 of 2 on the train of main, on top of C1\n"
           "passed on top of C1; lands when C1 has landed");
    passes(1);
    why_is(1, 8, 0, "position 1 of 2 on the train of main\nit is landing");
    story_end();
}

static void a_failing_set_says_when_that_is_final(void **state) {
    (void)state;
    story_begin(2);
    join_all(2);
    expect("run 1 t.1, run 2 t.1.2");
    fails(2);
    why_is(2, 8, 1,
           "position 2 of 2 on the train of main, on top of C1\n"
           "failed: check 'unit' failed on top of C1; final if C1 lands, else "
           "checked again");
    story_end();
}

static void a_conflict_is_explained_like_a_failure(void **state) {
    (void)state;
    story_begin(2);
    story.conflict_of = 2;
    story.conflict_with = 1;
    join_all(2);
    why_is(2, 8, 1,
           "position 2 of 2 on the train of main, on top of C1\n"
           "conflict: a.c (C1) on top of C1; final if C1 lands, else checked "
           "again");
    story_end();
}

static void a_waiting_set_names_what_it_lacks(void **state) {
    (void)state;
    story_begin(2);
    join_all(3);
    why_is(3, 8, 2,
           "position 3 of 3 on the train of main, on top of C1 and C2\n"
           "no lane: main uses 2 of 2 (C1 C2)");
    passes(1);
    story.slots = 1;
    why_is(3, 4, 4,
           "position 3 of 3 on the train of main, on top of C1 and C2\n"
           "no slot: 4 of 4 are busy");
    story_end();
}

static void a_set_far_behind_says_so(void **state) {
    (void)state;
    story_begin(2);
    join_all(9);
    why_is(9, 8, 2,
           "position 9 of 9 on the train of main, on top of C1, C2, C3, C4, C5 "
           "and 3 more\nonly the first 8 are merged and checked");
    story_end();
}

static void a_follower_of_a_failing_set_names_it(void **state) {
    (void)state;
    story_begin(3);
    join_all(2);
    assert_true(joins_behind(3, CLASS_DC, 2, true));
    expect("run 1 t.1, run 2 t.1.2, run 3 t.1.2.3");
    fails(2);
    why_is(3, 8, 2,
           "position 3 of 3 on the train of main, on top of C1\nfollows C2");
    story_end();
}

static void a_broken_branch_is_named_with_what_to_do(void **state) {
    (void)state;
    story_begin(1);
    story.records[0] = (struct train_record){0};
    pushed("u");
    join_all(1);
    expect("run 1 u.1");
    fails(1);
    why_is(1, 8, 1,
           "position 1 of 1 on the train of main\n"
           "failed: check 'unit' failed on top of the tip; final if the tip "
           "itself passes");
    fails(0);
    why_is(1, 8, 0,
           "position 1 of 1 on the train of main\n"
           "failed: check 'unit' failed on top of the tip\n"
           "main is broken: its tip c1 fails (check 'unit' failed); no set "
           "fails for it; push or submit a fix, or 'pointsman train recheck "
           "main'");
    story_end();
}

static void an_open_rollback_is_named(void **state) {
    (void)state;
    story_begin(1);
    join_all(1);
    train_close(story.train, TRAIN_CLOSED_ROLLBACK | TRAIN_CLOSED_UNAVAILABLE);
    why_is(1, 8, 0,
           "position 1 of 1 on the train of main\na rollback of main is "
           "open\nmain cannot be used now");
    story_end();
}

static void an_unknown_set_has_no_place(void **state) {
    (void)state;
    struct text text = TEXT_INIT;
    struct train_place place;
    story_begin(1);
    assert_false(train_why(story.train, 7, 1, 0, story.now, &text));
    assert_false(train_place(story.train, 1, &story.arena, &place));
    assert_false(train_place(story.train, 0, &story.arena, &place));
    story_end();
}

static void the_overview_counts_lanes_and_names_the_tip(void **state) {
    (void)state;
    struct train_overview overview;
    struct train_place place;
    story_begin(3);
    story.records[2].passed = wall_from_s(900);
    join_all(2);
    expect("run 1 t.1");
    train_overview(story.train, &overview);
    assert_true(span_is(overview.commit, "c0"));
    assert_int_equal(overview.proof, TRAIN_TIP_PROVEN);
    assert_int_equal(overview.units, 2);
    assert_int_equal(overview.lanes, 3);
    assert_int_equal(overview.busy, 1);
    assert_int_equal(overview.q_ppm, 950000);
    assert_true(train_place(story.train, 2, &story.arena, &place));
    assert_true(place.reused);
    assert_int_equal(place.on_top_count, 1);
    assert_int_equal(place.on_top_of[0], 1);
    assert_true(span_is(place.tree, "t.1.2"));
    assert_string_equal(train_state_word(place.state), "passed");
    passes(1);
    expect("land 1 2");
    lands();
    train_overview(story.train, &overview);
    assert_in_range(overview.q_ppm, 961000, 962000);
    story_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_tells_its_time_and_what_is_usual),
        cmocka_unit_test(a_passed_set_names_those_it_waits_for),
        cmocka_unit_test(a_failing_set_says_when_that_is_final),
        cmocka_unit_test(a_conflict_is_explained_like_a_failure),
        cmocka_unit_test(a_waiting_set_names_what_it_lacks),
        cmocka_unit_test(a_set_far_behind_says_so),
        cmocka_unit_test(a_follower_of_a_failing_set_names_it),
        cmocka_unit_test(a_broken_branch_is_named_with_what_to_do),
        cmocka_unit_test(an_open_rollback_is_named),
        cmocka_unit_test(an_unknown_set_has_no_place),
        cmocka_unit_test(the_overview_counts_lanes_and_names_the_tip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
