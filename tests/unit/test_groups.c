#include "support/test.h"

#include "core/groups.h"

static struct groups *groups;
static struct arena arena;

static int setup(void **state) {
    (void)state;
    groups = groups_new();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    groups_free(groups);
    arena_clear(&arena);
    return 0;
}

static const char *submitter = "uid:1";

static struct group_id on_main(const char *name, const char *by) {
    return (struct group_id){SPAN("main"), span_of(by), span_of(name)};
}

static void join(uint64_t num, const char *id, const char *group, unsigned want,
                 enum job_state state, const char *needs) {
    struct span need = span_of(needs);
    struct group_life life = {.num = num, .admitted_seq = num, .want = want};
    if (state != STATE_QUEUED)
        life.staged_seq = 300;
    if (state == STATE_PENDING || state == STATE_EXECUTING)
        life.ready_seq = 400;
    struct group_member member = {.life = life,
                                  .id = span_of(id),
                                  .group = on_main(group, submitter),
                                  .state = state,
                                  .admitted = {(int64_t)num * NS_PER_S},
                                  .key = span_of(id),
                                  .needs = &need,
                                  .need_count = need.len > 0};
    groups_join(groups, &member);
}

static void move(uint64_t num, enum job_state to) {
    assert_true(groups_move(groups, num, to, 500 + num, false));
}

/* The sets that land with `num`, in their order, such as "3 1 2". */
static const char *landing(uint64_t num) {
    uint64_t *nums;
    struct text text = TEXT_INIT;
    size_t count = groups_landing(groups, num, &arena, &nums);
    for (size_t i = 0; i < count; i++)
        text_addf(&text, "%s%d", i > 0 ? " " : "", (int)nums[i]);
    const char *all = arena_string(&arena, text_span(&text));
    text_clear(&text);
    return all;
}

static size_t fails(struct group_fail **ret_fails, int64_t now_s) {
    return groups_scan(groups, wall_from_s(now_s), 60000, &arena, ret_fails);
}

static void a_group_with_a_count_waits_for_all_its_sets(void **state) {
    (void)state;
    join(1, "a", "g", 2, STATE_QUEUED, "");
    assert_false(groups_may_stage(groups, 1));
    assert_non_null(
        strstr(arena_string(&arena, groups_why(groups, 1, 60000, &arena)),
               "group 'g': 1 of 2 sets have arrived"));
    assert_int_equal(wall_s(groups_next_time(groups, 60000)), 61);
    join(2, "b", "g", 0, STATE_QUEUED, "");
    assert_true(groups_may_stage(groups, 1));
    assert_true(groups_may_stage(groups, 2));
    assert_int_equal(groups_next_time(groups, 60000).ns, WALL_NEVER.ns);
    /* The same name on another target is another group. */
    struct group_id other = on_main("g", submitter);
    assert_true(groups_knows(groups, &other));
    other.target = SPAN("next");
    assert_false(groups_knows(groups, &other));
}

static void nobody_joins_the_group_of_another_submitter(void **state) {
    (void)state;
    struct group_fail *list;
    join(1, "a", "g", 2, STATE_QUEUED, "");
    submitter = "uid:2";
    join(2, "b", "g", 1000, STATE_QUEUED, "");
    submitter = "uid:1";
    assert_false(groups_may_stage(groups, 1));
    move(2, STATE_FAILED);
    assert_int_equal(fails(&list, 1), 0);
    join(3, "c", "g", 0, STATE_QUEUED, "");
    assert_true(groups_may_stage(groups, 1));
    assert_int_equal(groups_other_member(groups, 1), 3);
}

static void a_group_that_is_not_complete_in_time_fails(void **state) {
    (void)state;
    struct group_fail *list;
    join(1, "a", "g", 3, STATE_QUEUED, "");
    join(2, "b", "g", 3, STATE_STAGED, "");
    assert_int_equal(fails(&list, 60), 0);
    assert_int_equal(fails(&list, 61), 2);
    assert_string_equal(list[0].reason, "group-incomplete");
    assert_non_null(strstr(arena_string(&arena, list[0].detail),
                           "only 2 of the 3 sets of group 'g' arrived"));
}

