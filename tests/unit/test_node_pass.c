#include "core/node_pass.h"

#include "support/test.h"

/* Level 0: all; 1: hosts, two tasks each; 2: shards; 3: tables. Workers have
 * slots. */
static struct node_pass *pass;
static struct node_job_spec spec;
static struct wall now;
static struct node_start started;

static void begin(uint64_t seed) {
    static const struct node_level levels[] = {
        {0}, {.resource_count = 1, .limits = {2}}, {0}, {0}};
    static const uint32_t weight = 1;
    const struct node_pass_options options = {.root = SPAN("all"),
                                              .levels = levels,
                                              .level_count = COUNT(levels),
                                              .worker_resource_count = 1,
                                              .worker_weights = &weight,
                                              .seed = seed,
                                              .kill_orphans_after_ms = 5000};
    const int64_t slots = 100;

    now = wall_from_s(1700000000);
    node_pass_free(pass);
    pass = node_pass_new(&options);
    node_pass_set_worker(pass, node_pass_add_worker(pass, SPAN("h1"), &slots),
                         true, &slots);
    spec = (struct node_job_spec){.num = 1,
                                  .job_class = CLASS_DC,
                                  .account = SPAN("us"),
                                  .enabled = true,
                                  .level = 2,
                                  .priority = 1000,
                                  .order = NODE_ORDER_ORIGINAL,
                                  .kill_orphans_after_ms = 10000};
    spec.demand.of_level[1][0] = 1;
}

static int setup(void **state) {
    (void)state;
    begin(1);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    node_pass_free(pass);
    pass = NULL;
    return 0;
}

static void put(unsigned level, const char *name, const char *parent) {
    assert_int_equal(node_pass_put_node(pass, level, span_of(name),
                                        span_of(parent), true, SPAN("")),
                     NODE_PUT_ADDED);
}

static struct node_pass_job *add_job(void) {
    struct node_pass_job *job = node_pass_add_job(pass, &spec);

    node_pass_open_job(pass, job);
    return job;
}

/* Returns the name of the node that the next task starts on, or "". */
static const char *next(void) {
    const struct node_tree *tree = node_pass_tree(pass);

    return node_pass_next(pass, now, &started)
               ? tree->nodes[tree->places[started.place].node].name
               : "";
}

static const char *parent_of_started(void) {
    const struct node_tree *tree = node_pass_tree(pass);
    uint32_t parent = tree->places[started.place].parent;

    return tree->nodes[tree->places[parent].node].name;
}

static void end(struct node_run *run) {
    const struct retry_end done = {.result = RETRY_RAN};
    struct retry_verdict verdict;

    node_pass_ended(pass, run, &done, now, &verdict);
}

static void a_host_that_is_full_holds_up_only_its_own_shards(void **state) {
    struct node_run *run;

    (void)state;
    put(1, "h1", "all");
    put(1, "h2", "all");
    put(2, "a", "h1");
    put(2, "b", "h1");
    put(2, "c", "h1");
    put(2, "d", "h2");
    add_job();
    assert_string_equal(next(), "a");
    run = started.run;
    assert_string_equal(next(), "b");
    assert_string_equal(next(), "d");
    assert_string_equal(next(), "");
    end(run);
    assert_string_equal(next(), "c");
    assert_string_equal(next(), "");
}

static void a_replica_runs_at_its_first_place_that_is_free(void **state) {
    struct node_run *runs[3];

    (void)state;
    put(1, "h1", "all");
    put(1, "h2", "all");
    put(2, "x", "h1");
    put(2, "a", "h1");
    put(2, "x", "h2");
    put(2, "a", "h2");
    put(2, "b", "h1");
    put(2, "b", "h2");
    add_job();
    assert_string_equal(next(), "x");
    assert_string_equal(parent_of_started(), "h1");
    runs[0] = started.run;
    assert_string_equal(next(), "a");
    assert_string_equal(parent_of_started(), "h1");
    assert_string_equal(next(), "b");
    assert_string_equal(parent_of_started(), "h2");
    assert_string_equal(next(), "");
    end(runs[0]);
    assert_string_equal(next(), "");
}

static void what_is_below_a_replica_is_below_each_of_its_places(void **state) {
    const struct node_tree *tree = node_pass_tree(pass);
    uint32_t above;

    (void)state;
    put(1, "h1", "all");
    put(1, "h2", "all");
    put(2, "s", "h1");
    put(3, "t", "s");
    put(2, "s", "h2");
    put(3, "u", "s");
    spec.level = 3;
    add_job();
    node_pass_set_limit(pass, node_tree_find(tree, SPAN("h1")), 0, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_string_equal(next(), i == 0 ? "t" : "u");
        assert_string_equal(parent_of_started(), "s");
        above = tree->places[tree->places[started.place].parent].parent;
        assert_string_equal(tree->nodes[tree->places[above].node].name, "h2");
    }
    assert_true(node_pass_drop_node(pass, SPAN("s"), SPAN("h1")));
    assert_true(node_tree_find(tree, SPAN("t")) != NODE_NONE);
}

