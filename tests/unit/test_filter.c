#include "support/test.h"

#include "lib/arena.h"
#include "wire/filter.h"

static struct arena arena;
static const struct wall now = {INT64_C(10000000) * NS_PER_S};

static int teardown(void **state) {
    (void)state;
    arena_clear(&arena);
    return 0;
}

static struct filter_facts a_job(void) {
    static const struct span touches[] = {{"src/a.c", 7}, {"doc/x", 5}};
    return (struct filter_facts){
        .state = 'F',
        .kind = SPAN("command"),
        .class = SPAN("EM"),
        .target = SPAN("main"),
        .id = SPAN("abc123"),
        .node = SPAN("n1"),
        .reason = SPAN("exit-2"),
        .arg = SPAN("make -k Check \"x\""),
        .touches = touches,
        .touch_count = 2,
        .admitted = wall_add_ms(now, -7200000),
        .since = wall_add_ms(now, -60000),
    };
}

static bool matches(const char *text) {
    struct filter filter;
    struct filter_facts facts = a_job();
    struct err err = {0};
    if (!filter_parse(span_of(text), FILTER_JOBS, &arena, &filter, &err))
        fail_msg("%s: %s", text, err.text);
    return filter_match(&filter, &facts, now);
}

static void terms_match_the_fields_they_name(void **state) {
    (void)state;
    static const char *const yes[] = {
        "",
        "  ",
        "state:failed",
        "state:F",
        "state:f",
        "state:Q,S,failed",
        "state:final",
        "-state:open",
        "kind:command",
        "class:EM,BF",
        "target:m*n",
        "id:abc*",
        "id:*",
        "id:a*1*3",
        "reason:exit-*",
        "reason~EXIT",
        "node:n1",
        "arg~\"k check\"",
        "arg~check,foo",
        "arg~\"\\\"x\\\"\"",
        "touches:src/*",
        "touches:doc/x",
        "touches~A.C",
        "held:no",
        "-held:yes",
        "age>1h",
        "age<3h",
        "since<2m",
        "since>30",
        "abc",
        "make",
        "abc1*3",
        "-xyz",
        "state=failed age>1h arg~make abc",
    };
    static const char *const no[] = {
        "state:done",  "-state:F",   "state:open",       "kind:change",
        "class:BF",    "target:mai", "id:bc*",           "id:abc",
        "arg:make",    "arg~foo",    "touches:src",      "held:yes",
        "age<1h",      "age>2h",     "since>1m",         "xyz",
        "bc123",       "-abc",       "state:failed xyz", "-arg~check,foo",
        "target:\"\"",
    };
    for (size_t i = 0; i < COUNT(yes); i++)
        if (!matches(yes[i]))
            fail_msg("does not match: %s", yes[i]);
    for (size_t i = 0; i < COUNT(no); i++)
        if (matches(no[i]))
            fail_msg("matches: %s", no[i]);
}

static bool matches_task(const char *text, const char *node) {
    struct filter filter;
    struct filter_facts facts = {.state = filter_task_state(TASK_FAILED),
                                 .id = span_of(node),
                                 .node = span_of(node),
                                 .arg = span_of(node)};
    struct err err = {0};
    if (!filter_parse(span_of(text), FILTER_TASKS, &arena, &filter, &err))
        fail_msg("%s: %s", text, err.text);
    return filter_match(&filter, &facts, now);
}