static void
dependencies_land_first_and_cycles_land_in_order_of_keys(void **state) {
    (void)state;
    join(1, "a", "g", 0, STATE_PENDING, "c");
    join(2, "b", "g", 0, STATE_PENDING, "");
    join(3, "c", "g", 0, STATE_PENDING, "");
    assert_string_equal(landing(1), "2 3 1");
    join(4, "x", "h", 0, STATE_PENDING, "y");
    join(5, "y", "h", 0, STATE_PENDING, "x");
    assert_string_equal(landing(5), "4 5");
    assert_int_equal(groups_leader(groups, 5), 4);
}

static void
a_member_that_became_ready_alone_waits_for_the_others(void **state) {
    (void)state;
    join(1, "A", "g", 0, STATE_STAGED, "");
    join(2, "B", "g", 0, STATE_STAGED, "");
    groups_enter(groups, 1, 1);
    groups_enter(groups, 2, 1);
    /* A rollback took A after the decision, before its commit. */
    move(2, STATE_PENDING);
    assert_string_equal(landing(2), "");
    move(1, STATE_PENDING);
    assert_string_equal(landing(2), "1 2");
    /* After a restart, only the count shows that a member is missing. */
    join(3, "C", "h", 2, STATE_PENDING, "");
    join(4, "D", "h", 2, STATE_STAGED, "");
    groups_enter(groups, 3, 3);
    groups_enter(groups, 4, 4);
    assert_string_equal(landing(3), "");
    move(4, STATE_PENDING);
    assert_string_equal(landing(3), "3 4");
}

static void a_member_that_ended_keeps_the_others_from_starting(void **state) {
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

static void
no_group_lands_while_a_member_is_held_landing_or_undecided(void **state) {
    (void)state;
    join(1, "a", "g", 0, STATE_PENDING, "");
    join(2, "b", "g", 0, STATE_PENDING, "");
    groups_hold(groups, 2, HOLD_OPERATOR);
    assert_string_equal(landing(1), "");
    assert_non_null(
        strstr(arena_string(&arena, groups_why(groups, 1, 60000, &arena)),
               "it lands with b, which is held"));
    groups_hold(groups, 2, 0);
    assert_string_equal(landing(1), "1 2");
    move(2, STATE_EXECUTING);
    assert_string_equal(landing(1), "");
    move(2, STATE_PENDING);
    assert_true(groups_move(groups, 2, STATE_ABANDONED, 110, true));
    assert_string_equal(landing(1), "");
    move(2, STATE_PENDING);
    assert_string_equal(landing(1), "1 2");
}

static void when_a_member_fails_only_its_own_group_fails(void **state) {
    (void)state;
    struct group_fail *list;
    join(1, "a", "g", 0, STATE_STAGED, "");
    join(2, "b", "g", 0, STATE_EXECUTING, "");
    join(3, "c", "g", 0, STATE_PENDING, "");
    move(3, STATE_TERMINATED); /* at 503 */
    assert_false(groups_has(groups, 3));
    join(600, "d", "g", 0, STATE_QUEUED, "");
    assert_int_equal(fails(&list, 1), 1);
    assert_int_equal(list[0].num, 1);
    assert_int_equal(list[0].from, STATE_STAGED);
    assert_string_equal(list[0].reason, "group-failed");
    assert_string_equal(arena_string(&arena, list[0].detail),
                        "c of its group 'g' did not land");
    /* After a restart, the registry yields the same result. */
    groups_free(groups);
    groups = groups_new();
    join(1, "a", "g", 0, STATE_STAGED, "");
    struct group_id group = on_main("g", submitter);
    groups_ended(groups, &group, SPAN("c"),
                 &(struct group_life){.num = 3,
                                      .admitted_seq = 3,
                                      .staged_seq = 300,
                                      .ready_seq = 400,
                                      .ended_seq = 503});
    join(600, "d", "g", 0, STATE_QUEUED, "");
    assert_int_equal(fails(&list, 1), 1);
    assert_int_equal(list[0].num, 1);
    /* One that a rollback has abandoned may still come back. */
    join(3, "c", "g", 0, STATE_ABANDONED, "");
    assert_int_equal(fails(&list, 1), 0);
    /* A set that ended is reported before those that lived with it. */
    groups_ended(groups, &group, SPAN("e"),
                 &(struct group_life){
                     .num = 601, .admitted_seq = 601, .ended_seq = 603});
    join(602, "f", "g", 0, STATE_QUEUED, "");
    assert_int_equal(fails(&list, 1), 3);
}

/* The groups of sets, such as "1 1 3". */
static const char *divided(struct group_life *lives, size_t count) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    group_life_divide(lives, count);
    for (size_t i = 0; i < count; i++)
        text_addf(&text, "%s%d", i > 0 ? " " : "", (int)lives[i].group);
    return arena_string(&arena, text_span(&text));
}

