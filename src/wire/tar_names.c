#include "wire/tar_names.h"

enum { BLOCK = 512, SIZE_AT = 124, SIZE_BYTES = 12, TYPE_AT = 156 };

static bool octal(struct span field, uint64_t *ret_value) {
    uint64_t value = 0;
    size_t digits = 0;
    for (size_t i = 0; i < field.len; i++) {
        char c = field.p[i];
        if (c >= '0' && c <= '7') {
            value = value * 8 + (uint64_t)(c - '0');
            digits++;
        } else if (digits || c != ' ') {
            break;
        }
    }
    *ret_value = value;
    return digits;
}

/* Takes one record "LENGTH KEY=VALUE\n". */
static bool pax_record(struct span *rest, struct span *ret_key,
                       struct span *ret_value) {
    struct span digits = *rest;
    uint64_t length;
    const char *blank = rest->len ? memchr(rest->p, ' ', rest->len) : NULL;
    if (!blank)
        return false;
    digits.len = (size_t)(blank - rest->p);
    if (!span_u64(digits, &length) || length > rest->len ||
        length < digits.len + 2)
        return false;
    struct span body = span_make(blank + 1, length - digits.len - 2);
    const char *equals = body.len ? memchr(body.p, '=', body.len) : NULL;
    if (!equals)
        return false;
    *ret_key = span_make(body.p, (size_t)(equals - body.p));
    *ret_value = span_make(equals + 1, body.len - ret_key->len - 1);
    rest->p += length;
    rest->len -= (size_t)length;
    return true;
}

static bool pax_holds_nul(struct span body) {
    struct span key, value;
    while (pax_record(&body, &key, &value)) {
        bool name = span_is(key, "path") || span_is(key, "linkpath");
        if (name && value.len && memchr(value.p, '\0', value.len))
            return true;
    }
    return false;
}

/* A GNU long name ends with NULs; none may precede other bytes. */
static bool gnu_holds_nul(struct span body) {
    while (body.len && !body.p[body.len - 1])
        body.len--;
    return body.len && memchr(body.p, '\0', body.len);
}

bool tar_names_hold_nul(struct span blocks) {
    while (blocks.len >= BLOCK) {
        char type = blocks.p[TYPE_AT];
        uint64_t size;
        if (!type || !strchr("xXgLK", type) ||
            !octal(span_make(blocks.p + SIZE_AT, SIZE_BYTES), &size) ||
            size > blocks.len - BLOCK)
            return false;
        struct span body = span_make(blocks.p + BLOCK, (size_t)size);
        if (type == 'L' || type == 'K' ? gnu_holds_nul(body)
                                       : pax_holds_nul(body))
            return true;
        size_t step = BLOCK + ((size_t)size + BLOCK - 1) / BLOCK * BLOCK;
        if (step > blocks.len)
            return false;
        blocks.p += step;
        blocks.len -= step;
    }
    return false;
}
