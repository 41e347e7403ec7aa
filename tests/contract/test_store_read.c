/* Reads: their results and the order of the results. */
#include "contract/store_rig.h"

#include "store/schema.h"

/* Admits eight jobs in several states, in reverse order of their keys, with
 * holds, times and relations. */
static void fill(struct rig *rig) {
    static const struct job_edge edge = {EDGE_DEPENDENCY, SPAN("j1")};
    static const struct job_touch touch = {SPAN("src/a.c"), false};
    struct job jobs[] = {
        rig_command("j1", "6"), rig_command("j2", "5"), rig_command("j3", "4"),
        rig_change("C4", "3"),  rig_change("C5", "2"),  rig_command("j6", "1"),
        rig_command("j7", "1"), rig_command("k1", "0"),
    };
    struct store_batch *batch = rig_batch(rig);
    jobs[6].not_before = wall_from_s(5000);
    jobs[7].holds = HOLD_APPROVAL;
    for (size_t i = 0; i < COUNT(jobs); i++)
        store_admit(batch, &jobs[i], &edge, i == 3, &touch, i == 4 || i == 2,
                    NULL, 0);
    assert_int_equal(rig_write(batch), STORE_DONE);
    rig_move(rig, 2, STATE_PENDING, STATE_EXECUTING, "start");
    rig_move(rig, 3, STATE_PENDING, STATE_EXECUTING, "start");
    rig_move(rig, 3, STATE_EXECUTING, STATE_DONE, "ok");
    rig_move(rig, 5, STATE_QUEUED, STATE_STAGED, "staged");
}

static void ready_jobs_are_ordered_by_rank_and_number(void **state) {
    struct rig *rig = *state;
    fill(rig);
    assert_string_equal(rig_ready(rig, 4999), "j6 j1");
    assert_string_equal(rig_ready(rig, 5000), "j6 j7 j1");
    struct job *jobs;
    size_t count;
    assert_true(store_ready(rig->store, wall_from_s(9000), SPAN("1"), 6, 1,
                            &rig->arena, &jobs, &count, NULL));
    assert_string_equal(rig_ids(rig, jobs, count), "j7");
    assert_span(jobs[0].spec, "{\"command\":[\"true\"]}");
    store_ready(rig->store, wall_from_s(9000), SPAN("1"), 7, 5, &rig->arena,
                &jobs, &count, NULL);
    assert_string_equal(rig_ids(rig, jobs, count), "j1");
    store_ready(rig->store, wall_from_s(9000), SPAN("6"), 1, 5, &rig->arena,
                &jobs, &count, NULL);
    assert_int_equal(count, 0);
}

