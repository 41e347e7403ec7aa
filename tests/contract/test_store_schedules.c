/* Schedules: definitions, marks, and a firing as one operation. */
#include <inttypes.h>

#include "contract/store_rig.h"
#include "schedules/schedule_row.h"
#include "serve/tables.h"

static struct schedule_row schedule_of(const char *name, const char *spec) {
    return (struct schedule_row){
        .name = span_of(name),
        .spec = span_of(spec),
        .origin = SPAN("uid:7"),
        .uid = 7,
        .seed = UINT64_C(0xfedcba9876543210),
        .high_s = 1000,
        .offset_s = -3600,
    };
}

static enum store_result set(struct rig *rig, const struct schedule_row *one,
                             enum schedule_mode mode) {
    struct store_batch *batch = rig_batch(rig);
    schedule_row_set(batch, one, mode);
    return rig_write(batch);
}

static struct schedule_row add(struct rig *rig, const char *name) {
    struct schedule_row one = schedule_of(name, "{}"), found;
    bool known;
    assert_int_equal(set(rig, &one, SCHEDULE_ADD), STORE_DONE);
    assert_true(schedule_row_find(rig->store, span_of(name), &rig->arena,
                                  &found, &known, NULL));
    assert_true(known);
    return found;
}

static struct schedule_row get(struct rig *rig, const char *name) {
    struct schedule_row found = {0};
    bool known;
    assert_true(schedule_row_find(rig->store, span_of(name), &rig->arena,
                                  &found, &known, NULL));
    assert_true(known);
    return found;
}

static bool exists(struct rig *rig, const char *name) {
    struct schedule_row found;
    bool known;
    assert_true(schedule_row_find(rig->store, span_of(name), &rig->arena,
                                  &found, &known, NULL));
    return known;
}

static struct schedule_mark mark_of(const struct schedule_row *one,
                                    int64_t high_s) {
    return (struct schedule_mark){
        .name = one->name,
        .serial = one->serial,
        .moves = true,
        .from_s = one->high_s,
        .high_s = high_s,
        .offset_s = 60,
        .round = 2,
        .job = SCHEDULE_NO_JOB,
    };
}

static enum store_result mark(struct rig *rig,
                              const struct schedule_mark *one) {
    struct store_batch *batch = rig_batch(rig);
    schedule_row_mark(batch, one);
    return rig_write(batch);
}

/* Admits a job and marks its schedule; returns the result of the mark. */
static enum store_result fire(struct rig *rig, struct schedule_mark one,
                              const char *id, enum store_result *ret_job) {
    struct job job = rig_command(id, "4.key");
    struct store_batch *batch = rig_batch(rig);
    store_batch_atomic(batch);
    one.job = store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    unsigned at = schedule_row_mark(batch, &one);
    assert_true(store_write(batch, &rig->err));
    enum store_result result = store_batch_result(batch, at);
    if (ret_job)
        *ret_job = store_batch_result(batch, one.job);
    store_batch_free(batch);
    return result;
}

static void a_schedule_is_read_as_it_was_added(void **state) {
    struct rig *rig = *state;
    struct schedule_row one = schedule_of("nightly", "{\"item\":1}");
    assert_int_equal(set(rig, &one, SCHEDULE_ADD), STORE_DONE);
    rig_reopen(rig);
    struct schedule_row found = get(rig, "nightly");
    assert_span(found.name, "nightly");
    assert_span(found.spec, "{\"item\":1}");
    assert_span(found.origin, "uid:7");
    assert_int_equal(found.uid, 7);
    assert_int_equal(found.serial, 1);
    assert_true(found.seed == UINT64_C(0xfedcba9876543210));
    assert_false(found.paused);
    assert_int_equal(found.high_s, 1000);
    assert_int_equal(found.offset_s, -3600);
    assert_int_equal(found.fired + found.missed + found.recent_count, 0);
    assert_false(exists(rig, "nightl"));
}

