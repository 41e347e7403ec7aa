#include "support/order_story.h"

/* ---- precursors --------------------------------------------------------- */

static void a_single_set_becomes_pending(void **state) {
    (void)state;
    dc("a", "f");
    assert_int_equal(scan(), 1);
    is("a", STATE_STAGED);
    assert_string_equal(set_of("a")->record, "");
    scan();
    is("a", STATE_PENDING);
    run("a");
    assert_int_equal(order_check_count(order), 0);
}

static void sets_that_share_a_file_run_one_after_the_other(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    dc("c", "g");
    settle();
    is("a", STATE_PENDING);
    is("b", STATE_STAGED);
    is("c", STATE_PENDING);
    assert_string_equal(set_of("b")->record, "a");
    run("a");
    is("b", STATE_PENDING);
}

static void queued_sets_are_ordered_by_class(void **state) {
    (void)state;
    dc("late", "f");
    add(CLASS_EM, "urgent", "f");
    settle();
    is("urgent", STATE_PENDING);
    is("late", STATE_STAGED);
}

static void staged_sets_are_not_overtaken(void **state) {
    (void)state;
    dc("a", "f");
    settle();
    add(CLASS_EM, "urgent", "f");
    settle();
    is("a", STATE_PENDING);
    is("urgent", STATE_STAGED);
    assert_string_equal(set_of("urgent")->record, "a");
}

static void sets_of_different_targets_do_not_wait_for_each_other(void **state) {
    (void)state;
    dc("a", "f");
    add_as(CLASS_DC, "b", "f", STATE_QUEUED, "site");
    settle();
    is("a", STATE_PENDING);
    is("b", STATE_PENDING);
}

static void
keys_of_commands_clash_with_each_other_but_not_with_paths(void **state) {
    (void)state;
    dc("set", "f");
    add_as(CLASS_DC, "k1", "f", STATE_QUEUED, "");
    add_as(CLASS_DC, "k2", "f", STATE_QUEUED, "");
    add_as(CLASS_DC, "k3", "f/g", STATE_QUEUED, "");
    settle();
    is("set", STATE_PENDING);
    is("k1", STATE_PENDING);
    is("k2", STATE_STAGED);
    is("k3", STATE_PENDING); /* keys have no parent directories */
}

/* doc/design/ordering.md, O2 */
static void a_file_and_a_directory_of_the_same_name_clash(void **state) {
    (void)state;
    dc("a", "src/lib/x");
    dc("b", "src/lib"); /* turns the directory into a file */
    dc("c", "src/lib/y");
    dc("d", "src/libx");
    settle();
    is("a", STATE_PENDING);
    is("b", STATE_STAGED);
    is("c", STATE_STAGED);
    is("d", STATE_PENDING);
    assert_string_equal(set_of("b")->record, "a");
    assert_string_equal(set_of("c")->record, "b");
}

static void sets_that_share_only_directories_do_not_clash(void **state) {
    (void)state;
    dc("a", "src/x");
    dc("b", "src/y");
    settle();
    is("a", STATE_PENDING);
    is("b", STATE_PENDING);
}

static void
a_file_that_replaces_a_directory_waits_for_all_sets_in_it(void **state) {
    (void)state;
    dc("a", "src/x");
    dc("b", "src/y");
    dc("c", "src src/x"); /* the directory becomes a file */
    settle();
    assert_string_equal(set_of("c")->record, "a b");
    run("b");
    is("c", STATE_STAGED);
    run("a");
    is("c", STATE_PENDING);
}

static void a_set_may_use_a_path_as_a_file_and_a_directory(void **state) {
    (void)state;
    dc("a", "src/x src"); /* in any order */
    dc("b", "src/y");
    settle();
    assert_string_equal(set_of("b")->record, "a");
    is("b", STATE_STAGED);
}

/* O6 */
static void
a_successor_inherits_the_precursors_of_a_job_that_leaves(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    dc("c", "f");
    settle();
    assert_string_equal(set_of("c")->record, "b");
    move("a", STATE_EXECUTING);
    move("b", STATE_TERMINATED);
    settle();
    is("c", STATE_STAGED); /* b is gone, but a is still running */
    assert_string_equal(set_of("c")->record, "a");
    move("a", STATE_FAILED);
    settle();
    is("c", STATE_PENDING);
}

