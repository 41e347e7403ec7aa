/* The effects of the operations on jobs, and what they refuse. */
#include "contract/store_rig.h"

static void a_job_is_read_as_it_was_admitted(void **state) {
    struct rig *rig = *state;
    struct job job = rig_command("j1", "4.a");
    job.detail = SPAN("a sentence");
    uint64_t num = rig_admit(rig, &job);
    rig_reopen(rig);
    struct job back = rig_job(rig, num);
    assert_int_equal(num, 1);
    assert_span(back.id, "j1");
    assert_int_equal(back.kind, JOB_COMMAND);
    assert_int_equal(back.job_class, CLASS_DC);
    assert_int_equal(back.state, STATE_PENDING);
    assert_span(back.key, "4.a");
    assert_span(back.rank, "4.a");
    assert_span(back.reason, "admitted");
    assert_span(back.detail, "a sentence");
    assert_span(back.actor, "uid:7");
    assert_span(back.cause, "person");
    assert_span(back.spec, "{\"command\":[\"true\"]}");
    assert_int_equal(back.uid, 7);
    assert_int_equal(back.tasks, 1);
    assert_int_equal(back.admitted_seq, 1);
    assert_int_equal(back.state_seq, 1);
    assert_int_equal(wall_s(back.admitted), 1001);
    assert_int_equal(wall_s(back.since), 1001);
    assert_false(back.has_relations);
    assert_false(back.stale);
    assert_string_equal(rig_events(rig, 0), "move j1 - P admitted");
}

static void a_change_set_has_relations_and_a_stale_job_file(void **state) {
    struct rig *rig = *state;
    const struct job_edge edges[] = {
        {EDGE_HINT, SPAN("C0")},
        {EDGE_DEPENDENCY, SPAN("C9")},
        {EDGE_DEPENDENCY, SPAN("C1")},
        {EDGE_DEPENDENCY, SPAN("C9")},
    };
    const struct job_touch touches[] = {{SPAN("src/b.c"), false},
                                        {SPAN("src/a.c"), true},
                                        {SPAN("src/\xff.c"), false},
                                        {SPAN("src/b.c"), true}};
    struct job job = rig_change("C2", "4.b");
    struct store_batch *batch = rig_batch(rig);
    store_admit(batch, &job, edges, COUNT(edges), touches, COUNT(touches), NULL,
                0);
    assert_int_equal(rig_write(batch), STORE_DONE);
    struct job back = rig_job(rig, 1);
    assert_true(back.has_relations);
    assert_true(back.stale);
    assert_span(back.target, "main");
    assert_int_equal(back.size_bytes, 512);
    struct job_edge *found;
    struct job_touch *touched;
    size_t count;
    assert_true(
        store_edges_from(rig->store, 1, &rig->arena, &found, &count, NULL));
    assert_int_equal(count, 3);
    assert_int_equal(found[0].kind, EDGE_DEPENDENCY);
    assert_span(found[0].to, "C1");
    assert_span(found[1].to, "C9");
    assert_int_equal(found[2].kind, EDGE_HINT);
    assert_true(
        store_touches(rig->store, 1, &rig->arena, &touched, &count, NULL));
    assert_int_equal(count, 3);
    assert_span(touched[0].path, "src/a.c");
    assert_true(touched[0].deleted);
    assert_span(touched[1].path, "src/b.c");
    assert_false(touched[1].deleted);
    assert_span(touched[2].path, "src/\xff.c");
}

static void the_same_submission_twice_creates_one_job(void **state) {
    struct rig *rig = *state;
    struct job job = rig_command("j1", "4.a");
    uint64_t num = rig_admit(rig, &job);
    struct store_batch *batch = rig_batch(rig);
    struct job other = job;
    other.sum = SPAN("other");
    struct job change = rig_change("j1", "4.a");
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    store_admit(batch, &other, NULL, 0, NULL, 0, NULL, 0);
    store_admit(batch, &change, NULL, 0, NULL, 0, NULL, 0);
    assert_true(store_write(batch, NULL));
    assert_int_equal(store_batch_result(batch, 0), STORE_SAME);
    assert_int_equal(store_batch_num(batch, 0), num);
    assert_int_equal(store_batch_seq(batch, 0), 1);
    assert_int_equal(store_batch_result(batch, 1), STORE_DUPLICATE);
    assert_int_equal(store_batch_num(batch, 1), num);
    assert_int_equal(store_batch_result(batch, 2), STORE_DUPLICATE);
    store_batch_free(batch);
    rig_move(rig, num, STATE_PENDING, STATE_TERMINATED, "operator");
    batch = rig_batch(rig);
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    assert_int_equal(rig_write(batch), STORE_DUPLICATE);
    assert_string_equal(rig_events(rig, 0),
                        "move j1 - P admitted; move j1 P T operator");
}

