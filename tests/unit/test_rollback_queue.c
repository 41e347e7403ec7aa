#include "core/rollback_queue.h"

#include "support/test.h"

static struct rollback_queue queue;

static int setup(void **state) {
    (void)state;
    rollback_queue_init(&queue);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    rollback_queue_clear(&queue);
    return 0;
}

static struct wall at_s(int64_t s) {
    return (struct wall){s * NS_PER_S};
}

static void offer(uint64_t num, const char *rank, int64_t not_before_s) {
    struct job job = {
        .num = num, .rank = span_of(rank), .not_before = at_s(not_before_s)};
    rollback_queue_offer(&queue, &job);
}

/* Empties the queue; returns the order, such as "3 1 2 ". */
static const char *drained(int64_t now_s) {
    static char text[100];
    size_t len = 0;
    uint64_t num;
    text[0] = '\0';
    while ((num = rollback_queue_due(&queue, at_s(now_s))) != 0) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%u ",
                                (unsigned)num);
        rollback_queue_forget(&queue, num);
    }
    return text;
}

static void the_most_urgent_rollback_comes_first(void **state) {
    (void)state;
    offer(1, "b", 0);
    offer(2, "c", 0);
    offer(3, "a", 0);
    assert_string_equal(drained(1), "3 1 2 ");
}

static void the_older_of_two_rollbacks_of_equal_rank_comes_first(void **state) {
    (void)state;
    offer(5, "a", 0);
    offer(4, "a", 0);
    assert_string_equal(drained(1), "4 5 ");
}

static void a_rollback_offered_again_changes_its_place(void **state) {
    (void)state;
    offer(1, "a", 0);
    offer(2, "b", 0);
    offer(1, "c", 0);
    assert_string_equal(drained(1), "2 1 ");
}

static void a_back_off_lets_others_go_first(void **state) {
    (void)state;
    offer(1, "a", 50);
    offer(2, "b", 40);
    assert_int_equal(rollback_queue_due(&queue, at_s(39)), 0);
    assert_int_equal(rollback_queue_next(&queue, at_s(39)).ns, at_s(40).ns);
    assert_int_equal(rollback_queue_due(&queue, at_s(40)), 2);
    assert_int_equal(rollback_queue_due(&queue, at_s(50)), 1);
}

/* A draining scheduler starts no rollback, so a due one must not wake it. */
static void a_rollback_that_is_due_needs_no_further_turn(void **state) {
    (void)state;
    offer(1, "a", 50);
    assert_int_equal(rollback_queue_next(&queue, at_s(50)).ns, WALL_NEVER.ns);
    assert_int_equal(rollback_queue_next(&queue, at_s(60)).ns, WALL_NEVER.ns);
}

static void only_rollbacks_have_the_lane_of_rollbacks(void **state) {
    (void)state;
    struct job job = {
        .kind = JOB_CHANGE, .job_class = CLASS_RB, .target = SPAN("main")};
    assert_true(span_equal(rollback_queue_lane_of(&job), rollback_queue_lane));
    job.job_class = CLASS_EM;
    assert_true(span_is(rollback_queue_lane_of(&job), "main"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_most_urgent_rollback_comes_first),
        TEST(the_older_of_two_rollbacks_of_equal_rank_comes_first),
        TEST(a_rollback_offered_again_changes_its_place),
        TEST(a_back_off_lets_others_go_first),
        TEST(a_rollback_that_is_due_needs_no_further_turn),
        TEST(only_rollbacks_have_the_lane_of_rollbacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