static void
users_of_a_directory_do_not_wait_once_the_file_between_is_gone(void **state) {
    (void)state;
    dc("a", "d/x");
    dc("b", "d");
    dc("c", "d/y");
    dc("e", "d");
    settle();
    is("c", STATE_STAGED);
    move("b", STATE_TERMINATED);
    settle();
    is("c", STATE_PENDING); /* two uses of a directory do not clash */
    is("e", STATE_STAGED);
    run("a");
    is("e", STATE_STAGED);
    run("c");
    is("e", STATE_PENDING);
}

static void a_failed_precursor_no_longer_blocks(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    settle();
    move("a", STATE_EXECUTING);
    move("a", STATE_FAILED);
    settle();
    is("b", STATE_PENDING);
}

static void a_set_keeps_its_place_after_a_temporary_error(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    settle();
    move("a", STATE_EXECUTING);
    move("a", STATE_PENDING);
    settle();
    is("b", STATE_STAGED);
    run("a");
    is("b", STATE_PENDING);
}

/* O7 */
static void a_hint_counts_while_its_set_is_live_and_in_front(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "g ~a ~nobody");
    settle();
    assert_string_equal(set_of("b")->record, "a");
    is("b", STATE_STAGED);
    run("a");
    is("b", STATE_PENDING);
}

static void a_hinted_set_goes_first_even_with_a_later_key(void **state) {
    (void)state;
    add(CLASS_EM, "b", "g ~a");
    dc("a", "f");
    settle();
    is("a", STATE_PENDING);
    is("b", STATE_STAGED);
}

static void cyclic_hints_do_not_deadlock(void **state) {
    (void)state;
    dc("a", "f ~b");
    dc("b", "g ~a");
    settle();
    is("a", STATE_PENDING);
    is("b", STATE_STAGED);
    run("a");
    is("b", STATE_PENDING);
}

/* ---- holds, rollbacks --------------------------------------------------- */

static void a_held_set_keeps_its_place(void **state) {
    (void)state;
    dc("a", "f");
    order_hold(order, 1, HOLD_APPROVAL);
    dc("b", "f");
    settle();
    is("a", STATE_QUEUED);
    is("b", STATE_STAGED);
    assert_string_equal(set_of("b")->record, "a");
    order_hold(order, 1, 0);
    settle();
    is("a", STATE_PENDING);
    is("b", STATE_STAGED);
}

static void a_held_staged_set_is_skipped_until_released(void **state) {
    (void)state;
    dc("x", "f");
    dc("a", "f <dep");
    settle();
    order_hold(order, num_of("a"), HOLD_OPERATOR);
    outside("dep", STATE_FAILED);
    settle();
    is("a", STATE_STAGED);
    order_hold(order, num_of("a"), 0);
    settle();
    is("a", STATE_FAILED);
}

static void a_rollback_becomes_pending_at_once(void **state) {
    (void)state;
    dc("a", "f");
    add(CLASS_RB, "rb", "f <a");
    scan();
    is("rb", STATE_PENDING);
    assert_string_equal(set_of("rb")->reason, "rb");
}

static void
a_set_abandoned_by_an_open_rollback_still_blocks_others(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    dc("c", "g <a");
    settle();
    set_of("a")->state = STATE_ABANDONED;
    order_move(order, 1, STATE_ABANDONED, now, true);
    settle();
    is("b", STATE_STAGED);
    is("c", STATE_STAGED);
    /* The rollback was undone: a is where it was. */
    move("a", STATE_PENDING);
    settle();
    is("b", STATE_STAGED);
    /* The rollback is repeated and becomes final. */
    order_move(order, 1, STATE_ABANDONED, now, true);
    order_move(order, 1, STATE_ABANDONED, now, false);
    settle();
    is("b", STATE_PENDING);
    failed("c", "dep-failed", "dependency a was abandoned");
}

static void dependencies_that_arrive_later_are_placed_before_it(void **state) {
    (void)state;
    dc("a", "f <b");
    settle();
    is("a", STATE_STAGED);
    set_of("a")->state = STATE_ABANDONED;
    order_move(order, num_of("a"), STATE_ABANDONED, now, true);
    settle();
    /* It touches a path of the undecided set; placing it behind that set would
     * create a cycle. */
    dc("b", "f");
    settle();
    move("a", STATE_STAGED);
    settle();
    is("b", STATE_PENDING);
    is("a", STATE_STAGED);
    move("b", STATE_DONE);
    settle();
    is("a", STATE_PENDING);
}

