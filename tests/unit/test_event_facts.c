#include "support/test.h"

#include "core/event_facts.h"
#include "core/job.h"

static struct arena arena;

static int teardown(void **state) {
    (void)state;
    arena_clear(&arena);
    return 0;
}

#define assert_span(span, text) assert_true(span_is(span, text))

static void an_event_without_facts_has_no_object(void **state) {
    (void)state;
    struct event_facts none = {0};
    assert_int_equal(event_facts_format(&none, &arena).len, 0);
}

static void facts_are_formatted_as_documented(void **state) {
    (void)state;
    struct event_facts hold = {.holds = HOLD_APPROVAL | HOLD_OPERATOR};
    struct event_facts owed = {.owed = wall_from_s(0)};
    owed.owed.ns = 1500000000;
    struct event_facts effect = {.rollback = SPAN("R1"), .because = SPAN("R2")};
    assert_span(event_facts_format(&hold, &arena),
                "{\"holds\":\"operator approval\"}");
    assert_span(event_facts_format(&owed, &arena),
                "{\"owed\":\"1970-01-01T00:00:01.500Z\"}");
    assert_span(event_facts_format(&effect, &arena),
                "{\"rollback\":\"R1\",\"because\":\"R2\"}");
}

static void where_a_command_came_from_is_added(void **state) {
    (void)state;
    assert_span(event_facts_add_from(SPAN(""), SPAN("job j1"), &arena),
                "{\"from\":\"job j1\"}");
    assert_span(event_facts_add_from(SPAN("{\"holds\":\"operator\"}"),
                                     SPAN("socket"), &arena),
                "{\"holds\":\"operator\",\"from\":\"socket\"}");
}

static void every_fact_is_parsed_as_it_was_formatted(void **state) {
    (void)state;
    struct event_facts facts = {
        .holds = HOLDS_ALL,
#define SAMPLE_TEXT(name) SPAN(name " \"quoted\" \\")
#define SAMPLE_TIME(name) \
    { 1700000000123000000 }
#define SAMPLE_NUMBER(name) (-5)
#define SAMPLE_FLAG(name) true
#define EVENT_FACT(type, name) .name = SAMPLE_##type(#name),
#include "core/event_facts.def"
    };
    struct event_facts back;
    assert_true(
        event_facts_parse(event_facts_format(&facts, &arena), &arena, &back));
    assert_int_equal(back.holds, facts.holds);
#define SAME_TEXT(a, b) assert_true(span_equal(a, b))
#define SAME_TIME(a, b) assert_int_equal((a).ns, (b).ns)
#define SAME_NUMBER(a, b) assert_int_equal(a, b)
#define SAME_FLAG(a, b) assert_int_equal(a, b)
#define EVENT_FACT(type, name) SAME_##type(back.name, facts.name);
#include "core/event_facts.def"
}

static void keys_of_later_versions_are_ignored(void **state) {
    (void)state;
    struct event_facts facts;
    assert_true(event_facts_parse(
        SPAN("{\"later\":[1,{}],\"holds\":\"operator later\",\"key\":\"k\"}"),
        &arena, &facts));
    assert_int_equal(facts.holds, HOLD_OPERATOR);
    assert_span(facts.key, "k");
}

static void invalid_facts_are_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "{",
                                        "[]",
                                        "\"holds\"",
                                        "{\"key\":1}",
                                        "{\"holds\":true}",
                                        "{\"owed\":\"soon\"}",
                                        "{\"added\":\"5\"}",
                                        "{\"settled\":\"yes\"}"};
    struct event_facts facts;
    for (size_t i = 0; i < COUNT(texts); i++)
        if (event_facts_parse(span_of(texts[i]), &arena, &facts))
            fail_msg("'%s'", texts[i]);
    CLEANUP(text_clear) struct text large = TEXT_INIT;
    text_adds(&large, "{\"key\":\"");
    while (large.len < EVENT_FACTS_BYTES)
        text_addc(&large, 'x');
    text_adds(&large, "\"}");
    assert_false(event_facts_parse(text_span(&large), &arena, &facts));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_without_facts_has_no_object),
        cmocka_unit_test(facts_are_formatted_as_documented),
        cmocka_unit_test(where_a_command_came_from_is_added),
        cmocka_unit_test(every_fact_is_parsed_as_it_was_formatted),
        cmocka_unit_test(keys_of_later_versions_are_ignored),
        cmocka_unit_test(invalid_facts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
