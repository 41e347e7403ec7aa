#include "support/test.h"

#include "core/together.h"

static struct together *together;
static struct arena arena;

static int setup(void **state) {
    (void)state;
    together = together_new();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    together_free(together);
    arena_clear(&arena);
    return 0;
}

static void join(uint64_t num, const char *id, const char *group, unsigned want,
                 enum job_state state, const char *needs) {
    struct span need = span_of(needs);
    struct together_member member = {.num = num,
                                     .id = span_of(id),
                                     .target = SPAN("main"),
                                     .group = span_of(group),
                                     .want = want,
                                     .state = state,
                                     .admitted = {(int64_t)num * NS_PER_S},
                                     .admitted_seq = num,
                                     .key = span_of(id),
                                     .needs = &need,
                                     .need_count = need.len > 0};
    together_join(together, &member);
}

static void move(uint64_t num, enum job_state to) {
    assert_true(together_move(together, num, to, 100 + num, false));
}

/* "3 1 2": who lands with `num`, in order. */
static const char *landing(uint64_t num) {
    uint64_t *nums;
    struct text text = TEXT_INIT;
    size_t count = together_landing(together, num, &arena, &nums);
    for (size_t i = 0; i < count; i++)
        text_addf(&text, "%s%d", i > 0 ? " " : "", (int)nums[i]);
    const char *said = arena_string(&arena, text_span(&text));
    text_clear(&text);
    return said;
}

static size_t fails(struct together_fail **ret_fails, int64_t now_s) {
    return together_scan(together, wall_from_s(now_s), 60000, &arena,
                         ret_fails);
}

static void a_group_with_a_count_waits_for_all(void **state) {
    (void)state;
    join(1, "a", "g", 2, STATE_QUEUED, "");
    assert_false(together_may_stage(together, 1));
    assert_non_null(
        strstr(arena_string(&arena, together_why(together, 1, 60000, &arena)),
               "group 'g': 1 of 2 sets have come"));
    assert_int_equal(wall_s(together_next_time(together, 60000)), 61);
    join(2, "b", "g", 0, STATE_QUEUED, "");
    assert_true(together_may_stage(together, 1));
    assert_true(together_may_stage(together, 2));
    assert_int_equal(together_next_time(together, 60000).ns, WALL_NEVER.ns);
    /* A name on another target is another group. */
    assert_false(together_knows(together, SPAN("next"), SPAN("g")));
}

static void one_that_is_not_complete_in_time_fails(void **state) {
    (void)state;
    struct together_fail *list;
    join(1, "a", "g", 3, STATE_QUEUED, "");
    join(2, "b", "g", 3, STATE_STAGED, "");
    assert_int_equal(fails(&list, 60), 0);
    assert_int_equal(fails(&list, 61), 2);
    assert_string_equal(list[0].reason, "group-incomplete");
    assert_non_null(strstr(arena_string(&arena, list[0].detail),
                           "only 2 of the 3 sets of group 'g' arrived"));
}

static void what_one_needs_lands_before_it_a_ring_by_key(void **state) {
    (void)state;
    join(1, "a", "g", 0, STATE_PENDING, "c");
    join(2, "b", "g", 0, STATE_PENDING, "");
    join(3, "c", "g", 0, STATE_PENDING, "");
    assert_string_equal(landing(1), "2 3 1");
    join(4, "x", "h", 0, STATE_PENDING, "y");
    join(5, "y", "h", 0, STATE_PENDING, "x");
    assert_string_equal(landing(5), "4 5");
    assert_int_equal(together_leader(together, 5), 4);
}

static void who_was_made_ready_without_the_others_waits_for_them(void **state) {
    (void)state;
    join(1, "A", "g", 0, STATE_STAGED, "");
    join(2, "B", "g", 0, STATE_STAGED, "");
    together_enter(together, 1, 1);
    together_enter(together, 2, 1);
    /* A rollback took A between the decision and its commit. */
    move(2, STATE_PENDING);
    assert_string_equal(landing(2), "");
    move(1, STATE_PENDING);
    assert_string_equal(landing(2), "1 2");
    /* After a restart the count tells it. */
    join(3, "C", "h", 2, STATE_PENDING, "");
    join(4, "D", "h", 2, STATE_STAGED, "");
    together_enter(together, 3, 3);
    together_enter(together, 4, 4);
    assert_string_equal(landing(3), "");
    move(4, STATE_PENDING);
    assert_string_equal(landing(3), "3 4");
}

