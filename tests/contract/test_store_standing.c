/* Standing jobs in the registry. */
#include "contract/store_rig.h"
#include "nodes/standing_row.h"
#include "serve/tables.h"

/* Adds a job with that name; its number, or 0 with the result. */
static uint64_t add_seen(struct rig *rig, const char *id, const char *name,
                         uint64_t seen, enum store_result *ret_result) {
    struct store_batch *batch = rig_batch(rig);
    struct job job = {.id = span_of(id),
                      .kind = JOB_STANDING,
                      .job_class = CLASS_DC,
                      .state = STATE_PENDING,
                      .key = span_of(id),
                      .name = span_of(name),
                      .actor = SPAN("uid:1"),
                      .cause = SPAN("person"),
                      .sum = SPAN("00"),
                      .spec = SPAN("{}")};
    store_batch_atomic(batch);
    unsigned at = store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    unsigned row = standing_row_add(
        batch, at,
        &(struct standing_row){
            .name = span_of(name), .definition = SPAN("{}"), .enabled = true},
        seen);
    assert_true(store_write(batch, &rig->err));
    *ret_result = store_batch_result(batch, row);
    uint64_t num = *ret_result == STORE_DONE ? store_batch_num(batch, at) : 0;
    store_batch_free(batch);
    return num;
}

static uint64_t add(struct rig *rig, const char *id, const char *name) {
    enum store_result result;
    uint64_t num = add_seen(rig, id, name, 0, &result);
    assert_int_equal(result, STORE_DONE);
    return num;
}

static enum store_result change(struct rig *rig, uint64_t num, uint64_t version,
                                bool enabled, bool deleted, uint64_t seen) {
    struct store_batch *batch = rig_batch(rig);
    standing_row_change(batch,
                        &(struct standing_row){.num = num,
                                               .version = version,
                                               .name = SPAN("a"),
                                               .definition = SPAN("{\"x\":1}"),
                                               .enabled = enabled,
                                               .deleted = deleted},
                        deleted ? STANDING_DELETED : STANDING_CHANGED, seen);
    return rig_write(batch);
}

/* "a1 b2": name and version of those that changed after that event. */
static const char *list(struct rig *rig, uint64_t after) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct standing_row *rows;
    size_t count;
    assert_true(standing_row_list(rig->store, after, 0, &rig->arena, &rows,
                                  &count, &rig->err));
    for (size_t i = 0; i < count; i++)
        text_addf(&text, "%s%.*s%u%s", i > 0 ? " " : "", (int)rows[i].name.len,
                  rows[i].name.p, (unsigned)rows[i].version,
                  rows[i].deleted ? "-" : "");
    return arena_string(&rig->arena, text_span(&text));
}

static void each_edit_is_a_version(void **state) {
    struct rig *rig = *state;
    struct standing_row row;
    bool found;
    uint64_t a = add(rig, "j1", "a"), after = store_seq(rig->store);
    add(rig, "j2", "b");
    assert_string_equal(list(rig, 0), "a1 b1");
    assert_string_equal(list(rig, after), "b1");
    assert_int_equal(change(rig, a, 1, false, false, 0), STORE_DONE);
    assert_string_equal(list(rig, 0), "b1 a2");
    /* Who has not seen version 2 changes nothing. */
    assert_int_equal(change(rig, a, 1, true, false, 0), STORE_CONFLICT);
    assert_string_equal(list(rig, 0), "b1 a2");

    assert_true(standing_row_version(rig->store, a, 1, &rig->arena, &row,
                                     &found, &rig->err));
    assert_true(found && row.enabled);
    assert_span(row.definition, "{}");
    assert_true(standing_row_find(rig->store, SPAN("a"), &rig->arena, &row,
                                  &found, &rig->err));
    assert_true(found && !row.enabled && row.version == 2 && row.num == a);
    assert_span(row.definition, "{\"x\":1}");
    assert_true(row.actor.len > 0);
    assert_true(standing_row_version(rig->store, a, 3, &rig->arena, &row,
                                     &found, &rig->err));
    assert_false(found);
}

