/* The answers to submissions, lists, commands and waits. */
#include "support/asking.h"

static struct asking asking;

static int setup(void **state) {
    (void)state;
    asking_begin(&asking);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    asking_end(&asking);
    return 0;
}

static void submit(const char *id) {
    char body[200];
    snprintf(body, sizeof(body), "{\"id\":\"%s\",\"command\":[\"true\"]}", id);
    ask_expect(&asking, API_POST, "/api/v1/jobs", body, 201);
}

static struct answer get(const char *uri) {
    return ask(&asking, API_GET, uri, NULL);
}

static void expect_state(const char *id, const char *word) {
    char uri[100], want[40];
    snprintf(uri, sizeof(uri), "/api/v1/jobs/%s", id);
    snprintf(want, sizeof(want), "\"state\":\"%s\"", word);
    struct answer answer = get(uri);
    if (!answer_has(&answer, want))
        fail_msg("%s is not %s: %s", id, word, text_string(&answer.body));
    answer_clear(&answer);
}

/* ---- submitting ---------------------------------------------------------- */

static void a_submission_is_answered_after_its_commit(void **state) {
    (void)state;
    struct answer answer;
    ask_open(&asking, API_POST, "/api/v1/jobs",
             "{\"id\":\"a1\",\"command\":[\"make\",\"-k\"]}", &answer);
    assert_int_equal(answer.status, 0);
    assert_int_equal(answer.ready, 0);
    store_turn(asking.store);
    assert_int_equal(answer.ready, 1);
    answer_more(&answer);
    assert_int_equal(answer.status, 201);
    assert_true(answer_has(&answer, "\"id\":\"a1\""));
    answer_clear(&answer);
    expect_state("a1", "pending");
}

static void a_job_without_an_id_gets_one(void **state) {
    (void)state;
    struct answer one =
        ask(&asking, API_POST, "/api/v1/jobs", "{\"command\":[\"true\"]}");
    CLEANUP(text_free_string) char *first = text_take(&one.body);
    struct answer two =
        ask(&asking, API_POST, "/api/v1/jobs", "{\"command\":[\"true\"]}");
    assert_true(answer_has(&two, "\"id\":\"j"));
    assert_string_not_equal(first, text_string(&two.body));
    answer_clear(&two);
}

static void the_same_submission_twice_creates_one_job(void **state) {
    (void)state;
    const char *body = "{\"id\":\"a1\",\"command\":[\"true\"]}";
    ask_expect(&asking, API_POST, "/api/v1/jobs", body, 201);
    ask_expect(&asking, API_POST, "/api/v1/jobs", body, 200);
    asking_advance(&asking, "a1", "XD", 0);
    ask_expect(&asking, API_POST, "/api/v1/jobs", body, 200);
    struct answer answer = get("/api/v1/counts");
    assert_true(answer_has(&answer, "\"done\":1"));
    assert_true(answer_has(&answer, "\"pending\":0"));
    answer_clear(&answer);
}

static void an_id_can_never_be_used_again(void **state) {
    (void)state;
    submit("a1");
    ask_expect(&asking, API_POST, "/api/v1/jobs",
               "{\"id\":\"a1\",\"command\":[\"false\"]}", 409);
    asking_advance(&asking, "a1", "XD", 0);
    ask_expect(&asking, API_POST, "/api/v1/jobs",
               "{\"id\":\"a1\",\"command\":[\"false\"]}", 409);
}

static void a_request_repeated_with_its_key_creates_one_job(void **state) {
    (void)state;
    const char *body = "{\"command\":[\"true\"]}";
    asking.key = "k-1";
    ask_expect(&asking, API_POST, "/api/v1/jobs", body, 201);
    ask_expect(&asking, API_POST, "/api/v1/jobs", body, 200);
    asking_advance(&asking, "@last", "XD", 0);
    ask_expect(&asking, API_POST, "/api/v1/jobs", body, 200);
    ask_expect(&asking, API_POST, "/api/v1/jobs", "{\"command\":[\"x\"]}", 409);
    asking.key = "k-2";
    ask_expect(&asking, API_POST, "/api/v1/jobs", body, 201);
    asking.key = "k-1";
    asking_become(&asking, 0); /* each caller has its own keys */
    ask_expect(&asking, API_POST, "/api/v1/jobs", body, 201);
}

