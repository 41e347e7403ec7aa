/* Attempts and the tasks of arrays. */
#include "contract/store_rig.h"

static struct store_attempt attempt_of(uint64_t num, const char *node,
                                       unsigned attempt,
                                       enum task_status status) {
    return (struct store_attempt){
        .num = num,
        .node = span_of(node),
        .attempt = attempt,
        .status = status,
        .assigned = wall_from_s(2000),
        .exit_code = -1,
        .worker = SPAN("local"),
    };
}

static uint64_t array_admit(struct rig *rig) {
    static const struct span nodes[] = {SPAN("red"), SPAN("blue"),
                                        SPAN("green")};
    struct job job = rig_command("array", "4.a");
    struct store_batch *batch = rig_batch(rig);
    store_admit(batch, &job, NULL, 0, NULL, 0, nodes, 3);
    assert_int_equal(rig_write(batch), STORE_DONE);
    return 1;
}

static enum store_result assign(struct rig *rig, uint64_t num, const char *node,
                                unsigned number) {
    struct store_attempt attempt = attempt_of(num, node, number, TASK_RUNNING);
    struct store_batch *batch = rig_batch(rig);
    store_assign(batch, &attempt);
    return rig_write(batch);
}

static enum store_result end(struct rig *rig, uint64_t num, const char *node,
                             unsigned number, enum task_status status) {
    struct store_attempt attempt = attempt_of(num, node, number, status);
    struct store_batch *batch = rig_batch(rig);
    store_end(batch, &attempt);
    return rig_write(batch);
}

static enum store_result unassign(struct rig *rig, uint64_t num,
                                  const char *node, unsigned number) {
    struct store_batch *batch = rig_batch(rig);
    store_unassign(batch, num, span_of(node), number);
    return rig_write(batch);
}

/* The tasks, such as "red done 1, blue unstarted 0". */
static const char *tasks(struct rig *rig, uint64_t num) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct store_task *found;
    size_t count;
    assert_true(
        store_tasks(rig->store, num, &rig->arena, &found, &count, NULL));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(found[i].at, i);
        text_addf(&text, "%s%.*s%s%s %u", i ? ", " : "", (int)found[i].node.len,
                  found[i].node.p, found[i].node.len ? " " : "",
                  job_task_status_word(found[i].status), found[i].attempt);
        if (found[i].not_before.ns)
            text_addf(&text, " after %d", (int)wall_s(found[i].not_before));
    }
    return arena_string(&rig->arena, text_span(&text));
}

/* The attempts, such as "red 1 done, red 2 running". */
static const char *attempts(struct rig *rig, uint64_t num) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct store_attempt *found;
    size_t count;
    assert_true(
        store_attempts(rig->store, num, &rig->arena, &found, &count, NULL));
    for (size_t i = 0; i < count; i++)
        text_addf(&text, "%s%.*s%s%u %s", i ? ", " : "", (int)found[i].node.len,
                  found[i].node.p, found[i].node.len ? " " : "",
                  found[i].attempt, job_task_status_word(found[i].status));
    return arena_string(&rig->arena, text_span(&text));
}

