#include "support/order_story.h"

/* ---- dependencies ------------------------------------------------------- */

/* doc/design/ordering.md, O3 */
static void a_set_waits_for_a_live_dependency_and_records_it(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "g <a");
    settle();
    is("b", STATE_STAGED);
    assert_string_equal(set_of("b")->record, "a");
    run("a");
    is("b", STATE_PENDING);
}

static void a_dependency_done_long_ago_is_accepted(void **state) {
    (void)state;
    dc("b", "g <old");
    outside("old", STATE_DONE);
    settle();
    is("b", STATE_PENDING);
}

static void a_failed_dependency_fails_all_its_dependents(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "g <a");
    dc("c", "h <b");
    dc("d", "h");
    settle();
    move("a", STATE_EXECUTING);
    move("a", STATE_FAILED);
    assert_int_equal(scan(), 2); /* both in one scan */
    failed("b", "dep-failed", "dependency a failed");
    failed("c", "dep-failed", "dependency b failed");
    settle();
    is("d", STATE_PENDING);
}

static void terminated_and_abandoned_dependencies_are_named(void **state) {
    (void)state;
    dc("b", "g <t");
    dc("c", "h <x");
    outside("t", STATE_TERMINATED);
    outside("x", STATE_ABANDONED);
    settle();
    failed("b", "dep-failed", "dependency t was terminated");
    failed("c", "dep-failed", "dependency x was abandoned");
}

static void a_set_waits_until_its_dependency_is_looked_up(void **state) {
    (void)state;
    struct order_effect *effects;
    dc("b", "g <old");
    for (int i = 0; i < 3; i++)
        for (size_t n = order_scan(order, now, &arena, &effects); n > 0; n--)
            commit(&effects[n - 1]);
    is("b", STATE_STAGED);
    outside("old", STATE_DONE);
    settle();
    is("b", STATE_PENDING);
}

static void a_rolled_back_dependency_fails_its_dependent(void **state) {
    (void)state;
    dc("b", "g <old");
    struct order_other other = {
        .id = SPAN("old"), .state = STATE_DONE, .rolled_back = true};
    order_outside(order, &other);
    settle();
    failed("b", "dep-rolled-back", "dependency old was rolled back");
}

static void a_dependency_rolled_back_later_fails_a_waiting_set(void **state) {
    (void)state;
    dc("slow", "g");
    dc("b", "g <old");
    outside("old", STATE_DONE);
    settle();
    is("b", STATE_STAGED);
    struct order_other other = {
        .id = SPAN("old"), .state = STATE_DONE, .rolled_back = true};
    assert_true(order_watches(order, SPAN("old")));
    order_outside(order, &other);
    settle();
    is("b", STATE_FAILED);
    assert_false(order_watches(order, SPAN("old")));
}

/* O8 */
static void a_set_waits_an_hour_for_an_unknown_dependency(void **state) {
    (void)state;
    dc("b", "g <nobody");
    settle();
    is("b", STATE_STAGED);
    assert_int_equal(order_next_time(order).ns, wall_add_ms(now, 3600000).ns);
    now = wall_add_ms(now, 3600 * 1000 - 1);
    settle();
    is("b", STATE_STAGED);
    now = wall_add_ms(now, 1);
    settle();
    failed("b", "dep-unknown",
           "dependency nobody did not arrive within 3600 s");
    assert_int_equal(order_next_time(order).ns, WALL_NEVER.ns);
}

static void an_unknown_dependency_may_still_arrive(void **state) {
    (void)state;
    dc("b", "g <a");
    settle();
    dc("a", "f");
    settle();
    assert_int_equal(order_next_time(order).ns, WALL_NEVER.ns);
    is("a", STATE_PENDING);
    is("b", STATE_STAGED);
    run("a");
    is("b", STATE_PENDING);
}

/* A plain command is not part of the order, whose owner reports its states. */
static void a_set_waits_for_a_plain_command(void **state) {
    (void)state;
    dc("b", "g <j1");
    outside("j1", STATE_PENDING);
    settle();
    is("b", STATE_STAGED);
    assert_string_equal(set_of("b")->record, "j1");
    outside("j1", STATE_DONE);
    settle();
    is("b", STATE_PENDING);
}