static void after_a_restart_an_undecided_job_keeps_its_place(void **state) {
    (void)state;
    /* It has the first key, but it waits for a set that was ready. */
    add_as(CLASS_EM, "a", "f =b", STATE_ABANDONED, "main");
    add_as(CLASS_DC, "b", "f", STATE_PENDING, "main");
    settle();
    move("a", STATE_STAGED);
    settle();
    is("a", STATE_STAGED);
    move("b", STATE_DONE);
    settle();
    is("a", STATE_PENDING);
}

/* ---- restarts and other processes ---------------------------------------- */

static void after_a_restart_the_records_restore_the_order(void **state) {
    (void)state;
    /* b was staged before a, whatever their keys are. */
    add_as(CLASS_EM, "a", "f =b", STATE_STAGED, "main");
    add_as(CLASS_DC, "b", "f", STATE_STAGED, "main");
    add_as(CLASS_EM, "c", "f", STATE_QUEUED, "main");
    settle();
    is("b", STATE_PENDING);
    is("a", STATE_STAGED);
    is("c", STATE_STAGED);
    assert_string_equal(set_of("c")->record, "a");
}

static void running_sets_come_first_after_a_restart(void **state) {
    (void)state;
    add_as(CLASS_EM, "a", "f", STATE_QUEUED, "main");
    add_as(CLASS_BF, "b", "f =c", STATE_STAGED, "main");
    add_as(CLASS_DC, "c", "f", STATE_EXECUTING, "main");
    settle();
    is("b", STATE_STAGED);
    is("a", STATE_STAGED);
    assert_string_equal(set_of("a")->record, "b");
    move("c", STATE_DONE);
    settle();
    is("b", STATE_PENDING);
}

static void a_record_update_lost_in_a_crash_is_repeated(void **state) {
    (void)state;
    /* c waited for b, which was cancelled; the process died before it updated
     * the record of c. */
    add_as(CLASS_DC, "a", "f", STATE_EXECUTING, "main");
    add_as(CLASS_DC, "c", "f =b", STATE_STAGED, "main");
    snprintf(set_of("c")->record, 8, "b");
    settle();
    is("c", STATE_STAGED);
    assert_string_equal(set_of("c")->record, "a");
}

static void cycles_in_damaged_records_do_not_deadlock(void **state) {
    (void)state;
    add_as(CLASS_DC, "a", "f =b", STATE_STAGED, "main");
    add_as(CLASS_DC, "b", "f =a", STATE_STAGED, "main");
    settle();
    is("a", STATE_PENDING);
    is("b", STATE_STAGED);
}

static void staged_sets_with_cyclic_dependencies_fail(void **state) {
    (void)state;
    add_as(CLASS_DC, "a", "f <b", STATE_STAGED, "main");
    add_as(CLASS_DC, "b", "g <a", STATE_STAGED, "main");
    settle();
    is("a", STATE_FAILED);
    is("b", STATE_FAILED);
}

static void a_lost_proposal_is_repeated(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f <x");
    struct order_effect *effects;
    assert_int_equal(order_scan(order, now, &arena, &effects), 2);
    order_hold(order, 1, 0); /* an event about it arrives meanwhile */
    assert_int_equal(order_scan(order, now, &arena, &effects), 0);
    order_again(order, 1);
    assert_int_equal(order_scan(order, now, &arena, &effects), 1);
    assert_int_equal(effects[0].kind, ORDER_STAGE);
    assert_int_equal(effects[0].num, 1);
    commit(&effects[0]);
    /* Another process cancels b before it is staged. */
    move("b", STATE_TERMINATED);
    settle();
    is("a", STATE_PENDING);
}

static void
a_record_that_became_outdated_before_its_commit_is_updated(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    settle();
    dc("c", "f");
    struct order_effect *effects;
    assert_int_equal(order_scan(order, now, &arena, &effects), 1);
    move("b", STATE_TERMINATED); /* between the proposal and its commit */
    commit(&effects[0]);
    assert_string_equal(set_of("c")->record, "b");
    settle();
    assert_string_equal(set_of("c")->record, "a");
}

