/* Standing jobs in the API: who may do what, and whose edit counts. */
#include "support/asking.h"

#include <unistd.h>

#include "api/api_call.h"
#include "base/base.h"

static struct asking asking;
static struct base base;
static struct err err;

/* Accounts 1 and 2 exist on every machine. */
static const struct access_grant grants[] = {
    {ACCESS_SUBMITTER, ACCESS_ACCOUNT, 1, SPAN("ann")},
    {ACCESS_SUBMITTER, ACCESS_ACCOUNT, 2, SPAN("bob")},
    {ACCESS_OPERATOR, ACCESS_ACCOUNT, 2002, SPAN("oscar")},
    {ACCESS_VIEWER, ACCESS_ACCOUNT, 2003, SPAN("vera")},
};
enum { OWNER = 1000, ANN = 1, BOB, OSCAR = 2002, VERA };

#define ONE "/api/v1/standing/one"
#define ADD(members) \
    "{\"jobs\":[{\"name\":\"one\",\"command\":[\"x\"]" members "}]}"

static int setup(void **state) {
    (void)state;
    asking_begin(&asking);
    asking.access.grants = grants;
    asking.access.grant_count = COUNT(grants);
    asking_become(&asking, ANN);
    config_init(&base.config);
    assert_true(config_read(&base.config,
                            SPAN("[nodes]\nlevels = host, shard\n"
                                 "[access]\ncommands-as-owner = yes\n"),
                            "f", &err));
    assert_true(config_finish(&base.config, &err));
    asking.api->options.base = &base;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    asking_end(&asking);
    config_clear(&base.config);
    return 0;
}

static void expect(enum api_method method, const char *uri, const char *body,
                   int status, const char *part) {
    struct answer answer = ask(&asking, method, uri, body);
    if (answer.status != status || !answer_has(&answer, part))
        fail_msg("%d without '%s': %d %s", status, part, answer.status,
                 text_string(&answer.body));
    answer_clear(&answer);
}

static void a_job_belongs_to_who_added_it(void **state) {
    (void)state;
    expect(API_POST, "/api/v1/standing", ADD(""), 201, "\"version\":1");
    asking_become(&asking, BOB);
    expect(API_PUT, ONE, "{\"command\":[\"x\"],\"priority\":2}", 403, "");
    expect(API_POST, ONE "/disable", "", 403, "");
    expect(API_POST, ONE "/forgive", "", 403, "");
    expect(API_POST, ONE "/delete", "", 403, "");
    expect(API_POST, "/api/v1/standing", ADD(""), 409, "exists already");
    asking_become(&asking, VERA);
    expect(API_POST, "/api/v1/standing", ADD(""), 403, "");
    expect(API_GET, ONE, NULL, 200, "\"version\":1");
    asking_become(&asking, ANN);
    expect(API_PUT, ONE, "{\"command\":[\"y\"],\"priority\":2}", 200,
           "\"version\":2");
    expect(API_POST, ONE "/delete", "", 200, "\"version\":3");
    expect(API_GET, ONE, NULL, 404, "");
}

static void an_operator_changes_when_but_not_what_runs(void **state) {
    (void)state;
    expect(API_POST, "/api/v1/standing", ADD(""), 201, "\"version\":1");
    asking_become(&asking, OSCAR);
    expect(API_PUT, ONE, "{\"command\":[\"rm\"]}", 422, "only its submitter");
    expect(API_PUT, ONE, "{\"command\":[\"x\"],\"env\":{\"PATH\":\"/evil\"}}",
           422, "only its submitter");
    expect(API_PUT, ONE,
           "{\"command\":[\"x\"],\"class\":\"BF\",\"timeout\":5,"
           "\"priority\":3}",
           200, "\"version\":2");
    expect(API_POST, ONE "/disable", "", 200, "\"version\":3");
    asking_become(&asking, OWNER);
    expect(API_PUT, ONE, "{\"command\":[\"y\"]}", 200, "\"version\":4");
}