/* O4: the smallest cycle that a simpler rule would create. */
static void shared_files_and_dependencies_create_no_cycle(void **state) {
    (void)state;
    add(CLASS_EM, "A", "f <B");
    add(CLASS_BF, "C", "f g");
    add(CLASS_DC, "B", "g");
    settle();
    size_t ran = 0;
    for (int round = 0; round < 3; round++)
        for (size_t i = 1; i <= set_count; i++)
            if (sets[i].state == STATE_PENDING) {
                run(sets[i].id);
                ran++;
            }
    assert_int_equal(ran, 3);
}

/* O5: a staged set is found to depend on a newcomer. */
static void a_staged_set_moves_behind_a_newcomer_it_depends_on(void **state) {
    (void)state;
    dc("x", "f"); /* makes the others wait */
    dc("b", "f <late");
    dc("c", "f");
    settle();
    assert_string_equal(set_of("b")->record, "x");
    assert_string_equal(set_of("c")->record, "b");
    dc("late", "f");
    assert_int_equal(scan(), 3); /* late is staged; b and c are recomputed */
    is("b", STATE_QUEUED);
    is("c", STATE_QUEUED);
    assert_string_equal(set_of("b")->reason, "recompute");
    settle();
    assert_string_equal(set_of("c")->record, "x");
    assert_string_equal(set_of("late")->record, "c");
    assert_string_equal(set_of("b")->record, "late");
    run("x");
    run("c");
    run("late");
    run("b");
}

/* Two groups in a directory become one when the file between them moves. */
static void
a_record_behind_a_moved_set_names_both_groups_of_users(void **state) {
    (void)state;
    dc("r1", "d/x");
    dc("b", "d <late");
    dc("r2", "d/y");
    dc("v", "d");
    settle();
    assert_string_equal(set_of("v")->record, "r2");
    dc("late", "z");
    settle();
    assert_string_equal(set_of("v")->record, "r1 r2");
    assert_string_equal(set_of("b")->record, "late v");
}

static void
a_set_that_is_being_requeued_does_not_fail_before_it_is_queued(void **state) {
    (void)state;
    struct order_effect *effects;
    dc("x", "f");
    dc("b", "f <late <x");
    settle();
    dc("late", "f");
    order_scan(order, now, &arena, &effects); /* recomputes b, uncommitted */
    move("x", STATE_FAILED);
    size_t count = order_scan(order, now, &arena, &effects);
    for (size_t i = 0; i < count; i++)
        assert_int_not_equal(effects[i].num, num_of("b"));
    move("b", STATE_QUEUED);
    settle();
    is("b", STATE_FAILED);
}

static void unchanged_records_are_not_written(void **state) {
    (void)state;
    dc("b", "f <late");
    dc("c", "g");
    settle();
    dc("late", "h");
    struct order_effect *effects;
    size_t count = order_scan(order, now, &arena, &effects);
    /* b has a new precursor, but c is not affected. */
    assert_int_equal(count, 2);
    assert_int_equal(effects[0].num + effects[1].num,
                     num_of("b") + num_of("late"));
}

/* Each of twenty sets depends on the one that arrives next; another set arrives
 * between any two. */
static void a_chain_of_dependencies_may_arrive_in_reverse_order(void **state) {
    (void)state;
    char id[16], spec[32];
    for (int i = 20; i > 0; i--) {
        snprintf(id, sizeof(id), "c%d", i);
        snprintf(spec, sizeof(spec), "%s <c%d", i % 3 ? "d/f" : "d/g", i - 1);
        dc(id, spec);
        settle();
        snprintf(id, sizeof(id), "other%d", i);
        dc(id, i == 7 ? "d/f" : id);
        settle();
    }
    dc("c0", "d/f");
    settle();
    for (int i = 0; i <= 20; i++) {
        snprintf(id, sizeof(id), "c%d", i);
        /* The last set to touch the file waits for the one before it. */
        if (set_of("other7")->state == STATE_PENDING)
            run("other7");
        run(id);
    }
    is("other7", STATE_DONE);
}

/* The dependencies of one set arrive one by one, for its own file and
 * others. */
static void
dependencies_that_arrive_later_go_in_front_of_their_dependent(void **state) {
    (void)state;
    dc("before", "f");
    dc("all", "f g <n1 <n2 <n3 <n4 <n5 <n6");
    dc("behind", "h <all");
    settle();
    dc("n1", "f");
    settle();
    assert_string_equal(set_of("n1")->record, "before");
    dc("n2", "x");
    settle();
    dc("n3", "f/x"); /* the file as a directory */
    settle();
    dc("n4", "g");
    settle();
    dc("old", "y");
    settle();
    move("old", STATE_FAILED);
    settle();
    dc("n5", "z ^old <n1");
    settle();
    dc("n6", "f");
    settle();
    is("all", STATE_STAGED);
    run("before");
    run("n1");
    run("n2");
    run("n3");
    run("n4");
    run("n5");
    is("all", STATE_STAGED);
    run("n6");
    run("all");
    run("behind");
}

