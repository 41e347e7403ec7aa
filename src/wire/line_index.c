#include "wire/line_index.h"

static void add_mark(struct text *marks, uint64_t step) {
    while (step >= 0x80) {
        text_addc(marks, (char)((step & 0x7f) | 0x80));
        step >>= 7;
    }
    text_addc(marks, (char)step);
}

void line_index_feed(struct line_index *index, struct span bytes,
                     struct text *marks) {
    const char *p = bytes.p, *end = p + bytes.len;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
        p++;
        if (++index->lines % LINE_INDEX_EVERY)
            continue;
        uint64_t offset = index->bytes + (uint64_t)(p - bytes.p);
        add_mark(marks, offset - index->mark);
        index->mark = offset;
    }
    index->bytes += bytes.len;
}

/* Takes the next mark. False at the end, or if it is cut or too long. */
static bool take_mark(struct span *marks, uint64_t *ret_step) {
    uint64_t step = 0;
    for (size_t i = 0; i < marks->len && i < LINE_INDEX_MARK_BYTES; i++) {
        uint64_t bits = (unsigned char)marks->p[i] & 0x7f;
        if (i == LINE_INDEX_MARK_BYTES - 1 && bits > 1)
            return false;
        step |= bits << (7 * i);
        if ((unsigned char)marks->p[i] & 0x80)
            continue;
        marks->p += i + 1;
        marks->len -= i + 1;
        *ret_step = step;
        return true;
    }
    return false;
}

struct line_index_place line_index_find(struct span marks, uint64_t line) {
    struct line_index_place place = {0};
    uint64_t step;
    while (place.line + LINE_INDEX_EVERY <= line && take_mark(&marks, &step)) {
        if (step > UINT64_MAX - place.offset)
            break;
        place.offset += step;
        place.line += LINE_INDEX_EVERY;
    }
    return place;
}

size_t lines_skip(struct span bytes, uint64_t lines) {
    size_t at = 0;
    while (lines-- && at < bytes.len) {
        const char *lf = memchr(bytes.p + at, '\n', bytes.len - at);
        at = lf ? (size_t)(lf + 1 - bytes.p) : bytes.len;
    }
    return at;
}

uint64_t lines_count(struct span bytes) {
    uint64_t count = 0;
    const char *p = bytes.p, *end = p + bytes.len;
    while (p < end) {
        const char *lf = memchr(p, '\n', (size_t)(end - p));
        count++;
        p = lf ? lf + 1 : end;
    }
    return count;
}