#define DIVIDED(...)                                     \
    divided((struct group_life[]){__VA_ARGS__},          \
            sizeof((struct group_life[]){__VA_ARGS__}) / \
                sizeof(struct group_life))

static void a_name_is_divided_into_groups_by_what_happened(void **state) {
    (void)state;
    assert_string_equal(DIVIDED({1, .admitted_seq = 1}, {2, .admitted_seq = 2}),
                        "1 1");
    /* One became ready, or ended, before the next came. */
    assert_string_equal(
        DIVIDED({1, .admitted_seq = 1, .staged_seq = 2, .ready_seq = 3},
                {2, .admitted_seq = 4}, {3, .admitted_seq = 5}),
        "1 2 2");
    assert_string_equal(DIVIDED({1, .admitted_seq = 1, .ended_seq = 3},
                                {2, .admitted_seq = 2}, {3, .admitted_seq = 4}),
                        "1 1 3");
    /* 2 had come but was not staged when 1 became ready; 3 was staged, and has
     * become ready later, after a rollback. */
    assert_string_equal(
        DIVIDED({1, .admitted_seq = 1, .staged_seq = 4, .ready_seq = 6},
                {2, .admitted_seq = 2, .staged_seq = 7, .ready_seq = 8},
                {3, .admitted_seq = 3, .staged_seq = 5, .ready_seq = 9},
                {4, .admitted_seq = 10}),
        "1 2 1 4");
    /* The end of 1 says nothing about 3, whose group it is not. */
    assert_string_equal(DIVIDED({1, .admitted_seq = 1, .staged_seq = 2,
                                 .ready_seq = 3, .ended_seq = 6},
                                {2, .admitted_seq = 4}, {3, .admitted_seq = 7}),
                        "1 2 2");
}

static void a_group_takes_as_many_sets_as_it_counts(void **state) {
    (void)state;
    assert_string_equal(DIVIDED({1, .admitted_seq = 1, .want = 2},
                                {2, .admitted_seq = 2, .want = 2},
                                {3, .admitted_seq = 3, .want = 2},
                                {4, .admitted_seq = 4, .want = 2}),
                        "1 1 3 3");
    /* The largest number given counts, and one that comes to a complete group
     * does not make it larger, whatever it states. */
    assert_string_equal(
        DIVIDED({1, .admitted_seq = 1}, {2, .admitted_seq = 2, .want = 2},
                {3, .admitted_seq = 3, .want = 3}, {4, .admitted_seq = 4},
                {5, .admitted_seq = 5, .want = 2}, {6, .admitted_seq = 6}),
        "1 1 3 3 3 6");
    assert_string_equal(DIVIDED({1, .admitted_seq = 1}, {2, .admitted_seq = 2},
                                {3, .admitted_seq = 3, .want = 2},
                                {4, .admitted_seq = 4}),
                        "1 1 1 4");
    /* Who ended counts as a member, and ends its own group only. */
    assert_string_equal(
        DIVIDED({1, .admitted_seq = 1, .want = 2, .ended_seq = 5},
                {2, .admitted_seq = 2, .want = 2},
                {3, .admitted_seq = 3, .want = 2},
                {4, .admitted_seq = 6, .want = 2}),
        "1 1 3 3");
    /* 1 became ready before 2 was known. */
    assert_string_equal(
        DIVIDED({1, .admitted_seq = 1, .staged_seq = 2, .ready_seq = 5},
                {2, .admitted_seq = 3, .want = 2},
                {3, .admitted_seq = 4, .want = 2},
                {4, .admitted_seq = 6, .want = 2}),
        "1 2 2 4");
}

