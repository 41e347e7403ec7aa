#include "lib/span.h"

#include <ctype.h>
#include <string.h>

#include "lib/mem.h"
#include "lib/utf8.h"

struct span span_of(const char *string) {
    return (struct span){string, string != NULL ? strlen(string) : 0};
}

struct span span_make(const void *p, size_t len) {
    return (struct span){p, len};
}

bool span_is(struct span span, const char *string) {
    return span_equal(span, span_of(string));
}

bool span_equal(struct span a, struct span b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

int span_compare(struct span a, struct span b) {
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len > 0 ? memcmp(a.p, b.p, len) : 0;

    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

bool span_is_among(struct span span, const struct span *spans, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (span_equal(spans[i], span))
            return true;
    return false;
}

bool span_starts(struct span span, const char *prefix) {
    size_t len = strlen(prefix);

    return span.len >= len && (len == 0 || memcmp(span.p, prefix, len) == 0);
}

bool span_ends(struct span span, const char *suffix) {
    size_t len = strlen(suffix);

    return span.len >= len &&
           (len == 0 || memcmp(span.p + span.len - len, suffix, len) == 0);
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct span span_trim(struct span span) {
    while (span.len > 0 && is_blank(span.p[0])) {
        span.p++;
        span.len--;
    }
    while (span.len > 0 && is_blank(span.p[span.len - 1]))
        span.len--;
    return span;
}

bool span_cut(struct span *rest, char c, struct span *ret_part) {
    const char *at;

    *ret_part = *rest;
    if (rest->p == NULL)
        return false;
    at = rest->len > 0 ? memchr(rest->p, c, rest->len) : NULL;
    if (at == NULL) {
        *rest = (struct span){0};
        return true;
    }
    ret_part->len = (size_t)(at - rest->p);
    rest->len -= ret_part->len + 1;
    rest->p = at + 1;
    return true;
}

bool span_u64(struct span span, uint64_t *ret_value) {
    uint64_t value = 0;

    *ret_value = 0;
    if (span.len == 0)
        return false;
    for (size_t i = 0; i < span.len; i++) {
        unsigned digit = (unsigned char)span.p[i] - (unsigned)'0';

        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *ret_value = value;
    return true;
}

bool span_i64(struct span span, int64_t *ret_value) {
    bool minus = span.len > 0 && span.p[0] == '-';
    uint64_t value;

    *ret_value = 0;
    if (minus)
        span = span_make(span.p + 1, span.len - 1);
    if (!span_u64(span, &value) || value > (uint64_t)INT64_MAX + minus)
        return false;
    *ret_value = (int64_t)(minus ? UINT64_C(0) - value : value);
    return true;
}

/* C1 controls (U+0080..9f) control terminals just as C0 ones do. Invisible
 * characters, and those that change the direction of writing, make one name
 * look like another: soft hyphen, U+200b..200f, 2028..202e, 2060..206f, the
 * byte order mark. */
static bool character_prints(const unsigned char *p, size_t len) {
    if (len == 1)
        return p[0] >= 0x20 && p[0] != 0x7f;
    if (len == 2)
        return p[0] != 0xc2 || (p[1] >= 0xa0 && p[1] != 0xad);
    if (len != 3)
        return true;
    if (p[0] == 0xe2 && p[1] == 0x80)
        return p[2] < 0x8b || (p[2] > 0x8f && p[2] < 0xa8) || p[2] > 0xae;
    if (p[0] == 0xe2 && p[1] == 0x81)
        return p[2] < 0xa0 || p[2] > 0xaf;
    return p[0] != 0xef || p[1] != 0xbb || p[2] != 0xbf;
}

size_t span_printable(struct span span) {
    size_t len = utf8_character(span.p, span.p + span.len);
    bool prints =
        len > 0 && character_prints((const unsigned char *)span.p, len);
    return prints ? len : 0;
}

bool span_is_utf8(struct span span) {
    while (span.len > 0) {
        size_t len = utf8_character(span.p, span.p + span.len);

        if (len == 0)
            return false;
        span.p += len;
        span.len -= len;
    }
    return true;
}

char *span_string(struct span span) {
    return mem_copy(span.p, span.len);
}
