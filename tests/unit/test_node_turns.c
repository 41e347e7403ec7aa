#include "core/node_turns.h"

#include "support/test.h"

enum { STARTS = 10000 };

static struct node_turns turns;
static struct node_entrant entrants[8];
static unsigned starts[8];

static void begin(enum node_policy policy, uint64_t seed) {
    node_turns_init(&turns, policy, seed);
    memset(starts, 0, sizeof(starts));
}

/* Entrant i takes part in the name of the account, and can start tasks. */
static void join(unsigned i, enum job_class job_class, uint32_t priority,
                 const char *account) {
    node_turns_join(&turns, &entrants[i], i + 1, job_class, priority,
                    node_turns_account(&turns, span_of(account)));
    node_turns_offer(&turns, &entrants[i], true, i + 1);
}

/* Starts and ends a task. */
static unsigned start_one(void) {
    struct node_entrant *entrant = node_turns_next(&turns);
    unsigned i = (unsigned)(entrant - entrants);

    node_turns_started(&turns, entrant);
    node_turns_ended(&turns, entrant->share->account);
    starts[i]++;
    return i;
}

static void start_many(unsigned count) {
    for (unsigned i = 0; i < count; i++)
        start_one();
}

static void end_all(unsigned count) {
    for (unsigned i = 0; i < count; i++)
        node_turns_leave(&turns, &entrants[i]);
    node_turns_clear(&turns);
}

static void a_more_urgent_class_comes_first(void **state) {
    (void)state;
    begin(NODE_POLICY_ROUND_ROBIN, 1);
    join(0, CLASS_DC, 1000, "a");
    join(1, CLASS_EM, 1000, "b");
    assert_ptr_equal(node_turns_next(&turns), &entrants[1]);
    node_turns_offer(&turns, &entrants[1], false, 0);
    assert_ptr_equal(node_turns_next(&turns), &entrants[0]);
    node_turns_offer(&turns, &entrants[0], false, 0);
    assert_null(node_turns_next(&turns));
    end_all(2);
}

/* Each round in another order. */
static void in_each_round_every_job_starts_once(void **state) {
    unsigned order[20][4], different = 0;

    (void)state;
    begin(NODE_POLICY_ROUND_ROBIN, 1);
    for (unsigned i = 0; i < 4; i++)
        join(i, CLASS_DC, 1000, "a");
    for (unsigned round = 0; round < 20; round++) {
        unsigned seen = 0;
        for (unsigned i = 0; i < 4; i++) {
            order[round][i] = start_one();
            seen |= 1u << order[round][i];
        }
        assert_int_equal(seen, 15);
        different += memcmp(order[round], order[0], sizeof(order[0])) != 0;
    }
    assert_true(different > 10);
    end_all(4);
}

static void the_first_of_a_round_is_any_job_equally_often(void **state) {
    (void)state;
    begin(NODE_POLICY_ROUND_ROBIN, 2);
    for (unsigned i = 0; i < 4; i++)
        join(i, CLASS_DC, 1000, "a");
    for (unsigned round = 0; round < 4000; round++) {
        unsigned first = start_one();
        starts[first] += 1000000;
        start_many(3);
    }
    for (unsigned i = 0; i < 4; i++)
        assert_in_range(starts[i] / 1000000, 900, 1100);
    end_all(4);
}

static void ranked_priority_drains_the_highest_first(void **state) {
    (void)state;
    begin(NODE_POLICY_RANKED_PRIORITY, 1);
    join(0, CLASS_DC, 1000, "a");
    join(1, CLASS_DC, 3000, "b");
    join(2, CLASS_DC, 3000, "b");
    start_many(10);
    assert_int_equal(starts[1], 10);
    node_turns_offer(&turns, &entrants[1], false, 0);
    start_many(10);
    assert_int_equal(starts[2], 10);
    end_all(3);
}

static void long_tail_drains_the_job_with_the_fewest_ready_tasks(void **state) {
    (void)state;
    begin(NODE_POLICY_LONG_TAIL, 1);
    join(0, CLASS_DC, 1000, "a");
    join(1, CLASS_DC, 1000, "a");
    assert_ptr_equal(node_turns_next(&turns), &entrants[0]);
    node_turns_offer(&turns, &entrants[0], true, 9);
    assert_ptr_equal(node_turns_next(&turns), &entrants[1]);
    end_all(2);
}

static void randomized_priority_starts_in_proportion(void **state) {
    (void)state;
    begin(NODE_POLICY_RANDOMIZED_PRIORITY, 1);
    join(0, CLASS_DC, 1000, "a");
    join(1, CLASS_DC, 2000, "a");
    join(2, CLASS_DC, 5000, "a");
    start_many(STARTS);
    assert_in_range(starts[0], STARTS / 8 - 120, STARTS / 8 + 120);
    assert_in_range(starts[1], STARTS / 4 - 160, STARTS / 4 + 160);
    assert_in_range(starts[2], STARTS * 5 / 8 - 180, STARTS * 5 / 8 + 180);
    end_all(3);
}