static void the_end_of_a_set_does_not_concern_the_next_group(void **state) {
    (void)state;
    struct group_fail *list;
    for (uint64_t num = 1; num <= 4; num++) {
        char id[] = {(char)('a' + num - 1), '\0'};
        join(num, id, "g", 2, STATE_QUEUED, "");
    }
    groups_hold(groups, 1, HOLD_OPERATOR);
    assert_false(groups_may_stage(groups, 2));
    assert_true(groups_may_stage(groups, 3) && groups_may_stage(groups, 4));
    move(1, STATE_TERMINATED);
    assert_int_equal(fails(&list, 1), 1);
    assert_int_equal(list[0].num, 2);
}

/* The sets of a landing are reported one by one. */
static void a_set_that_landed_still_counts_in_its_group(void **state) {
    (void)state;
    struct group_fail *list;
    for (uint64_t num = 1; num <= 4; num++) {
        char id[] = {(char)('a' + num - 1), '\0'};
        join(num, id, "g", 2, num <= 2 ? STATE_EXECUTING : STATE_PENDING, "");
    }
    move(1, STATE_DONE);
    move(4, STATE_TERMINATED);
    assert_int_equal(fails(&list, 1), 1);
    assert_int_equal(list[0].num, 3);
    move(2, STATE_PENDING);
    assert_int_equal(fails(&list, 1), 1);
}

static void two_groups_of_one_name_wait_at_once(void **state) {
    (void)state;
    struct group_fail *list;
    join(1, "a", "g", 2, STATE_PENDING, "");
    join(2, "b", "g", 2, STATE_PENDING, "");
    join(401, "c", "g", 2, STATE_QUEUED, "");
    assert_string_equal(landing(1), "1 2");
    assert_false(groups_may_stage(groups, 401));
    assert_int_equal(wall_s(groups_next_time(groups, 60000)), 461);
    join(402, "d", "g", 2, STATE_QUEUED, "");
    assert_true(groups_may_stage(groups, 401));
    assert_int_equal(groups_other_member(groups, 402), 401);
    for (uint64_t num = 401; num <= 402; num++)
        groups_move(groups, num, STATE_STAGED, 100 + num, false);
    for (uint64_t num = 401; num <= 402; num++)
        move(num, STATE_PENDING);
    assert_string_equal(landing(1), "1 2");
    assert_string_equal(landing(402), "401 402");
    assert_int_equal(groups_leader(groups, 402), 401);
    assert_true(groups_may_start(groups, 1) && groups_may_start(groups, 401));
    groups_hold(groups, 402, HOLD_OPERATOR);
    assert_string_equal(landing(1), "1 2");
    groups_hold(groups, 402, 0);
    move(402, STATE_FAILED);
    assert_int_equal(fails(&list, 1), 1);
    assert_int_equal(list[0].num, 401);
    assert_string_equal(landing(1), "1 2");
    move(1, STATE_FAILED);
    assert_int_equal(fails(&list, 1), 2);
    assert_string_equal(arena_string(&arena, list[0].detail),
                        list[0].num == 2 ? "a of its group 'g' did not land"
                                         : "d of its group 'g' did not land");
}

static void who_comes_while_a_group_becomes_ready_begins_another(void **state) {
    (void)state;
    uint64_t *nums, name;
    join(1, "a", "g", 0, STATE_STAGED, "");
    groups_enter(groups, 1, 1);
    groups_propose(groups, 1);
    join(301, "b", "g", 0, STATE_QUEUED, "");
    assert_int_equal(groups_open(groups, 1, &arena, &nums), 1);
    assert_int_equal(groups_strays(groups, 1, &arena, &nums), 1);
    assert_int_equal(nums[0], 301);
    groups_enter(groups, 301, 301);
    assert_int_equal(groups_strays(groups, 1, &arena, &nums), 0);
    /* The proposal was lost: they are one group, and need one entry. */
    assert_true(groups_settle(groups, &name));
    assert_int_equal(name, 301);
    assert_false(groups_settle(groups, &name));
    assert_int_equal(groups_open(groups, 1, &arena, &nums), 2);
    assert_int_equal(groups_strays(groups, 1, &arena, &nums), 2);
    groups_enter(groups, 301, 1);
    assert_int_equal(groups_strays(groups, 1, &arena, &nums), 0);
    /* It was committed after all, by another process. */
    groups_propose(groups, 1);
    move(1, STATE_PENDING);
    assert_true(groups_settle(groups, &name));
    assert_int_equal(groups_strays(groups, 1, &arena, &nums), 2);
    assert_int_equal(groups_under(groups, 301, 1), 1);
    groups_dissolve(groups, 301, 1);
    assert_int_equal(groups_entry(groups, 1), 0);
    assert_string_equal(landing(1), "1");
    /* The last one leaves before its proposal is settled. */
    groups_propose(groups, 301);
    move(1, STATE_DONE);
    move(301, STATE_TERMINATED);
    assert_true(groups_settle(groups, &name));
    assert_int_equal(name, 0);
    struct group_id group = on_main("g", submitter);
    assert_false(groups_knows(groups, &group));
}

