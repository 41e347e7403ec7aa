/* The route table, access to routes, and the answers to invalid requests. */
#include "serve/tables.h"
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

/* Fills in the placeholders of a path from the route table. */
static char *path_fill(const char *path) {
    struct text text = TEXT_INIT;
    for (const char *c = path; *c != '\0'; c++) {
        if (*c != '{') {
            text_addc(&text, *c);
            continue;
        }
        text_adds(&text, "jx");
        c = strchr(c, '}');
    }
    return text_take(&text);
}

static void every_route_is_reached_by_its_own_path(void **state) {
    (void)state;
    for (size_t i = 0; i < serve_tables.route_count; i++) {
        struct api_route route = serve_tables.routes[i];
        if (strcmp(route.path, "/api/v1/wait") == 0)
            continue; /* waits */
        char *uri = path_fill(route.path);
        struct answer answer = ask(&asking, route.method, uri, NULL);
        assert_false(answer_has(&answer, "no resource"));
        assert_int_not_equal(answer.status, 405);
        answer_clear(&answer);
        free(uri);
    }
}

static void an_unknown_caller_gets_only_health_checks(void **state) {
    (void)state;
    asking_become(&asking, 4711);
    for (size_t i = 0; i < serve_tables.route_count; i++) {
        struct api_route route = serve_tables.routes[i];
        char *uri = path_fill(route.path);
        struct answer answer = ask(&asking, route.method, uri, NULL);
        if (route.need.role == ACCESS_NOBODY)
            assert_int_equal(answer.status, 200);
        else
            assert_int_equal(answer.status, 403);
        answer_clear(&answer);
        free(uri);
    }
}

static void an_anonymous_caller_gets_only_health_checks(void **state) {
    (void)state;
    asking.actor = (struct access_actor){.uid = 1000};
    ask_expect(&asking, API_GET, "/healthz", NULL, 200);
    ask_expect(&asking, API_GET, "/metrics", NULL, 200);
    ask_expect(&asking, API_GET, "/api/v1/jobs", NULL, 403);
    ask_expect(&asking, API_POST, "/api/v1/jobs", "{\"command\":[\"x\"]}", 403);
}

static void root_may_do_everything(void **state) {
    (void)state;
    asking_become(&asking, 0);
    ask_expect(&asking, API_GET, "/api/v1/jobs", NULL, 200);
    ask_expect(&asking, API_POST, "/api/v1/jobs", "{\"command\":[\"x\"]}", 201);
}

static void an_account_without_a_role_is_refused(void **state) {
    (void)state;
    asking_become(&asking, 4711);
    ask_expect(&asking, API_GET, "/api/v1/jobs", NULL, 403);
}

static void a_role_given_while_the_server_runs_counts_at_once(void **state) {
    static const struct access_grant grants[] = {
        {ACCESS_VIEWER, ACCESS_ACCOUNT, 4711, SPAN("alice")}};
    (void)state;
    asking.access.grants = grants;
    asking.access.grant_count = 1;
    asking_become(&asking, 4711);
    ask_expect(&asking, API_GET, "/api/v1/jobs", NULL, 200);
    ask_expect(&asking, API_POST, "/api/v1/jobs", "{\"command\":[\"x\"]}", 403);
    asking.access = (struct access_rules){.owner = 1000};
}

/* Makes the caller one with this role, as a configuration will assign it. */
static void become_role(uint32_t uid, enum access_role role) {
    asking.actor =
        (struct access_actor){.uid = uid, .role = role, .is_known = true};
}

static void every_route_refuses_each_lesser_role(void **state) {
    (void)state;
    for (size_t i = 0; i < serve_tables.route_count; i++) {
        struct api_route route = serve_tables.routes[i];
        char *uri = path_fill(route.path);
        for (unsigned role = 0; role < ACCESS_ROLES; role++) {
            bool enough = role >= (unsigned)route.need.role;
            if (enough && strcmp(route.path, "/api/v1/wait") == 0)
                continue; /* waits */
            become_role(4711, (enum access_role)role);
            struct answer answer = ask(&asking, route.method, uri, NULL);
            if (enough)
                assert_int_not_equal(answer.status, 403);
            else
                assert_int_equal(answer.status, 403);
            answer_clear(&answer);
        }
        free(uri);
    }
}

static void a_refusal_names_the_role_and_who_has_it(void **state) {
    (void)state;
    become_role(4711, ACCESS_VIEWER);
    struct answer answer =
        ask(&asking, API_PUT, "/api/v1/settings/queue.concurrency", "{}");
    assert_int_equal(answer.status, 403);
    assert_true(answer_has(&answer,
                           "this needs the role admin, and uid 4711 has the "
                           "role viewer; the owner of the base (uid 1000) and "
                           "root may do it"));
    answer_clear(&answer);
}

