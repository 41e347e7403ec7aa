/* Schedules in the API: the answer to each request, and its effect. */
#include "support/asking.h"

#include "schedules/schedule_driver.h"
#include "schedules/schedule_row.h"

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

#define NIGHTLY "/api/v1/schedules/nightly"
#define SPEC                                                       \
    "{\"item\":\"30 2 * * *\",\"zone\":\"Europe/London\",\"job\":" \
    "{\"command\":[\"make\",\"nightly\"]}}"

static void expect_list(const char *part) {
    struct answer answer = ask(&asking, API_GET, "/api/v1/schedules", NULL);
    assert_int_equal(answer.status, 200);
    if (!answer_has(&answer, part))
        fail_msg("'%s' is not in %s", part, text_string(&answer.body));
    answer_clear(&answer);
}

static void a_schedule_is_added_listed_and_removed(void **state) {
    (void)state;
    ask_expect(&asking, API_PUT, NIGHTLY, SPEC, 200);
    expect_list("\"name\":\"nightly\"");
    expect_list("\"what\":\"make nightly\"");
    expect_list("\"max_shift_s\":10800");
    ask_expect(&asking, API_POST, NIGHTLY "/remove", "", 200);
    ask_expect(&asking, API_POST, NIGHTLY "/remove", "", 404);
}

static void a_schedule_is_replaced_only_on_request(void **state) {
    (void)state;
    ask_expect(&asking, API_PUT, NIGHTLY, SPEC, 200);
    struct answer again = ask(&asking, API_PUT, NIGHTLY, SPEC);
    assert_true(answer_has(&again, "\"again\":true"));
    answer_clear(&again);
    static const char other[] =
        "{\"item\":\"@daily\",\"job\":{\"command\":[\"true\"]}}";
    ask_expect(&asking, API_PUT, NIGHTLY, other, 409);
    ask_expect(&asking, API_PUT, NIGHTLY "?replace=1", other, 200);
    expect_list("\"item\":\"@daily\"");
}