static void a_member_that_is_done_does_not_affect_the_others(void **state) {
    (void)state;
    struct group_fail *list;
    join(1, "a", "g", 0, STATE_EXECUTING, "");
    join(2, "b", "g", 0, STATE_QUEUED, "");
    move(1, STATE_DONE);
    assert_int_equal(fails(&list, 1), 0);
    assert_int_equal(groups_other_member(groups, 2), 0);
}

static void members_refer_to_the_entry_of_their_group(void **state) {
    (void)state;
    uint64_t *nums;
    join(1, "a", "g", 0, STATE_QUEUED, "");
    join(2, "b", "g", 0, STATE_STAGED, "z");
    assert_int_equal(groups_open(groups, 2, &arena, &nums), 2);
    groups_enter(groups, 1, 1);
    groups_enter(groups, 2, 1);
    assert_int_equal(groups_state(groups, 2, 1), STATE_QUEUED);
    move(1, STATE_STAGED);
    assert_int_equal(groups_state(groups, 2, 1), STATE_STAGED);
    assert_int_equal(groups_members_under(groups, 2, 1, &arena, &nums), 2);
    assert_int_equal(groups_member_needing(groups, 1, SPAN("z")), 2);
    assert_int_equal(groups_member_needing(groups, 1, SPAN("q")), 0);
    move(2, STATE_PENDING);
    assert_int_equal(groups_member_needing(groups, 1, SPAN("z")), 2);
    assert_int_equal(groups_entry(groups, 9), 0);
}

static void a_set_that_replaces_a_dependency_lands_first(void **state) {
    (void)state;
    struct span replaced[] = {SPAN("other"), SPAN("old")};
    join(1, "a", "g", 2, STATE_PENDING, "old");
    groups_join(groups, &(struct group_member){.life = {.num = 2,
                                                        .admitted_seq = 2,
                                                        .staged_seq = 300,
                                                        .ready_seq = 400,
                                                        .want = 2},
                                               .id = SPAN("b"),
                                               .group = on_main("g", submitter),
                                               .state = STATE_PENDING,
                                               .key = SPAN("b"),
                                               .replaces = replaced,
                                               .replace_count = 2});
    assert_string_equal(landing(1), "2 1");
}

static void only_the_leader_of_a_complete_group_may_start(void **state) {
    (void)state;
    assert_true(groups_may_start(groups, 7));
    join(1, "a", "g", 0, STATE_PENDING, "");
    join(2, "b", "g", 0, STATE_PENDING, "");
    assert_true(groups_may_start(groups, 1));
    assert_false(groups_may_start(groups, 2));
    groups_hold(groups, 2, 1);
    assert_false(groups_may_start(groups, 1));
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_group_with_a_count_waits_for_all_its_sets),
        T(nobody_joins_the_group_of_another_submitter),
        T(a_group_that_is_not_complete_in_time_fails),
        T(dependencies_land_first_and_cycles_land_in_order_of_keys),
        T(a_member_that_became_ready_alone_waits_for_the_others),
        T(a_member_that_ended_keeps_the_others_from_starting),
        T(no_group_lands_while_a_member_is_held_landing_or_undecided),
        T(when_a_member_fails_only_its_own_group_fails),
        T(a_name_is_divided_into_groups_by_what_happened),
        T(a_group_takes_as_many_sets_as_it_counts),
        T(the_end_of_a_set_does_not_concern_the_next_group),
        T(a_set_that_landed_still_counts_in_its_group),
        T(two_groups_of_one_name_wait_at_once),
        T(who_comes_while_a_group_becomes_ready_begins_another),
        T(a_member_that_is_done_does_not_affect_the_others),
        T(a_set_that_replaces_a_dependency_lands_first),
        T(only_the_leader_of_a_complete_group_may_start),
        T(members_refer_to_the_entry_of_their_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
