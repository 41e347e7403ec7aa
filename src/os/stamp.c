#include "os/stamp.h"

static const char magic[STAMP_MAGIC_BYTES] = {'p', 'm', 's', '1'};

enum { NUMBER_BYTES = 10 };

void stamps_clear(struct stamps *stamps) {
    text_clear(&stamps->coded);
}

static void put_number(struct text *out, uint64_t number) {
    while (number >= 0x80) {
        text_addc(out, (char)((number & 0x7f) | 0x80));
        number >>= 7;
    }
    text_addc(out, (char)number);
}

void stamps_close(struct stamps *stamps) {
    struct stamp *open = &stamps->open;
    if (open->bytes == 0)
        return;
    if (!stamps->begun)
        text_add(&stamps->coded, magic, sizeof magic);
    stamps->begun = true;
    put_number(&stamps->coded, open->bytes << 2 | (unsigned)open->stream);
    put_number(&stamps->coded, (uint64_t)(open->ms - stamps->last_ms));
    stamps->last_ms = open->ms;
    open->bytes = 0;
}

void stamps_add(struct stamps *stamps, enum stamp_stream stream, int64_t ms,
                uint64_t bytes) {
    struct stamp *open = &stamps->open;
    int64_t last = open->bytes > 0 ? open->ms : stamps->last_ms;
    if (bytes == 0)
        return;
    if (ms < last)
        ms = last;
    if (open->bytes > 0 && open->stream == stream && open->ms == ms) {
        open->bytes += bytes;
        return;
    }
    stamps_close(stamps);
    *open = (struct stamp){.bytes = bytes, .ms = ms, .stream = stream};
}

static bool take_number(struct span *rest, uint64_t *ret_number) {
    uint64_t number = 0;
    for (size_t i = 0; i < rest->len && i < NUMBER_BYTES; i++) {
        uint64_t bits = (unsigned char)rest->p[i] & 0x7f;
        if (i == NUMBER_BYTES - 1 && bits > 1)
            return false;
        number |= bits << (7 * i);
        if (((unsigned char)rest->p[i] & 0x80) != 0)
            continue;
        *rest = span_make(rest->p + i + 1, rest->len - i - 1);
        *ret_number = number;
        return true;
    }
    return false;
}

bool stamp_take(struct stamp_walk *walk, struct span *rest,
                struct stamp *ret_stamp) {
    struct span from = *rest;
    uint64_t head, step;
    if (!walk->begun) {
        if (from.len < sizeof magic || memcmp(from.p, magic, sizeof magic) != 0)
            return false;
        from = span_make(from.p + sizeof magic, from.len - sizeof magic);
    }
    if (!take_number(&from, &head) || !take_number(&from, &step) ||
        head >> 2 == 0 || step > (uint64_t)(INT64_MAX - walk->ms))
        return false;
    walk->begun = true;
    walk->ms += (int64_t)step;
    *ret_stamp = (struct stamp){.bytes = head >> 2,
                                .ms = walk->ms,
                                .stream = (enum stamp_stream)(head & 3)};
    *rest = from;
    return true;
}
