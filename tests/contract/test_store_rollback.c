/* The writes of a rollback: marks on landed sets, and its plan. */
#include "contract/store_rig.h"

static uint64_t landed(struct rig *rig, const char *id) {
    struct job job = rig_change(id, id);
    uint64_t num = rig_admit(rig, &job);
    rig_move(rig, num, STATE_QUEUED, STATE_STAGED, "staged");
    rig_move(rig, num, STATE_STAGED, STATE_PENDING, "ready");
    rig_move(rig, num, STATE_PENDING, STATE_EXECUTING, "start");
    rig_move(rig, num, STATE_EXECUTING, STATE_DONE, "ok");
    return num;
}

static enum store_result mark(struct rig *rig, uint64_t num, const char *was,
                              const char *by) {
    struct store_batch *batch = rig_batch(rig);
    store_mark(batch, num, span_of(was), span_of(by), SPAN("R"), SPAN("R"));
    return rig_write(batch);
}

static enum store_result plan(struct rig *rig, uint64_t num, const char *phase,
                              const char *members) {
    struct store_batch *batch = rig_batch(rig);
    store_plan(batch, &(struct store_rollback){.num = num,
                                               .phase = span_of(phase),
                                               .begun = {7},
                                               .members = span_of(members)});
    return rig_write(batch);
}

static void a_done_set_can_be_marked_as_rolled_back(void **state) {
    struct rig *rig = *state;
    uint64_t num = landed(rig, "C1");
    assert_span(rig_job(rig, num).rolled_back_by, "");
    uint64_t before = store_seq(rig->store);
    assert_int_equal(mark(rig, num, "", "R"), STORE_DONE);
    assert_span(rig_job(rig, num).rolled_back_by, "R");
    assert_string_equal(rig_events(rig, before),
                        "rolled-back C1 D D rolled-back");
    rig_reopen(rig);
    assert_span(rig_job(rig, num).rolled_back_by, "R");
    struct store_event *events;
    size_t count;
    assert_true(store_events(rig->store, before, num, 0, &rig->arena, &events,
                             &count, &rig->err));
    assert_int_equal(count, 1); /* the event is in the history of the set */
    assert_span(events[0].facts, "{\"rollback\":\"R\",\"because\":\"R\"}");
    rig_verify(rig);
}

static void a_mark_can_be_removed(void **state) {
    struct rig *rig = *state;
    uint64_t num = landed(rig, "C1");
    mark(rig, num, "", "R");
    uint64_t before = store_seq(rig->store);
    assert_int_equal(mark(rig, num, "R", ""), STORE_DONE);
    assert_span(rig_job(rig, num).rolled_back_by, "");
    assert_string_equal(rig_events(rig, before),
                        "rolled-back C1 D D reinstated");
}

static void a_mark_is_conditional(void **state) {
    struct rig *rig = *state;
    uint64_t num = landed(rig, "C1");
    assert_int_equal(mark(rig, num, "other", "R"), STORE_CONFLICT);
    assert_int_equal(mark(rig, num, "", ""), STORE_SAME);
    assert_int_equal(mark(rig, num, "", "R"), STORE_DONE);
    assert_int_equal(mark(rig, num, "", "R2"), STORE_CONFLICT);
    assert_int_equal(mark(rig, num + 9, "", "R"), STORE_UNKNOWN);
    struct job waiting = rig_change("C2", "k");
    uint64_t other = rig_admit(rig, &waiting);
    assert_int_equal(mark(rig, other, "", "R"), STORE_CONFLICT);
    uint64_t command = rig_started(rig, "j1");
    rig_move(rig, command, STATE_EXECUTING, STATE_DONE, "ok");
    assert_int_equal(mark(rig, command, "", "R"), STORE_CONFLICT);
    rig_verify(rig);
}