static void an_attempt_is_read_as_it_ended(void **state) {
    struct rig *rig = *state;
    uint64_t num = rig_started(rig, "j1");
    assert_int_equal(assign(rig, num, "", 1), STORE_DONE);
    assert_string_equal(attempts(rig, num), "1 running");
    assert_string_equal(tasks(rig, num), "running 1");
    struct store_attempt over = {
        .num = num,
        .attempt = 1,
        .status = TASK_FAILED,
        .assigned = wall_from_s(1),
        .started = wall_from_s(2),
        .ended = wall_from_s(3),
        .exit_code = 3,
        .signal = 9,
        .reason = SPAN("exit-3"),
        .detail = SPAN("it said no"),
        .worker = SPAN("shard-4"),
        .output = SPAN("seg:12"),
        .output_bytes = 5000000000,
        .cpu_us = 77,
        .peak_kib = 88,
        .trace = SPAN("exited 7 gone 8"),
    };
    struct store_batch *batch = rig_batch(rig);
    store_end(batch, &over);
    assert_int_equal(rig_write(batch), STORE_DONE);
    rig_reopen(rig);
    struct store_attempt *found;
    size_t count;
    store_attempts(rig->store, num, &rig->arena, &found, &count, NULL);
    assert_int_equal(count, 1);
    assert_int_equal(found[0].num, num);
    assert_int_equal(found[0].status, TASK_FAILED);
    assert_int_equal(wall_s(found[0].assigned), 1);
    assert_int_equal(wall_s(found[0].started), 2);
    assert_int_equal(wall_s(found[0].ended), 3);
    assert_int_equal(found[0].exit_code, 3);
    assert_int_equal(found[0].signal, 9);
    assert_span(found[0].reason, "exit-3");
    assert_span(found[0].detail, "it said no");
    assert_span(found[0].worker, "shard-4");
    assert_span(found[0].output, "seg:12");
    assert_true(found[0].output_bytes == 5000000000);
    assert_int_equal(found[0].cpu_us, 77);
    assert_int_equal(found[0].peak_kib, 88);
    assert_span(found[0].trace, "exited 7 gone 8");
    /* The event is that of the move in the same batch. */
    assert_string_equal(rig_events(rig, 2), "");
}

static void assigning_twice_is_a_conflict(void **state) {
    struct rig *rig = *state;
    uint64_t num = rig_started(rig, "j1");
    assert_int_equal(assign(rig, num, "", 1), STORE_DONE);
    assert_int_equal(assign(rig, num, "", 1), STORE_CONFLICT);
    assert_int_equal(assign(rig, num, "", 2), STORE_DONE);
    assert_int_equal(assign(rig, 9, "", 1), STORE_UNKNOWN);
    assert_int_equal(end(rig, num, "", 3, TASK_DONE), STORE_UNKNOWN);
    assert_int_equal(end(rig, 9, "", 1, TASK_DONE), STORE_UNKNOWN);
    assert_string_equal(attempts(rig, num), "1 running, 2 running");
    assert_int_equal(end(rig, num, "", 1, TASK_LOST), STORE_DONE);
    assert_int_equal(assign(rig, num, "", 1), STORE_CONFLICT);
    assert_string_equal(attempts(rig, num), "1 lost, 2 running");
}

static void an_assignment_that_did_not_start_leaves_no_trace(void **state) {
    struct rig *rig = *state;
    uint64_t num = rig_started(rig, "j1");
    assert_int_equal(unassign(rig, num, "", 1), STORE_UNKNOWN);
    assign(rig, num, "", 1);
    assert_int_equal(unassign(rig, num, "", 1), STORE_DONE);
    assert_string_equal(attempts(rig, num), "");
    assert_int_equal(rig_job(rig, num).attempt, 0);
    assert_int_equal(unassign(rig, num, "", 1), STORE_UNKNOWN);
    assign(rig, num, "", 1);
    end(rig, num, "", 1, TASK_DONE);
    assert_int_equal(unassign(rig, num, "", 1), STORE_CONFLICT);
    assert_int_equal(unassign(rig, 9, "", 1), STORE_UNKNOWN);
}

static void the_only_task_is_done_with_its_job(void **state) {
    struct rig *rig = *state;
    struct job job = rig_command("j1", "a");
    uint64_t num = rig_admit(rig, &job);
    assert_string_equal(tasks(rig, num), "unstarted 0");
    assert_string_equal(tasks(rig, 99), "");
    rig_move(rig, num, STATE_PENDING, STATE_EXECUTING, "start");
    assign(rig, num, "", 1);
    end(rig, num, "", 1, TASK_DONE);
    rig_move(rig, num, STATE_EXECUTING, STATE_DONE, "ok");
    assert_string_equal(tasks(rig, num), "done 1");
    assert_int_equal(rig_job(rig, num).tasks_done, 1);
}