static void an_invalid_submission_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"command\":[]}",
        "{\"command\":\"true\"}",
        "{\"command\":[\"true\"],\"id\":\"a b\"}",
        "{\"command\":[\"true\"],\"colour\":\"red\"}",
        "{\"command\":[\"true\"],\"retries\":-1}",
        "{\"command\":[\"true\"],\"class\":\"XX\"}",
        "{\"command\":[\"true\"]} trailing",
        "\xff\xfe",
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        ask_expect(&asking, API_POST, "/api/v1/jobs", bad[i], 422);
    ask_expect(&asking, API_GET, "/api/v1/jobs/@last", NULL, 404);
}

static void a_batch_answers_its_lines_in_order(void **state) {
    (void)state;
    struct answer answer = ask(&asking, API_POST, "/api/v1/jobs/batch",
                               "{\"id\":\"b1\",\"command\":[\"true\"]}\n"
                               "nonsense\n"
                               "{\"id\":\"b2\",\"command\":[\"true\"]}\n"
                               "\n"
                               "{\"id\":\"b1\",\"command\":[\"true\"]}\n"
                               "{\"id\":\"b1\",\"command\":[\"false\"]}\n");
    assert_int_equal(answer.status, 200);
    struct span rest = text_span(&answer.body), line;
    static const char *const wanted[] = {
        "{\"id\":\"b1\"", "{\"error\":",    "{\"id\":\"b2\"",
        "{\"error\":",    "{\"id\":\"b1\"", "{\"error\":"};
    for (size_t i = 0; i < COUNT(wanted); i++) {
        assert_true(span_cut(&rest, '\n', &line));
        assert_true(span_starts(line, wanted[i]));
    }
    assert_int_equal(rest.len, 0);
    answer_clear(&answer);
}

static void an_empty_batch_gets_an_empty_answer(void **state) {
    (void)state;
    struct answer answer = ask(&asking, API_POST, "/api/v1/jobs/batch", "");
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.body.len, 0);
    answer_clear(&answer);
}

static void empty_lines_of_a_batch_are_answered(void **state) {
    (void)state;
    struct answer answer = ask(&asking, API_POST, "/api/v1/jobs/batch", "\n\n");
    assert_int_equal(answer.status, 200);
    struct span rest = text_span(&answer.body), line;
    for (int i = 0; i < 2; i++) {
        assert_true(span_cut(&rest, '\n', &line));
        assert_true(span_starts(line, "{\"error\":"));
    }
    assert_int_equal(rest.len, 0);
    answer_clear(&answer);
}

/* ---- listing ------------------------------------------------------------- */

static size_t lines_of(const struct answer *answer) {
    size_t lines = 0;
    for (size_t i = 0; i < answer->body.len; i++)
        lines += answer->body.p[i] == '\n';
    return lines;
}

static void a_long_list_comes_in_pages(void **state) {
    (void)state;
    struct text body = TEXT_INIT;
    for (int i = 0; i < 3000; i++)
        text_addf(&body, "{\"id\":\"n%d\",\"command\":[\"true\"]}\n", i);
    ask_expect(&asking, API_POST, "/api/v1/jobs/batch", text_string(&body),
               200);
    text_clear(&body);
    struct answer answer = get("/api/v1/jobs?limit=100000");
    assert_int_equal(lines_of(&answer), 3000);
    answer_clear(&answer);
    answer = get("/api/v1/jobs");
    assert_int_equal(lines_of(&answer), 1000);
    answer_clear(&answer);
    answer = get("/api/v1/jobs?limit=2&after=10");
    assert_true(answer_has(&answer, "\"id\":\"n10\""));
    assert_true(answer_has(&answer, "\"id\":\"n11\""));
    assert_int_equal(lines_of(&answer), 2);
    answer_clear(&answer);
    answer = get("/api/v1/jobs?limit=1&order=newest");
    assert_true(answer_has(&answer, "\"id\":\"n2999\""));
    answer_clear(&answer);
    /* The only match is at the end, after many pages without a match. */
    answer = get("/api/v1/jobs?filter=id:n2999");
    assert_int_equal(lines_of(&answer), 1);
    answer_clear(&answer);
    answer = get("/api/v1/jobs?limit=0");
    assert_int_equal(answer.body.len, 0);
    answer_clear(&answer);
}