/* O5: a staged set goes before a newcomer, even if the newcomer must go in
 * front of others. */
static void a_set_may_overtake_a_set_that_was_moved(void **state) {
    (void)state;
    dc("needy", "f <late");
    settle();
    dc("passer", "f");
    settle();
    assert_string_equal(set_of("passer")->record, "needy");
    dc("late", "h");
    settle();
    is("passer", STATE_PENDING);
    is("needy", STATE_STAGED);
    is("late", STATE_PENDING);
}

/* ---- groups -------------------------------------------------------------- */

static void a_dependent_of_a_member_waits_for_the_whole_group(void **state) {
    (void)state;
    dc("c", "h <b"); /* b has not arrived */
    settle();
    dc("a", "f g +b");
    settle();
    is("c", STATE_STAGED);
    is("a", STATE_PENDING);
    run("a");
    is("c", STATE_PENDING);
}

static void a_group_and_its_dependents_create_no_cycle(void **state) {
    (void)state;
    dc("x", "f <b"); /* depends on b, which also uses f */
    settle();
    dc("a", "g f +b");
    settle();
    /* x was moved behind them, although it arrived first. */
    is("a", STATE_PENDING);
    is("x", STATE_STAGED);
    assert_string_equal(set_of("x")->record, "a b");
    run("a");
    is("x", STATE_PENDING);
}

static void a_cycle_through_a_group_is_detected(void **state) {
    (void)state;
    dc("a", "f <x +b");
    dc("x", "g <b");
    settle();
    failed("x", "dep-cycle", "x → a → x");
    failed("a", "dep-failed", "dependency x failed");
}

static void
a_set_still_waits_for_a_dependency_that_joins_a_group(void **state) {
    (void)state;
    dc("a", "f");
    dc("c", "h <a");
    dc("d", "f");
    assert_true(order_forget(order, num_of("a")));
    settle();
    is("c", STATE_STAGED);
    is("d", STATE_PENDING); /* it is no longer behind a */
    snprintf(set_of("a")->id, sizeof(sets[0].id), "was-a");
    dc("a", "f g +b");
    settle();
    is("c", STATE_STAGED);
    is("a", STATE_STAGED); /* a is behind d */
    run("d");
    run("a");
    is("c", STATE_PENDING);
}

/* b ended while a still stood for both. */
static void a_set_fails_with_a_dependency_that_left_a_group(void **state) {
    (void)state;
    snprintf(sets[++set_count].id, sizeof(sets[0].id), "b");
    sets[set_count].state = STATE_QUEUED;
    dc("a", "f +b");
    dc("c", "h <b");
    settle();
    is("c", STATE_STAGED);
    set_of("b")->state = STATE_FAILED;
    assert_true(order_forget(order, num_of("a")));
    snprintf(set_of("a")->id, sizeof(sets[0].id), "was-a");
    dc("a", "f");
    settle();
    failed("c", "dep-failed", "dependency b failed");
    is("a", STATE_PENDING);
}

/* O9 */
static void a_set_that_closes_a_cycle_fails_with_the_path(void **state) {
    (void)state;
    dc("a", "f <b");
    settle();
    is("a", STATE_STAGED);
    dc("b", "g <c");
    dc("c", "h <a");
    settle();
    failed("c", "dep-cycle", "c → a → b → c");
    failed("b", "dep-failed", "dependency c failed");
    failed("a", "dep-failed", "dependency b failed");
    assert_int_equal(order_check_count(order), 0);
}

static void
the_last_set_of_a_cycle_that_arrives_at_once_closes_it(void **state) {
    (void)state;
    dc("a", "f <b");
    dc("b", "g <a");
    dc("c", "h <a");
    dc("d", "h");
    settle();
    failed("b", "dep-cycle", "b → a → b");
    failed("a", "dep-failed", "dependency b failed");
    is("c", STATE_FAILED);
    is("d", STATE_PENDING);
}

static void a_set_that_depends_on_itself_fails(void **state) {
    (void)state;
    dc("a", "f <a");
    dc("b", "f");
    settle();
    failed("a", "dep-cycle", "a → a");
    is("b", STATE_PENDING);
}

