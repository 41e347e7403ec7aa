/* HTTP replies: parsing all bytes at once or one by one gives the same result.
 */
#include <assert.h>

#include "wire/http_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static bool feed(struct http_reply *reply, struct span bytes, size_t step,
                 struct text *body) {
    http_reply_init(reply);
    reply->body_bytes_max = 1 << 16;
    while (bytes.len && reply->state != HTTP_REPLY_DONE) {
        size_t used;

        if (!http_reply_feed(
                reply, span_make(bytes.p, bytes.len < step ? bytes.len : step),
                &used, body, NULL))
            return false;
        assert(used);
        bytes.p += used;
        bytes.len -= used;
    }
    return http_reply_end(reply, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(text_clear) struct text whole = TEXT_INIT;
    CLEANUP(text_clear) struct text pieces = TEXT_INIT;
    struct span input = span_make(data, bytes);
    struct http_reply a, b;

    bool fine = feed(&a, input, bytes + 1, &whole);
    assert(feed(&b, input, 1, &pieces) == fine);
    if (fine) {
        assert(a.status == b.status);
        assert(span_equal(text_span(&whole), text_span(&pieces)));
        assert(a.keep_alive == b.keep_alive);
    }
    http_reply_clear(&a);
    http_reply_clear(&b);
    return 0;
}