/* fsck --rebuild restores no attempts. */
static void the_task_of_a_restored_job_is_done_with_it(void **state) {
    struct rig *rig = *state;
    struct job job = rig_command("j1", "a");
    job.state = STATE_DONE;
    struct store_batch *batch = rig_batch(rig);
    store_restore_job(batch, &job, NULL, 0, NULL, 0);
    assert_int_equal(rig_write(batch), STORE_DONE);
    assert_string_equal(attempts(rig, 1), "");
    assert_string_equal(tasks(rig, 1), "done 0");
}

static void an_array_counts_its_tasks(void **state) {
    struct rig *rig = *state;
    uint64_t num = array_admit(rig);
    assert_int_equal(rig_job(rig, num).tasks, 3);
    rig_move(rig, num, STATE_PENDING, STATE_EXECUTING, "start");
    assert_string_equal(tasks(rig, num),
                        "red unstarted 0, blue unstarted 0, green unstarted 0");
    assert_int_equal(assign(rig, num, "red", 1), STORE_DONE);
    assert_int_equal(assign(rig, num, "blue", 1), STORE_DONE);
    assert_int_equal(assign(rig, num, "black", 1), STORE_UNKNOWN);
    assert_int_equal(end(rig, num, "red", 1, TASK_DONE), STORE_DONE);
    assert_int_equal(end(rig, num, "green", 1, TASK_DONE), STORE_UNKNOWN);
    assert_int_equal(end(rig, num, "blue", 1, TASK_BACKOFF), STORE_DONE);
    assert_string_equal(tasks(rig, num),
                        "red done 1, blue backoff 1, green unstarted 0");
    assert_int_equal(rig_job(rig, num).tasks_done, 1);
    assert_int_equal(assign(rig, num, "blue", 2), STORE_DONE);
    assert_int_equal(end(rig, num, "blue", 2, TASK_DONE), STORE_DONE);
    assert_int_equal(rig_job(rig, num).tasks_done, 2);
    /* A repeated end is counted only once. */
    assert_int_equal(end(rig, num, "blue", 2, TASK_DONE), STORE_DONE);
    assert_int_equal(rig_job(rig, num).tasks_done, 2);
    assert_string_equal(attempts(rig, num), "blue 1 backoff, blue 2 done, "
                                            "red 1 done");
    assert_string_equal(
        rig_events(rig, 2),
        "task array X X running; task array X X running; task array X X done; "
        "task array X X backoff; task array X X running; "
        "task array X X done; task array X X done");
    struct store_event *events;
    size_t count;
    store_events(rig->store, 2, num, 1, &rig->arena, &events, &count, NULL);
    assert_int_equal(count, 1);
    assert_span(events[0].detail, "red");
    assert_int_equal(events[0].attempt, 1);
}

static void a_late_report_does_not_change_a_task(void **state) {
    struct rig *rig = *state;
    uint64_t num = array_admit(rig);
    assign(rig, num, "red", 1);
    assign(rig, num, "red", 2);
    assert_int_equal(end(rig, num, "red", 1, TASK_DONE), STORE_DONE);
    assert_string_equal(tasks(rig, num),
                        "red running 2, blue unstarted 0, green unstarted 0");
    assert_int_equal(rig_job(rig, num).tasks_done, 0);
    assert_string_equal(attempts(rig, num), "red 1 done, red 2 running");
}

static void a_task_that_did_not_start_gets_its_former_status(void **state) {
    struct rig *rig = *state;
    uint64_t num = array_admit(rig);
    assign(rig, num, "red", 1);
    end(rig, num, "red", 1, TASK_INCOMPLETE);
    assign(rig, num, "red", 2);
    assert_int_equal(unassign(rig, num, "red", 2), STORE_DONE);
    assert_string_equal(tasks(rig, num), "red incomplete 1, blue unstarted 0, "
                                         "green unstarted 0");
    assign(rig, num, "blue", 1);
    assert_int_equal(unassign(rig, num, "blue", 1), STORE_DONE);
    assert_int_equal(unassign(rig, num, "grey", 1), STORE_UNKNOWN);
    assert_string_equal(tasks(rig, num), "red incomplete 1, blue unstarted 0, "
                                         "green unstarted 0");
}