static void a_list_is_filtered(void **state) {
    (void)state;
    ask_expect(&asking, API_POST, "/api/v1/jobs",
               "{\"id\":\"f1\",\"command\":[\"make\",\"check\"],"
               "\"touches\":[\"db\"]}",
               201);
    submit("f2");
    asking_advance(&asking, "f2", "XF", 3);
    static const struct {
        const char *filter;
        size_t lines;
    } table[] = {
        {"state:failed", 1}, {"state:open", 1},    {"-state:open", 1},
        {"arg~check", 1},    {"touches:db", 1},    {"touches:none", 0},
        {"kind:command", 2}, {"kind:change", 0},   {"f", 2},
        {"held:yes", 0},     {"reason:exit-1", 1}, {"class:DC", 2},
        {"since>1h", 0},     {"state:done", 0},    {"id:f1,f2", 2},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        struct text uri = TEXT_INIT;
        text_addf(&uri, "/api/v1/jobs?filter=%s", table[i].filter);
        struct answer answer = get(text_string(&uri));
        if (lines_of(&answer) != table[i].lines)
            fail_msg("%s: %s", table[i].filter, text_string(&answer.body));
        answer_clear(&answer);
        text_clear(&uri);
    }
}

static void a_list_line_has_the_documented_members(void **state) {
    (void)state;
    static const char *const members[] = {
        "id", "kind", "class", "state", "since", "target", "reason", "attempt"};
    submit("a1");
    struct answer answer = get("/api/v1/jobs");
    struct json_value line, value;
    assert_true(json_parse(text_span(&answer.body), &line, NULL));
    for (size_t i = 0; i < COUNT(members); i++)
        assert_true(json_member(line, members[i], &value));
    answer_clear(&answer);
}

/* ---- commands ------------------------------------------------------------ */

static void a_waiting_job_is_cancelled_at_once(void **state) {
    (void)state;
    submit("a1");
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/cancel",
               "{\"reason\":\"not needed\"}", 200);
    expect_state("a1", "terminated");
    struct answer answer = get("/api/v1/jobs/a1/history");
    assert_true(answer_has(&answer, "not needed"));
    assert_true(answer_has(&answer, "uid:1000"));
    answer_clear(&answer);
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/cancel", "", 409);
}

static void cancelling_a_running_job_asks_it_to_end(void **state) {
    (void)state;
    submit("a1");
    asking_advance(&asking, "a1", "X", 0);
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/cancel", NULL, 200);
    expect_state("a1", "executing");
    struct answer answer = get("/api/v1/jobs/a1");
    assert_true(answer_has(&answer, "\"cancel_asked\":true"));
    answer_clear(&answer);
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/cancel", NULL, 200);
}

static void a_failed_job_can_be_retried(void **state) {
    (void)state;
    submit("a1");
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/retry", NULL, 409);
    asking_advance(&asking, "a1", "XF", 1);
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/retry", NULL, 200);
    expect_state("a1", "pending");
    asking_advance(&asking, "a1", "XD", 0);
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/retry", NULL, 409);
    struct answer answer = get("/api/v1/jobs/a1/attempts");
    assert_int_equal(lines_of(&answer), 2);
    answer_clear(&answer);
}

/* It ran once, and is to be tried again in an hour. */
static void back_off(const char *id, const char *reason, const char *detail) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    asking_advance(&asking, id, "X", 0);
    assert_true(store_find(asking.store, span_of(id), &arena, &job, NULL));
    struct store_batch *batch = store_batch_new(asking.store);
    store_batch_actor(batch, asking.now, SPAN("daemon:exec"));
    store_move(batch, &(struct store_move){
                          .num = job.num,
                          .from = STATE_EXECUTING,
                          .to = STATE_PENDING,
                          .reason = span_of(reason),
                          .detail = span_of(detail),
                          .fails = 1,
                          .not_before = wall_add_ms(asking.now, 3600000)});
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
}

static bool waits_for_a_time(const char *id) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    assert_true(store_find(asking.store, span_of(id), &arena, &job, NULL));
    assert_int_equal(job.fails, 1); /* what was counted stays */
    assert_int_equal(job.attempt, 1);
    return job.not_before.ns != 0;
}

