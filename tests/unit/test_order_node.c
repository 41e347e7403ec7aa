#include "core/order_inner.h"
#include "support/order_story.h"

/* What must be done after a job has changed: which lists and heaps of the order
 * it is in. */

static struct order_node *node_of(const char *id) {
    uint64_t num = num_of(id);
    return map_get(&order->nodes, map_num_key(&num));
}

static size_t dirty_count(void) {
    size_t count = 0;
    LIST_EACH (&order->dirty, link)
        count++;
    return count;
}

static void a_job_touched_again_is_judged_once_and_last(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "g");
    settle();
    assert_int_equal(dirty_count(), 0);
    order_node_touch(order, node_of("a"));
    order_node_touch(order, node_of("b"));
    order_node_touch(order, node_of("a"));
    assert_int_equal(dirty_count(), 2);
    assert_ptr_equal(order->dirty.next, &node_of("b")->dirty);
    settle(); /* nothing about them changed */
    is("a", STATE_PENDING);
    is("b", STATE_PENDING);
    assert_int_equal(dirty_count(), 0);
}

/* However many of its dependencies are unknown, it has one deadline. */
static void a_job_has_a_deadline_while_a_dependency_is_unknown(void **state) {
    (void)state;
    dc("a", "f <x <y");
    settle();
    struct order_node *node = node_of("a");
    assert_int_equal(node->counts[VERDICT_UNKNOWN], 2);
    assert_int_equal(order->deadlines.count, 1);
    outside("x", STATE_DONE);
    assert_true(heap_has(&order->deadlines, node));
    order_node_deadline_changed(order, node); /* no change */
    assert_int_equal(order->deadlines.count, 1);
    outside("y", STATE_DONE);
    assert_false(heap_has(&order->deadlines, node));
    assert_int_equal(order_next_time(order).ns, WALL_NEVER.ns);
}

static void a_deadline_counts_from_the_admission(void **state) {
    (void)state;
    struct wall admitted = now;
    dc("a", "f <x");
    now = wall_add_ms(now, 1000);
    settle();
    assert_int_equal(order_node_deadline(order, node_of("a")).ns,
                     wall_add_ms(admitted, 3600 * 1000).ns);
    order_set_limits(order, &(struct order_limits){.wait_for_dep_ms = 5});
    assert_int_equal(order_next_time(order).ns, wall_add_ms(admitted, 5).ns);
}

static void an_undecided_job_stands_where_it_came_from(void **state) {
    (void)state;
    struct order_node node = {.state = STATE_ABANDONED, .was = STATE_STAGED};
    assert_int_equal(order_node_stands_as(&node), STATE_STAGED);
    assert_true(order_node_stands_waiting(&node));
    assert_false(order_node_is_waiting(&node));
    node.was = STATE_PENDING;
    assert_false(order_node_stands_waiting(&node));
    node.state = STATE_QUEUED;
    assert_int_equal(order_node_stands_as(&node), STATE_QUEUED);
    assert_true(order_node_is_waiting(&node));
}

/* A job that is not placed gets its rank when it is; a rollback is never
 * placed, and inherits all the same. */
static void only_a_placed_job_or_a_rollback_inherits(void **state) {
    (void)state;
    dc("a", "f");
    struct order_node *node = node_of("a");
    assert_false(order_node_inherits(node));
    order_node_rank_again(order, node);
    assert_int_equal(order->ranks.count, 0);
    settle();
    assert_true(order_node_inherits(node));
    order_node_rank_again(order, node);
    order_node_rank_again(order, node);
    assert_int_equal(order->ranks.count, 1);
    add(CLASS_RB, "r", "");
    assert_int_equal(node_of("r")->seq, 0);
    assert_true(order_node_inherits(node_of("r")));
    settle();
    assert_int_equal(order->ranks.count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STORY(a_job_touched_again_is_judged_once_and_last),
        STORY(a_job_has_a_deadline_while_a_dependency_is_unknown),
        STORY(a_deadline_counts_from_the_admission),
        STORY(an_undecided_job_stands_where_it_came_from),
        STORY(only_a_placed_job_or_a_rollback_inherits),
    };
    return cmocka_run_group_tests_name("order_node", tests, NULL, NULL);
}