static void a_task_is_set_without_an_attempt(void **state) {
    struct rig *rig = *state;
    uint64_t num = array_admit(rig);
    static const struct {
        const char *node;
        enum task_status status;
        int64_t not_before_s;
        enum store_result result;
    } steps[] = {
        {"red", TASK_DONE, 0, STORE_DONE},
        {"red", TASK_DONE, 0, STORE_SAME},
        {"blue", TASK_BACKOFF, 9000, STORE_DONE},
        {"blue", TASK_BACKOFF, 9001, STORE_DONE},
        {"black", TASK_DONE, 0, STORE_UNKNOWN},
        {"", TASK_DONE, 0, STORE_UNKNOWN},
        {"red", TASK_UNSTARTED, 0, STORE_DONE},
    };
    for (size_t i = 0; i < COUNT(steps); i++) {
        struct store_batch *batch = rig_batch(rig);
        store_task_set(batch, num, span_of(steps[i].node), steps[i].status,
                       steps[i].not_before_s
                           ? wall_from_s(steps[i].not_before_s)
                           : (struct wall){0});
        assert_int_equal(rig_write(batch), steps[i].result);
    }
    assert_string_equal(tasks(rig, num), "red unstarted 0, "
                                         "blue backoff 0 after 9001, "
                                         "green unstarted 0");
    assert_int_equal(rig_job(rig, num).tasks_done, 0);
    assert_string_equal(rig_events(rig, 1),
                        "task array P P done; not-before array P P backoff; "
                        "not-before array P P backoff; "
                        "task array P P unstarted");
}

static void tasks_are_counted_by_status(void **state) {
    struct rig *rig = *state;
    uint64_t num = array_admit(rig);
    size_t counts[TASK_STATUSES];
    assign(rig, num, "red", 1);
    assign(rig, num, "blue", 1);
    end(rig, num, "red", 1, TASK_FAILED);
    end(rig, num, "blue", 1, TASK_DONE);
    assign(rig, num, "green", 1);
    struct job job = rig_job(rig, num);
    job.flags = JOB_ARRAY;
    assert_true(store_task_counts(rig->store, &job, counts, NULL));
    assert_int_equal(counts[TASK_FAILED], 1);
    assert_int_equal(counts[TASK_DONE], 1);
    assert_int_equal(counts[TASK_RUNNING], 1);
    assert_int_equal(counts[TASK_UNSTARTED], 0);
    job.flags = 0; /* a job of one task has no rows */
    job.state = STATE_TERMINATED;
    assert_true(store_task_counts(rig->store, &job, counts, NULL));
    assert_int_equal(counts[TASK_FAILED], 1);
    assert_int_equal(counts[TASK_DONE], 0);
}

static void ends_since_a_time_are_counted(void **state) {
    struct rig *rig = *state;
    uint64_t num = array_admit(rig);
    static const struct {
        const char *node;
        enum task_status status;
        int64_t s;
    } ends[] = {{"red", TASK_DONE, 2010},
                {"blue", TASK_FAILED, 2020},
                {"green", TASK_BACKOFF, 2030}};
    for (size_t i = 0; i < COUNT(ends); i++) {
        assign(rig, num, ends[i].node, 1);
        struct store_attempt over =
            attempt_of(num, ends[i].node, 1, ends[i].status);
        over.ended = wall_from_s(ends[i].s);
        struct store_batch *batch = rig_batch(rig);
        store_end(batch, &over);
        assert_int_equal(rig_write(batch), STORE_DONE);
    }
    size_t count;
    assert_true(
        store_tasks_ended(rig->store, num, wall_from_s(2000), &count, NULL));
    assert_int_equal(count, 2);
    assert_true(
        store_tasks_ended(rig->store, num, wall_from_s(2020), &count, NULL));
    assert_int_equal(count, 1);
    assert_true(
        store_tasks_ended(rig->store, num, wall_from_s(2021), &count, NULL));
    assert_int_equal(count, 0);
}