static void a_batch_may_contain_the_same_id_twice(void **state) {
    struct rig *rig = *state;
    struct job job = rig_command("j1", "4.a");
    struct store_batch *batch = rig_batch(rig);
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    job.id = SPAN("j2");
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    assert_true(store_write(batch, NULL));
    assert_int_equal(store_batch_result(batch, 0), STORE_DONE);
    assert_int_equal(store_batch_result(batch, 1), STORE_SAME);
    assert_int_equal(store_batch_num(batch, 1), 1);
    assert_int_equal(store_batch_num(batch, 2), 2);
    store_batch_free(batch);
}

static void an_array_with_a_repeated_name_is_refused(void **state) {
    struct rig *rig = *state;
    const struct span nodes[] = {SPAN("a"), SPAN("b"), SPAN("a")};
    struct job job = rig_command("j1", "4.a");
    struct store_batch *batch = rig_batch(rig);
    store_admit(batch, &job, NULL, 0, NULL, 0, nodes, 3);
    assert_int_equal(rig_write(batch), STORE_DUPLICATE);
    assert_string_equal(rig_events(rig, 0), "");
}

static void each_step_of_a_job_writes_an_event(void **state) {
    struct rig *rig = *state;
    uint64_t num = rig_started(rig, "j1");
    assert_int_equal(rig_move(rig, num, STATE_EXECUTING, STATE_DONE, "ok"),
                     STORE_DONE);
    struct job job = rig_job(rig, num);
    assert_int_equal(job.state, STATE_DONE);
    assert_span(job.reason, "ok");
    assert_int_equal(job.attempt, 1);
    assert_int_equal(job.tasks_done, 1);
    assert_int_equal(job.state_seq, 3);
    assert_int_equal(wall_s(job.since), 1003);
    assert_int_equal(wall_s(job.admitted), 1001);
    assert_string_equal(rig_events(rig, 0),
                        "move j1 - P admitted; move j1 P X start; "
                        "move j1 X D ok");
}

static void a_step_from_another_state_is_a_conflict(void **state) {
    struct rig *rig = *state;
    uint64_t num = rig_started(rig, "j1");
    assert_int_equal(
        rig_move(rig, num, STATE_PENDING, STATE_EXECUTING, "start"),
        STORE_CONFLICT);
    assert_int_equal(
        rig_move(rig, num, STATE_PENDING, STATE_TERMINATED, "operator"),
        STORE_CONFLICT);
    assert_int_equal(rig_move(rig, 77, STATE_PENDING, STATE_EXECUTING, "start"),
                     STORE_UNKNOWN);
    assert_int_equal(rig_move(rig, 0, STATE_PENDING, STATE_EXECUTING, "start"),
                     STORE_UNKNOWN);
    assert_int_equal(rig_job(rig, num).attempt, 1);
    assert_string_equal(rig_events(rig, 1), "move j1 P X start");
}

static void steps_count_failures_and_a_retry_clears_the_counts(void **state) {
    struct rig *rig = *state;
    uint64_t num = rig_started(rig, "j1");
    struct store_move back = {
        .num = num,
        .from = STATE_EXECUTING,
        .to = STATE_PENDING,
        .reason = SPAN("temp"),
        .detail = SPAN("exit 75"),
        .not_before = wall_from_s(5000),
        .temps = 1,
        .crashes = 2,
        .fails = 3,
    };
    struct store_batch *batch = rig_batch(rig);
    store_move(batch, &back);
    assert_int_equal(rig_write(batch), STORE_DONE);
    struct job job = rig_job(rig, num);
    assert_int_equal(job.temps, 1);
    assert_int_equal(job.crashes, 2);
    assert_int_equal(job.fails, 3);
    assert_int_equal(wall_s(job.not_before), 5000);
    assert_span(job.detail, "exit 75");
    rig_move(rig, num, STATE_PENDING, STATE_EXECUTING, "start");
    job = rig_job(rig, num);
    assert_int_equal(job.not_before.ns, 0);
    assert_int_equal(job.temps, 1);
    assert_int_equal(job.attempt, 2);
    rig_move(rig, num, STATE_EXECUTING, STATE_FAILED, "exit-1");
    struct store_move retry = {
        .num = num,
        .from = STATE_FAILED,
        .to = STATE_PENDING,
        .reason = SPAN("retry"),
        .begin_attempt = true,
        .clear_counts = true,
    };
    batch = rig_batch(rig);
    store_move(batch, &retry);
    assert_int_equal(rig_write(batch), STORE_DONE);
    job = rig_job(rig, num);
    assert_int_equal(job.temps + job.crashes + job.fails, 0);
    assert_int_equal(job.attempt, 3);
}

