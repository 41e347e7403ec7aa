#include "lib/time.h"

int64_t duration_add(int64_t ns, int64_t ms) {
    int64_t more, sum;

    if (__builtin_mul_overflow(ms, NS_PER_MS, &more))
        more = ms < 0 ? INT64_MIN : INT64_MAX;
    if (__builtin_add_overflow(ns, more, &sum))
        return more < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

int64_t duration_between(int64_t later, int64_t earlier) {
    int64_t ns;

    if (__builtin_sub_overflow(later, earlier, &ns))
        ns = later < earlier ? INT64_MIN : INT64_MAX;
    return ns / NS_PER_MS - (ns % NS_PER_MS < 0);
}

static int64_t unit_ms(char unit) {
    switch (unit) {
    case 's':
        return 1000;
    case 'm':
        return 60 * 1000;
    case 'h':
        return 60 * 60 * 1000;
    case 'd':
        return INT64_C(24) * 60 * 60 * 1000;
    default:
        return 0;
    }
}

bool duration_parse(struct span span, int64_t *ret_ms) {
    int64_t each = 1000, ms;
    uint64_t count;

    *ret_ms = 0;
    if (span.len > 0 && unit_ms(span.p[span.len - 1]) > 0)
        each = unit_ms(span.p[--span.len]);
    if (!span_u64(span, &count) || count > (uint64_t)INT64_MAX ||
        __builtin_mul_overflow((int64_t)count, each, &ms))
        return false;
    *ret_ms = ms;
    return true;
}
