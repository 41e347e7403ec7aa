#include "lib/time.h"

#include <inttypes.h>
#include <stdio.h>

/* 2^62 marks TAI64 labels, 10 s is their distance from Unix time. */
#define TAI_EPOCH (INT64_C(0x4000000000000000) + 10)

char *tai_format(struct wall wall, char ret[TAI_TEXT_BYTES]) {
    snprintf(ret, TAI_TEXT_BYTES, "@%016" PRIx64 "%08" PRIx32,
             (uint64_t)(TAI_EPOCH + wall_s(wall)), wall_fraction(wall));
    return ret;
}

/* Cuts `digits` lower-case hexadecimal digits off the front. */
static bool take_hex(struct span *rest, size_t digits, uint64_t *ret_value) {
    static const char all[] = "0123456789abcdef";

    *ret_value = 0;
    if (rest->len < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        const char *at = memchr(all, rest->p[i], 16);

        if (at == NULL)
            return false;
        *ret_value = *ret_value << 4 | (uint64_t)(at - all);
    }
    *rest = span_make(rest->p + digits, rest->len - digits);
    return true;
}

bool tai_parse(struct span span, struct wall *ret_wall) {
    uint64_t label, ns;
    int64_t sum;

    *ret_wall = (struct wall){0};
    if (!span_starts(span, "@"))
        return false;
    span = span_make(span.p + 1, span.len - 1);
    if (!take_hex(&span, 16, &label) || !take_hex(&span, 8, &ns) ||
        span.len > 0 || label > (uint64_t)INT64_MAX || ns >= (uint64_t)NS_PER_S)
        return false;
    if (__builtin_mul_overflow((int64_t)label - TAI_EPOCH, NS_PER_S, &sum) ||
        __builtin_add_overflow(sum, (int64_t)ns, &sum))
        return false;
    ret_wall->ns = sum;
    return true;
}