static void a_held_job_does_not_start(void **state) {
    struct rig *rig = *state;
    struct job job = rig_command("j1", "4.a");
    uint64_t num = rig_admit(rig, &job);
    struct store_batch *batch = rig_batch(rig);
    store_hold(batch, num, HOLD_OPERATOR, SPAN("lunch"));
    store_hold(batch, num, HOLD_OPERATOR, SPAN("lunch"));
    store_hold(batch, num, HOLD_APPROVAL, SPAN("needs two"));
    store_release(batch, num, HOLD_ROLLBACK, SPAN(""));
    store_hold(batch, 9, HOLD_OPERATOR, SPAN(""));
    assert_true(store_write(batch, NULL));
    static const enum store_result expected[] = {
        STORE_DONE, STORE_SAME, STORE_DONE, STORE_SAME, STORE_UNKNOWN};
    for (unsigned i = 0; i < COUNT(expected); i++)
        assert_int_equal(store_batch_result(batch, i), expected[i]);
    store_batch_free(batch);
    assert_int_equal(rig_job(rig, num).holds, HOLD_OPERATOR | HOLD_APPROVAL);
    assert_string_equal(rig_ready(rig, 9000), "");
    assert_int_equal(
        rig_move(rig, num, STATE_PENDING, STATE_EXECUTING, "start"),
        STORE_CONFLICT);
    batch = rig_batch(rig);
    store_release(batch, num, HOLD_OPERATOR, SPAN("back"));
    store_release(batch, num, HOLD_APPROVAL, SPAN("two said yes"));
    assert_int_equal(rig_write(batch), STORE_DONE);
    assert_string_equal(rig_ready(rig, 9000), "j1");
    assert_string_equal(
        rig_events(rig, 1),
        "hold j1 P P lunch; hold j1 P P needs two; release j1 P P back; "
        "release j1 P P two said yes");
}

static int64_t not_before_s(struct rig *rig, uint64_t num) {
    return wall_s(rig_job(rig, num).not_before);
}

static void back_offs_follow_a_clock_that_is_set_back(void **state) {
    struct rig *rig = *state;
    struct job jobs[] = {rig_command("j1", "4.a"), rig_command("j2", "4.b"),
                         rig_command("j3", "4.c"), rig_command("j4", "4.d")};
    jobs[0].not_before = wall_from_s(5000);
    jobs[1].not_before = wall_from_s(1100); /* before the clock was set */
    jobs[2].not_before = wall_from_s(500);
    for (size_t i = 0; i < COUNT(jobs); i++)
        rig_admit(rig, &jobs[i]);
    rig->now = wall_from_s(599);
    struct store_batch *batch = rig_batch(rig);
    store_set_back(batch, 700000);
    store_due(batch, 2); /* sees the result */
    assert_true(store_write(batch, NULL));
    assert_int_equal(store_batch_result(batch, 1), STORE_DONE);
    store_batch_free(batch);
    rig_reopen(rig);
    assert_int_equal(not_before_s(rig, 1), 4300);
    assert_int_equal(not_before_s(rig, 2), 0);
    assert_int_equal(not_before_s(rig, 3), 500);
    assert_int_equal(not_before_s(rig, 4), 0);
}

