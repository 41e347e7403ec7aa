#include "nodes/standing_definition.h"

#include "support/test.h"

static struct arena arena;
static struct text errors, out;

static int teardown(void **state) {
    (void)state;
    arena_clear(&arena);
    text_clear(&errors);
    text_clear(&out);
    return 0;
}

/* What is kept of the JSON, or what is wrong with it. */
static const char *parse(const char *json) {
    struct standing_definition d;

    text_reset(&errors);
    text_reset(&out);
    if (!standing_definition_parse(span_of(json), &arena, &d, &errors))
        return text_string(&errors);
    standing_definition_format(&d, &out);
    return text_string(&out);
}

/* The same for options, ended by NULL, that change this JSON. */
static const char *set(const char *json, const char *const *options) {
    struct standing_definition d;
    bool ok;

    text_reset(&errors);
    text_reset(&out);
    ok = standing_definition_parse(span_of(json), &arena, &d, &errors);
    assert_true(ok);
    for (; *options != NULL; options++) {
        struct span value = span_of(*options), key;
        (void)span_cut(&value, '=', &key);
        ok = standing_definition_set(&d, key, value, &arena, &errors) && ok;
    }
    if (!ok)
        return text_string(&errors);
    standing_definition_format(&d, &out);
    return text_string(&out);
}
#define SET(json, ...) set(json, (const char *const[]){__VA_ARGS__, NULL})

static void what_is_the_default_is_not_kept(void **state) {
    (void)state;
    assert_string_equal(parse("{\"command\":[\"x\"],\"enabled\":true,"
                              "\"priority\":1.0,\"max_running\":0,"
                              "\"filters\":{},\"backoff\":null}"),
                        "{\"command\":[\"x\"]}");
}

static void every_key_is_kept(void **state) {
    static const char whole[] =
        "{\"enabled\":false,\"owner\":\"ann\",\"priority\":2.125,"
        "\"level\":\"host\",\"max_running\":7,"
        "\"resources\":{\"connection\":2,\"ram\":0},"
        "\"filters\":{\"host\":{\"whitelist\":[\"a\",\"b\"],"
        "\"blacklist\":[\"c\"],\"tags\":[\"x\"],\"whitelist_regex\":\"^a\","
        "\"blacklist_regex\":\"z$\",\"fraction\":0.25},"
        "\"worker\":{\"whitelist\":[\"h1\"]}},"
        "\"backoff\":[15,60,\"repeat\"],\"depends_on\":[\"one\"],"
        "\"after_all_nodes_of\":[\"two\"],\"host_level\":\"host\","
        "\"kill_orphans_after\":900,\"command\":[\"./copy\",\"{}\"],"
        "\"class\":\"BF.200\",\"timeout\":90,\"env\":{\"A\":\"b\"},"
        "\"dir\":\"/srv\",\"clean\":true,\"umask\":\"022\","
        "\"kill_wait\":\"500ms\",\"limit\":{\"nofile\":64}}";

    (void)state;
    assert_string_equal(parse(whole), whole);
}

static void values_may_be_written_in_several_ways(void **state) {
    (void)state;
    assert_string_equal(
        parse("{\"enabled\":\"no\",\"priority\":\"0.5\",\"backoff\":\"fail\","
              "\"depends_on\":\"a\",\"timeout\":\"2m\",\"command\":\"x\","
              "\"kill_orphans_after\":\"never\",\"resources\":{\"r\":\"3\"}}"),
        "{\"enabled\":false,\"priority\":0.5,\"resources\":{\"r\":3},"
        "\"backoff\":[\"fail\"],\"depends_on\":[\"a\"],"
        "\"kill_orphans_after\":\"never\",\"command\":[\"x\"],"
        "\"timeout\":120}");
    /* A list without a last word ends with a failure. */
    assert_string_equal(parse("{\"backoff\":[1,2],\"command\":[\"x\"]}"),
                        "{\"backoff\":[1,2,\"fail\"],\"command\":[\"x\"]}");
}

static void everything_that_is_wrong_is_said_at_once(void **state) {
    (void)state;
    assert_string_equal(
        parse("{\"prioritty\":1,\"priority\":-1,\"resources\":{\"r\":-2},"
              "\"filters\":{\"h\":{\"tag\":[],\"fraction\":0,"
              "\"whitelist_regex\":\"[\"}},\"backoff\":[5,5,\"repeat\"],"
              "\"depends_on\":[\"a b\"],\"host\":\"x\",\"host_level\":\"y\"}"),
        "unknown key 'prioritty', did you mean 'priority'?\n"
        "priority: '-1' is not a number from 0.001 to 1000000\n"
        "resources.r: '-2' is not a number from 0 to 2^53\n"
        "unknown key 'filters.h.tag', did you mean 'tags'?\n"
        "filters.h.fraction: '0' is not a fraction from 0.000001 to 1\n"
        "filters.h.whitelist_regex: '[' is not a regular expression: a '[' "
        "without its ']' at character 2\n"
        "backoff: not a list in which each wait is longer than the one "
        "before\n"
        "'a b' is not the name of a job: a letter or digit, then letters, "
        "digits, '.', '_' and '-', 64 at most\n"
        "host and host_level: only one of them can say where tasks run\n"
        "a command is missing\n");
}

