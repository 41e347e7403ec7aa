/* Late approvals, with a registry in memory and a simulated clock. */
#include "support/test.h"

#include "changes/facts.h"
#include "changes/approvals.h"
#include "serve/tables.h"
#include "store/simulated.h"
#include "wire/config_section.h"

#define HOUR_MS INT64_C(3600000)

static const struct wall begin = {INT64_C(1800000000) * NS_PER_S};

struct stage {
    struct base base;
    struct arena arena;
};

static int stage_begin(void **state) {
    static const char policies[] = "[approval \"em\"]\nclass = EM\nlate = yes\n"
                                   "[approval \"slow\"]\npath = slow/**\n"
                                   "late = yes\nwithin = 7200\n"
                                   "[approval \"pair\"]\npath = slow/two/**\n"
                                   "late = yes\nwithin = 36000\ncount = 2\n"
                                   "[approval \"prod\"]\npath = prod/**\n";
    struct stage *stage = mem_alloc(sizeof(*stage));
    struct err err = {0};
    config_sections_use(serve_sections, serve_section_count);
    config_init(&stage->base.config);
    assert_true(config_read(&stage->base.config, SPAN(policies), "test", &err));
    stage->base.store = store_memory_new();
    stage->base.uid = 1;
    static const struct access_grant everybody = {.role = ACCESS_SUBMITTER,
                                                  .who = ACCESS_EVERYBODY};
    stage->base.access.grants = &everybody;
    stage->base.access.grant_count = 1;
    *state = stage;
    return 0;
}

static int stage_end(void **state) {
    struct stage *stage = *state;
    store_close(stage->base.store);
    config_clear(&stage->base.config);
    arena_clear(&stage->arena);
    free(stage);
    return 0;
}

static struct job job_of(struct stage *stage, const char *id) {
    struct job job;
    bool known;
    assert_true(store_lookup(stage->base.store, span_of(id), &stage->arena,
                             &job, &known, NULL));
    assert_true(known);
    return job;
}

static void admit(struct stage *stage, const char *id, const char *job_class,
                  const char *path) {
    struct arena *arena = &stage->arena;
    struct set_name name;
    struct refusal why = {0};
    struct set_record record;
    struct meta meta;
    char tai[TAI_TEXT_BYTES];
    const char *text = arena_printf(arena,
                                    "##movetype\n%s\n##target\nmain\n"
                                    "##files\n%s\n",
                                    job_class, path);
    const char *called = arena_printf(arena, "%s_%s_1_host_%s", id,
                                      tai_format(begin, tai), job_class);
    assert_true(set_name_parse(span_of(called), &name, &why));
    assert_true(meta_parse(span_of(text), NULL, arena, &meta, &why));
    set_record_make(&name, &meta, SPAN("main"), span_of(id), 1, SPAN("none"),
                    arena, &record);
    record.job.actor = SPAN("uid:5");
    record.job.admitted = begin;
    approvals_admit(&stage->base, &record, begin, arena);
    struct store_batch *batch = store_batch_new(stage->base.store);
    store_batch_actor(batch, begin, record.job.actor);
    store_admit(batch, &record.job, record.edges, record.edge_count,
                record.touches, record.touch_count, NULL, 0);
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
}

static void move(struct stage *stage, const char *id, enum job_state to,
                 const char *reason) {
    struct job job = job_of(stage, id);
    struct store_batch *batch = store_batch_new(stage->base.store);
    store_batch_actor(batch, begin, SPAN("test"));
    store_move(batch, &(struct store_move){.num = job.num,
                                           .from = job.state,
                                           .to = to,
                                           .reason = span_of(reason)});
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
}

static void land(struct stage *stage, const char *id) {
    move(stage, id, STATE_STAGED, "staged");
    move(stage, id, STATE_PENDING, "ready");
    move(stage, id, STATE_EXECUTING, "start");
    move(stage, id, STATE_DONE, "ok");
}