static void
a_time_that_the_submitter_named_stays_until_the_job_starts(void **state) {
    struct rig *rig = *state;
    struct job jobs[] = {rig_command("j1", "4.a"), rig_command("j2", "4.b")};
    jobs[0].state = STATE_QUEUED;
    for (size_t i = 0; i < COUNT(jobs); i++) {
        jobs[i].not_before = wall_from_s(5000);
        jobs[i].flags = JOB_BEGINS;
        rig_admit(rig, &jobs[i]);
    }
    rig_move(rig, 1, STATE_QUEUED, STATE_STAGED, "staged");
    assert_int_equal(not_before_s(rig, 1), 5000);
    rig_move(rig, 1, STATE_STAGED, STATE_PENDING, "ready");
    assert_int_equal(not_before_s(rig, 1), 5000);
    rig_move(rig, 2, STATE_PENDING, STATE_EXECUTING, "start");
    assert_int_equal(not_before_s(rig, 2), 0);
    struct store_move back = {.num = 2,
                              .from = STATE_EXECUTING,
                              .to = STATE_PENDING,
                              .reason = SPAN("temp"),
                              .not_before = wall_from_s(6000)};
    struct store_batch *batch = rig_batch(rig);
    store_move(batch, &back);
    assert_int_equal(rig_write(batch), STORE_DONE);
    rig->now = wall_from_s(599);
    batch = rig_batch(rig);
    store_set_back(batch, 700000);
    assert_int_equal(rig_write(batch), STORE_DONE);
    rig->now = wall_from_s(499); /* nobody watched when it was set back */
    batch = rig_batch(rig);
    store_set_back(batch, 0);
    assert_int_equal(rig_write(batch), STORE_DONE);
    rig_reopen(rig);
    assert_int_equal(not_before_s(rig, 1), 5000);
    assert_true(not_before_s(rig, 2) < 5300);
}

static void a_back_off_that_begins_in_the_future_counts_from_now(void **state) {
    struct rig *rig = *state;
    struct job jobs[] = {rig_command("j1", "4.a"), rig_command("j2", "4.b")};
    jobs[0].not_before = wall_from_s(1060);
    jobs[1].not_before = wall_from_s(1060);
    rig->now = wall_from_s(999); /* j1 waits since 1000, for 60 s */
    rig_admit(rig, &jobs[0]);
    rig->now = wall_from_s(499);
    rig_admit(rig, &jobs[1]); /* since 500, for 560 s */
    rig->now = wall_from_s(799);
    struct store_batch *batch = rig_batch(rig);
    store_set_back(batch, 0);
    assert_int_equal(rig_write(batch), STORE_DONE);
    rig_reopen(rig);
    assert_int_equal(not_before_s(rig, 1), 860);
    assert_int_equal(not_before_s(rig, 2), 1060);
}

static void a_job_whose_time_has_come_is_like_any_other(void **state) {
    struct rig *rig = *state;
    struct job jobs[] = {rig_command("j1", "4.a"), rig_command("j2", "4.b"),
                         rig_command("j3", "4.c")};
    jobs[0].not_before = wall_from_s(5000);
    jobs[1].not_before = wall_from_s(1000); /* in the past */
    for (size_t i = 0; i < COUNT(jobs); i++)
        rig_admit(rig, &jobs[i]);
    struct store_batch *batch = rig_batch(rig);
    for (uint64_t num = 1; num <= 4; num++)
        store_due(batch, num);
    store_due(batch, 2);
    assert_true(store_write(batch, NULL));
    static const enum store_result expected[] = {
        STORE_CONFLICT, STORE_DONE, STORE_SAME, STORE_UNKNOWN, STORE_SAME};
    for (unsigned i = 0; i < COUNT(expected); i++)
        assert_int_equal(store_batch_result(batch, i), expected[i]);
    store_batch_free(batch);
    rig_reopen(rig);
    assert_int_equal(wall_s(rig_job(rig, 1).not_before), 5000);
    assert_int_equal(rig_job(rig, 2).not_before.ns, 0);
    assert_string_equal(rig_ready(rig, 2000), "j2 j3");
    assert_string_equal(rig_ready(rig, 5000), "j1 j2 j3");
    /* This holds even if the clock is set back, because it has waited once. */
    assert_string_equal(rig_ready(rig, 1), "j2 j3");
    assert_string_equal(
        rig_list(rig, (struct store_list){.with_not_before = true}), "j1");
    assert_string_equal(rig_events(rig, 3), "");
    assert_true(store_verify(rig->store, NULL));
}

static void a_final_job_cannot_be_held(void **state) {
    struct rig *rig = *state;
    struct job job = rig_command("j1", "4.a");
    uint64_t num = rig_admit(rig, &job);
    struct store_batch *batch = rig_batch(rig);
    store_hold(batch, num, HOLD_OPERATOR, SPAN(""));
    rig_write(batch);
    rig_move(rig, num, STATE_PENDING, STATE_TERMINATED, "operator");
    batch = rig_batch(rig);
    store_release(batch, num, HOLD_OPERATOR, SPAN(""));
    assert_int_equal(rig_write(batch), STORE_CONFLICT);
    struct store_tally tally;
    assert_true(store_count(rig->store, &tally, NULL));
    assert_int_equal(tally.held, 0);
    assert_int_equal(tally.count[STATE_TERMINATED], 1);
}