static void own_nodes_start_in_their_order(void **state) {
    (void)state;
    spec.level = 1;
    spec.own_count = 5;
    spec.max_running = 3;
    add_job();
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(node_pass_next(pass, now, &started));
        assert_int_equal(started.row, i);
    }
    assert_false(node_pass_next(pass, now, &started));
    end(started.run);
    assert_true(node_pass_next(pass, now, &started));
    assert_int_equal(started.row, 3);
}

static void a_limit_that_shrinks_leaves_a_negative_rest(void **state) {
    uint32_t node;
    struct node_run *run;

    (void)state;
    put(1, "h1", "all");
    put(2, "a", "h1");
    put(2, "b", "h1");
    put(2, "c", "h1");
    add_job();
    next();
    run = started.run;
    next();
    node = node_tree_find(node_pass_tree(pass), SPAN("h1"));
    node_pass_set_limit(pass, node, 0, 1);
    assert_int_equal(node_tree_left(node_pass_tree(pass), node)[0], -1);
    end(run);
    assert_int_equal(node_tree_left(node_pass_tree(pass), node)[0], 0);
    assert_string_equal(next(), "");
    node_pass_set_limit(pass, node, 0, 2);
    assert_string_equal(next(), "c");
}

/* What a task takes is what it took at its start. */
static void amounts_are_frozen_at_the_start(void **state) {
    struct node_pass_job *job;
    uint32_t node;

    (void)state;
    put(1, "h1", "all");
    put(2, "a", "h1");
    job = add_job();
    next();
    node = node_tree_find(node_pass_tree(pass), SPAN("h1"));
    spec.demand.of_level[1][0] = 2;
    node_pass_set_job(pass, job, &spec);
    assert_int_equal(node_tree_left(node_pass_tree(pass), node)[0], 1);
    end(started.run);
    assert_int_equal(node_tree_left(node_pass_tree(pass), node)[0], 2);
}

static void an_orphan_is_killed_after_unbroken_time_only(void **state) {
    struct node_run *run;

    (void)state;
    put(1, "h1", "all");
    put(2, "a", "h1");
    add_job();
    next();
    run = started.run;
    for (unsigned i = 0; i < 2; i++) {
        node_pass_put_node(pass, 1, SPAN("h1"), SPAN("all"), false, SPAN(""));
        node_pass_tick(pass, now);
        now = wall_add_ms(now, 9999);
        node_pass_tick(pass, now);
        assert_null(node_pass_next_kill(pass, now));
        if (i == 0) /* it begins again */
            node_pass_put_node(pass, 1, SPAN("h1"), SPAN("all"), true,
                               SPAN(""));
        node_pass_tick(pass, now);
    }
    now = wall_add_ms(now, 1);
    assert_int_equal(node_pass_next_time(pass).ns, now.ns);
    assert_ptr_equal(node_pass_next_kill(pass, now), run);
    assert_null(node_pass_next_kill(pass, now));
    end(run);
}

static void a_task_of_a_job_that_is_gone_returns_its_amounts(void **state) {
    struct node_pass_job *job;
    uint32_t node;

    (void)state;
    put(1, "h1", "all");
    put(2, "a", "h1");
    job = add_job();
    next();
    node_pass_remove_job(pass, job);
    node_pass_drop_node(pass, SPAN("h1"), SPAN("all"));
    node = node_tree_find(node_pass_tree(pass), SPAN("h1"));
    assert_int_equal(node_tree_left(node_pass_tree(pass), node)[0], 1);
    node_pass_tick(pass, now);
    now = wall_add_ms(now, 5000);
    assert_ptr_equal(node_pass_next_kill(pass, now), started.run);
    end(started.run);
    assert_int_equal(node_tree_find(node_pass_tree(pass), SPAN("h1")),
                     NODE_NONE);
}

static void a_task_waits_for_its_dependency_on_the_same_node(void **state) {
    const uint64_t one = 1;
    struct node_run *run;

    (void)state;
    put(1, "h1", "all");
    put(2, "a", "h1");
    put(2, "b", "h1");
    add_job();
    spec.num = 2;
    spec.depends_on = &one;
    spec.depends_count = 1;
    add_job();
    next();
    next();
    assert_int_equal(started.num, 1);
    run = started.run;
    assert_string_equal(next(), "");
    end(run);
    assert_string_equal(next(), "b");
    assert_int_equal(started.num, 2);
}

/* Under equal conditions each node comes first equally often. */
static void the_random_order_prefers_no_node(void **state) {
    unsigned first[5] = {0};

    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        begin(seed);
        spec.order = NODE_ORDER_RANDOM;
        put(1, "h1", "all");
        for (unsigned i = 0; i < COUNT(first); i++)
            put(2, (const char[]){(char)('a' + i), '\0'}, "h1");
        add_job();
        first[next()[0] - 'a']++;
    }
    for (unsigned i = 0; i < COUNT(first); i++)
        assert_in_range(first[i], 330, 470);
}

