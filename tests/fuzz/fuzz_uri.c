/* uri_decode() reverses uri_encode(), and returns only valid text. */
#include <assert.h>

#include "wire/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void round_trip(struct span word, struct arena *arena) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct span again;

    if (!span_is_utf8(word) ||
        (word.len > 0 && memchr(word.p, '\0', word.len) != NULL))
        return;
    uri_encode(word, &text);
    assert(uri_decode(text_span(&text), false, arena, &again));
    assert(span_equal(again, word));
}

static void check(struct span decoded) {
    assert(span_is_utf8(decoded));
    assert(decoded.len == 0 || memchr(decoded.p, '\0', decoded.len) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct span text = span_make(data, bytes), key, value;
    struct uri uri = uri_split(text);
    struct arena arena = ARENA_INIT;
    bool ok;

    assert(uri.path.len + uri.query.len <= bytes);
    if (uri_decode(uri.path, false, &arena, &value))
        check(value);
    while (uri_next(&uri.query, &arena, &key, &value, &ok)) {
        check(key);
        check(value);
    }
    round_trip(text, &arena);
    arena_clear(&arena);
    return 0;
}
