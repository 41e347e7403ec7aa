/* Packed events of the registry: an event that is read can be written and read
 * again unchanged. */
#include <assert.h>

#include "store/event_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void same(const struct store_event *a, const struct store_event *b) {
    assert(a->seq == b->seq && a->at.ns == b->at.ns && a->kind == b->kind);
    assert(a->num == b->num && a->from == b->from && a->to == b->to);
    assert(a->attempt == b->attempt && span_equal(a->id, b->id));
    assert(span_equal(a->actor, b->actor) && span_equal(a->reason, b->reason));
    assert(span_equal(a->detail, b->detail) && span_equal(a->facts, b->facts));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span rest = span_make(data, bytes);
    struct store_event event, again;
    uint64_t prev, prev_again;
    struct span mark;
    const unsigned char hash[CHAIN_BYTES] = {0x0f, 0x5a};
    while (event_pack_next(&rest, &arena, &event, &prev, &mark)) {
        CLEANUP(text_clear) struct text line = TEXT_INIT;
        event_pack_add(&line, &event, prev, hash);
        struct span back = text_span(&line);
        assert(event_pack_next(&back, &arena, &again, &prev_again, &mark));
        assert(prev == prev_again && back.len == 0);
        assert(span_is(mark, "0f5a") && event_pack_fits(mark, hash));
        same(&event, &again);
    }
    return 0;
}