static void retry_and_release_end_a_back_off(void **state) {
    (void)state;
    submit("a1");
    back_off("a1", "exit-3", "next is try 2 of 4");
    assert_true(waits_for_a_time("a1"));
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/retry", NULL, 200);
    assert_false(waits_for_a_time("a1"));
    expect_state("a1", "pending");
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/retry", NULL, 409);
    submit("a2");
    back_off("a2", "signal-9", "");
    ask_expect(&asking, API_POST, "/api/v1/jobs/a2/release", NULL, 200);
    assert_false(waits_for_a_time("a2"));
    ask_expect(&asking, API_POST, "/api/v1/jobs/a2/release", NULL, 409);
    submit("a3");
    back_off("a3", "exit-3", "");
    ask_expect(&asking, API_POST, "/api/v1/jobs/a3/hold", NULL, 200);
    ask_expect(&asking, API_POST, "/api/v1/jobs/a3/release", NULL, 200);
    assert_false(waits_for_a_time("a3"));
    submit("a4");
    back_off("a4", "timeout", "");
    struct answer answer =
        ask(&asking, API_POST, "/api/v1/bulk",
            "{\"verb\":\"retry\",\"filter\":\"state:pending\",\"count\":1}");
    assert_int_equal(answer.status, 200);
    answer_clear(&answer);
    assert_false(waits_for_a_time("a4"));
}