static void one_attempt_is_found_among_many(void **state) {
    struct rig *rig = *state;
    uint64_t num = array_admit(rig);
    struct job job = rig_command("single", "5.a");
    struct store_batch *batch = rig_batch(rig);
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    assert_int_equal(rig_write(batch), STORE_DONE);
    assign(rig, num, "red", 1);
    end(rig, num, "red", 1, TASK_FAILED);
    assign(rig, num, "red", 2);
    assign(rig, 2, "", 1); /* it has no row of its own while it runs */
    static const struct {
        uint64_t num;
        const char *node;
        unsigned attempt;
        int status; /* -1: none */
    } asked[] = {{1, "red", 1, TASK_FAILED},
                 {1, "red", 2, TASK_RUNNING},
                 {1, "red", 3, -1},
                 {1, "blue", 1, -1},
                 {1, "", 1, -1},
                 {2, "", 1, TASK_RUNNING},
                 {2, "", 2, -1},
                 {9, "red", 1, -1}};
    for (size_t i = 0; i < COUNT(asked); i++) {
        struct store_attempt attempt;
        bool found;
        assert_true(store_attempt_find(rig->store, asked[i].num,
                                       span_of(asked[i].node), asked[i].attempt,
                                       &rig->arena, &attempt, &found, NULL));
        assert_int_equal(found ? (int)attempt.status : -1, asked[i].status);
        if (found)
            assert_int_equal(attempt.num, asked[i].num);
    }
}

static void a_share_is_kept_with_its_edge(void **state) {
    struct rig *rig = *state;
    struct job job = rig_command("after", "4.a");
    const struct job_edge edges[] = {{EDGE_AFTER_SHARE, SPAN("x"), 60},
                                     {EDGE_AFTER_ANY, SPAN("x"), 0}};
    struct store_batch *batch = rig_batch(rig);
    struct job_edge *found;
    size_t count;
    store_admit(batch, &job, edges, 2, NULL, 0, NULL, 0);
    assert_int_equal(rig_write(batch), STORE_DONE);
    assert_true(
        store_edges_from(rig->store, 1, &rig->arena, &found, &count, NULL));
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(found[i].share,
                         found[i].kind == EDGE_AFTER_SHARE ? 60 : 0);
}

static void the_limit_of_an_array_changes_with_an_event(void **state) {
    struct rig *rig = *state;
    struct job job = rig_command("array", "4.a");
    static const struct span nodes[] = {SPAN("red"), SPAN("blue")};
    struct store_batch *batch = rig_batch(rig);
    job.max_running = 7;
    store_admit(batch, &job, NULL, 0, NULL, 0, nodes, 2);
    assert_int_equal(rig_write(batch), STORE_DONE);
    assert_int_equal(rig_job(rig, 1).max_running, 7);
    static const struct {
        unsigned limit;
        enum store_result result;
    } steps[] = {{3, STORE_DONE}, {3, STORE_SAME}, {0, STORE_DONE}};
    for (size_t i = 0; i < COUNT(steps); i++) {
        batch = rig_batch(rig);
        store_limit(batch, 1, steps[i].limit, SPAN("why"));
        assert_int_equal(rig_write(batch), steps[i].result);
        assert_int_equal(rig_job(rig, 1).max_running, steps[i].limit);
    }
    batch = rig_batch(rig);
    store_limit(batch, 99, 1, SPAN(""));
    assert_int_equal(rig_write(batch), STORE_UNKNOWN);
    assert_string_equal(rig_events(rig, 1),
                        "limit array P P 3; limit array P P 0");
}

static void a_refused_atomic_batch_changes_no_tasks(void **state) {
    struct rig *rig = *state;
    uint64_t num = array_admit(rig);
    assign(rig, num, "red", 1);
    struct store_attempt over = attempt_of(num, "red", 1, TASK_DONE);
    struct store_attempt next = attempt_of(num, "blue", 1, TASK_RUNNING);
    struct store_batch *batch = rig_batch(rig);
    store_batch_atomic(batch);
    store_end(batch, &over);
    store_assign(batch, &next);
    store_unassign(batch, num, SPAN("blue"), 1);
    store_assign(batch, &next);
    store_hold(batch, 99, HOLD_OPERATOR, SPAN(""));
    assert_int_equal(rig_write(batch), STORE_UNKNOWN);
    assert_string_equal(tasks(rig, num),
                        "red running 1, blue unstarted 0, green unstarted 0");
    assert_string_equal(attempts(rig, num), "red 1 running");
    assert_int_equal(rig_job(rig, num).tasks_done, 0);
    assert_int_equal(end(rig, num, "red", 1, TASK_DONE), STORE_DONE);
    assert_int_equal(rig_job(rig, num).tasks_done, 1);
}