static void one_that_ended_keeps_the_others_from_starting(void **state) {
    (void)state;
    join(1, "A", "g", 2, STATE_PENDING, "");
    join(2, "B", "g", 2, STATE_PENDING, "");
    join(3, "C", "h", 0, STATE_PENDING, "");
    join(4, "D", "h", 0, STATE_PENDING, "");
    assert_string_equal(landing(1), "1 2");
    move(2, STATE_TERMINATED);
    move(4, STATE_TERMINATED);
    assert_string_equal(landing(1), "");
    assert_string_equal(landing(3), "");
}

static void nobody_lands_while_one_is_held_landing_or_in_limbo(void **state) {
    (void)state;
    join(1, "a", "g", 0, STATE_PENDING, "");
    join(2, "b", "g", 0, STATE_PENDING, "");
    together_hold(together, 2, HOLD_OPERATOR);
    assert_string_equal(landing(1), "");
    assert_non_null(
        strstr(arena_string(&arena, together_why(together, 1, 60000, &arena)),
               "it lands with b, which is held"));
    together_hold(together, 2, 0);
    assert_string_equal(landing(1), "1 2");
    move(2, STATE_EXECUTING);
    assert_string_equal(landing(1), "");
    move(2, STATE_PENDING);
    assert_true(together_move(together, 2, STATE_ABANDONED, 110, true));
    assert_string_equal(landing(1), "");
    move(2, STATE_PENDING);
    assert_string_equal(landing(1), "1 2");
}

static void when_one_ends_those_before_it_fail_and_no_others(void **state) {
    (void)state;
    struct together_fail *list;
    join(1, "a", "g", 0, STATE_STAGED, "");
    join(2, "b", "g", 0, STATE_EXECUTING, "");
    join(3, "c", "g", 0, STATE_PENDING, "");
    move(3, STATE_TERMINATED); /* at 103 */
    assert_false(together_has(together, 3));
    join(200, "d", "g", 0, STATE_QUEUED, "");
    assert_int_equal(fails(&list, 1), 1);
    assert_int_equal(list[0].num, 1);
    assert_int_equal(list[0].from, STATE_STAGED);
    assert_string_equal(list[0].reason, "group-failed");
    assert_string_equal(arena_string(&arena, list[0].detail),
                        "c of its group 'g' did not land");
    /* The same is known after a start, from what the registry says. */
    together_free(together);
    together = together_new();
    join(1, "a", "g", 0, STATE_STAGED, "");
    together_ended(together, SPAN("main"), SPAN("g"), SPAN("c"), 103);
    assert_int_equal(fails(&list, 1), 1);
}

static void whoever_is_done_leaves_the_others_alone(void **state) {
    (void)state;
    struct together_fail *list;
    join(1, "a", "g", 0, STATE_EXECUTING, "");
    join(2, "b", "g", 0, STATE_QUEUED, "");
    move(1, STATE_DONE);
    assert_int_equal(fails(&list, 1), 0);
    assert_int_equal(together_other(together, 2), 0);
}

static void members_know_the_entry_they_stand_under(void **state) {
    (void)state;
    uint64_t *nums;
    join(1, "a", "g", 0, STATE_QUEUED, "");
    join(2, "b", "g", 0, STATE_STAGED, "z");
    assert_int_equal(together_open(together, 2, &arena, &nums), 2);
    together_enter(together, 1, 1);
    together_enter(together, 2, 1);
    assert_int_equal(together_state(together, 2, 1), STATE_QUEUED);
    move(1, STATE_STAGED);
    assert_int_equal(together_state(together, 2, 1), STATE_STAGED);
    assert_int_equal(together_all_under(together, 2, 1, &arena, &nums), 2);
    assert_int_equal(together_who_needs(together, 1, SPAN("z")), 2);
    assert_int_equal(together_who_needs(together, 1, SPAN("q")), 0);
    assert_int_equal(together_entry(together, 9), 0);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_group_with_a_count_waits_for_all),
        T(one_that_is_not_complete_in_time_fails),
        T(what_one_needs_lands_before_it_a_ring_by_key),
        T(who_was_made_ready_without_the_others_waits_for_them),
        T(one_that_ended_keeps_the_others_from_starting),
        T(nobody_lands_while_one_is_held_landing_or_in_limbo),
        T(when_one_ends_those_before_it_fail_and_no_others),
        T(whoever_is_done_leaves_the_others_alone),
        T(members_know_the_entry_they_stand_under),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
