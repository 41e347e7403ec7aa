#include "core/order_inner.h"
#include "support/order_story.h"

/* The jobs that a job waits for, in three forms: all reasons, one job, each id
 * once. */

static struct order_node *node_of(const char *id) {
    uint64_t num = num_of(id);
    return map_get(&order->nodes, map_num_key(&num));
}

static void assert_ids(const char *id, const char *wanted) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    const struct span *ids;
    order->arena = &arena;
    size_t count = order_preds_ids(order, node_of(id), &ids);
    for (size_t i = 0; i < count; i++)
        text_addf(&text, "%s%.*s", i > 0 ? " " : "", (int)ids[i].len, ids[i].p);
    assert_string_equal(text_string(&text), wanted);
}

static void a_job_that_is_waited_for_twice_is_listed_once(void **state) {
    (void)state;
    dc("a", "f g h");
    settle();
    dc("b", "f g <a ~a");
    settle();
    order_preds_collect(order, node_of("b"));
    assert_int_equal(order->preds.count, 4); /* f, g, <a, ~a */
    size_t hints = 0, paths = 0;
    for (size_t i = 0; i < order->preds.count; i++) {
        hints += order->preds.p[i].hint;
        paths += order->preds.p[i].place != NULL;
    }
    assert_int_equal(hints, 1);
    assert_int_equal(paths, 2);
    assert_ids("b", "a");
    assert_ptr_equal(order_preds_first(order, node_of("b")), node_of("a"));
}

static void only_the_job_in_front_is_waited_for(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    dc("c", "f");
    settle();
    assert_ids("c", "b");
    assert_ids("b", "a");
    assert_ids("a", "");
    assert_null(order_preds_first(order, node_of("a")));
}

/* Users of a directory do not wait for each other, and a file of that name
 * waits for all of them. */
static void all_members_of_the_group_in_front_are_waited_for(void **state) {
    (void)state;
    dc("a", "d/x");
    dc("b", "d/y");
    dc("c", "d");
    settle();
    assert_ids("c", "a b");
    assert_ids("b", "");
}

/* Its paths do not count before it has a place. */
static void a_job_not_placed_waits_for_its_dependencies_only(void **state) {
    (void)state;
    dc("a", "f");
    dc("x", "g");
    settle();
    dc("b", "f <x");
    assert_int_equal(node_of("b")->seq, 0);
    assert_ids("b", "x");
    settle();
    assert_ids("b", "x a");
    dc("c", "f");
    assert_null(order_preds_first(order, node_of("c")));
    settle();
    assert_ptr_equal(order_preds_first(order, node_of("c")), node_of("b"));
}

/* `first` is for a walk through the order: it skips what is not in it. */
static void a_dependency_outside_is_listed_but_is_not_the_first(void **state) {
    (void)state;
    add_as(CLASS_DC, "j", "", STATE_DONE, ""); /* a name in the registry */
    dc("a", "f");
    settle();
    dc("b", "f <j");
    struct order_other other = {.id = SPAN("j"),
                                .state = STATE_PENDING,
                                .num = num_of("j"),
                                .key = span_of(set_of("j")->key)};
    order_outside(order, &other);
    settle();
    assert_ids("b", "j a");
    assert_ptr_equal(order_preds_first(order, node_of("b")), node_of("a"));
}

static void the_successor_is_waited_for_instead_of_the_failed(void **state) {
    (void)state;
    outside("old", STATE_FAILED);
    dc("new", "n ^old");
    settle();
    dc("b", "g <old");
    struct span successors[] = {SPAN("new")};
    struct order_other other = {.id = SPAN("old"),
                                .state = STATE_FAILED,
                                .since = now,
                                .successors = successors,
                                .successor_count = 1};
    order_outside(order, &other);
    settle();
    assert_ids("b", "new");
    assert_ptr_equal(order_preds_first(order, node_of("b")), node_of("new"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STORY(a_job_that_is_waited_for_twice_is_listed_once),
        STORY(only_the_job_in_front_is_waited_for),
        STORY(all_members_of_the_group_in_front_are_waited_for),
        STORY(a_job_not_placed_waits_for_its_dependencies_only),
        STORY(a_dependency_outside_is_listed_but_is_not_the_first),
        STORY(the_successor_is_waited_for_instead_of_the_failed),
    };
    return cmocka_run_group_tests_name("order_preds", tests, NULL, NULL);
}
