#include "support/test.h"

#include "lib/text.h"
#include "wire/http_reply.h"

struct result {
    bool ok, done;
    int status;
    bool keep_alive;
    size_t used;
    struct text body;
    struct err err;
};

/* Feeds `bytes` in pieces of `step`. */
static struct result feed(struct span bytes, size_t step, bool no_body) {
    struct result result = {.ok = true};
    struct http_reply reply;
    http_reply_init(&reply);
    reply.no_body = no_body;
    reply.body_bytes_max = 1000;
    while (result.ok && result.used < bytes.len &&
           reply.state != HTTP_REPLY_DONE) {
        size_t left = bytes.len - result.used, used;
        result.ok = http_reply_feed(
            &reply, span_make(bytes.p + result.used, left < step ? left : step),
            &used, &result.body, &result.err);
        result.used += used;
    }
    result.ok = result.ok && http_reply_end(&reply, &result.err);
    result.status = reply.status;
    result.keep_alive = reply.keep_alive;
    result.done = reply.state == HTTP_REPLY_DONE;
    http_reply_clear(&reply);
    return result;
}

static void assert_reply(const char *bytes, int status, const char *body,
                         size_t rest) {
    for (size_t step = 1; step < 40; step++) {
        struct result result = feed(span_of(bytes), step, false);
        if (!result.ok)
            fail_msg("%s", result.err.text);
        assert_int_equal(result.status, status);
        assert_string_equal(text_string(&result.body), body);
        assert_int_equal(result.used, strlen(bytes) - rest);
        text_clear(&result.body);
    }
}

static void assert_refused(const char *bytes, const char *words) {
    for (size_t step = 1; step < 40; step += 7) {
        struct result result = feed(span_of(bytes), step, false);
        if (result.ok || !strstr(result.err.text, words))
            fail_msg("'%s' instead of '%s'", result.err.text, words);
        assert_int_equal(result.err.kind, ERR_UNAVAILABLE);
        text_clear(&result.body);
    }
}

static void a_body_ends_by_length_or_chunks_or_end_of_file(void **state) {
    (void)state;
    assert_reply("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhellomore", 200,
                 "hello", 4);
    assert_reply("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, "",
                 0);
    assert_reply("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "5\r\nhello\r\nA;x=y\r\n, world!!!\r\n0\r\nT: 1\r\n\r\nHTTP",
                 200, "hello, world!!!", 4);
    assert_reply("HTTP/1.1 200\nX: y\n\nhello", 200, "hello", 0);
    assert_reply("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n"
                 "Content-Length: 1\r\n\r\nx",
                 201, "x", 0);
    assert_reply("HTTP/1.1 204 No\r\nContent-Length: 9\r\n\r\nx", 204, "", 1);
}

static void the_reply_to_head_has_no_body(void **state) {
    (void)state;
    struct result result =
        feed(SPAN("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), 100, true);
    assert_true(result.ok && result.done);
    text_clear(&result.body);
}

static void field_names_are_case_insensitive(void **state) {
    (void)state;
    struct http_reply reply;
    size_t used;
    CLEANUP(text_clear) struct text body = TEXT_INIT;
    http_reply_init(&reply);
    assert_true(http_reply_feed(
        &reply,
        SPAN("HTTP/1.1 200 OK\r\nX-Connection: x\r\nCONNECTION:  Close \r\n"
             "content-length: 0\r\n\r\n"),
        &used, &body, NULL));
    assert_false(reply.keep_alive);
    http_reply_clear(&reply);
}

static void a_reply_that_is_not_http_is_rejected(void **state) {
    (void)state;
    assert_refused("SSH-2.0-OpenSSH\r\n\r\n", "not HTTP");
    assert_refused("HTTP/2 200\r\n\r\n", "not HTTP");
    assert_refused("HTTP/1.1 2x0 OK\r\n\r\n", "no status");
    assert_refused("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                   "Content-Length");
    assert_refused("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
                   "Content-Length: 2\r\n\r\nxx",
                   "Content-Length");
    assert_refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
                   "Transfer-Encoding");
    assert_refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
                   "without a size");
    assert_refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "fffffffffffffffff\r\n",
                   "without a size");
    assert_refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "1\r\nxx\r\n",
                   "wrong length");
}

static void a_truncated_reply_is_an_error(void **state) {
    (void)state;
    assert_refused("", "did not arrive");
    assert_refused("HTTP/1.1 200 OK\r\nA: b\r\n", "is incomplete");
    assert_refused("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
                   "is incomplete");
    assert_refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "5\r\nhello\r\n0\r\n",
                   "is incomplete");
}

static void limits_are_enforced(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    text_adds(&bytes, "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n");
    for (int i = 0; i < 2000; i++)
        text_addc(&bytes, 'x');
    struct result result = feed(text_span(&bytes), 100, false);
    assert_false(result.ok);
    assert_non_null(strstr(result.err.text, "is too long"));
    text_clear(&result.body);
    text_reset(&bytes);
    text_adds(&bytes, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 7000; i++)
        text_adds(&bytes, "X: abcdef\r\n");
    result = feed(text_span(&bytes), 1000, false);
    assert_false(result.ok);
    assert_non_null(strstr(result.err.text, "64 KiB"));
    text_clear(&result.body);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_ends_by_length_or_chunks_or_end_of_file),
        cmocka_unit_test(the_reply_to_head_has_no_body),
        cmocka_unit_test(field_names_are_case_insensitive),
        cmocka_unit_test(a_reply_that_is_not_http_is_rejected),
        cmocka_unit_test(a_truncated_reply_is_an_error),
        cmocka_unit_test(limits_are_enforced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