static void invalid_schedules_are_rejected_with_a_reason(void **state) {
    static const struct {
        const char *uri, *body, *part;
    } cases[] = {
        {NIGHTLY, "{\"job\":{\"command\":[\"x\"]}}", "needs an item"},
        {NIGHTLY, "{\"itme\":\"@daily\"}", "did you mean 'item'"},
        {NIGHTLY, "{\"item\":\"61 * * * *\",\"job\":{\"command\":[\"x\"]}}",
         "61"},
        {NIGHTLY,
         "{\"item\":\"@daily\",\"zone\":\"No/Where\",\"job\":{\"command\":"
         "[\"x\"]}}",
         "No/Where"},
        {NIGHTLY,
         "{\"item\":\"@daily\",\"overlap\":\"never\",\"job\":{\"command\":"
         "[\"x\"]}}",
         "forbid, allow, replace, queue"},
        {NIGHTLY, "{\"item\":\"@daily\",\"job\":{\"command\":[]}}",
         "a command is missing"},
        {NIGHTLY,
         "{\"item\":\"@daily\",\"job\":{\"command\":[\"x\"],\"id\":\"a\"}}",
         "cannot have id"},
        {"/api/v1/schedules/a_b", SPEC, "not a valid name for a schedule"},
        {NIGHTLY "?since=yesterday", SPEC, "yesterday"},
        {NIGHTLY "?repalce=1", SPEC, "repalce"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct answer answer =
            ask(&asking, API_PUT, cases[i].uri, cases[i].body);
        if (answer.status < 400 || !answer_has(&answer, cases[i].part))
            fail_msg("%s: %d %s", cases[i].part, answer.status,
                     text_string(&answer.body));
        answer_clear(&answer);
    }
}

static void run_creates_a_job_that_names_its_schedule(void **state) {
    (void)state;
    ask_expect(&asking, API_PUT, NIGHTLY, SPEC, 200);
    ask_expect(&asking, API_POST, NIGHTLY "/run", "", 200);
    expect_list("\"last\":\"Q\"");
    struct answer why = ask(&asking, API_GET, "/api/v1/jobs/@last/why", NULL);
    assert_true(answer_has(&why, "made by schedule nightly, run by hand"));
    answer_clear(&why);
    struct answer job = ask(&asking, API_GET, "/api/v1/jobs/@last", NULL);
    assert_true(answer_has(&job, "schedule/nightly"));
    answer_clear(&job);
    ask_expect(&asking, API_POST, "/api/v1/schedules/nihgtly/run", "", 404);
}

static void a_paused_schedule_has_no_next_run(void **state) {
    (void)state;
    ask_expect(&asking, API_PUT, NIGHTLY, SPEC, 200);
    ask_expect(&asking, API_POST, NIGHTLY "/pause", "", 200);
    expect_list("\"next\":null");
    expect_list("\"paused\":true");
    ask_expect(&asking, API_POST, NIGHTLY "/resume", "", 200);
    expect_list("\"paused\":false");
}

/* A new schedule does not make up for runs from before it was added, and its
 * jobs are named after it. */
static void a_schedule_added_by_the_api_fires(void **state) {
    struct schedule_driver_options options = {.host = SPAN("here")};
    struct boot boot = {0};
    struct wall next;
    struct err err = {0};
    (void)state;
    struct schedule_driver *driver =
        schedule_driver_new(asking.store, &options, asking.now, boot);
    assert_true(schedule_driver_start(driver, &err));
    ask_expect(&asking, API_PUT, NIGHTLY,
               "{\"item\":{\"epoch\":{\"period\":10}},\"max_shift\":0,"
               "\"job\":{\"command\":[\"true\"]}}",
               200);
    schedule_driver_turn(driver, asking.now, boot, &next);
    assert_true(next.ns > asking.now.ns);
    schedule_driver_turn(driver, next, boot, &next);
    store_turn(asking.store);
    schedule_driver_turn(driver, asking.now, boot, &next);
    assert_true(schedule_driver_idle(driver));
    struct answer jobs = ask(&asking, API_GET, "/api/v1/jobs", NULL);
    assert_true(answer_has(&jobs, "\"id\":\"nightly."));
    answer_clear(&jobs);
    schedule_driver_free(driver);
}

static struct schedule_driver *driver_started_at(struct wall now) {
    struct schedule_driver_options options = {.host = SPAN("here")};
    struct err err = {0};
    struct schedule_driver *driver =
        schedule_driver_new(asking.store, &options, now, (struct boot){0});
    if (!schedule_driver_start(driver, &err))
        fail_msg("%s", err.text);
    return driver;
}

/* Nothing starts the job, and the driver that created it is gone by then. */
static void a_job_that_waits_past_its_deadline_is_terminated(void **state) {
    struct wall next;
    (void)state;
    ask_expect(&asking, API_PUT, NIGHTLY,
               "{\"item\":{\"epoch\":{\"period\":1000}},\"max_shift\":0,"
               "\"deadline\":5,\"job\":{\"command\":[\"true\"]}}",
               200);
    struct schedule_driver *driver = driver_started_at(asking.now);
    schedule_driver_turn(driver, asking.now, (struct boot){0}, &next);
    struct wall due = next;
    schedule_driver_turn(driver, due, (struct boot){0}, &next);
    store_turn(asking.store);
    schedule_driver_free(driver);
    driver = driver_started_at(wall_add_ms(due, 2000));
    schedule_driver_turn(driver, wall_add_ms(due, 5000), (struct boot){0},
                         &next);
    store_turn(asking.store);
    struct answer early = ask(&asking, API_GET, "/api/v1/jobs/@last", NULL);
    assert_true(answer_has(&early, "\"state\":\"queued\""));
    answer_clear(&early);
    assert_int_equal(wall_s(next), wall_s(due) + 6);
    schedule_driver_turn(driver, next, (struct boot){0}, &next);
    store_turn(asking.store);
    struct answer late = ask(&asking, API_GET, "/api/v1/jobs/@last", NULL);
    assert_true(answer_has(&late, "\"state\":\"terminated\""));
    assert_true(answer_has(&late, "\"reason\":\"deadline\""));
    answer_clear(&late);
    schedule_driver_free(driver);
}

/* The number of lines that say this. */
static size_t count_lines(const struct answer *answer, const char *part) {
    struct span rest = text_span(&answer->body), line;
    size_t count = 0;
    while (rest.len > 0 && span_cut(&rest, '\n', &line)) {
        CLEANUP(text_free_string) char *string = span_string(line);
        count += strstr(string, part) != NULL;
    }
    return count;
}

/* More of them than fit into one transaction, and some that are wrong. */
static void many_schedules_are_added_by_one_request(void **state) {
    enum { MANY = 2500 };
    CLEANUP(text_clear) struct text lines = TEXT_INIT;
    (void)state;
    for (int i = 0; i < MANY; i++)
        text_addf(&lines,
                  "{\"name\":\"s%d\",\"schedule\":{\"item\":\"%d * * * *\","
                  "\"import\":\"tab\",\"job\":{\"command\":[\"true\"]}}}\n",
                  i, i % 61);
    text_adds(&lines,
              "{\"name\":\"s0\"}\n{\n{\"name\":\"x\",\"remove\":true}\n");
    struct answer answer =
        ask(&asking, API_POST, "/api/v1/schedules", text_string(&lines));
    assert_int_equal(answer.status, 200);
    assert_int_equal(count_lines(&answer, "\"again\":false"), MANY - 40);
    assert_int_equal(count_lines(&answer, "not 60"), 40);
    assert_int_equal(count_lines(&answer, "no schedule 'x'"), 1);
    assert_int_equal(count_lines(&answer, "\"error\":"), 43);
    answer_clear(&answer);
    answer = ask(&asking, API_POST, "/api/v1/schedules", text_string(&lines));
    assert_int_equal(count_lines(&answer, "\"again\":true"), MANY - 40);
    answer_clear(&answer);
    answer = ask(&asking, API_POST, "/api/v1/schedules",
                 "{\"name\":\"s1\",\"remove\":true}");
    assert_int_equal(count_lines(&answer, "\"again\":false"), 1);
    answer_clear(&answer);
    ask_expect(&asking, API_PUT, NIGHTLY, SPEC, 200);
    answer = ask(&asking, API_GET, "/api/v1/schedules?import=tab", NULL);
    assert_int_equal(count_lines(&answer, "\"name\":\"s"), MANY - 41);
    assert_int_equal(count_lines(&answer, ""), MANY - 41);
    answer_clear(&answer);
}

/* "Since T" includes T. */
static void instants_since_a_time_include_that_time(void **state) {
    struct wall next;
    (void)state;
    char uri[100], body[200];
    int64_t at = wall_s(asking.now) - 100;
    snprintf(uri, sizeof(uri), NIGHTLY "?since=%lld", (long long)at);
    snprintf(body, sizeof(body),
             "{\"item\":{\"epoch\":%lld},\"max_shift\":3600,\"job\":"
             "{\"command\":[\"true\"]}}",
             (long long)at);
    ask_expect(&asking, API_PUT, uri, body, 200);
    struct schedule_driver *driver = driver_started_at(asking.now);
    schedule_driver_turn(driver, asking.now, (struct boot){0}, &next);
    store_turn(asking.store);
    schedule_driver_free(driver);
    expect_list("\"fired\":1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_schedule_is_added_listed_and_removed,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_schedule_is_replaced_only_on_request,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            invalid_schedules_are_rejected_with_a_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(
            run_creates_a_job_that_names_its_schedule, setup, teardown),
        cmocka_unit_test_setup_teardown(many_schedules_are_added_by_one_request,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(instants_since_a_time_include_that_time,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_paused_schedule_has_no_next_run,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_job_that_waits_past_its_deadline_is_terminated, setup, teardown),
        cmocka_unit_test_setup_teardown(a_schedule_added_by_the_api_fires,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