static void only_an_operator_lets_a_job_count_for_somebody_else(void **state) {
    (void)state;
    expect(API_POST, "/api/v1/standing", ADD(",\"owner\":\"boss\""), 422,
           "only an operator");
    expect(API_POST, "/api/v1/standing", ADD(""), 201, "");
    asking_become(&asking, OSCAR);
    expect(API_PUT, ONE, "{\"command\":[\"x\"],\"owner\":\"boss\"}", 200, "");
    /* It stays so if its submitter changes something else. */
    asking_become(&asking, ANN);
    expect(API_PUT, ONE,
           "{\"command\":[\"x\"],\"owner\":\"boss\",\"priority\":2}", 200, "");
    expect(API_PUT, ONE, "{\"command\":[\"x\"],\"priority\":3}", 200, "");
    expect(API_GET, ONE, NULL, 200, "\"owner\":\"boss\"");
}

static void the_environment_is_hidden_from_viewers(void **state) {
    (void)state;
    expect(API_POST, "/api/v1/standing", ADD(",\"env\":{\"KEY\":\"secret\"}"),
           201, "");
    expect(API_GET, ONE, NULL, 200, "secret");
    asking_become(&asking, VERA);
    expect(API_GET, ONE, NULL, 200, "\"KEY\":null");
}

static void an_edit_that_has_not_seen_the_last_one_is_refused(void **state) {
    (void)state;
    expect(API_POST, "/api/v1/standing", ADD(""), 201, "");
    expect(API_PUT, ONE, "{\"version\":1,\"command\":[\"x\"],\"priority\":2}",
           200, "\"version\":2");
    expect(API_PUT, ONE, "{\"version\":1,\"command\":[\"x\"],\"priority\":3}",
           409, "is at version 2 by uid:1, not 1");
    expect(API_PUT, ONE, "{\"command\":[\"x\"],\"priority\":2}", 200,
           "\"again\":true");
    expect(API_GET, ONE "?version=1", NULL, 200, "\"version\":1");
    expect(API_GET, ONE "?version=3", NULL, 404, "has no version 3");
}

static void of_several_jobs_all_are_added_or_none(void **state) {
    (void)state;
    expect(API_POST, "/api/v1/standing",
           "{\"jobs\":[{\"name\":\"b\",\"command\":[\"x\"],"
           "\"depends_on\":[\"a\"]},{\"name\":\"a\",\"command\":[\"x\"]}]}",
           201, "\"name\":\"a\"");
    expect(API_POST, "/api/v1/standing",
           "{\"jobs\":[{\"name\":\"c\",\"command\":[\"x\"]},"
           "{\"name\":\"a\",\"command\":[\"x\"]}]}",
           409, "'a' exists already");
    expect(API_GET, "/api/v1/standing/c", NULL, 404, "no standing job");
    expect(API_POST, "/api/v1/standing",
           "{\"jobs\":[{\"name\":\"c\",\"command\":[\"x\"],\"level\":\"q\"},"
           "{\"name\":\"d\"},{\"name\":\"c\",\"command\":[\"x\"]},7,{}]}",
           422,
           "\"errors\":[\"job 'c': level: there is no level 'q'; [nodes] lists "
           "the levels\",\"job 'd': a command is missing\","
           "\"job 'c': it is there twice\",\"job 4 is not an object\","
           "\"job '5': a command is missing\"]");
    expect(API_POST, "/api/v1/standing", "{\"jobs\":[]}", 422, "1 to 10000");
    expect(API_POST, "/api/v1/standing?check",
           "{\"jobs\":[{\"name\":\"c\",\"command\":[\"x\"]}]}", 200, "");
    expect(API_GET, "/api/v1/standing/c", NULL, 404, "");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_job_belongs_to_who_added_it),
        TEST(an_operator_changes_when_but_not_what_runs),
        TEST(only_an_operator_lets_a_job_count_for_somebody_else),
        TEST(the_environment_is_hidden_from_viewers),
        TEST(an_edit_that_has_not_seen_the_last_one_is_refused),
        TEST(of_several_jobs_all_are_added_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