/* A task that is tried again is not first for ever. */
static void
another_attempt_has_another_place_in_the_random_order(void **state) {
    const struct retry_end again = {.status = RETRY_STATUS_INCOMPLETE};
    struct retry_verdict verdict;
    unsigned first[2] = {0};

    (void)state;
    spec.order = NODE_ORDER_RANDOM;
    put(1, "h1", "all");
    put(2, "a", "h1");
    put(2, "b", "h1");
    add_job();
    for (unsigned i = 0; i < 9; i++) {
        first[next()[0] - 'a']++;
        node_pass_ended(pass, started.run, &again, now, &verdict);
    }
    assert_true(first[0] > 0 && first[1] > 0);
}

/* The order of a task depends on its attempts, whenever they are restored. */
static void
a_node_that_comes_back_has_the_place_of_its_next_attempt(void **state) {
    const struct node_task tried = {.attempt = 1};

    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        char first[2];
        for (unsigned late = 0; late < 2; late++) {
            const struct node_tree *tree;
            struct node_pass_job *job;
            begin(seed);
            spec.order = NODE_ORDER_RANDOM;
            put(1, "h1", "all");
            put(2, "a", "h1");
            put(2, "b", "h1");
            job = node_pass_add_job(pass, &spec);
            if (late)
                node_pass_open_job(pass, job);
            tree = node_pass_tree(pass);
            node_pass_restore(pass, job,
                              tree->nodes[node_tree_find(tree, SPAN("a"))].row,
                              &tried, now);
            if (!late)
                node_pass_open_job(pass, job);
            first[late] = next()[0];
        }
        assert_int_equal(first[0], first[1]);
    }
}

static void a_node_that_cannot_be_put_says_why(void **state) {
    char name[NODE_NAME_MOST + 1];

    (void)state;
    memset(name, 'x', sizeof(name));
    put(1, "h1", "all");
    assert_int_equal(
        node_pass_put_node(pass, 2, SPAN("a"), SPAN("h9"), true, SPAN("")),
        NODE_PUT_NO_PARENT);
    assert_int_equal(
        node_pass_put_node(pass, 2, SPAN("h1"), SPAN("all"), true, SPAN("")),
        NODE_PUT_WRONG_LEVEL);
    assert_int_equal(
        node_pass_put_node(pass, 1, SPAN("h1"), SPAN("h1"), true, SPAN("")),
        NODE_PUT_WRONG_LEVEL);
    assert_int_equal(
        node_pass_put_node(pass, 4, SPAN("a"), SPAN("h1"), true, SPAN("")),
        NODE_PUT_WRONG_LEVEL);
    assert_int_equal(
        node_pass_put_node(pass, 2, SPAN(""), SPAN("h1"), true, SPAN("")),
        NODE_PUT_WRONG_NAME);
    assert_int_equal(node_pass_put_node(pass, 2, span_make(name, sizeof(name)),
                                        SPAN("h1"), true, SPAN("")),
                     NODE_PUT_WRONG_NAME);
    assert_int_equal(
        node_pass_put_node(pass, 1, SPAN("h1"), SPAN("all"), true, SPAN("")),
        NODE_PUT_SAME);
}

/* Thousands come and go, so that names, rows and slots are used again. */
static void nodes_that_come_and_go_leave_nothing_behind(void **state) {
    const struct node_tree *tree = node_pass_tree(pass);
    char name[16];

    (void)state;
    put(1, "h1", "all");
    add_job();
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 300; i++) {
            snprintf(name, sizeof(name), "t%u", round * 100 + i);
            node_pass_put_node(pass, 2, span_of(name), SPAN("h1"), true,
                               SPAN(""));
        }
        for (unsigned i = 0; i < 300; i++) {
            snprintf(name, sizeof(name), "t%u", round * 100 + i);
            assert_true(node_pass_drop_node(pass, span_of(name), SPAN("h1")));
        }
    }
    assert_int_equal(tree->named, 2);
    assert_in_range(tree->node_count, 302, 310);
    assert_in_range(tree->levels[2].slot_count, 512, 1024);
    assert_string_equal(next(), "");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_host_that_is_full_holds_up_only_its_own_shards),
        TEST(a_replica_runs_at_its_first_place_that_is_free),
        TEST(what_is_below_a_replica_is_below_each_of_its_places),
        TEST(own_nodes_start_in_their_order),
        TEST(a_limit_that_shrinks_leaves_a_negative_rest),
        TEST(amounts_are_frozen_at_the_start),
        TEST(an_orphan_is_killed_after_unbroken_time_only),
        TEST(a_task_of_a_job_that_is_gone_returns_its_amounts),
        TEST(a_task_waits_for_its_dependency_on_the_same_node),
        TEST(the_random_order_prefers_no_node),
        TEST(another_attempt_has_another_place_in_the_random_order),
        TEST(a_node_that_comes_back_has_the_place_of_its_next_attempt),
        TEST(a_node_that_cannot_be_put_says_why),
        TEST(nodes_that_come_and_go_leave_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