static void a_plan_is_kept_and_replaced(void **state) {
    struct rig *rig = *state;
    struct job job = rig_change("R", "r");
    uint64_t num = rig_admit(rig, &job);
    struct store_rollback kept;
    bool found;
    assert_true(
        store_rollback(rig->store, num, &rig->arena, &kept, &found, &rig->err));
    assert_false(found);
    assert_int_equal(plan(rig, num, "stopping", "1 Q\n"), STORE_DONE);
    assert_int_equal(plan(rig, num, "over", "1 Q\n2 D reverted\n"), STORE_DONE);
    rig_reopen(rig);
    assert_true(
        store_rollback(rig->store, num, &rig->arena, &kept, &found, &rig->err));
    assert_true(found);
    assert_span(kept.phase, "over");
    assert_span(kept.members, "1 Q\n2 D reverted\n");
    assert_int_equal(kept.begun.ns, 7);
    assert_int_equal(plan(rig, num + 5, "over", ""), STORE_UNKNOWN);
}

static enum store_result owe(struct rig *rig, uint64_t num, int64_t until_s,
                             const char *reason) {
    struct store_batch *batch = rig_batch(rig);
    store_owe(batch, num, wall_from_s(until_s), span_of(reason), SPAN("d"));
    return rig_write(batch);
}

static size_t count_owed(struct rig *rig) {
    struct store_list list = {.owed_only = true};
    struct job *jobs;
    size_t count;
    assert_true(
        store_jobs(rig->store, &list, &rig->arena, &jobs, &count, &rig->err));
    return count;
}

static void an_owed_approval_stays_until_it_is_given(void **state) {
    struct rig *rig = *state;
    struct job job = rig_change("C1", "c1");
    job.owed = wall_from_s(50);
    uint64_t num = rig_admit(rig, &job), other = landed(rig, "C2");
    assert_int_equal(rig_job(rig, num).owed.ns, job.owed.ns);
    assert_int_equal(count_owed(rig), 1);
    uint64_t before = store_seq(rig->store);
    assert_int_equal(owe(rig, other, 70, "owed"), STORE_DONE);
    assert_int_equal(owe(rig, other, 70, "owed"), STORE_SAME);
    rig_reopen(rig);
    assert_int_equal(count_owed(rig), 2);
    assert_int_equal(owe(rig, num, 0, "settled"), STORE_DONE);
    assert_string_equal(rig_events(rig, before),
                        "owed C2 D D owed; owed C1 Q Q settled");
    assert_int_equal(count_owed(rig), 1);
    assert_int_equal(rig_job(rig, num).owed.ns, 0);
    assert_int_equal(rig_job(rig, other).owed.ns, 70 * NS_PER_S);
    assert_int_equal(owe(rig, other + 7, 70, "owed"), STORE_UNKNOWN);
    rig_verify(rig);
}

/* The transaction of a rollback is atomic, including its marks and plan. */
static void a_refused_batch_changes_nothing(void **state) {
    struct rig *rig = *state;
    uint64_t num = landed(rig, "C1");
    struct job job = rig_change("R", "r");
    uint64_t rollback = rig_admit(rig, &job);
    plan(rig, rollback, "stopping", "1 D\n");
    struct store_batch *batch = rig_batch(rig);
    store_batch_atomic(batch);
    store_mark(batch, num, SPAN(""), SPAN("R"), SPAN("R"), SPAN("R"));
    store_plan(batch, &(struct store_rollback){.num = rollback,
                                               .phase = SPAN("over"),
                                               .members = SPAN("")});
    store_mark(batch, num, SPAN("nobody"), SPAN("R"), SPAN("R"), SPAN("R"));
    assert_int_equal(rig_write(batch), STORE_CONFLICT);
    assert_span(rig_job(rig, num).rolled_back_by, "");
    struct store_rollback kept;
    bool found;
    assert_true(store_rollback(rig->store, rollback, &rig->arena, &kept, &found,
                               &rig->err));
    assert_span(kept.phase, "stopping");
    rig_verify(rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RIG_TESTS(a_done_set_can_be_marked_as_rolled_back),
        RIG_TESTS(a_mark_can_be_removed),
        RIG_TESTS(a_mark_is_conditional),
        RIG_TESTS(a_plan_is_kept_and_replaced),
        RIG_TESTS(an_owed_approval_stays_until_it_is_given),
        RIG_TESTS(a_refused_batch_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