static void why_of_a_back_off_names_its_cause(void **state) {
    static const struct {
        const char *id, *reason, *detail, *expected;
    } cases[] = {
        {"a1", "exit-3", "next is try 2 of 4",
         "; its last attempt exited with 3: next is try 2 of 4"},
        {"a2", "signal-9", "", "; its last attempt was killed by signal 9"},
        {"a3", "timeout", "", "; its last attempt reached its time limit"},
        {"a4", "temp", "exited with 75 (temporary failure)",
         "; its last attempt ended with 'temp': exited with 75"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char uri[64];
        submit(cases[i].id);
        back_off(cases[i].id, cases[i].reason, cases[i].detail);
        snprintf(uri, sizeof(uri), "/api/v1/jobs/%s/why", cases[i].id);
        struct answer answer = get(uri);
        assert_true(answer_has(&answer, "next try at "));
        assert_true(answer_has(&answer, cases[i].expected));
        answer_clear(&answer);
    }
}

/* The first attempt of a task of job 1 ends; wait_s 0: nothing is left. */
static void task_ends(struct store_batch *batch, const char *node,
                      const char *reason, enum task_status status, int wait_s) {
    struct store_attempt attempt = {.num = 1,
                                    .node = span_of(node),
                                    .attempt = 1,
                                    .status = TASK_RUNNING,
                                    .assigned = asking.now,
                                    .exit_code = -1};
    store_assign(batch, &attempt);
    attempt.status = status;
    attempt.ended = asking.now;
    attempt.reason = span_of(reason);
    store_end(batch, &attempt);
    if (wait_s > 0)
        store_task_set(batch, 1, span_of(node), status,
                       wall_add_ms(asking.now, wait_s * 1000));
}

/* A batch that admits array a1, job 1. */
static struct store_batch *array_batch(const struct span *nodes, size_t count) {
    struct store_batch *batch = store_batch_new(asking.store);
    struct job job = {.id = SPAN("a1"),
                      .kind = JOB_COMMAND,
                      .job_class = CLASS_DC,
                      .key = SPAN("k"),
                      .rank = SPAN("k"),
                      .spec = SPAN("{\"command\":[\"x\"]}"),
                      .flags = JOB_ARRAY,
                      .state = STATE_PENDING};
    store_batch_actor(batch, asking.now, SPAN("uid:1"));
    store_admit(batch, &job, NULL, 0, NULL, 0, nodes, count);
    return batch;
}

static void why_of_an_array_says_that_all_its_tasks_back_off(void **state) {
    static const struct span nodes[] = {SPAN("red"), SPAN("blue"),
                                        SPAN("green")};
    char expected[120], at[WALL_TEXT_BYTES];
    (void)state;
    struct store_batch *batch = array_batch(nodes, COUNT(nodes));
    store_move(batch, &(struct store_move){.num = 1,
                                           .from = STATE_PENDING,
                                           .to = STATE_EXECUTING,
                                           .reason = SPAN("start"),
                                           .begin_attempt = true});
    task_ends(batch, "red", "exit-4", TASK_BACKOFF, 60);
    task_ends(batch, "green", "ok", TASK_DONE, 0);
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
    struct answer answer = get("/api/v1/jobs/a1/why");
    assert_false(answer_has(&answer, "tried again"));
    answer_clear(&answer);
    batch = store_batch_new(asking.store);
    store_batch_actor(batch, asking.now, SPAN("uid:1"));
    task_ends(batch, "blue", "exit-3", TASK_BACKOFF, 30);
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
    answer = get("/api/v1/jobs/a1/why");
    snprintf(expected, sizeof(expected),
             "no task runs: 2 wait to be tried again, blue first, at %s; its "
             "last attempt exited with 3",
             wall_format(wall_add_ms(asking.now, 30 * 1000), at));
    assert_true(answer_has(&answer, expected));
    assert_true(answer_has(&answer, "executing since"));
    answer_clear(&answer);
}

static void all_attempts_of_a_large_array_are_listed(void **state) {
    enum { TASKS = 50 };
    char names[TASKS][8], line[40];
    struct span nodes[TASKS];
    (void)state;
    for (size_t i = 0; i < TASKS; i++) {
        snprintf(names[i], sizeof(names[i]), "n%zu", i);
        nodes[i] = span_of(names[i]);
    }
    struct store_batch *batch = array_batch(nodes, TASKS);
    for (size_t i = 0; i < TASKS; i++)
        task_ends(batch, names[i], "ok", TASK_DONE, 0);
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
    struct answer answer = get("/api/v1/jobs/a1/attempts");
    for (size_t i = 0; i < TASKS; i++) {
        snprintf(line, sizeof(line), "\"node\":\"n%zu\"", i);
        assert_true(answer_has(&answer, line));
    }
    answer_clear(&answer);
}

static void a_retried_job_that_must_wait_is_queued_again(void **state) {
    (void)state;
    ask_expect(&asking, API_POST, "/api/v1/jobs",
               "{\"id\":\"a1\",\"command\":[\"x\"],\"touches\":[\"k\"]}", 201);
    expect_state("a1", "queued");
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/cancel", NULL, 200);
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/retry", NULL, 200);
    expect_state("a1", "queued");
}

static void a_change_set_cannot_be_retried(void **state) {
    (void)state;
    struct job job = {.id = SPAN("C1"),
                      .kind = JOB_CHANGE,
                      .job_class = CLASS_DC,
                      .key = SPAN("k"),
                      .rank = SPAN("k"),
                      .target = SPAN("main"),
                      .name = SPAN("C1_x"),
                      .sum = SPAN("s"),
                      .spec = SPAN("{}"),
                      .state = STATE_QUEUED};
    struct store_batch *batch = store_batch_new(asking.store);
    store_batch_actor(batch, asking.now, SPAN("uid:1"));
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
    asking_advance(&asking, "C1", "T", 0);
    struct answer answer =
        ask(&asking, API_POST, "/api/v1/jobs/C1/retry", NULL);
    assert_int_equal(answer.status, 409);
    assert_true(answer_has(&answer, "--supersedes C1"));
    answer_clear(&answer);
}

static void release_removes_a_hold(void **state) {
    (void)state;
    submit("a1");
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/release", NULL, 409);
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/hold", NULL, 200);
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/hold", NULL, 200);
    struct answer answer = get("/api/v1/jobs/a1");
    assert_true(answer_has(&answer, "\"holds\":[\"operator\"]"));
    answer_clear(&answer);
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/release", NULL, 200);
    answer = get("/api/v1/jobs/a1");
    assert_true(answer_has(&answer, "\"holds\":[]"));
    answer_clear(&answer);
}

static void a_command_for_an_unknown_job_is_rejected(void **state) {
    (void)state;
    ask_expect(&asking, API_POST, "/api/v1/jobs/nobody/cancel", NULL, 404);
    submit("a1");
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/cancel", "{\"resaon\":1}",
               422);
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/cancel", "[]", 422);
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/cancel", "{\"reason\":1}",
               422);
    expect_state("a1", "pending");
}

static void a_bulk_command_is_refused_if_the_count_differs(void **state) {
    (void)state;
    for (int i = 0; i < 1200; i++) {
        char id[16];
        snprintf(id, sizeof(id), "n%d", i);
        submit(id);
    }
    struct answer answer =
        ask(&asking, API_POST, "/api/v1/bulk",
            "{\"verb\":\"cancel\",\"filter\":\"state:open\",\"dry_run\":true}");
    assert_true(answer_has(&answer, "\"count\":1200"));
    answer_clear(&answer);
    ask_expect(&asking, API_POST, "/api/v1/bulk",
               "{\"verb\":\"cancel\",\"filter\":\"state:open\",\"count\":1199}",
               409);
    ask_expect(&asking, API_POST, "/api/v1/bulk",
               "{\"verb\":\"cancel\",\"filter\":\"state:open\"}", 422);
    ask_expect(&asking, API_POST, "/api/v1/bulk",
               "{\"verb\":\"cancel\",\"filter\":\" \",\"count\":1200}", 422);
    ask_expect(&asking, API_POST, "/api/v1/bulk",
               "{\"verb\":\"destroy\",\"filter\":\"x\",\"count\":1}", 422);
    expect_state("n0", "pending");
    answer =
        ask(&asking, API_POST, "/api/v1/bulk",
            "{\"verb\":\"cancel\",\"filter\":\"state:open\",\"count\":1200}");
    assert_true(answer_has(&answer, "\"done\":1200"));
    answer_clear(&answer);
    expect_state("n1199", "terminated");
}

/* ---- waiting ------------------------------------------------------------- */

static void waiting_ends_when_all_jobs_have_ended(void **state) {
    (void)state;
    struct answer answer;
    submit("a1");
    submit("a2");
    ask_open(&asking, API_GET, "/api/v1/wait?id=a1&id=a2", NULL, &answer);
    assert_int_equal(answer.status, 0);
    asking_advance(&asking, "a2", "XF", 3);
    store_turn(asking.store);
    assert_int_equal(answer.ready, 0);
    asking_advance(&asking, "a1", "XD", 0);
    store_turn(asking.store);
    assert_int_equal(answer.ready, 1);
    answer_more(&answer);
    assert_true(answer.ended);
    assert_int_equal(answer.status, 200);
    const char *first = strstr(text_string(&answer.body), "\"exit_code\":0");
    const char *second = strstr(text_string(&answer.body), "\"exit_code\":3");
    assert_true(first != NULL && second != NULL && first < second);
    answer_clear(&answer);
}

static void waiting_for_an_ended_job_ends_at_once(void **state) {
    (void)state;
    submit("a1");
    asking_advance(&asking, "a1", "XD", 0);
    ask_expect(&asking, API_GET, "/api/v1/wait?id=a1", NULL, 200);
    ask_expect(&asking, API_GET, "/api/v1/wait?id=nobody", NULL, 404);
}

static void waiting_ends_at_its_timeout(void **state) {
    (void)state;
    submit("a1");
    ask_expect(&asking, API_GET, "/api/v1/wait?id=a1&timeout=0", NULL, 504);
    ask_expect(&asking, API_GET, "/api/v1/wait?id=a1&timeout=soon", NULL, 400);
}

static void a_client_may_disconnect_while_it_waits(void **state) {
    (void)state;
    struct answer answer;
    submit("a1");
    ask_open(&asking, API_GET, "/api/v1/wait?id=a1", NULL, &answer);
    answer_clear(&answer);
    asking_advance(&asking, "a1", "XD", 0);
}

/* ---- events -------------------------------------------------------------- */

static void events_are_sent_as_they_happen(void **state) {
    (void)state;
    struct answer answer;
    ask_open(&asking, API_GET, "/api/v1/events?follow=1", NULL, &answer);
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.body.len, 0);
    submit("a1");
    assert_true(answer.ready > 0);
    answer_more(&answer);
    assert_int_equal(lines_of(&answer), 1);
    asking_advance(&asking, "a1", "XD", 0);
    answer_more(&answer);
    assert_int_equal(lines_of(&answer), 3);
    assert_false(answer.ended);
    answer_clear(&answer);
}