/* Each pick is by chance, whatever was picked before: pairs too. */
static void randomized_priority_forgets_what_it_picked(void **state) {
    unsigned pairs[2][2] = {{0}}, last;

    (void)state;
    begin(NODE_POLICY_RANDOMIZED_PRIORITY, 7);
    join(0, CLASS_DC, 1000, "a");
    join(1, CLASS_DC, 1000, "a");
    last = start_one();
    for (unsigned i = 0; i < STARTS; i++) {
        unsigned next = start_one();
        pairs[last][next]++;
        last = next;
    }
    for (unsigned i = 0; i < 4; i++)
        assert_in_range(pairs[i / 2][i % 2], STARTS / 4 - 200,
                        STARTS / 4 + 200);
    end_all(2);
}

/* A job that could not start for a while has its usual chance afterwards. */
static void randomized_priority_owes_nothing_to_who_was_blocked(void **state) {
    unsigned first = 0;

    (void)state;
    begin(NODE_POLICY_RANDOMIZED_PRIORITY, 3);
    join(0, CLASS_DC, 1000, "a");
    join(1, CLASS_DC, 1000, "a");
    for (unsigned i = 0; i < 2000; i++) {
        node_turns_offer(&turns, &entrants[1], false, 0);
        start_many(3);
        node_turns_offer(&turns, &entrants[1], true, 0);
        first += start_one();
    }
    assert_in_range(first, 900, 1100);
    end_all(2);
}

/* Within 5 % over 10,000 starts, whatever the jobs of each account are. */
static void accounts_share_starts_by_weight(void **state) {
    const enum node_policy policies[] = {NODE_POLICY_ROUND_ROBIN,
                                         NODE_POLICY_RANDOMIZED_PRIORITY};

    (void)state;
    for (size_t p = 0; p < COUNT(policies); p++) {
        begin(policies[p], 1);
        for (unsigned i = 0; i < 5; i++)
            join(i, CLASS_DC, 1000, "many");
        join(5, CLASS_DC, 1000, "one");
        join(6, CLASS_DC, 9000, "heavy");
        node_turns_set_account(&turns, entrants[6].share->account, 3, 0);
        start_many(STARTS);
        assert_in_range(starts[5], STARTS / 5 * 95 / 100,
                        STARTS / 5 * 105 / 100);
        assert_in_range(starts[6], STARTS * 3 / 5 * 95 / 100,
                        STARTS * 3 / 5 * 105 / 100);
        end_all(7);
    }
}

static void an_account_that_was_idle_is_not_owed_what_it_missed(void **state) {
    (void)state;
    begin(NODE_POLICY_ROUND_ROBIN, 1);
    join(0, CLASS_DC, 1000, "a");
    join(1, CLASS_DC, 1000, "b");
    node_turns_offer(&turns, &entrants[1], false, 0);
    start_many(1000);
    node_turns_offer(&turns, &entrants[1], true, 1);
    start_many(100);
    assert_in_range(starts[1], 49, 51);
    end_all(2);
}

static void an_account_at_its_limit_waits_for_an_end(void **state) {
    struct node_account *account;

    (void)state;
    begin(NODE_POLICY_ROUND_ROBIN, 1);
    join(0, CLASS_DC, 1000, "a");
    account = entrants[0].share->account;
    node_turns_set_account(&turns, account, 1, 2);
    node_turns_started(&turns, node_turns_next(&turns));
    node_turns_runs(&turns, account); /* adopted */
    assert_null(node_turns_next(&turns));
    node_turns_ended(&turns, account);
    assert_ptr_equal(node_turns_next(&turns), &entrants[0]);
    node_turns_set_account(&turns, account, 1, 1);
    assert_null(node_turns_next(&turns));
    end_all(1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_more_urgent_class_comes_first),
        cmocka_unit_test(in_each_round_every_job_starts_once),
        cmocka_unit_test(the_first_of_a_round_is_any_job_equally_often),
        cmocka_unit_test(ranked_priority_drains_the_highest_first),
        cmocka_unit_test(long_tail_drains_the_job_with_the_fewest_ready_tasks),
        cmocka_unit_test(randomized_priority_starts_in_proportion),
        cmocka_unit_test(randomized_priority_forgets_what_it_picked),
        cmocka_unit_test(randomized_priority_owes_nothing_to_who_was_blocked),
        cmocka_unit_test(accounts_share_starts_by_weight),
        cmocka_unit_test(an_account_that_was_idle_is_not_owed_what_it_missed),
        cmocka_unit_test(an_account_at_its_limit_waits_for_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