static void cancellation_is_requested_only_of_executing_jobs(void **state) {
    struct rig *rig = *state;
    struct job job = rig_command("j1", "4.a");
    uint64_t num = rig_admit(rig, &job);
    struct store_batch *batch = rig_batch(rig);
    store_ask_cancel(batch, num, false, SPAN(""));
    assert_int_equal(rig_write(batch), STORE_CONFLICT);
    rig_move(rig, num, STATE_PENDING, STATE_EXECUTING, "start");
    batch = rig_batch(rig);
    store_ask_cancel(batch, num, false, SPAN(""));
    store_ask_cancel(batch, num, false, SPAN(""));
    store_ask_cancel(batch, num, true, SPAN(""));
    assert_true(store_write(batch, NULL));
    assert_int_equal(store_batch_result(batch, 0), STORE_DONE);
    assert_int_equal(store_batch_result(batch, 1), STORE_SAME);
    assert_int_equal(store_batch_result(batch, 2), STORE_DONE);
    store_batch_free(batch);
    assert_true(rig_job(rig, num).cancel_asked);
    /* The crash was decided before the cancellation was requested; the job must
     * not start again. */
    rig_move(rig, num, STATE_EXECUTING, STATE_PENDING, "crash");
    assert_false(rig_job(rig, num).cancel_asked);
    assert_int_equal(rig_job(rig, num).state, STATE_TERMINATED);
    assert_string_equal(rig_ready(rig, 9000), "");
    assert_string_equal(rig_events(rig, 2),
                        "cancel j1 X X asked; cancel j1 X X kill; "
                        "move j1 X T operator");
}

static void a_job_to_be_cancelled_is_not_abandoned_by_a_rollback(void **state) {
    struct rig *rig = *state;
    struct job job = rig_change("C1", "4.a");
    uint64_t num = rig_admit(rig, &job);
    rig_move(rig, num, STATE_QUEUED, STATE_STAGED, "staged");
    rig_move(rig, num, STATE_STAGED, STATE_PENDING, "ready");
    rig_move(rig, num, STATE_PENDING, STATE_EXECUTING, "start");
    struct store_batch *batch = rig_batch(rig);
    store_ask_cancel(batch, num, false, SPAN(""));
    assert_int_equal(rig_write(batch), STORE_DONE);
    rig_move(rig, num, STATE_EXECUTING, STATE_ABANDONED, "rollback");
    assert_int_equal(rig_job(rig, num).state, STATE_TERMINATED);
    assert_string_equal(rig_events(rig, 5), "move C1 X T operator");
}

static void a_record_replaces_only_the_precursors(void **state) {
    struct rig *rig = *state;
    const struct job_edge edges[] = {{EDGE_DEPENDENCY, SPAN("C0")},
                                     {EDGE_PRECURSOR, SPAN("C1")}};
    const struct span first[] = {SPAN("C3"), SPAN("C2"), SPAN("C3")};
    struct job job = rig_change("C9", "4.a");
    struct store_batch *batch = rig_batch(rig);
    store_admit(batch, &job, edges, 2, NULL, 0, NULL, 0);
    store_record(batch, 1, first, 3);
    store_splice(batch, 1, first, 1);
    assert_int_equal(rig_write(batch), STORE_DONE);
    struct job_edge *found;
    size_t count;
    store_edges_from(rig->store, 1, &rig->arena, &found, &count, NULL);
    assert_int_equal(count, 2);
    assert_span(found[0].to, "C0");
    assert_int_equal(found[1].kind, EDGE_PRECURSOR);
    assert_span(found[1].to, "C3");
    assert_int_equal(rig_job(rig, 1).record_seq, 2);
    struct store_event *events;
    store_events(rig->store, 1, 1, 0, &rig->arena, &events, &count, NULL);
    assert_int_equal(count, 1);
    assert_span(events[0].detail, "C3 C2 C3");
    struct job pending = rig_command("j1", "4.b");
    uint64_t num = rig_admit(rig, &pending);
    batch = rig_batch(rig);
    store_record(batch, num, first, 1);
    assert_int_equal(rig_write(batch), STORE_CONFLICT);
    batch = rig_batch(rig);
    store_splice(batch, 99, first, 1);
    assert_int_equal(rig_write(batch), STORE_UNKNOWN);
}