static void adding_a_schedule_again_changes_nothing(void **state) {
    struct rig *rig = *state;
    struct schedule_row one = add(rig, "n");
    one.high_s = 5000;
    assert_int_equal(set(rig, &one, SCHEDULE_ADD), STORE_SAME);
    assert_int_equal(get(rig, "n").high_s, 1000);
    one.spec = SPAN("other");
    assert_int_equal(set(rig, &one, SCHEDULE_ADD), STORE_DUPLICATE);
    assert_span(get(rig, "n").spec, "{}");
}

static void a_new_definition_continues_or_starts_over(void **state) {
    struct rig *rig = *state;
    struct schedule_row one = add(rig, "n");
    one.spec = SPAN("b");
    one.high_s = 9000;
    one.seed = 1;
    assert_int_equal(set(rig, &one, SCHEDULE_REPLACE), STORE_DONE);
    struct schedule_row found = get(rig, "n");
    assert_span(found.spec, "b");
    assert_int_equal(found.high_s, 1000);
    assert_true(found.seed == UINT64_C(0xfedcba9876543210));
    assert_int_equal(found.serial, 2);
    one.spec = SPAN("c");
    assert_int_equal(set(rig, &one, SCHEDULE_RENEW), STORE_DONE);
    assert_int_equal(get(rig, "n").high_s, 9000);
    assert_int_equal(get(rig, "n").round, 0);
    one.spec = SPAN("d");
    one.high_s = 8000;
    assert_int_equal(set(rig, &one, SCHEDULE_RENEW), STORE_DONE);
    assert_int_equal(get(rig, "n").round, 1);
}

static void removing_a_schedule_is_an_event(void **state) {
    struct rig *rig = *state;
    add(rig, "n");
    struct store_batch *batch = rig_batch(rig);
    schedule_row_remove(batch, SPAN("n"));
    assert_int_equal(rig_write(batch), STORE_DONE);
    assert_false(exists(rig, "n"));
    batch = rig_batch(rig);
    schedule_row_remove(batch, SPAN("n"));
    assert_int_equal(rig_write(batch), STORE_UNKNOWN);
    assert_string_equal(rig_events(rig, 1), "schedule n - - removed");
}

static void runs_missed_during_a_pause_are_not_made_up_for(void **state) {
    struct rig *rig = *state;
    struct schedule_row one = add(rig, "n");
    struct schedule_mark later = mark_of(&one, 1500);
    struct store_batch *batch = rig_batch(rig);
    schedule_row_pause(batch, SPAN("n"), true, 0, 0);
    assert_int_equal(rig_write(batch), STORE_DONE);
    assert_int_equal(mark(rig, &later), STORE_CONFLICT);
    assert_int_equal(get(rig, "n").high_s, 1000);
    batch = rig_batch(rig);
    schedule_row_pause(batch, SPAN("n"), true, 0, 0);
    assert_int_equal(rig_write(batch), STORE_SAME);
    batch = rig_batch(rig);
    schedule_row_pause(batch, SPAN("n"), false, 2000, 7);
    assert_int_equal(rig_write(batch), STORE_DONE);
    assert_int_equal(get(rig, "n").high_s, 2000);
    assert_int_equal(get(rig, "n").offset_s, 7);
    assert_string_equal(rig_events(rig, 1),
                        "schedule n - - paused; schedule n - - resumed");
}

static void a_mark_moves_only_from_where_it_was(void **state) {
    struct rig *rig = *state;
    struct schedule_row one = add(rig, "n");
    struct schedule_mark first = mark_of(&one, 1100);
    first.missed = 3;
    first.reason = SPAN("missed");
    first.detail = SPAN("three");
    assert_int_equal(mark(rig, &first), STORE_DONE);
    assert_int_equal(mark(rig, &first), STORE_CONFLICT);
    one = get(rig, "n");
    assert_int_equal(one.high_s, 1100);
    assert_int_equal(one.offset_s, 60);
    assert_int_equal(one.round, 2);
    assert_int_equal(one.missed, 3);
    assert_string_equal(rig_events(rig, 1), "schedule n - - missed");
    struct schedule_mark stale = mark_of(&one, 1200);
    stale.serial++;
    assert_int_equal(mark(rig, &stale), STORE_CONFLICT);
    struct schedule_mark unknown = mark_of(&one, 1200);
    unknown.name = SPAN("m");
    assert_int_equal(mark(rig, &unknown), STORE_UNKNOWN);
}

