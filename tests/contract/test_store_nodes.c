/* Nodes in the registry. */
#include "contract/store_rig.h"

#include <inttypes.h>

#include "nodes/node_row.h"
#include "serve/tables.h"

static void put(struct rig *rig, const char *name, const char *parent,
                const char *tags) {
    struct store_batch *batch = rig_batch(rig);
    node_row_put(batch, &(struct node_row){.name = span_of(name),
                                           .parent = span_of(parent),
                                           .level = SPAN("host"),
                                           .source = SPAN("s"),
                                           .enabled = true,
                                           .tags = span_of(tags)});
    assert_int_equal(rig_write(batch), STORE_DONE);
}

static enum store_result drop(struct rig *rig, const char *name) {
    struct store_batch *batch = rig_batch(rig);
    node_row_drop(batch, span_of(name), SPAN(""), wall_from_s(100));
    return rig_write(batch);
}

/* The names of the nodes behind that place, at most `limit` of them. */
static const char *names(struct rig *rig, int64_t after, size_t limit) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct node_row *rows;
    size_t count;
    assert_true(node_row_list(rig->store, after, limit, &rig->arena, &rows,
                              &count, &rig->err));
    for (size_t i = 0; i < count; i++)
        text_addf(&text, "%s%.*s", i > 0 ? " " : "", (int)rows[i].name.len,
                  rows[i].name.p);
    return arena_string(&rig->arena, text_span(&text));
}

static void nodes_keep_the_order_in_which_they_appeared(void **state) {
    struct rig *rig = *state;
    put(rig, "b", "", "");
    put(rig, "a", "", "");
    put(rig, "c", "", "");
    assert_string_equal(names(rig, 0, 0), "b a c");
    put(rig, "b", "", "tag"); /* changed, but not moved */
    assert_string_equal(names(rig, 0, 0), "b a c");
    assert_int_equal(drop(rig, "a"), STORE_DONE);
    put(rig, "a", "", "");
    assert_string_equal(names(rig, 0, 0), "b c a");
    assert_string_equal(names(rig, 0, 2), "b c");
    assert_string_equal(names(rig, 1, 0), "c a");
}

static void a_node_may_have_several_places(void **state) {
    struct rig *rig = *state;
    struct node_row *rows;
    size_t count;
    put(rig, "s", "h1", "x");
    put(rig, "s", "h2", "y z");
    assert_true(
        node_row_list(rig->store, 0, 0, &rig->arena, &rows, &count, &rig->err));
    assert_int_equal(count, 2);
    assert_span(rows[0].parent, "h1");
    assert_span(rows[1].parent, "h2");
    assert_span(rows[1].tags, "y z");
    assert_span(rows[1].level, "host");
    assert_true(rows[1].enabled);
}

/* Puts, or drops, the nodes in one batch with its event. */
static void change(struct rig *rig, const char *name, const char *other,
                   bool drops) {
    const char *const both[] = {name, other};
    struct node_counts counts = {.removed = drops ? 2 : 0,
                                 .added = drops ? 0 : 2};
    struct store_batch *batch = rig_batch(rig);
    for (size_t i = 0; i < COUNT(both); i++)
        if (drops)
            node_row_drop(batch, span_of(both[i]), SPAN(""), wall_from_s(100));
        else
            node_row_put(batch, &(struct node_row){.name = span_of(both[i]),
                                                   .parent = SPAN(""),
                                                   .level = SPAN("host"),
                                                   .source = SPAN("s"),
                                                   .enabled = true,
                                                   .tags = SPAN("")});
    node_row_changed(batch, SPAN("s"), &counts);
    assert_int_equal(rig_write(batch), STORE_DONE);
}

/* What a reader at that mark reads, `limit` rows at a time. */
static const char *changes(struct rig *rig, struct node_mark *mark,
                           size_t limit) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct node_row *rows;
    size_t count = limit;
    while (count == limit) {
        assert_true(node_row_changes(rig->store, mark, limit, &rig->arena,
                                     &rows, &count, &rig->err));
        for (size_t i = 0; i < count; i++)
            text_addf(&text, "%s%.*s@%" PRIu64 "%s", text.len > 0 ? " " : "",
                      (int)rows[i].name.len, rows[i].name.p, rows[i].seq,
                      rows[i].gone.ns == 0 ? "" : " gone");
    }
    return arena_string(&rig->arena, text_span(&text));
}

static void a_reader_finds_what_changed_since_it_read_last(void **state) {
    struct rig *rig = *state;
    struct node_mark mark = {0};
    change(rig, "a", "b", false);
    change(rig, "c", "d", false);
    assert_string_equal(changes(rig, &mark, 3), "a@1 b@1 c@2 d@2");
    assert_string_equal(changes(rig, &mark, 3), "");
    change(rig, "b", "c", true);
    assert_string_equal(names(rig, 0, 0), "a d");
    assert_string_equal(changes(rig, &mark, 3), "b@3 gone c@3 gone");
    change(rig, "c", "b", false);
    assert_string_equal(changes(rig, &mark, 1), "c@4 b@4");
    assert_string_equal(names(rig, 0, 0), "a d c b");
    mark = (struct node_mark){0};
    assert_string_equal(changes(rig, &mark, 2), "a@1 d@2 c@4 b@4");
}

