/* The relations of thousands of jobs are sent in pieces, and other requests
 * are answered in between. */
#include "support/asking.h"

enum { DEEP = 10000, WIDE = 3000, PIECE_BYTES = 128 << 10 };

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

/* ---- many jobs ----------------------------------------------------------- */

static void submit_all(struct text *lines) {
    ask_expect(&asking, API_POST, "/api/v1/jobs/batch", text_string(lines),
               200);
    text_clear(lines);
}

/* n0 <- n1 <- n2 ... */
static void make_deep(void) {
    struct text lines = TEXT_INIT;
    for (int i = 0; i < DEEP; i++)
        text_addf(&lines,
                  i == 0 ? "{\"id\":\"n%d\",\"command\":[\"true\"]}\n"
                         : "{\"id\":\"n%d\",\"command\":[\"true\"],"
                           "\"after\":[\"n%d\"]}\n",
                  i, i - 1);
    submit_all(&lines);
}

/* root <- w0, w1, ... <- last */
static void make_wide(void) {
    struct text lines = TEXT_INIT;
    text_adds(&lines, "{\"id\":\"root\",\"command\":[\"true\"]}\n");
    for (int i = 0; i < WIDE; i++)
        text_addf(&lines,
                  "{\"id\":\"w%d\",\"command\":[\"true\"],"
                  "\"after\":[\"root\"]}\n",
                  i);
    text_adds(&lines, "{\"id\":\"last\",\"command\":[\"true\"],\"after\":[");
    for (int i = 0; i < WIDE; i++)
        text_addf(&lines, "%s\"w%d\"", i > 0 ? "," : "", i);
    text_adds(&lines, "]}\n");
    submit_all(&lines);
}

/* ---- an answer read in pieces -------------------------------------------- */

struct reply {
    struct text text;
    unsigned pieces; /* other requests are answered between them */
};

static void ask_another(void) {
    struct answer answer = ask(&asking, API_GET, "/api/v1/counts", NULL);
    assert_int_equal(answer.status, 200);
    answer_clear(&answer);
}

static struct api_call *open_call(const char *uri) {
    struct api_request request = {
        .method = API_GET, .uri = span_of(uri), .actor = asking.actor};
    struct api_call *call = api_call_open(asking.api, &request, NULL, NULL);
    api_call_finish(call);
    assert_int_equal(api_call_status(call), 200);
    assert_false(api_call_is_whole(call));
    return call;
}

static void reply_read(const char *uri, struct reply *ret_reply) {
    struct api_call *call = open_call(uri);
    struct span piece;
    *ret_reply = (struct reply){.text = TEXT_INIT};
    while (api_call_read(call, &piece)) {
        assert_true(piece.len < PIECE_BYTES);
        text_addspan(&ret_reply->text, piece);
        api_call_skip(call, piece.len);
        ret_reply->pieces++;
        (void)api_turn(asking.api);
        ask_another();
    }
    api_call_close(call);
}

static size_t lines_with(const struct reply *reply, const char *part) {
    struct span rest = text_span(&reply->text), line;
    size_t count = 0;
    while (rest.len > 0 && span_cut(&rest, '\n', &line))
        count += memmem(line.p, line.len, part, strlen(part)) != NULL;
    return count;
}

/* ---- the tests ----------------------------------------------------------- */

static void
other_requests_are_answered_while_a_deep_tree_is_listed(void **state) {
    (void)state;
    struct reply reply;
    struct span rest, line;
    make_deep();
    reply_read("/api/v1/jobs/n9999/depends?tree=1", &reply);
    assert_true(reply.pieces > 4);
    rest = text_span(&reply.text);
    for (int i = 0; i < DEEP; i++) {
        char want[100];
        snprintf(want, sizeof(want),
                 "{\"id\":\"n%d\",\"depth\":%d,\"of\":", DEEP - 1 - i, i);
        assert_true(span_cut(&rest, '\n', &line));
        if (!span_starts(line, want))
            fail_msg("line %d is %.*s", i, (int)line.len, line.p);
    }
    assert_int_equal(rest.len, 0);
    text_clear(&reply.text);
}

static void
other_requests_are_answered_while_a_wide_tree_is_listed(void **state) {
    (void)state;
    struct reply reply;
    make_wide();
    reply_read("/api/v1/jobs/root/dependents?tree=1", &reply);
    assert_true(reply.pieces > 4);
    assert_int_equal(lines_with(&reply, "\"depth\":0"), 1);
    assert_int_equal(lines_with(&reply, "\"depth\":1,\"of\":\"root\""), WIDE);
    assert_int_equal(lines_with(&reply, "{\"id\":\"last\",\"depth\":2"), WIDE);
    assert_int_equal(lines_with(&reply, "\"again\":true"), WIDE - 1);
    text_clear(&reply.text);
}

static void each_neighbour_is_listed_once(void **state) {
    (void)state;
    static const char *const questions[] = {"root/dependents", "last/depends"};
    make_wide();
    for (size_t i = 0; i < COUNT(questions); i++) {
        char uri[100];
        struct reply reply;
        snprintf(uri, sizeof(uri), "/api/v1/jobs/%s", questions[i]);
        reply_read(uri, &reply);
        assert_true(reply.pieces > 2);
        assert_int_equal(lines_with(&reply, "\"id\":"), WIDE);
        for (int k = 0; k < WIDE; k += 97) {
            char want[40];
            snprintf(want, sizeof(want), "\"id\":\"w%d\"", k);
            assert_int_equal(lines_with(&reply, want), 1);
        }
        text_clear(&reply.text);
    }
}

static void a_client_may_disconnect_while_a_tree_is_listed(void **state) {
    (void)state;
    make_deep();
    api_call_close(open_call("/api/v1/jobs/n9999/depends?tree=1"));
    api_call_close(open_call("/api/v1/jobs/n0/dependents?tree=1"));
    ask_another();
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(other_requests_are_answered_while_a_deep_tree_is_listed),
        TEST(other_requests_are_answered_while_a_wide_tree_is_listed),
        TEST(each_neighbour_is_listed_once),
        TEST(a_client_may_disconnect_while_a_tree_is_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