static void a_firing_writes_both_job_and_mark_or_neither(void **state) {
    struct rig *rig = *state;
    struct schedule_row one = add(rig, "n");
    struct schedule_mark first = mark_of(&one, 1100);
    enum store_result admitted;
    assert_int_equal(fire(rig, first, "n.1100", &admitted), STORE_DONE);
    assert_int_equal(admitted, STORE_DONE);
    one = get(rig, "n");
    assert_int_equal(one.fired, 1);
    assert_int_equal(one.recent_count, 1);
    assert_span(rig_job(rig, one.recent[0]).id, "n.1100");
    /* A second firing from the same mark admits no job. */
    assert_int_equal(fire(rig, first, "n.other", &admitted), STORE_CONFLICT);
    assert_int_equal(admitted, STORE_CONFLICT);
    struct job job;
    bool found;
    assert_true(store_lookup(rig->store, SPAN("n.other"), &rig->arena, &job,
                             &found, NULL));
    assert_false(found);
    /* If the id is taken, the mark stays where it was. */
    struct job taken = rig_change("n.1200", "3.key");
    rig_admit(rig, &taken);
    assert_int_equal(fire(rig, mark_of(&one, 1200), "n.1200", &admitted),
                     STORE_CONFLICT);
    assert_int_equal(admitted, STORE_DUPLICATE);
    assert_int_equal(get(rig, "n").high_s, 1100);
    rig_verify(rig);
}

static void only_the_newest_jobs_are_kept(void **state) {
    struct rig *rig = *state;
    struct schedule_row one = add(rig, "n");
    for (int i = 0; i < SCHEDULE_RECENT + 3; i++) {
        char id[32];
        snprintf(id, sizeof(id), "n.%d", i);
        struct schedule_mark step = mark_of(&one, one.high_s + 1);
        assert_int_equal(fire(rig, step, id, NULL), STORE_DONE);
        one = get(rig, "n");
    }
    assert_int_equal(one.fired, SCHEDULE_RECENT + 3);
    assert_int_equal(one.recent_count, SCHEDULE_RECENT);
    assert_span(rig_job(rig, one.recent[0]).id, "n.3");
    assert_span(rig_job(rig, one.recent[SCHEDULE_RECENT - 1]).id, "n.34");
}

/* Checks the live jobs, oldest first, such as "n.0 n.7". */
static void expect_live(struct rig *rig, const char *ids) {
    struct job *jobs;
    size_t count;
    assert_true(schedule_row_jobs(rig->store, SPAN("n"), &rig->arena, &jobs,
                                  &count, NULL));
    assert_string_equal(rig_ids(rig, jobs, count), ids);
}

static void all_live_jobs_of_a_schedule_are_listed(void **state) {
    struct rig *rig = *state;
    struct schedule_row one = add(rig, "n");
    struct text all = TEXT_INIT;
    add(rig, "other");
    expect_live(rig, "");
    for (int i = 0; i < SCHEDULE_RECENT + 8; i++) {
        char id[32];
        snprintf(id, sizeof(id), "n.%d", i);
        struct schedule_mark step = mark_of(&one, one.high_s + 1);
        assert_int_equal(fire(rig, step, id, NULL), STORE_DONE);
        one = get(rig, "n");
        text_addf(&all, "%s%s", i > 0 ? " " : "", id);
    }
    expect_live(rig, text_string(&all));
    text_clear(&all);
    struct schedule_mark by_hand = {.name = SPAN("other")};
    assert_int_equal(fire(rig, by_hand, "j1", NULL), STORE_DONE);
    for (uint64_t num = 1; num <= SCHEDULE_RECENT + 8; num++) {
        if (num == 1 || num == 20 || num == SCHEDULE_RECENT + 8)
            continue;
        rig_move(rig, num, STATE_PENDING, STATE_EXECUTING, "start");
        rig_move(rig, num, STATE_EXECUTING, STATE_DONE, "ok");
    }
    expect_live(rig, "n.0 n.19 n.39");
    /* Other jobs start and end; these stay. */
    for (int i = 0; i < 50; i++) {
        char id[32];
        snprintf(id, sizeof(id), "m.%d", i);
        struct schedule_mark step = mark_of(&one, one.high_s + 1);
        assert_int_equal(fire(rig, step, id, NULL), STORE_DONE);
        one = get(rig, "n");
        uint64_t num = one.recent[one.recent_count - 1];
        rig_move(rig, num, STATE_PENDING, STATE_EXECUTING, "start");
        char want[64];
        snprintf(want, sizeof(want), "n.0 n.19 n.39 %s", id);
        expect_live(rig, want);
        rig_move(rig, num, STATE_EXECUTING, STATE_FAILED, "exit-1");
    }
    expect_live(rig, "n.0 n.19 n.39");
    struct store_batch *batch = rig_batch(rig);
    store_batch_atomic(batch);
    schedule_row_remove(batch, SPAN("n"));
    schedule_row_remove(batch, SPAN("nobody"));
    assert_int_equal(rig_write(batch), STORE_UNKNOWN);
    expect_live(rig, "n.0 n.19 n.39");
    batch = rig_batch(rig);
    schedule_row_remove(batch, SPAN("n"));
    assert_int_equal(rig_write(batch), STORE_DONE);
    add(rig, "n");
    expect_live(rig, "");
}