static void a_name_is_free_again_when_its_job_is_deleted(void **state) {
    struct rig *rig = *state;
    enum store_result result;
    uint64_t a = add(rig, "j1", "a");
    add_seen(rig, "j2", "a", 0, &result);
    assert_int_equal(result, STORE_DUPLICATE);
    assert_int_equal(change(rig, a, 1, true, true, 0), STORE_DONE);
    assert_int_equal(change(rig, a, 2, true, false, 0), STORE_UNKNOWN);
    assert_int_not_equal(add(rig, "j3", "a"), a);
    assert_string_equal(list(rig, 0), "a2- a1");
}

static void what_was_checked_against_older_jobs_is_refused(void **state) {
    struct rig *rig = *state;
    enum store_result result;
    struct standing_row *rows;
    size_t count;
    uint64_t a = add(rig, "j1", "a");
    assert_true(standing_row_list(rig->store, 0, 0, &rig->arena, &rows, &count,
                                  &rig->err));
    uint64_t seen = rows[0].seq;
    add(rig, "j2", "b");
    add_seen(rig, "j3", "c", seen, &result);
    assert_int_equal(result, STORE_CONFLICT);
    assert_int_equal(change(rig, a, 1, true, false, seen), STORE_CONFLICT);
    assert_string_equal(list(rig, 0), "a1 b1");
    assert_int_equal(change(rig, a, 1, true, false, store_seq(rig->store)),
                     STORE_DONE);
}

static void tasks_are_forgiven_once(void **state) {
    struct rig *rig = *state;
    struct standing_forgive *forgives;
    size_t count;
    uint64_t a = add(rig, "j1", "a");
    struct store_batch *batch = rig_batch(rig);
    standing_row_forgive(batch, a, SPAN("h1"));
    assert_int_equal(rig_write(batch), STORE_DONE);
    batch = rig_batch(rig);
    standing_row_forgive(batch, a, SPAN(""));
    assert_int_equal(rig_write(batch), STORE_DONE);
    batch = rig_batch(rig);
    standing_row_forgive(batch, a + 1, SPAN(""));
    assert_int_equal(rig_write(batch), STORE_UNKNOWN);
    assert_true(standing_row_forgives(rig->store, &rig->arena, &forgives,
                                      &count, &rig->err));
    assert_int_equal(count, 2);
    assert_span(forgives[0].node, "h1");
    assert_int_equal(forgives[1].num, a);
    batch = rig_batch(rig);
    standing_row_forgiven(batch, forgives[0].seq);
    assert_int_equal(rig_write(batch), STORE_DONE);
    batch = rig_batch(rig);
    standing_row_forgiven(batch, forgives[0].seq);
    assert_int_equal(rig_write(batch), STORE_UNKNOWN);
    assert_true(standing_row_forgives(rig->store, &rig->arena, &forgives,
                                      &count, &rig->err));
    assert_int_equal(count, 1);
    assert_span(forgives[0].node, "");
}

static void events_say_which_version_is_in_effect(void **state) {
    struct rig *rig = *state;
    struct store_event *events;
    struct event_facts facts;
    size_t count;
    uint64_t a = add(rig, "j1", "a");
    assert_int_equal(change(rig, a, 1, true, false, 0), STORE_DONE);
    assert_true(store_events(rig->store, 0, a, 10, &rig->arena, &events, &count,
                             &rig->err));
    assert_int_equal(count, 3);
    assert_int_equal(events[1].kind, EVENT_STANDING);
    assert_span(events[1].reason, "added");
    assert_span(events[2].reason, "changed");
    assert_span(events[2].id, "j1");
    assert_span(events[2].detail, "a");
    assert_true(event_facts_parse(events[2].facts, &rig->arena, &facts));
    assert_span(facts.version, "2");
}

int main(void) {
    store_nouns_use(serve_nouns, serve_noun_count);
    const struct CMUnitTest tests[] = {
        RIG_NOUN_TESTS(each_edit_is_a_version),
        RIG_NOUN_TESTS(a_name_is_free_again_when_its_job_is_deleted),
        RIG_NOUN_TESTS(what_was_checked_against_older_jobs_is_refused),
        RIG_NOUN_TESTS(tasks_are_forgiven_once),
        RIG_NOUN_TESTS(events_say_which_version_is_in_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