static void
the_record_of_a_set_that_follows_is_spliced_until_it_ends(void **state) {
    struct rig *rig = *state;
    const struct span ids[] = {SPAN("C1")};
    const struct {
        enum job_state to;
        const char *reason;
        enum store_result result;
    } steps[] = {
        {STATE_STAGED, "staged", STORE_DONE},
        {STATE_PENDING, "follows", STORE_DONE},
        {STATE_EXECUTING, "start", STORE_DONE},
        {STATE_FAILED, "dep-failed", STORE_CONFLICT},
    };
    struct job job = rig_change("C9", "4.a");
    uint64_t num = rig_admit(rig, &job);
    enum job_state from = STATE_QUEUED;
    for (size_t i = 0; i < COUNT(steps); i++) {
        rig_move(rig, num, from, steps[i].to, steps[i].reason);
        from = steps[i].to;
        struct store_batch *batch = rig_batch(rig);
        store_splice(batch, num, ids, 1);
        assert_int_equal(rig_write(batch), steps[i].result);
    }
}

static void a_rank_does_not_change_the_key(void **state) {
    struct rig *rig = *state;
    struct job job = rig_command("j1", "4.a");
    uint64_t num = rig_admit(rig, &job);
    for (int i = 0; i < 2; i++) {
        struct store_batch *batch = rig_batch(rig);
        store_rank(batch, num, SPAN("2.z"));
        assert_int_equal(rig_write(batch), i ? STORE_SAME : STORE_DONE);
    }
    struct job back = rig_job(rig, num);
    assert_span(back.key, "4.a");
    assert_span(back.rank, "2.z");
    assert_string_equal(rig_events(rig, 1), "");
    rig_move(rig, num, STATE_PENDING, STATE_TERMINATED, "operator");
    struct store_batch *batch = rig_batch(rig);
    store_rank(batch, num, SPAN("1"));
    assert_int_equal(rig_write(batch), STORE_CONFLICT);
    struct job two = rig_command("j2", "4.b");
    two.rank = SPAN("1.x");
    back = rig_job(rig, rig_admit(rig, &two));
    assert_span(back.key, "4.b");
    assert_span(back.rank, "1.x");
}

static void a_projection_is_valid_for_one_state_only(void **state) {
    struct rig *rig = *state;
    struct job job = rig_change("C1", "4.a");
    uint64_t num = rig_admit(rig, &job);
    struct store_batch *batch = rig_batch(rig);
    store_projected(batch, num, 1);
    store_projected(batch, num, 1);
    store_projected(batch, 9, 1);
    assert_true(store_write(batch, NULL));
    assert_int_equal(store_batch_result(batch, 0), STORE_DONE);
    assert_int_equal(store_batch_result(batch, 1), STORE_SAME);
    assert_int_equal(store_batch_result(batch, 2), STORE_UNKNOWN);
    store_batch_free(batch);
    assert_false(rig_job(rig, num).stale);
    rig_move(rig, num, STATE_QUEUED, STATE_STAGED, "staged");
    assert_true(rig_job(rig, num).stale);
    batch = rig_batch(rig);
    store_projected(batch, num, 1);
    assert_int_equal(rig_write(batch), STORE_CONFLICT);
    assert_true(rig_job(rig, num).stale);
    assert_string_equal(rig_list(rig, (struct store_list){.stale_only = true}),
                        "C1");
}

static void notes_only_write_events(void **state) {
    struct rig *rig = *state;
    struct job job = rig_command("j1", "4.a");
    uint64_t num = rig_admit(rig, &job);
    struct store_batch *batch = rig_batch(rig);
    store_note(batch, EVENT_REJECT, 0, SPAN("bad name"), SPAN("name"),
               SPAN("no class"));
    store_note(batch, EVENT_ALARM, num, SPAN(""), SPAN("odd"), SPAN(""));
    store_note(batch, EVENT_ALARM, 44, SPAN(""), SPAN("odd"), SPAN(""));
    assert_int_equal(rig_write(batch), STORE_UNKNOWN);
    assert_string_equal(rig_events(rig, 1),
                        "reject bad name - - name; alarm j1 P P odd");
    struct store_event *events;
    size_t count;
    store_events(rig->store, 0, num, 0, &rig->arena, &events, &count, NULL);
    assert_int_equal(count, 2);
    assert_int_equal(events[1].seq, 3);
    assert_span(events[1].actor, "uid:7");
    assert_int_equal(wall_s(events[1].at), 1002);
}