static void a_list_of_waits_grows_and_has_an_end(void **state) {
    static const char *const wrong[] = {
        "[\"repeat\"]",       "[0,\"fail\"]",      "[\"fail\",3]",
        "[3,\"repeat\",4]",   "[31536001]",        "[1.5]",
        "[60,15,\"repeat\"]", "[true,\"repeat\"]",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        CLEANUP(text_clear) struct text json = TEXT_INIT;
        text_addf(&json, "{\"command\":[\"x\"],\"backoff\":%s}", wrong[i]);
        assert_true(
            span_starts(span_of(parse(text_string(&json))), "backoff: not "));
    }
}

static void options_change_single_keys(void **state) {
    static const char before[] =
        "{\"priority\":2,\"resources\":{\"a\":1,\"b\":2},"
        "\"filters\":{\"host\":{\"tags\":[\"x\"]}},\"command\":[\"x\"],"
        "\"env\":{\"A\":\"b\"},\"kill_wait\":5}";

    (void)state;
    assert_string_equal(
        SET(before, "resources.a=", "resources.b=7",
            "kill-wait=", "limit.nofile=9", "filters.host.tags=y,z",
            "filters.host.whitelist-regex=a,b", "env.A=", "env.B=c=d",
            "max-running=3"),
        "{\"priority\":2,\"max_running\":3,\"resources\":{\"b\":7},"
        "\"filters\":{\"host\":{\"tags\":[\"y\",\"z\"],"
        "\"whitelist_regex\":\"a,b\"}},\"command\":[\"x\"],"
        "\"env\":{\"B\":\"c=d\"},\"limit\":{\"nofile\":9}}");
    assert_string_equal(SET(before, "priority="),
                        "{\"resources\":{\"a\":1,\"b\":2},"
                        "\"filters\":{\"host\":{\"tags\":[\"x\"]}},"
                        "\"command\":[\"x\"],\"env\":{\"A\":\"b\"},"
                        "\"kill_wait\":5}");
}

static void wrong_options_are_named(void **state) {
    (void)state;
    assert_string_equal(
        SET("{\"command\":[\"x\"]}", "filters=1", "filters.host=1",
            "filters.host.tag=1", "resources=1", "level.x=1", "command=x",
            "nix=1", "kill-method=hard", "filters.a=b.tags=x"),
        "filters: a name is missing, as in filters.NAME\n"
        "filters.host: what is filtered? For example filters.host.tags\n"
        "unknown key 'filters.host.tag', did you mean 'tags'?\n"
        "resources: a name is missing, as in resources.NAME\n"
        "unknown key 'level.x', did you mean 'level'?\n"
        "command: it stands behind --, as in `job add NAME level=host -- "
        "./clean {}`\n"
        "unknown key 'nix'\n"
        "'kill_method' = 'hard' is not one of term-wait-kill|term|kill\n"
        "filters.a: what is filtered? For example filters.a.tags\n");
}

static void a_huge_definition_is_refused(void **state) {
    CLEANUP(text_clear) struct text json = TEXT_INIT;

    (void)state;
    text_adds(&json, "{\"command\":[\"x\"],\"env\":{\"A0\":\"\"");
    for (unsigned i = 1; i <= 1000; i++)
        text_addf(&json, ",\"A%u\":\"\"", i);
    text_adds(&json, "}}");
    assert_string_equal(parse(text_string(&json)), "env: more than 1000\n");
    text_reset(&json);
    text_adds(&json, "{\"command\":[\"x\"],\"depends_on\":[\"a\"");
    for (unsigned i = 0; i < STANDING_LIST; i++)
        text_adds(&json, ",\"a\"");
    text_adds(&json, "]}");
    assert_string_equal(parse(text_string(&json)),
                        "depends_on: more than 10000 members\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_the_default_is_not_kept),
        cmocka_unit_test(every_key_is_kept),
        cmocka_unit_test(values_may_be_written_in_several_ways),
        cmocka_unit_test(everything_that_is_wrong_is_said_at_once),
        cmocka_unit_test(a_list_of_waits_grows_and_has_an_end),
        cmocka_unit_test(options_change_single_keys),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(a_huge_definition_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