static void tasks_are_filtered_by_their_state_and_node(void **state) {
    (void)state;
    static const struct {
        const char *text, *node;
        bool matches;
    } cases[] = {
        {"", "n1", true},
        {"state:failed", "n1", true},
        {"state:running,failed", "n1", true},
        {"-state:failed", "n1", false},
        {"state:backoff", "n1", false},
        {"node:n1", "n1", true},
        {"node:n", "n1", false},
        {"node:n2,n1", "n1", true},
        {"node:n*", "n1", true},
        {"node~1", "n1", true},
        {"1", "n1", true},
        {"x,1", "n1", true},
        {"x,y", "n1", false},
        {"-1", "n1", false},
        {"-", "a-b", true},
        {"-", "ab", false},
        {"n*1", "n21", true},
        {"state:failed -2", "n1", true},
        {"\"a b\"", "a b c", true},
        {"node:\"a b\"", "a b", true},
        {"node:\"a,b\"", "a,b", true},
        {"seed=1", "--seed=10", true},
        {"a~b", "xa~b", true},
        {"state~b", "b", false},
        {"a<b>c", "a<b>c", true},
        {"h1:80", "h1:80", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (matches_task(cases[i].text, cases[i].node) != cases[i].matches)
            fail_msg("'%s' on '%s'", cases[i].text, cases[i].node);
}

static void a_filter_may_list_many_tasks(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    text_adds(&text, "node:n");
    for (unsigned i = 0; i < 1000; i++)
        text_addf(&text, ",n%u", i);
    assert_true(matches_task(text_string(&text), "n"));
    assert_true(matches_task(text_string(&text), "n777"));
    assert_false(matches_task(text_string(&text), "n1000"));
}

static void errors_of_filters_of_tasks_name_what_there_is(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"class:EM",
         "filter, at byte 1: unknown field 'class'; use state, node"},
        {"x nod:a",
         "filter, at byte 3: unknown field 'nod', did you mean 'node'?"},
        {"state:faild", "filter, at byte 7: unknown state of a task 'faild', "
                        "did you mean 'failed'?"},
        {"state:queued", "filter, at byte 7: unknown state of a task "
                         "'queued'; use unstarted, running, done, incomplete, "
                         "backoff, failed, lost"},
        {"\"n1", "filter, at byte 1: unterminated \""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct filter filter;
        struct err err = {0};
        assert_false(filter_parse(span_of(cases[i][0]), FILTER_TASKS, &arena,
                                  &filter, &err));
        assert_int_equal(err.kind, ERR_USAGE);
        assert_string_equal(err.text, cases[i][1]);
    }
}

static void errors_name_the_position_and_suggest_a_correction(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"stat:failed",
         "filter, at byte 1: unknown field 'stat', did you mean 'state'?"},
        {"x state:faild", "filter, at byte 9: unknown state 'faild', did you "
                          "mean 'failed'?"},
        {"state:killed", "filter, at byte 7: unknown state 'killed'; use "
                         "queued, staged, pending, executing, done, failed, "
                         "terminated, abandoned, open, final"},
        {"age:1h", "filter, at byte 4: after 'age' comes '<' or '>', not ':'"},
        {"state~x", "filter, at byte 6: after 'state' comes ':', not '~'"},
        {"age>soon", "filter, at byte 5: 'soon' is not a duration such as "
                     "90s, 15m, 2h"},
        {"held:maybe", "filter, at byte 6: 'maybe' is neither yes nor no"},
        {"id:", "filter, at byte 4: a value is missing"},
        {"id:a,", "filter, at byte 6: a value is missing"},
        {"arg~\"x", "filter, at byte 5: unterminated \""},
        {"-", "filter, at byte 2: a word is missing"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct filter filter;
        struct err err = {0};
        assert_false(filter_parse(span_of(cases[i][0]), FILTER_JOBS, &arena,
                                  &filter, &err));
        assert_int_equal(err.kind, ERR_USAGE);
        assert_string_equal(err.text, cases[i][1]);
    }
}

static void a_filter_knows_which_states_can_match(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"", "QSPXDFTA"},
                                           {"abc", "QSPXDFTA"},
                                           {"state:open", "QSPX"},
                                           {"-state:final", "QSPX"},
                                           {"state:D,F -state:D", "F"},
                                           {"state:D state:F", ""}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct filter filter;
        char states[JOB_STATES + 1];
        assert_true(filter_parse(span_of(cases[i][0]), FILTER_JOBS, &arena,
                                 &filter, NULL));
        filter_states(&filter, states);
        assert_string_equal(states, cases[i][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_match_the_fields_they_name),
        cmocka_unit_test(errors_name_the_position_and_suggest_a_correction),
        cmocka_unit_test(tasks_are_filtered_by_their_state_and_node),
        cmocka_unit_test(a_filter_may_list_many_tasks),
        cmocka_unit_test(errors_of_filters_of_tasks_name_what_there_is),
        cmocka_unit_test(a_filter_knows_which_states_can_match),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