static void a_job_admitted_twice_is_known_once(void **state) {
    (void)state;
    dc("a", "f");
    struct order_entry again = {.num = 1, .id = SPAN("a")};
    order_admit(order, &again);
    again.num = 99;
    order_admit(order, &again);
    assert_int_equal(order_check_count(order), 1);
    assert_false(order_move(order, 99, STATE_DONE, now, false));
    assert_false(order_hold(order, 99, 0));
    assert_false(order_again(order, 99));
}

static void a_retried_command_goes_to_the_end(void **state) {
    (void)state;
    add_as(CLASS_DC, "k1", "key", STATE_QUEUED, "");
    add_as(CLASS_DC, "k2", "key", STATE_QUEUED, "");
    settle();
    move("k1", STATE_FAILED);
    settle();
    is("k2", STATE_PENDING);
    add_as(CLASS_DC, "k1", "key", STATE_QUEUED, "");
    settle();
    is("k1", STATE_STAGED);
    run("k2");
    is("k1", STATE_PENDING);
}

static void equal_input_gives_equal_proposals(void **state) {
    (void)state;
    char first[4096] = "", second[4096] = "";
    for (int round = 0; round < 2; round++) {
        char *proposals = round == 0 ? first : second;
        if (round > 0) {
            teardown(NULL);
            setup(NULL);
        }
        dc("a", "d/f d/g");
        add(CLASS_EM, "b", "d <c");
        dc("c", "d/g ~a");
        dc("e", "d/f <b");
        struct order_effect *effects;
        size_t count;
        while ((count = order_scan(order, now, &arena, &effects)) > 0)
            for (size_t i = 0; i < count; i++) {
                snprintf(proposals + strlen(proposals),
                         4096 - strlen(proposals), "%d:%u ",
                         (int)effects[i].kind, (unsigned)effects[i].num);
                commit(&effects[i]);
            }
    }
    assert_true(strlen(first) > 0);
    assert_string_equal(first, second);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STORY(a_single_set_becomes_pending),
        STORY(sets_that_share_a_file_run_one_after_the_other),
        STORY(queued_sets_are_ordered_by_class),
        STORY(staged_sets_are_not_overtaken),
        STORY(sets_of_different_targets_do_not_wait_for_each_other),
        STORY(keys_of_commands_clash_with_each_other_but_not_with_paths),
        STORY(a_file_and_a_directory_of_the_same_name_clash),
        STORY(sets_that_share_only_directories_do_not_clash),
        STORY(a_file_that_replaces_a_directory_waits_for_all_sets_in_it),
        STORY(a_set_may_use_a_path_as_a_file_and_a_directory),
        STORY(a_successor_inherits_the_precursors_of_a_job_that_leaves),
        STORY(users_of_a_directory_do_not_wait_once_the_file_between_is_gone),
        STORY(a_failed_precursor_no_longer_blocks),
        STORY(a_set_keeps_its_place_after_a_temporary_error),
        STORY(a_hint_counts_while_its_set_is_live_and_in_front),
        STORY(a_hinted_set_goes_first_even_with_a_later_key),
        STORY(cyclic_hints_do_not_deadlock),
        STORY(a_held_set_keeps_its_place),
        STORY(a_held_staged_set_is_skipped_until_released),
        STORY(a_rollback_becomes_pending_at_once),
        STORY(a_set_abandoned_by_an_open_rollback_still_blocks_others),
        STORY(dependencies_that_arrive_later_are_placed_before_it),
        STORY(after_a_restart_an_undecided_job_keeps_its_place),
        STORY(after_a_restart_the_records_restore_the_order),
        STORY(running_sets_come_first_after_a_restart),
        STORY(a_record_update_lost_in_a_crash_is_repeated),
        STORY(cycles_in_damaged_records_do_not_deadlock),
        STORY(staged_sets_with_cyclic_dependencies_fail),
        STORY(a_lost_proposal_is_repeated),
        STORY(a_record_that_became_outdated_before_its_commit_is_updated),
        STORY(a_job_admitted_twice_is_known_once),
        STORY(a_retried_command_goes_to_the_end),
        STORY(equal_input_gives_equal_proposals),
    };
    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