static void review_at(struct stage *stage, int64_t ms) {
    struct err err = {0};
    struct approvals_review fresh = {.new_approval =
                                         true}; /* as after a restart */
    if (!approvals_review(&stage->base, wall_add_ms(begin, ms), SPAN("test"),
                          &fresh, &err))
        fail_msg("%s", err.text);
}

/* The reasons of the set's `owed` events. */
static const char *owed_events(struct stage *stage, const char *id) {
    struct text text = TEXT_INIT;
    struct store_event *events;
    size_t count;
    assert_true(store_events(stage->base.store, 0, job_of(stage, id).num, 0,
                             &stage->arena, &events, &count, NULL));
    for (size_t i = 0; i < count; i++)
        if (events[i].kind == EVENT_OWED)
            text_addf(&text, "%s%.*s", text.len ? " " : "",
                      (int)events[i].reason.len, events[i].reason.p);
    const char *all = arena_string(&stage->arena, text_span(&text));
    text_clear(&text);
    return all;
}

static void approve(struct stage *stage, const char *id, int64_t ms) {
    struct approval_given word = {.who = SPAN("uid:6"),
                                  .at = wall_add_ms(begin, ms)};
    struct job job = job_of(stage, id);
    struct approval_state state;
    struct err err = {0};
    assert_true(approvals_read(&stage->base, stage->base.store, &job, &word,
                               word.at, &stage->arena, &state, &err));
    assert_true(approvals_may(&job, &word, &state, &err));
    struct store_batch *batch = store_batch_new(stage->base.store);
    store_batch_actor(batch, word.at, word.who);
    approvals_give(batch, &job, &word, &state, SPAN(""));
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
}

static void
a_late_approval_is_overdue_three_days_after_admission(void **state) {
    struct stage *stage = *state;
    admit(stage, "C1", "EM", "a");
    struct job job = job_of(stage, "C1");
    assert_int_equal(job.holds, 0);
    assert_int_equal(job.owed.ns, wall_add_ms(begin, 72 * HOUR_MS).ns);
    land(stage, "C1");
    review_at(stage, 72 * HOUR_MS - 1);
    assert_string_equal(owed_events(stage, "C1"), "");
    review_at(stage, 72 * HOUR_MS);
    assert_string_equal(owed_events(stage, "C1"), "overdue");
    review_at(stage, 73 * HOUR_MS); /* reported once, even after a restart,
                                     which knows only the registry */
    assert_string_equal(owed_events(stage, "C1"), "overdue");
    assert_true(job_of(stage, "C1").owed.ns > 0);
    approve(stage, "C1", 80 * HOUR_MS);
    assert_int_equal(job_of(stage, "C1").owed.ns, 0);
    assert_string_equal(owed_events(stage, "C1"), "overdue settled");
    review_at(stage, 90 * HOUR_MS);
    assert_string_equal(owed_events(stage, "C1"), "overdue settled");
}

static void an_approval_given_in_time_raises_no_alarm(void **state) {
    struct stage *stage = *state;
    admit(stage, "C1", "EM", "slow/a");
    assert_int_equal(job_of(stage, "C1").owed.ns,
                     wall_add_ms(begin, 2 * HOUR_MS).ns);
    land(stage, "C1");
    approve(stage, "C1", HOUR_MS);
    review_at(stage, 100 * HOUR_MS);
    assert_string_equal(owed_events(stage, "C1"), "settled");
}