static void submitters_can_change_only_their_own_jobs(void **state) {
    (void)state;
    static const char *const verbs[] = {"hold", "release", "cancel", "retry"};
    become_role(4711, ACCESS_SUBMITTER);
    ask_expect(&asking, API_POST, "/api/v1/jobs",
               "{\"id\":\"own\",\"command\":[\"x\"]}", 201);
    for (unsigned i = 0; i < COUNT(verbs); i++) {
        CLEANUP(text_clear) struct text uri = TEXT_INIT;
        text_addf(&uri, "/api/v1/jobs/own/%s", verbs[i]);
        become_role(4712, ACCESS_SUBMITTER);
        ask_expect(&asking, API_POST, text_string(&uri), "{}", 403);
        become_role(i % 2 ? 4713 : 4711,
                    i % 2 ? ACCESS_OPERATOR : ACCESS_SUBMITTER);
        ask_expect(&asking, API_POST, text_string(&uri), "{}", 200);
    }
}

static void others_see_only_the_names_of_an_environment(void **state) {
    (void)state;
    static const struct {
        uint32_t uid;
        enum access_role role;
        const char *env;
    } callers[] = {{4711, ACCESS_SUBMITTER, "\"env\":{\"PW\":\"secret\"}"},
                   {4712, ACCESS_SUBMITTER, "\"env\":{\"PW\":null}"},
                   {4713, ACCESS_VIEWER, "\"env\":{\"PW\":null}"},
                   {4714, ACCESS_OPERATOR, "\"env\":{\"PW\":\"secret\"}"}};
    become_role(4711, ACCESS_SUBMITTER);
    ask_expect(
        &asking, API_POST, "/api/v1/jobs",
        "{\"id\":\"own\",\"command\":[\"x\"],\"env\":{\"PW\":\"secret\"}}",
        201);
    for (size_t i = 0; i < COUNT(callers); i++) {
        become_role(callers[i].uid, callers[i].role);
        struct answer answer = ask(&asking, API_GET, "/api/v1/jobs/own", NULL);
        assert_true(answer_has(&answer, callers[i].env));
        answer_clear(&answer);
    }
}

static void a_submitter_lifts_only_his_own_hold(void **state) {
    (void)state;
    static const char hold[] = "/api/v1/jobs/own/hold",
                      release[] = "/api/v1/jobs/own/release";
    become_role(4711, ACCESS_SUBMITTER);
    ask_expect(&asking, API_POST, "/api/v1/jobs",
               "{\"id\":\"own\",\"command\":[\"x\"],\"hold\":true}", 201);
    ask_expect(&asking, API_POST, release, "{}", 200);
    ask_expect(&asking, API_POST, hold, "{}", 200);
    become_role(4713, ACCESS_OPERATOR);
    ask_expect(&asking, API_POST, hold, "{}", 200);
    become_role(4711, ACCESS_SUBMITTER);
    ask_expect(&asking, API_POST, hold, "{}", 200);
    ask_expect(&asking, API_POST, release, "{}", 403);
    become_role(4713, ACCESS_OPERATOR);
    ask_expect(&asking, API_POST, release, "{}", 200);
}

static void a_bulk_command_skips_the_jobs_of_others(void **state) {
    (void)state;
    static const char hold[] =
        "{\"verb\":\"hold\",\"filter\":\"state:open\",\"dry_run\":true}";
    become_role(4711, ACCESS_SUBMITTER);
    ask_expect(&asking, API_POST, "/api/v1/jobs", "{\"command\":[\"x\"]}", 201);
    become_role(4712, ACCESS_SUBMITTER);
    struct answer answer = ask(&asking, API_POST, "/api/v1/bulk", hold);
    assert_true(answer_has(&answer, "\"count\":0"));
    answer_clear(&answer);
    become_role(4712, ACCESS_OPERATOR);
    answer = ask(&asking, API_POST, "/api/v1/bulk", hold);
    assert_true(answer_has(&answer, "\"count\":1"));
    answer_clear(&answer);
}

static void the_openapi_document_lists_every_route(void **state) {
    (void)state;
    struct answer answer = ask(&asking, API_GET, "/api/v1/openapi.json", NULL);
    struct json_value document;
    assert_true(json_parse(text_span(&answer.body), &document, NULL));
    for (size_t i = 0; i < serve_tables.route_count; i++) {
        struct json_value paths, path, operation, role;
        static const char *const keys[API_METHODS] = {"get", "post", "put"};
        struct api_route route = serve_tables.routes[i];
        assert_true(json_member(document, "paths", &paths));
        assert_true(json_member(paths, route.path, &path));
        assert_true(json_member(path, keys[route.method], &operation));
        assert_true(json_member(operation, "x-role", &role));
        const char *word = access_role_word(route.need.role);
        assert_true(span_is(span_make(role.raw.p + 1, role.raw.len - 2), word));
    }
    answer_clear(&answer);
}