static void settings_can_be_set_and_removed(void **state) {
    struct rig *rig = *state;
    static const struct {
        const char *name, *value;
        enum store_result result;
    } steps[] = {
        {"b", "1", STORE_DONE},  {"b", "1", STORE_SAME},
        {"a", "", STORE_DONE},   {"b", "2", STORE_DONE},
        {"c", NULL, STORE_SAME}, {"d", "x", STORE_DONE},
        {"d", NULL, STORE_DONE},
    };
    for (size_t i = 0; i < COUNT(steps); i++) {
        struct store_batch *batch = rig_batch(rig);
        store_set(batch, span_of(steps[i].name), span_of(steps[i].value));
        assert_int_equal(rig_write(batch), steps[i].result);
    }
    rig_reopen(rig);
    struct span value, *names, *values;
    size_t count;
    assert_true(
        store_setting(rig->store, SPAN("b"), &rig->arena, &value, NULL));
    assert_span(value, "2");
    store_setting(rig->store, SPAN("a"), &rig->arena, &value, NULL);
    assert_non_null(value.p);
    assert_int_equal(value.len, 0);
    store_setting(rig->store, SPAN("d"), &rig->arena, &value, NULL);
    assert_null(value.p);
    store_settings(rig->store, &rig->arena, &names, &values, &count, NULL);
    assert_int_equal(count, 2);
    assert_span(names[0], "a");
    assert_span(values[1], "2");
    assert_string_equal(
        rig_events(rig, 0),
        "setting b - - set; setting a - - set; setting b - - set; "
        "setting d - - set; setting d - - removed");
}

static struct event_facts facts_of(struct rig *rig, uint64_t seq,
                                   struct store_event *ret_event) {
    struct store_event *events;
    struct event_facts facts;
    size_t count;
    assert_true(store_events(rig->store, seq - 1, 0, 1, &rig->arena, &events,
                             &count, NULL));
    assert_int_equal(count, 1);
    assert_true(event_facts_parse(events[0].facts, &rig->arena, &facts));
    *ret_event = events[0];
    return facts;
}

static void a_setting_records_the_value_before(void **state) {
    static const struct {
        const char *value, *was, *detail;
    } steps[] = {{"7", "4", "7"}, {"8", "7", "8"}, {NULL, "8", "4"}};
    struct rig *rig = *state;
    for (size_t i = 0; i < COUNT(steps); i++) {
        struct store_event event;
        struct store_batch *batch = rig_batch(rig);
        store_set(batch, SPAN("queue.x"), span_of(steps[i].value));
        store_set_usual(batch, SPAN("4"));
        assert_int_equal(rig_write(batch), STORE_DONE);
        struct event_facts facts = facts_of(rig, i + 1, &event);
        assert_span(facts.was, steps[i].was);
        assert_span(event.detail, steps[i].detail);
        assert_int_equal(facts.from.len, 0);
    }
}

static void an_event_records_where_the_command_came_from(void **state) {
    struct rig *rig = *state;
    struct store_event event;
    struct job job = rig_command("j1", "4.a");
    uint64_t num = rig_admit(rig, &job), seq = store_seq(rig->store);
    struct store_batch *batch = rig_batch(rig);
    store_batch_from(batch, SPAN("job j0"));
    store_batch_actor(batch, wall_from_s(1), SPAN("uid:7"));
    store_hold(batch, num, HOLD_OPERATOR, SPAN(""));
    assert_int_equal(rig_write(batch), STORE_DONE);
    struct event_facts facts = facts_of(rig, seq + 1, &event);
    assert_span(facts.from, "job j0");
    assert_int_equal(facts.holds, HOLD_OPERATOR);
    assert_span(event.actor, "uid:7");
}