/* The second one is reported too, though the first was overdue. */
static void each_approval_owed_has_its_own_time(void **state) {
    static const struct {
        const char *policy;
        int64_t hours;
    } owed[] = {{"em", 72}, {"slow", 2}, {"pair", 10}};
    struct stage *stage = *state;
    struct approval_state found;
    struct err err = {0};
    admit(stage, "C1", "EM", "slow/two/a");
    land(stage, "C1");
    struct job job = job_of(stage, "C1");
    assert_int_equal(job.owed.ns, wall_add_ms(begin, 2 * HOUR_MS).ns);
    assert_true(approvals_read(&stage->base, stage->base.store, &job, NULL,
                               begin, &stage->arena, &found, &err));
    assert_int_equal(found.owed_count, COUNT(owed));
    for (size_t i = 0; i < COUNT(owed); i++) {
        assert_true(
            span_is(found.owed[i].verdict.policy->name, owed[i].policy));
        assert_int_equal(found.owed[i].until.ns,
                         wall_add_ms(begin, owed[i].hours * HOUR_MS).ns);
    }
    review_at(stage, 2 * HOUR_MS);
    assert_string_equal(owed_events(stage, "C1"), "overdue");
    approve(stage, "C1", 3 * HOUR_MS);
    assert_int_equal(job_of(stage, "C1").owed.ns,
                     wall_add_ms(begin, 10 * HOUR_MS).ns);
    review_at(stage, 10 * HOUR_MS - 1);
    assert_string_equal(owed_events(stage, "C1"), "overdue next");
    review_at(stage, 10 * HOUR_MS);
    review_at(stage, 11 * HOUR_MS);
    assert_string_equal(owed_events(stage, "C1"), "overdue next overdue");
}

static void a_set_held_by_one_policy_may_owe_another_approval(void **state) {
    struct stage *stage = *state;
    admit(stage, "C1", "EM", "prod/a");
    struct job job = job_of(stage, "C1");
    assert_int_equal(job.holds, HOLD_APPROVAL);
    assert_true(job.owed.ns > 0);
    approve(stage, "C1", HOUR_MS);
    job = job_of(stage, "C1");
    assert_int_equal(job.holds, 0);
    assert_int_equal(job.owed.ns, 0);
}

static void a_set_that_never_landed_owes_no_approval(void **state) {
    struct stage *stage = *state;
    admit(stage, "C1", "EM", "a");
    move(stage, "C1", STATE_TERMINATED, "operator");
    review_at(stage, HOUR_MS);
    assert_string_equal(owed_events(stage, "C1"), "settled");
    assert_int_equal(job_of(stage, "C1").owed.ns, 0);
}

static void a_removed_policy_no_longer_asks_for_approval(void **state) {
    struct stage *stage = *state;
    admit(stage, "C1", "EM", "a");
    land(stage, "C1");
    config_clear(&stage->base.config);
    config_init(&stage->base.config);
    review_at(stage, 100 * HOUR_MS);
    assert_string_equal(owed_events(stage, "C1"), "settled");
}

/* A rebuilt registry learns this from the history alone. */
static void the_history_shows_what_is_owed(void **state) {
    struct stage *stage = *state;
    struct store_event *events;
    size_t count;
    admit(stage, "C1", "EM", "prod/a");
    struct job job = job_of(stage, "C1");
    assert_true(store_events(stage->base.store, 0, job.num, 0, &stage->arena,
                             &events, &count, NULL));
    assert_int_equal(facts_of(&events[0], &stage->arena).owed.ns, job.owed.ns);
    approve(stage, "C1", HOUR_MS);
    assert_true(store_events(stage->base.store, 0, job.num, 0, &stage->arena,
                             &events, &count, NULL));
    bool settled = false;
    for (size_t i = 0; i < count; i++)
        settled |= facts_of(&events[i], &stage->arena).settled;
    assert_true(settled);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_begin, stage_end)
    const struct CMUnitTest tests[] = {
        TEST(a_late_approval_is_overdue_three_days_after_admission),
        TEST(an_approval_given_in_time_raises_no_alarm),
        TEST(each_approval_owed_has_its_own_time),
        TEST(a_set_held_by_one_policy_may_owe_another_approval),
        TEST(a_set_that_never_landed_owes_no_approval),
        TEST(a_removed_policy_no_longer_asks_for_approval),
        TEST(the_history_shows_what_is_owed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