static void an_error_is_a_problem_document(void **state) {
    (void)state;
    struct answer answer = ask(&asking, API_GET, "/api/v1/jobs/jnone", NULL);
    struct json_value problem, value;
    assert_int_equal(answer.status, 404);
    assert_true(json_parse(text_span(&answer.body), &problem, NULL));
    static const char *const members[] = {"type", "title", "status", "detail",
                                          "kind"};
    for (size_t i = 0; i < COUNT(members); i++)
        assert_true(json_member(problem, members[i], &value));
    assert_true(answer_has(&answer, "\"kind\":\"no-job\""));
    answer_clear(&answer);
}

static void each_invalid_request_gets_its_own_error(void **state) {
    (void)state;
    ask_expect(&asking, API_GET, "/nothing/here", NULL, 404);
    ask_expect(&asking, API_GET, "", NULL, 404);
    ask_expect(&asking, API_GET, "//", NULL, 404);
    ask_expect(&asking, API_PUT, "/api/v1/jobs", NULL, 405);
    ask_expect(&asking, API_GET, "/api/v1/jobs/", NULL, 404);
    ask_expect(&asking, API_GET, "/api/v1/jobs/%zz", NULL, 400);
    ask_expect(&asking, API_GET, "/api/v1/jobs?limit=%", NULL, 400);
    ask_expect(&asking, API_GET, "/api/v1/jobs?limit=-1", NULL, 400);
    ask_expect(&asking, API_GET, "/api/v1/jobs?order=up", NULL, 400);
    ask_expect(&asking, API_GET, "/api/v1/jobs?filter=state:nosuch", NULL, 400);
    ask_expect(&asking, API_GET, "/api/v1/files", NULL, 400);
    ask_expect(&asking, API_GET, "/api/v1/wait", NULL, 400);
}

static void a_misspelt_parameter_gets_a_suggestion(void **state) {
    (void)state;
    struct answer answer =
        ask(&asking, API_GET, "/api/v1/jobs?filer=state:failed", NULL);
    assert_int_equal(answer.status, 400);
    assert_true(answer_has(&answer, "did you mean 'filter'?"));
    answer_clear(&answer);
}

static void a_body_that_is_too_long_is_refused(void **state) {
    (void)state;
    struct text body = TEXT_INIT;
    text_reserve(&body, 2 << 20);
    memset(body.p, 'x', 2 << 20);
    body.p[2 << 20] = '\0';
    body.len = 2 << 20;
    ask_expect(&asking, API_POST, "/api/v1/jobs/jx/cancel", text_string(&body),
               413);
    text_clear(&body);
    ask_expect(&asking, API_GET, "/api/v1/jobs", "a body nobody asked for",
               413);
}

static void a_call_closed_early_leaves_nothing_behind(void **state) {
    (void)state;
    struct answer answer;
    ask_open(&asking, API_POST, "/api/v1/jobs", "{\"command\":[\"x\"]}",
             &answer);
    assert_int_equal(answer.status, 0);
    answer_clear(&answer); /* its commit is still under way */
    store_turn(asking.store);
    answer = ask(&asking, API_GET, "/api/v1/counts", NULL);
    assert_true(answer_has(&answer, "\"pending\":1"));
    answer_clear(&answer);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_route_is_reached_by_its_own_path),
        TEST(an_unknown_caller_gets_only_health_checks),
        TEST(an_anonymous_caller_gets_only_health_checks),
        TEST(root_may_do_everything),
        TEST(every_route_refuses_each_lesser_role),
        TEST(a_refusal_names_the_role_and_who_has_it),
        TEST(submitters_can_change_only_their_own_jobs),
        TEST(a_submitter_lifts_only_his_own_hold),
        TEST(others_see_only_the_names_of_an_environment),
        TEST(a_bulk_command_skips_the_jobs_of_others),
        TEST(an_account_without_a_role_is_refused),
        TEST(a_role_given_while_the_server_runs_counts_at_once),
        TEST(the_openapi_document_lists_every_route),
        TEST(an_error_is_a_problem_document),
        TEST(each_invalid_request_gets_its_own_error),
        TEST(a_misspelt_parameter_gets_a_suggestion),
        TEST(a_body_that_is_too_long_is_refused),
        TEST(a_call_closed_early_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