static void a_cycle_through_a_successor_is_detected(void **state) {
    (void)state;
    dc("a", "f <old");
    order_hold(order, num_of("a"), HOLD_OPERATOR);
    outside("old", STATE_FAILED);
    settle();
    dc("new", "g ^old <a");
    settle();
    failed("new", "dep-cycle", "new → a → new");
    order_hold(order, num_of("a"), 0);
    settle();
    is("a", STATE_FAILED);
}

/* O10 */
static void a_successor_replaces_a_failed_dependency(void **state) {
    (void)state;
    dc("b", "g <old");
    struct span successors[] = {SPAN("second")};
    struct order_other other = {.id = SPAN("old"),
                                .state = STATE_FAILED,
                                .successors = successors,
                                .successor_count = 1};
    order_outside(order, &other);
    struct span id;
    assert_true(order_next_unknown(order, &id)); /* old is already known */
    assert_true(span_is(id, "second"));
    successors[0] = SPAN("third");
    other.id = SPAN("second");
    order_outside(order, &other);
    outside("third", STATE_DONE);
    settle();
    is("b", STATE_PENDING);
}

static void a_set_waits_for_a_live_successor(void **state) {
    (void)state;
    dc("b", "f <old");
    order_hold(order, num_of("b"), HOLD_OPERATOR); /* or b fails at once */
    outside("old", STATE_FAILED);
    settle();
    dc("new", "f ^old");
    settle();
    order_hold(order, num_of("b"), 0);
    settle();
    is("b", STATE_QUEUED + 1);
    is("new", STATE_PENDING); /* in front of b, although b arrived first */
    run("new");
    is("b", STATE_PENDING);
}

static void a_failed_successor_fails_the_dependent(void **state) {
    (void)state;
    dc("new", "f ^old");
    settle();
    dc("b", "g <old");
    struct span successors[] = {SPAN("new")};
    struct order_other other = {.id = SPAN("old"),
                                .state = STATE_TERMINATED,
                                .successors = successors,
                                .successor_count = 1};
    order_outside(order, &other);
    settle();
    is("b", STATE_STAGED);
    move("new", STATE_FAILED);
    settle();
    failed("b", "dep-failed",
           "dependency old was terminated, and what superseded it");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STORY(a_set_waits_for_a_live_dependency_and_records_it),
        STORY(a_dependency_done_long_ago_is_accepted),
        STORY(a_failed_dependency_fails_all_its_dependents),
        STORY(terminated_and_abandoned_dependencies_are_named),
        STORY(a_set_waits_until_its_dependency_is_looked_up),
        STORY(a_rolled_back_dependency_fails_its_dependent),
        STORY(a_dependency_rolled_back_later_fails_a_waiting_set),
        STORY(a_set_waits_an_hour_for_an_unknown_dependency),
        STORY(an_unknown_dependency_may_still_arrive),
        STORY(a_set_waits_for_a_plain_command),
        STORY(shared_files_and_dependencies_create_no_cycle),
        STORY(a_staged_set_moves_behind_a_newcomer_it_depends_on),
        STORY(a_record_behind_a_moved_set_names_both_groups_of_users),
        STORY(a_set_that_is_being_requeued_does_not_fail_before_it_is_queued),
        STORY(unchanged_records_are_not_written),
        STORY(a_chain_of_dependencies_may_arrive_in_reverse_order),
        STORY(dependencies_that_arrive_later_go_in_front_of_their_dependent),
        STORY(a_set_may_overtake_a_set_that_was_moved),
        STORY(a_dependent_of_a_member_waits_for_the_whole_group),
        STORY(a_group_and_its_dependents_create_no_cycle),
        STORY(a_cycle_through_a_group_is_detected),
        STORY(a_set_still_waits_for_a_dependency_that_joins_a_group),
        STORY(a_set_fails_with_a_dependency_that_left_a_group),
        STORY(a_set_that_closes_a_cycle_fails_with_the_path),
        STORY(the_last_set_of_a_cycle_that_arrives_at_once_closes_it),
        STORY(a_set_that_depends_on_itself_fails),
        STORY(a_cycle_through_a_successor_is_detected),
        STORY(a_successor_replaces_a_failed_dependency),
        STORY(a_set_waits_for_a_live_successor),
        STORY(a_failed_successor_fails_the_dependent),
    };
    return cmocka_run_group_tests_name("order_dep", tests, NULL, NULL);
}