static void a_manual_run_is_recorded_without_moving_the_mark(void **state) {
    struct rig *rig = *state;
    struct schedule_row one = add(rig, "n");
    struct schedule_mark by_hand = {.name = one.name};
    assert_int_equal(fire(rig, by_hand, "j1", NULL), STORE_DONE);
    one = get(rig, "n");
    assert_int_equal(one.high_s, 1000);
    assert_int_equal(one.recent_count, 1);
}

static void schedules_are_listed_by_name_in_pages(void **state) {
    struct rig *rig = *state;
    struct schedule_row *found;
    size_t count;
    add(rig, "c");
    add(rig, "a");
    add(rig, "b");
    assert_true(schedule_row_list(rig->store, SPAN(""), 2, &rig->arena, &found,
                                  &count, NULL));
    assert_int_equal(count, 2);
    assert_span(found[0].name, "a");
    assert_span(found[1].name, "b");
    assert_true(schedule_row_list(rig->store, SPAN("b"), 0, &rig->arena, &found,
                                  &count, NULL));
    assert_int_equal(count, 1);
    assert_span(found[0].name, "c");
}

static void a_refused_atomic_batch_changes_no_schedules(void **state) {
    struct rig *rig = *state;
    struct schedule_row kept = add(rig, "kept");
    struct schedule_row fresh = schedule_of("fresh", "{}");
    struct store_batch *batch = rig_batch(rig);
    store_batch_atomic(batch);
    schedule_row_remove(batch, kept.name);
    schedule_row_set(batch, &fresh, SCHEDULE_ADD);
    schedule_row_remove(batch, SPAN("nobody"));
    assert_true(store_write(batch, &rig->err));
    store_batch_free(batch);
    assert_true(exists(rig, "kept"));
    assert_false(exists(rig, "fresh"));
    rig_verify(rig);
}

int main(void) {
    store_nouns_use(serve_nouns, serve_noun_count);
    const struct CMUnitTest tests[] = {
        RIG_NOUN_TESTS(a_schedule_is_read_as_it_was_added),
        RIG_NOUN_TESTS(adding_a_schedule_again_changes_nothing),
        RIG_NOUN_TESTS(a_new_definition_continues_or_starts_over),
        RIG_NOUN_TESTS(removing_a_schedule_is_an_event),
        RIG_NOUN_TESTS(runs_missed_during_a_pause_are_not_made_up_for),
        RIG_NOUN_TESTS(a_mark_moves_only_from_where_it_was),
        RIG_NOUN_TESTS(a_firing_writes_both_job_and_mark_or_neither),
        RIG_NOUN_TESTS(only_the_newest_jobs_are_kept),
        RIG_NOUN_TESTS(all_live_jobs_of_a_schedule_are_listed),
        RIG_NOUN_TESTS(a_manual_run_is_recorded_without_moving_the_mark),
        RIG_NOUN_TESTS(schedules_are_listed_by_name_in_pages),
        RIG_NOUN_TESTS(a_refused_atomic_batch_changes_no_schedules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