static void an_event_has_the_numbers_of_a_change(void **state) {
    struct rig *rig = *state;
    struct event_facts facts;
    struct store_event *events;
    size_t count;
    change(rig, "a", "b", false);
    change(rig, "a", "b", true);
    assert_true(store_events(rig->store, 0, 0, 10, &rig->arena, &events, &count,
                             &rig->err));
    assert_int_equal(count, 2);
    assert_int_equal(events[0].kind, EVENT_NODES);
    assert_span(events[0].id, "s");
    assert_span(events[0].reason, "changed");
    assert_span(events[0].detail, "2 added, 0 changed, 0 removed");
    assert_true(event_facts_parse(events[1].facts, &rig->arena, &facts));
    assert_span(facts.source, "s");
    assert_int_equal(facts.added, 0);
    assert_int_equal(facts.removed, 2);
}

static void a_place_that_is_gone_keeps_its_row_for_a_while(void **state) {
    struct rig *rig = *state;
    struct node_mark mark = {0};
    change(rig, "a", "b", false);
    change(rig, "a", "b", true);
    change(rig, "c", "d", false);
    for (int s = 100; s <= 101; s++) {
        struct store_batch *batch = rig_batch(rig);
        node_row_prune(batch, wall_from_s(s), 1);
        assert_int_equal(rig_write(batch), STORE_DONE);
        mark = (struct node_mark){0};
        assert_string_equal(changes(rig, &mark, 9),
                            s == 100 ? "a@2 gone b@2 gone c@3 d@3"
                                     : "b@2 gone c@3 d@3");
    }
}

static void a_node_that_is_not_there_cannot_be_dropped(void **state) {
    struct rig *rig = *state;
    assert_int_equal(drop(rig, "a"), STORE_UNKNOWN);
    put(rig, "a", "", "");
    assert_int_equal(drop(rig, "a"), STORE_DONE);
    assert_int_equal(drop(rig, "a"), STORE_UNKNOWN);
}

static void record(struct rig *rig, const char *error, const char *detail) {
    struct store_batch *batch = rig_batch(rig);
    node_row_put_source(
        batch,
        &(struct node_source_row){.name = SPAN("hosts"),
                                  .refreshed = wall_from_s(5),
                                  .nodes = 7,
                                  .failed = wall_from_s(error[0] ? 6 : 0),
                                  .error = span_of(error)},
        span_of(detail));
    assert_int_equal(rig_write(batch), STORE_DONE);
}

static void the_last_refresh_of_a_source_is_known(void **state) {
    struct rig *rig = *state;
    struct node_source_row *rows;
    struct store_event *events;
    size_t count;
    record(rig, "", "7 nodes");
    record(rig, "no such file", "no such file");
    record(rig, "no such file", "");
    assert_true(
        node_row_sources(rig->store, &rig->arena, &rows, &count, &rig->err));
    assert_int_equal(count, 1);
    assert_span(rows[0].name, "hosts");
    assert_span(rows[0].error, "no such file");
    assert_int_equal(rows[0].nodes, 7);
    assert_int_equal(rows[0].refreshed.ns, wall_from_s(5).ns);
    assert_int_equal(rows[0].failed.ns, wall_from_s(6).ns);
    assert_true(store_events(rig->store, 0, 0, 10, &rig->arena, &events, &count,
                             &rig->err));
    assert_int_equal(count, 2);
    assert_int_equal(events[0].kind, EVENT_NODES);
    assert_span(events[0].reason, "refreshed");
    assert_span(events[1].reason, "failed");
    assert_span(events[1].id, "hosts");

    struct store_batch *batch = rig_batch(rig);
    node_row_drop_source(batch, SPAN("hosts"));
    assert_int_equal(rig_write(batch), STORE_DONE);
    assert_true(
        node_row_sources(rig->store, &rig->arena, &rows, &count, &rig->err));
    assert_int_equal(count, 0);
}

int main(void) {
    store_nouns_use(serve_nouns, serve_noun_count);
    const struct CMUnitTest tests[] = {
        RIG_NOUN_TESTS(nodes_keep_the_order_in_which_they_appeared),
        RIG_NOUN_TESTS(a_node_may_have_several_places),
        RIG_NOUN_TESTS(a_reader_finds_what_changed_since_it_read_last),
        RIG_NOUN_TESTS(an_event_has_the_numbers_of_a_change),
        RIG_NOUN_TESTS(a_place_that_is_gone_keeps_its_row_for_a_while),
        RIG_NOUN_TESTS(a_node_that_is_not_there_cannot_be_dropped),
        RIG_NOUN_TESTS(the_last_refresh_of_a_source_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
