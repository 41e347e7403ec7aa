#include "nodes/node_list.h"

#include "nodes/node_line.h"
#include "support/test.h"

static struct node_list list;

static int setup(void **state) {
    (void)state;
    node_list_init(&list, 5);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    node_list_clear(&list);
    return 0;
}

/* "": it was added; else what is wrong. */
static const char *add(const char *name, const char *parent, unsigned level) {
    static const char *const levels[] = {"instance", "host", "shard"};
    static struct err err;
    const struct node_row row = {.name = span_of(name),
                                 .parent = span_of(parent),
                                 .level = span_of(levels[level]),
                                 .source = SPAN("s"),
                                 .tags = SPAN("")};

    return node_list_add(&list, &row, level, &err) ? "" : err.text;
}

static void a_node_may_be_below_several_others(void **state) {
    (void)state;
    assert_string_equal(add("h1", "", 1), "");
    assert_string_equal(add("h2", "", 1), "");
    assert_string_equal(add("s", "h1", 2), "");
    assert_string_equal(add("s", "h2", 2), "");
    assert_true(node_list_is_first(&list, 2));
    assert_false(node_list_is_first(&list, 3));
    assert_int_equal(node_list_find(&list, SPAN("s"), SPAN("h2"))->depth, 2);
    assert_null(node_list_find(&list, SPAN("s"), SPAN("")));
}

static void what_contradicts_the_list_is_refused(void **state) {
    (void)state;
    add("h1", "", 1);
    add("s", "h1", 2);
    assert_string_equal(add("t", "h9", 2),
                        "node 't': there is no node 'h9' for "
                        "it to be below");
    assert_string_equal(add("h2", "s", 1), "node 'h2': level 'shard' of 's' is "
                                           "not above level 'host'");
    assert_string_equal(add("h1", "", 2), "node 'h1' is on level 'host' "
                                          "already, from source 's'");
    assert_string_equal(add("s", "h1", 2),
                        "node 's' is there already below h1, from source 's'");
    assert_string_equal(add("h1", "", 1),
                        "node 'h1' is there already, from source 's'");
    assert_int_equal(list.count, 2);
}

static void there_is_a_largest_number_of_nodes(void **state) {
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        assert_string_equal(add((const char[]){(char)('a' + i), '\0'}, "", 1),
                            "");
    assert_string_equal(add("f", "", 1),
                        "there are more than 5 nodes (max-nodes)");
}

static void what_is_cut_can_be_added_again(void **state) {
    (void)state;
    add("h1", "", 1);
    add("h2", "", 1);
    add("s", "h2", 2);
    node_list_cut(&list, 1);
    assert_null(node_list_find(&list, SPAN("h2"), SPAN("")));
    assert_string_equal(add("s", "h2", 2),
                        "node 's': there is no node 'h2' for "
                        "it to be below");
    assert_string_equal(add("h2", "h1", 2), "");
    assert_string_equal(add("h1", "", 2), "node 'h1' is on level 'host' "
                                          "already, from source 's'");
}

/* ---- lines --------------------------------------------------------------- */

static const char *parse(const char *text, struct node_line *ret_line) {
    static struct err err;

    return node_line_parse(span_of(text), ret_line, &err) ? "" : err.text;
}

static void a_line_is_a_name_and_what_belongs_to_it(void **state) {
    struct node_line line;

    (void)state;
    assert_string_equal(parse("db1", &line), "");
    assert_true(span_is(line.name, "db1") && line.parent.len == 0 &&
                !line.disabled);
    assert_string_equal(line.tags, "");
    assert_string_equal(parse("  db1   tag=b below=h1 disabled tag=a ", &line),
                        "");
    assert_true(span_is(line.name, "db1") && span_is(line.parent, "h1") &&
                line.disabled);
    assert_string_equal(line.tags, "b a");
    assert_string_equal(parse("db1 below=instance", &line), "");
    assert_int_equal(line.parent.len, 0);
    assert_string_equal(parse("disabled", &line), "");
    assert_true(span_is(line.name, "disabled"));
}

static void a_line_that_is_wrong_is_refused(void **state) {
    char name[300], tags[1200] = "db1 tag=";
    struct node_line line;

    (void)state;
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    memset(tags + 8, 'x', 250);
    assert_string_equal(parse("", &line), "it has no name");
    assert_string_equal(parse(name, &line), "a name has 1 to 255 bytes");
    assert_string_equal(parse("a\tb", &line), "it is not printable text");
    assert_string_equal(parse("below=h1", &line),
                        "a name is printable text without blanks and '='");
    assert_string_equal(parse("instance", &line), "'instance' is the root");
    assert_string_equal(parse("a b", &line),
                        "'b' is neither below=PARENT nor tag=TAG nor disabled");
    assert_string_equal(parse("a above=b", &line),
                        "'above=': only below= and tag= are known");
    assert_string_equal(parse("a below=", &line),
                        "parent '': a name has 1 to 255 bytes");
    assert_string_equal(parse("a tag=", &line),
                        "tag '': a name has 1 to 255 bytes");
    for (unsigned i = 0; i < 3; i++)
        strcat(tags,
               " tag=yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
               "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
               "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
               "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
               "yyyyyyyyyyyyyyyyyyyyyy");
    assert_string_equal(parse(tags, &line),
                        "the tags have more than 1000 bytes");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_node_may_be_below_several_others),
        TEST(what_contradicts_the_list_is_refused),
        TEST(there_is_a_largest_number_of_nodes),
        TEST(what_is_cut_can_be_added_again),
        cmocka_unit_test(a_line_is_a_name_and_what_belongs_to_it),
        cmocka_unit_test(a_line_that_is_wrong_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