static void a_reader_can_resume_where_it_left_off(void **state) {
    (void)state;
    submit("a1");
    submit("a2");
    submit("a3");
    struct answer answer = get("/api/v1/events?after=1");
    assert_int_equal(lines_of(&answer), 2);
    answer_clear(&answer);
    answer = get("/api/v1/events?tail=1");
    assert_true(answer_has(&answer, "\"id\":\"a3\""));
    assert_int_equal(lines_of(&answer), 1);
    answer_clear(&answer);
    answer = get("/api/v1/events?id=a2");
    assert_int_equal(lines_of(&answer), 1);
    answer_clear(&answer);
    answer = get("/api/v1/events?limit=2");
    assert_int_equal(lines_of(&answer), 2);
    answer_clear(&answer);
}

/* ---- relations ----------------------------------------------------------- */

static void relations_are_listed_from_both_ends(void **state) {
    (void)state;
    submit("a1");
    ask_expect(&asking, API_POST, "/api/v1/jobs",
               "{\"id\":\"a2\",\"command\":[\"x\"],\"after\":[\"a1\",\"zz\"]}",
               201);
    struct answer answer = get("/api/v1/jobs/a2/depends");
    assert_true(answer_has(&answer, "\"id\":\"a1\",\"state\":\"pending\""));
    assert_true(answer_has(&answer, "\"id\":\"zz\",\"state\":null"));
    answer_clear(&answer);
    answer = get("/api/v1/jobs/a1/dependents");
    assert_true(answer_has(&answer, "\"id\":\"a2\""));
    answer_clear(&answer);
}