static void an_atomic_batch_is_done_completely_or_not_at_all(void **state) {
    struct rig *rig = *state;
    struct job one = rig_command("j1", "4.a"), two = rig_command("j2", "4.b");
    uint64_t num = rig_admit(rig, &one);
    struct store_move start = {.num = num,
                               .from = STATE_PENDING,
                               .to = STATE_EXECUTING,
                               .reason = SPAN("start"),
                               .begin_attempt = true};
    struct store_attempt attempt = {
        .num = num, .attempt = 1, .status = TASK_RUNNING};
    struct store_batch *batch = rig_batch(rig);
    store_batch_atomic(batch);
    store_admit(batch, &two, NULL, 0, NULL, 0, NULL, 0);
    store_assign(batch, &attempt);
    store_move(batch, &start);
    store_set(batch, SPAN("name"), SPAN("value"));
    store_hold(batch, num, HOLD_OPERATOR, SPAN(""));
    store_rank(batch, num, SPAN("1"));
    store_admit(batch, &one, NULL, 0, NULL, 0, NULL, 0);
    store_move(batch, &start);
    assert_true(store_write(batch, NULL));
    for (unsigned i = 0; i < store_batch_count(batch); i++)
        assert_int_equal(store_batch_result(batch, i), STORE_CONFLICT);
    store_batch_free(batch);
    assert_string_equal(rig_events(rig, 1), "");
    assert_string_equal(rig_list(rig, (struct store_list){0}), "j1");
    struct store_attempt *attempts;
    struct span value;
    size_t count;
    store_attempts(rig->store, num, &rig->arena, &attempts, &count, NULL);
    assert_int_equal(count, 0);
    store_setting(rig->store, SPAN("name"), &rig->arena, &value, NULL);
    assert_null(value.p);
    assert_string_equal(rig_ready(rig, 9000), "j1");
    rig_verify(rig);
    /* Without the last step it succeeds, and the numbers have no gap. */
    batch = rig_batch(rig);
    store_batch_atomic(batch);
    store_admit(batch, &two, NULL, 0, NULL, 0, NULL, 0);
    store_assign(batch, &attempt);
    store_move(batch, &start);
    assert_int_equal(rig_write(batch), STORE_DONE);
    assert_int_equal(rig_job(rig, 2).admitted_seq, 2);
    assert_int_equal(rig_job(rig, num).state, STATE_EXECUTING);
}

static void other_batches_do_what_is_possible(void **state) {
    struct rig *rig = *state;
    struct job one = rig_command("j1", "4.a");
    struct store_batch *batch = rig_batch(rig);
    store_hold(batch, 1, HOLD_OPERATOR, SPAN(""));
    store_admit(batch, &one, NULL, 0, NULL, 0, NULL, 0);
    store_hold(batch, 1, HOLD_OPERATOR, SPAN(""));
    assert_true(store_write(batch, NULL));
    assert_int_equal(store_batch_result(batch, 0), STORE_UNKNOWN);
    assert_int_equal(store_batch_result(batch, 1), STORE_DONE);
    assert_int_equal(store_batch_result(batch, 2), STORE_DONE);
    store_batch_free(batch);
    batch = store_batch_new(rig->store);
    assert_true(store_write(batch, NULL)); /* empty */
    store_batch_free(batch);
    store_batch_free(store_batch_new(rig->store));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RIG_TESTS(a_job_is_read_as_it_was_admitted),
        RIG_TESTS(a_change_set_has_relations_and_a_stale_job_file),
        RIG_TESTS(the_same_submission_twice_creates_one_job),
        RIG_TESTS(a_batch_may_contain_the_same_id_twice),
        RIG_TESTS(an_array_with_a_repeated_name_is_refused),
        RIG_TESTS(each_step_of_a_job_writes_an_event),
        RIG_TESTS(a_step_from_another_state_is_a_conflict),
        RIG_TESTS(steps_count_failures_and_a_retry_clears_the_counts),
        RIG_TESTS(a_held_job_does_not_start),
        RIG_TESTS(a_job_whose_time_has_come_is_like_any_other),
        RIG_TESTS(back_offs_follow_a_clock_that_is_set_back),
        RIG_TESTS(a_time_that_the_submitter_named_stays_until_the_job_starts),
        RIG_TESTS(a_back_off_that_begins_in_the_future_counts_from_now),
        RIG_TESTS(a_final_job_cannot_be_held),
        RIG_TESTS(cancellation_is_requested_only_of_executing_jobs),
        RIG_TESTS(a_job_to_be_cancelled_is_not_abandoned_by_a_rollback),
        RIG_TESTS(a_record_replaces_only_the_precursors),
        RIG_TESTS(the_record_of_a_set_that_follows_is_spliced_until_it_ends),
        RIG_TESTS(a_rank_does_not_change_the_key),
        RIG_TESTS(a_projection_is_valid_for_one_state_only),
        RIG_TESTS(notes_only_write_events),
        RIG_TESTS(settings_can_be_set_and_removed),
        RIG_TESTS(a_setting_records_the_value_before),
        RIG_TESTS(an_event_records_where_the_command_came_from),
        RIG_TESTS(an_atomic_batch_is_done_completely_or_not_at_all),
        RIG_TESTS(other_batches_do_what_is_possible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
