#include "core/node_filter.h"

#include "support/test.h"

static const struct span two[] = {SPAN("db1"), SPAN("db2")};

static bool accepts(struct node_filter filter, const char *name,
                    const char *tags) {
    return node_filter_accepts(&filter, span_of(name), span_of(tags));
}

static void a_filter_without_conditions_is_open(void **state) {
    struct node_filter filter = {0};

    (void)state;
    assert_true(node_filter_is_open(&filter));
    assert_true(accepts(filter, "anything", ""));
    filter.fraction = NODE_FRACTION_WHOLE;
    assert_true(node_filter_is_open(&filter));
    filter.fraction = 1;
    assert_false(node_filter_is_open(&filter));
}

static void names_are_accepted_or_refused_as_a_whole(void **state) {
    struct node_filter accept = {.names = two, .name_count = 2};
    struct node_filter refuse = {.refused = two, .refused_count = 2};

    (void)state;
    assert_true(accepts(accept, "db1", "") && accepts(accept, "db2", ""));
    assert_false(accepts(accept, "db", "") || accepts(accept, "db11", ""));
    assert_false(accepts(refuse, "db1", "") || accepts(refuse, "db2", ""));
    assert_true(accepts(refuse, "db", "") && accepts(refuse, "db11", ""));
}

static void one_of_the_tags_is_enough(void **state) {
    struct node_filter filter = {.tags = two, .tag_count = 2};

    (void)state;
    assert_true(accepts(filter, "n", "db2"));
    assert_true(accepts(filter, "n", "a db1 z"));
    assert_false(accepts(filter, "n", "db a1"));
    assert_false(accepts(filter, "n", ""));
}

static void expressions_are_searched_in_the_name(void **state) {
    struct node_filter filter = {0};
    struct err err;

    (void)state;
    assert_true(pattern_new(SPAN("b[12]"), false, &filter.accepts, &err));
    assert_true(pattern_new(SPAN("x$"), false, &filter.refuses, &err));
    assert_true(accepts(filter, "db1", ""));
    assert_false(accepts(filter, "db3", ""));
    assert_false(accepts(filter, "db1x", ""));
    pattern_free(filter.accepts);
    pattern_free(filter.refuses);
}

/* Of 10,000 nodes, and which they are depends on the salt alone. */
static void a_fraction_has_its_size_and_its_salt(void **state) {
    struct node_filter one = {.fraction = 250000, .salt = 1};
    struct node_filter other = {.fraction = 250000, .salt = 2};
    unsigned count = 0, both = 0;
    char name[16];

    (void)state;
    for (unsigned i = 0; i < 10000; i++) {
        snprintf(name, sizeof(name), "n%u", i);
        count += accepts(one, name, "");
        both += accepts(one, name, "") && accepts(other, name, "");
        assert_int_equal(accepts(one, name, ""), accepts(one, name, "tag"));
    }
    assert_in_range(count, 2400, 2600);
    assert_in_range(both, 560, 690); /* a sixteenth */
}

/* Otherwise a job would run on other nodes after an upgrade. */
static void the_hash_of_a_name_never_changes(void **state) {
    (void)state;
    assert_true(node_hash(SPAN("db1")) == UINT64_C(0xcee7ea48762c304e));
    assert_true(node_hash(SPAN("")) != node_hash(SPAN("x")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_without_conditions_is_open),
        cmocka_unit_test(names_are_accepted_or_refused_as_a_whole),
        cmocka_unit_test(one_of_the_tags_is_enough),
        cmocka_unit_test(expressions_are_searched_in_the_name),
        cmocka_unit_test(a_fraction_has_its_size_and_its_salt),
        cmocka_unit_test(the_hash_of_a_name_never_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