static void why_names_what_holds_a_job_back(void **state) {
    (void)state;
    submit("a1");
    ask_expect(&asking, API_POST, "/api/v1/jobs",
               "{\"id\":\"a2\",\"command\":[\"x\"],\"after\":[\"a1\"]}", 201);
    struct answer answer = get("/api/v1/jobs/a2/why");
    assert_true(answer_has(&answer, "dependency a1 is pending"));
    answer_clear(&answer);
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/hold", NULL, 200);
    answer = get("/api/v1/jobs/a1/why");
    assert_true(answer_has(&answer, "\"kind\":\"hold\""));
    answer_clear(&answer);
    ask_expect(&asking, API_POST, "/api/v1/jobs/a1/release", NULL, 200);
    asking_advance(&asking, "a1", "XF", 2);
    answer = get("/api/v1/jobs/a1/why");
    assert_true(answer_has(&answer, "\"kind\":\"ended\""));
    answer_clear(&answer);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_submission_is_answered_after_its_commit),
        TEST(a_job_without_an_id_gets_one),
        TEST(the_same_submission_twice_creates_one_job),
        TEST(an_id_can_never_be_used_again),
        TEST(a_request_repeated_with_its_key_creates_one_job),
        TEST(an_invalid_submission_is_refused),
        TEST(a_batch_answers_its_lines_in_order),
        TEST(an_empty_batch_gets_an_empty_answer),
        TEST(empty_lines_of_a_batch_are_answered),
        TEST(a_long_list_comes_in_pages),
        TEST(a_list_is_filtered),
        TEST(a_list_line_has_the_documented_members),
        TEST(a_waiting_job_is_cancelled_at_once),
        TEST(cancelling_a_running_job_asks_it_to_end),
        TEST(a_failed_job_can_be_retried),
        TEST(retry_and_release_end_a_back_off),
        TEST(why_of_a_back_off_names_its_cause),
        TEST(why_of_an_array_says_that_all_its_tasks_back_off),
        TEST(all_attempts_of_a_large_array_are_listed),
        TEST(a_retried_job_that_must_wait_is_queued_again),
        TEST(a_change_set_cannot_be_retried),
        TEST(release_removes_a_hold),
        TEST(a_command_for_an_unknown_job_is_rejected),
        TEST(a_bulk_command_is_refused_if_the_count_differs),
        TEST(waiting_ends_when_all_jobs_have_ended),
        TEST(waiting_for_an_ended_job_ends_at_once),
        TEST(waiting_ends_at_its_timeout),
        TEST(a_client_may_disconnect_while_it_waits),
        TEST(events_are_sent_as_they_happen),
        TEST(a_reader_can_resume_where_it_left_off),
        TEST(relations_are_listed_from_both_ends),
        TEST(why_names_what_holds_a_job_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