static void the_latest_attempts_of_a_task_are_read_alone(void **state) {
    struct rig *rig = *state;
    uint64_t num = array_admit(rig);
    struct store_attempt *found;
    size_t count;
    for (unsigned i = 1; i <= 4; i++) {
        assert_int_equal(assign(rig, num, "red", i), STORE_DONE);
        assert_int_equal(assign(rig, num, "blue", i), STORE_DONE);
        assert_int_equal(end(rig, num, "red", i, TASK_INCOMPLETE), STORE_DONE);
    }
    assert_int_equal(assign(rig, num, "red", 5), STORE_DONE);
    assert_true(store_attempts_latest(rig->store, num, SPAN("red"), 2,
                                      &rig->arena, &found, &count, NULL));
    assert_int_equal(count, 2);
    assert_int_equal(found[0].num, num);
    assert_int_equal(found[0].attempt, 4);
    assert_int_equal(found[1].attempt, 3);
    assert_span(found[1].node, "red");
    assert_true(store_attempts_latest(rig->store, num, SPAN("blue"), 2,
                                      &rig->arena, &found, &count, NULL));
    assert_int_equal(count, 0);
}

static void what_ends_the_back_offs_of_an_array_is_recorded(void **state) {
    struct rig *rig = *state;
    uint64_t num = array_admit(rig);
    struct store_batch *batch = rig_batch(rig);
    store_move(batch, &(struct store_move){.num = num,
                                           .from = STATE_PENDING,
                                           .to = STATE_EXECUTING,
                                           .reason = SPAN("start"),
                                           .begin_attempt = true});
    store_task_set(batch, num, SPAN("red"), TASK_BACKOFF, wall_from_s(9000));
    store_task_set(batch, num, SPAN("green"), TASK_LOST, wall_from_s(9001));
    assert_int_equal(rig_write(batch), STORE_DONE);
    assert_string_equal(tasks(rig, num), "red backoff 0 after 9000, "
                                         "blue unstarted 0, "
                                         "green lost 0 after 9001");
    batch = rig_batch(rig);
    store_at_once(batch, num, SPAN("retry"), SPAN(""));
    assert_int_equal(rig_write(batch), STORE_DONE);
    rig_reopen(rig);
    assert_string_equal(tasks(rig, num),
                        "red backoff 0, blue unstarted 0, green lost 0");
}

static struct store_task standing_task(const char *node, uint64_t at) {
    return (struct store_task){.node = span_of(node),
                               .at = at,
                               .status = TASK_RUNNING,
                               .attempt = 1,
                               .temps = 2,
                               .fails = 3,
                               .crashes = 4,
                               .incompletes = 5,
                               .flags = 1,
                               .begun_s = 1999};
}

