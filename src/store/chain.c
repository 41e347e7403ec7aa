#include "store/chain.h"

#include <assert.h>

#include <nettle/sha2.h>

void chain_init(struct chain *chain) {
    *chain = (struct chain){0};
}

void chain_clear(struct chain *chain) {
    text_clear(&chain->scratch);
    *chain = (struct chain){0};
}

static unsigned char *put_u64(unsigned char *at, uint64_t value) {
    for (int shift = 56; shift >= 0; shift -= 8)
        *at++ = (unsigned char)(value >> shift);
    return at;
}

static unsigned char *put_span(unsigned char *at, struct span span) {
    at = put_u64(at, span.len);
    if (span.len > 0)
        memcpy(at, span.p, span.len);
    return at + span.len;
}

/* Every text is preceded by its length, so that no two events can share an
 * encoding; enums are encoded as their words, since their numbers may change
 * from version to version. */
void chain_next(struct chain *chain, const unsigned char prev[CHAIN_BYTES],
                const struct store_event *event,
                unsigned char ret_hash[CHAIN_BYTES]) {
    struct span kind = span_of(job_event_kind_word(event->kind));
    size_t most = CHAIN_BYTES + 11 * sizeof(uint64_t) + 2 + kind.len +
                  event->id.len + event->actor.len + event->reason.len +
                  event->detail.len + event->facts.len;
    text_reset(&chain->scratch);
    text_reserve(&chain->scratch, most);
    unsigned char *start = (unsigned char *)chain->scratch.p, *at = start;
    memcpy(at, prev, CHAIN_BYTES);
    at = put_u64(at + CHAIN_BYTES, event->seq);
    at = put_u64(at, (uint64_t)event->at.ns);
    at = put_span(at, kind);
    at = put_u64(at, event->num);
    at = put_span(at, event->id);
    *at++ = (unsigned char)job_state_letter(event->from);
    *at++ = (unsigned char)job_state_letter(event->to);
    at = put_u64(at, event->attempt);
    at = put_span(at, event->actor);
    at = put_span(at, event->reason);
    at = put_span(at, event->detail);
    /* Events written before facts existed keep their hashes. */
    if (event->facts.len > 0)
        at = put_span(at, event->facts);
    assert((size_t)(at - start) <= most);
    struct sha256_ctx state;
    sha256_init(&state);
    sha256_update(&state, (size_t)(at - start), start);
    sha256_digest(&state, CHAIN_BYTES, ret_hash);
}

struct span chain_hex(struct arena *arena,
                      const unsigned char hash[CHAIN_BYTES]) {
    static const char digits[] = "0123456789abcdef";
    char *hex = arena_alloc(arena, CHAIN_HEX_BYTES + 1);
    for (int i = 0; i < CHAIN_BYTES; i++) {
        hex[2 * i] = digits[hash[i] >> 4];
        hex[2 * i + 1] = digits[hash[i] & 15];
    }
    return span_make(hex, CHAIN_HEX_BYTES);
}