static void lists_obey_every_option(void **state) {
    struct rig *rig = *state;
    fill(rig);
    const struct {
        struct store_list list;
        const char *ids;
    } cases[] = {
        {{0}, "j1 j2 j3 C4 C5 j6 j7 k1"},
        {{.newest_first = true, .limit = 3}, "k1 j7 j6"},
        {{.after_num = 3, .limit = 2}, "C4 C5"},
        {{.after_num = 3, .newest_first = true}, "j2 j1"},
        {{.states = STATE_BIT(STATE_PENDING)}, "j1 j6 j7 k1"},
        {{.states = STATE_BIT(STATE_PENDING),
          .newest_first = true,
          .after_num = 8},
         "j7 j6 j1"},
        {{.states = STATE_BIT(STATE_EXECUTING)}, "j2"},
        {{.states = STATE_BIT(STATE_DONE)}, "j3"},
        {{.states = STATES_LIVE, .after_num = 1}, "j2 C4 C5 j6 j7 k1"},
        {{.states = STATES_FINAL}, "j3"},
        {{.states = STATE_BIT(STATE_QUEUED) | STATE_BIT(STATE_STAGED),
          .newest_first = true},
         "C5 C4"},
        {{.kinds = 1u << JOB_CHANGE}, "C4 C5"},
        {{.kinds = 1u << JOB_COMMAND, .states = STATES_WAITING}, "j1 j6 j7 k1"},
        {{.relations_only = true}, "j3 C4 C5"},
        {{.relations_only = true, .states = STATES_LIVE}, "C4 C5"},
        {{.relations_only = true,
          .states = STATES_LIVE,
          .limit = 1,
          .newest_first = true},
         "C5"},
        {{.stale_only = true}, "C4 C5"},
        {{.stale_only = true, .states = STATE_BIT(STATE_STAGED)}, "C5"},
        {{.with_not_before = true}, "j7"},
        {{.until = wall_from_s(1001)}, ""},
        {{.until = wall_from_s(1002)}, "j1 C4 j6 j7 k1"},
        {{.states = STATES_LIVE, .until = wall_from_s(1003), .limit = 2},
         "j1 j2"},
        {{.kinds = 1u << JOB_KINDS}, ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(rig_list(rig, cases[i].list), cases[i].ids);
}

struct visited {
    struct text ids;
    const char *last; /* visiting stops there */
};

static bool visit(void *ctx, const struct job *job, struct err *err) {
    struct visited *visited = ctx;
    text_addf(&visited->ids, "%s%.*s", visited->ids.len > 0 ? " " : "",
              (int)job->id.len, job->id.p);
    return visited->last == NULL || !span_is(job->id, visited->last) ||
           err_set(err, ERR_DATA, "enough");
}

static void each_job_of_a_list_is_visited_once(void **state) {
    struct rig *rig = *state;
    fill(rig);
    const struct {
        struct store_list list;
        const char *last, *ids;
    } cases[] = {
        {{0}, NULL, "j1 j2 j3 C4 C5 j6 j7 k1"},
        {{.limit = 1}, NULL, "j1 j2 j3 C4 C5 j6 j7 k1"},
        {{.limit = 4}, NULL, "j1 j2 j3 C4 C5 j6 j7 k1"},
        {{.limit = 3, .newest_first = true}, NULL, "k1 j7 j6 C5 C4 j3 j2 j1"},
        {{.limit = 3, .after_num = 3}, NULL, "C4 C5 j6 j7 k1"},
        {{.limit = 2, .states = STATES_FINAL}, NULL, "j3"},
        {{.limit = 2, .kinds = 1u << JOB_KINDS}, NULL, ""},
        {{.limit = 2}, "C4", "j1 j2 j3 C4"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct visited visited = {.last = cases[i].last};
        struct err err = {0};
        assert_int_equal(
            store_jobs_each(rig->store, &cases[i].list, visit, &visited, &err),
            cases[i].last == NULL);
        assert_int_equal(err.kind, cases[i].last ? ERR_DATA : ERR_NONE);
        assert_string_equal(text_string(&visited.ids), cases[i].ids);
        text_clear(&visited.ids);
    }
}

static void lists_contain_specs_only_on_request(void **state) {
    struct rig *rig = *state;
    fill(rig);
    struct job *jobs;
    size_t count;
    struct store_list list = {.limit = 1};
    store_jobs(rig->store, &list, &rig->arena, &jobs, &count, NULL);
    assert_int_equal(jobs[0].spec.len, 0);
    assert_span(jobs[0].sum, "5u");
    list.with_spec = true;
    store_jobs(rig->store, &list, &rig->arena, &jobs, &count, NULL);
    assert_span(jobs[0].spec, "{\"command\":[\"true\"]}");
}

static void edges_can_be_followed_backwards(void **state) {
    struct rig *rig = *state;
    fill(rig);
    const struct span precursors[] = {SPAN("C4"), SPAN("j1")};
    struct store_batch *batch = rig_batch(rig);
    store_record(batch, 5, precursors, 2);
    assert_int_equal(rig_write(batch), STORE_DONE);
    struct store_edge_to *edges;
    size_t count;
    assert_true(store_edges_to(rig->store, SPAN("j1"), &rig->arena, &edges,
                               &count, NULL));
    assert_int_equal(count, 2);
    assert_int_equal(edges[0].num, 4);
    assert_span(edges[0].id, "C4");
    assert_int_equal(edges[0].kind, EDGE_DEPENDENCY);
    assert_int_equal(edges[0].state, STATE_QUEUED);
    assert_int_equal(edges[1].num, 5);
    assert_int_equal(edges[1].kind, EDGE_PRECURSOR);
    store_edges_to(rig->store, SPAN("nobody"), &rig->arena, &edges, &count,
                   NULL);
    assert_int_equal(count, 0);
}

/* Every job depends on j1 and also has it as a precursor. */
static void edges_come_in_pages_of_whole_jobs(void **state) {
    enum { MANY = 40, PAGE = EDGE_KINDS + 1 };
    struct rig *rig = *state;
    static const struct job_edge edge = {EDGE_DEPENDENCY, SPAN("j1")};
    static const struct span precursor = SPAN("j1");
    uint64_t after = 1;
    bool more = true;
    fill(rig);
    struct store_batch *batch = rig_batch(rig);
    for (int i = 0; i < MANY; i++) {
        char id[16];
        snprintf(id, sizeof(id), "M%d", i);
        struct job job = rig_change(arena_printf(&rig->arena, "%s", id), "9");
        store_admit(batch, &job, &edge, 1, NULL, 0, NULL, 0);
    }
    assert_int_equal(rig_write(batch), STORE_DONE);
    batch = rig_batch(rig);
    for (uint64_t num = 9; num < 9 + MANY; num++)
        store_record(batch, num, &precursor, 1);
    assert_int_equal(rig_write(batch), STORE_DONE);
    uint64_t next = 4; /* C4 has only one edge */
    while (more) {
        struct store_edge_to *edges;
        size_t count;
        assert_true(store_edges_to_page(rig->store, SPAN("j1"), after, PAGE,
                                        &rig->arena, &edges, &count, &more,
                                        NULL));
        assert_true(count > 0 && count <= PAGE);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(edges[i].num, next);
            bool first = edges[i].kind == EDGE_DEPENDENCY;
            if (next != 4 && first)
                assert_true(i + 1 < count && edges[i + 1].num == next);
            else
                next = next == 4 ? 9 : next + 1;
        }
        after = edges[count - 1].num;
    }
    assert_int_equal(next, 9 + MANY);
}

static void jobs_are_found_by_the_path_they_touch(void **state) {
    struct rig *rig = *state;
    fill(rig);
    struct job *jobs;
    size_t count;
    store_touching(rig->store, SPAN("src/a.c"), 0, &rig->arena, &jobs, &count,
                   NULL);
    assert_string_equal(rig_ids(rig, jobs, count), "C5 j3");
    store_touching(rig->store, SPAN("src/a.c"), 1, &rig->arena, &jobs, &count,
                   NULL);
    assert_string_equal(rig_ids(rig, jobs, count), "C5");
    store_touching(rig->store, SPAN("src"), 0, &rig->arena, &jobs, &count,
                   NULL);
    assert_int_equal(count, 0);
}

static void jobs_are_found_by_id_prefix_or_last(void **state) {
    struct rig *rig = *state;
    struct job job = rig_command("jabc1", "1");
    struct err err = {0};
    assert_false(
        store_find(rig->store, SPAN("@last"), &rig->arena, &job, &err));
    assert_int_equal(err.kind, ERR_NO_JOB);
    job = rig_command("jabc1", "1");
    rig_admit(rig, &job);
    job.id = SPAN("jabc2");
    rig_admit(rig, &job);
    job.id = SPAN("jabc");
    rig_admit(rig, &job);
    job.id = SPAN("jxyz");
    rig_admit(rig, &job);
    static const struct {
        const char *typed, *id, *error;
        enum err_kind kind;
    } cases[] = {
        {"jabc1", "jabc1", NULL, ERR_NONE},
        {"jabc", "jabc", NULL, ERR_NONE},
        {"jx", "jxyz", NULL, ERR_NONE},
        {"@last", "jxyz", NULL, ERR_NONE},
        {"ja", NULL, "'ja' is ambiguous: it may be 'jabc', 'jabc1', 'jabc2'",
         ERR_DATA},
        {"j", NULL, "no job 'j'", ERR_NO_JOB},
        {"jxyy", NULL, "no job 'jxyy'; did you mean 'jxyz'?", ERR_NO_JOB},
        {"nothing-alike", NULL, "no job 'nothing-alike'", ERR_NO_JOB},
        {"", NULL, "no job ''", ERR_NO_JOB},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err why = {0};
        bool found = store_find(rig->store, span_of(cases[i].typed),
                                &rig->arena, &job, &why);
        assert_int_equal(found, cases[i].id != NULL);
        assert_int_equal(why.kind, cases[i].kind);
        if (found)
            assert_span(job.id, cases[i].id);
        else
            assert_string_equal(why.text, cases[i].error);
    }
    bool found;
    assert_true(
        store_lookup(rig->store, SPAN("jab"), &rig->arena, &job, &found, NULL));
    assert_false(found);
    assert_false(store_job(rig->store, 99, &rig->arena, &job, &err));
    assert_int_equal(err.kind, ERR_NO_JOB);
}

static void the_tally_counts_jobs_by_state(void **state) {
    struct rig *rig = *state;
    fill(rig);
    struct store_tally tally;
    assert_true(store_count(rig->store, &tally, NULL));
    static const uint64_t expected[JOB_STATES] = {[STATE_QUEUED] = 1,
                                                  [STATE_STAGED] = 1,
                                                  [STATE_PENDING] = 4,
                                                  [STATE_EXECUTING] = 1,
                                                  [STATE_DONE] = 1};
    for (int i = 0; i < JOB_STATES; i++)
        assert_int_equal(tally.count[i], expected[i]);
    assert_int_equal(tally.held, 1);
    assert_int_equal(store_version(rig->store), store_last_step());
}

static void a_lease_has_one_holder_and_an_epoch(void **state) {
    struct rig *rig = *state;
    static const struct {
        const char *holder;
        int64_t now_s, term_ms;
        enum store_result result;
        uint64_t epoch;
    } steps[] = {
        {"a", 100, 10000, STORE_DONE, 1}, {"b", 105, 10000, STORE_CONFLICT, 1},
        {"a", 108, 10000, STORE_DONE, 1}, {"b", 117, 10000, STORE_CONFLICT, 1},
        {"b", 118, 10000, STORE_DONE, 2}, {"a", 119, 10000, STORE_CONFLICT, 2},
        {"b", 130, 10000, STORE_DONE, 3}, {"b", 131, 0, STORE_DONE, 3},
        {"a", 131, 10000, STORE_DONE, 4},
    };
    for (size_t i = 0; i < COUNT(steps); i++) {
        enum store_result result;
        uint64_t epoch;
        assert_true(store_lease(rig->store, SPAN("scheduler"),
                                span_of(steps[i].holder),
                                wall_from_s(steps[i].now_s), steps[i].term_ms,
                                &result, &epoch, NULL));
        assert_int_equal(result, steps[i].result);
        assert_int_equal(epoch, steps[i].epoch);
        rig_reopen(rig);
    }
}

static void rows_and_events_are_restored_as_they_were(void **state) {
    struct rig *rig = *state;
    struct job job = rig_change("C7", "4.a");
    job.num = 40;
    job.state = STATE_FAILED;
    job.reason = SPAN("conflict");
    job.attempt = 2;
    job.fails = 1;
    job.since = wall_from_s(50);
    job.admitted = wall_from_s(40);
    job.admitted_seq = 3;
    job.state_seq = 9;
    job.holds = HOLD_OPERATOR;
    const struct job_edge edge = {EDGE_DEPENDENCY, SPAN("C1")};
    struct store_event event = {.seq = 3,
                                .at = wall_from_s(40),
                                .kind = EVENT_MOVE,
                                .num = 40,
                                .from = STATE_NONE,
                                .to = STATE_QUEUED,
                                .actor = SPAN("uid:9"),
                                .reason = SPAN("admitted")};
    struct store_batch *batch = rig_batch(rig);
    store_restore_job(batch, &job, &edge, 1, NULL, 0);
    store_restore_job(batch, &job, NULL, 0, NULL, 0);
    store_restore_event(batch, &event);
    store_restore_event(batch, &event);
    event.seq = 9;
    store_restore_event(batch, &event);
    event.num = 41;
    event.seq = 0;
    store_restore_event(batch, &event);
    store_note(batch, EVENT_REBUILT, 0, SPAN(""), SPAN("lost"), SPAN(""));
    assert_true(store_write(batch, NULL));
    static const enum store_result expected[] = {
        STORE_DONE, STORE_DUPLICATE, STORE_DONE, STORE_CONFLICT,
        STORE_DONE, STORE_UNKNOWN,   STORE_DONE};
    for (unsigned i = 0; i < COUNT(expected); i++)
        assert_int_equal(store_batch_result(batch, i), expected[i]);
    assert_int_equal(store_batch_num(batch, 0), 40);
    assert_int_equal(store_batch_seq(batch, 6), 10);
    store_batch_free(batch);
    rig_reopen(rig);
    struct job back = rig_job(rig, 40);
    assert_int_equal(back.state, STATE_FAILED);
    assert_int_equal(back.state_seq, 9);
    assert_int_equal(back.fails, 1);
    assert_int_equal(wall_s(back.since), 50);
    assert_span(back.reason, "conflict");
    struct store_event *events;
    size_t count;
    store_events(rig->store, 0, 40, 0, &rig->arena, &events, &count, NULL);
    assert_int_equal(count, 2);
    assert_int_equal(events[0].seq, 3);
    assert_int_equal(wall_s(events[0].at), 40);
    assert_span(events[0].actor, "uid:9");
    assert_span(events[0].id, "C7");
    struct job next = rig_command("j1", "1");
    assert_int_equal(rig_admit(rig, &next), 41);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RIG_TESTS(ready_jobs_are_ordered_by_rank_and_number),
        RIG_TESTS(lists_obey_every_option),
        RIG_TESTS(each_job_of_a_list_is_visited_once),
        RIG_TESTS(lists_contain_specs_only_on_request),
        RIG_TESTS(edges_can_be_followed_backwards),
        RIG_TESTS(edges_come_in_pages_of_whole_jobs),
        RIG_TESTS(jobs_are_found_by_the_path_they_touch),
        RIG_TESTS(jobs_are_found_by_id_prefix_or_last),
        RIG_TESTS(the_tally_counts_jobs_by_state),
        RIG_TESTS(a_lease_has_one_holder_and_an_epoch),
        RIG_TESTS(rows_and_events_are_restored_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