static void
a_task_of_a_standing_job_gets_a_row_when_it_first_starts(void **state) {
    struct rig *rig = *state;
    struct job job = rig_command("copy", "4.a");
    struct store_task task = standing_task("s7", 0), found;
    struct store_attempt attempt = attempt_of(1, "s7", 1, TASK_RUNNING);
    struct store_batch *batch = rig_batch(rig);
    bool is_found;
    attempt.task = &task;
    job.kind = JOB_STANDING;
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    assert_int_equal(rig_write(batch), STORE_DONE);
    batch = rig_batch(rig); /* it does not execute */
    store_assign(batch, &attempt);
    assert_int_equal(rig_write(batch), STORE_CONFLICT);
    batch = rig_batch(rig); /* no such task */
    store_task_record(batch, 1, &task);
    assert_int_equal(rig_write(batch), STORE_UNKNOWN);
    assert_int_equal(rig_move(rig, 1, STATE_PENDING, STATE_EXECUTING, "start"),
                     STORE_DONE);
    batch = rig_batch(rig);
    store_assign(batch, &attempt);
    assert_int_equal(rig_write(batch), STORE_DONE);
    assert_string_equal(tasks(rig, 1), "s7 running 1");
    task.status = attempt.status = TASK_BACKOFF;
    task.not_before = wall_from_s(3000);
    attempt.ended = wall_from_s(2500);
    batch = rig_batch(rig);
    store_end(batch, &attempt);
    assert_int_equal(rig_write(batch), STORE_DONE);
    rig_reopen(rig);
    assert_string_equal(tasks(rig, 1), "s7 backoff 1 after 3000");
    assert_true(store_task_find(rig->store, 1, SPAN("s7"), &rig->arena, &found,
                                &is_found, NULL));
    assert_true(is_found);
    assert_int_equal(found.temps, 2);
    assert_int_equal(found.fails, 3);
    assert_int_equal(found.crashes, 4);
    assert_int_equal(found.incompletes, 5);
    assert_int_equal(found.flags, 1);
    assert_int_equal(found.begun_s, 1999);
    task = standing_task("s7", 0);
    task.status = TASK_UNSTARTED;
    task.fails = 0;
    batch = rig_batch(rig);
    store_task_record(batch, 1, &task);
    assert_int_equal(rig_write(batch), STORE_DONE);
    assert_string_equal(tasks(rig, 1), "s7 unstarted 1");
    assert_true(store_task_find(rig->store, 1, SPAN("s8"), &rig->arena, &found,
                                &is_found, NULL));
    assert_false(is_found);
}

/* As `retry` does. */
static void a_task_that_is_to_start_anew_has_counted_nothing(void **state) {
    struct rig *rig = *state;
    uint64_t num = array_admit(rig);
    struct store_task task = standing_task("blue", 1), found;
    bool is_found;
    struct store_batch *batch = rig_batch(rig);
    task.status = TASK_FAILED;
    store_task_record(batch, num, &task);
    assert_int_equal(rig_write(batch), STORE_DONE);
    batch = rig_batch(rig);
    store_task_set(batch, num, SPAN("blue"), TASK_UNSTARTED, (struct wall){0});
    assert_int_equal(rig_write(batch), STORE_DONE);
    rig_reopen(rig);
    assert_true(store_task_find(rig->store, num, SPAN("blue"), &rig->arena,
                                &found, &is_found, NULL));
    assert_true(is_found);
    assert_int_equal(found.attempt, 1);
    assert_int_equal(found.temps + found.fails + found.crashes, 0);
    assert_int_equal(found.incompletes + found.flags, 0);
    assert_int_equal(found.begun_s, 0);
    assert_string_equal(tasks(rig, num),
                        "red unstarted 0, blue unstarted 1, green unstarted 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RIG_TESTS(an_attempt_is_read_as_it_ended),
        RIG_TESTS(assigning_twice_is_a_conflict),
        RIG_TESTS(an_assignment_that_did_not_start_leaves_no_trace),
        RIG_TESTS(the_only_task_is_done_with_its_job),
        RIG_TESTS(the_task_of_a_restored_job_is_done_with_it),
        RIG_TESTS(an_array_counts_its_tasks),
        RIG_TESTS(a_late_report_does_not_change_a_task),
        RIG_TESTS(a_task_that_did_not_start_gets_its_former_status),
        RIG_TESTS(a_task_is_set_without_an_attempt),
        RIG_TESTS(tasks_are_counted_by_status),
        RIG_TESTS(ends_since_a_time_are_counted),
        RIG_TESTS(one_attempt_is_found_among_many),
        RIG_TESTS(a_share_is_kept_with_its_edge),
        RIG_TESTS(the_limit_of_an_array_changes_with_an_event),
        RIG_TESTS(a_refused_atomic_batch_changes_no_tasks),
        RIG_TESTS(the_latest_attempts_of_a_task_are_read_alone),
        RIG_TESTS(what_ends_the_back_offs_of_an_array_is_recorded),
        RIG_TESTS(a_task_of_a_standing_job_gets_a_row_when_it_first_starts),
        RIG_TESTS(a_task_that_is_to_start_anew_has_counted_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
