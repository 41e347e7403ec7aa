#include "os/guard_pace.h"

enum { LONG_LINE_BITS = 16 };

void guard_pace_init(struct guard_pace *pace, uint32_t lines) {
    *pace = (struct guard_pace){.line_ns = lines == 0 ? 0 : NS_PER_S / lines};
}

static int64_t count_lines(struct span bytes) {
    int64_t lines = (int64_t)(bytes.len >> LONG_LINE_BITS);
    const char *p = bytes.p, *end = p + bytes.len;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
        lines++;
        p++;
    }
    return lines;
}

struct mono guard_pace_charge(struct guard_pace *pace, struct span bytes,
                              struct mono now) {
    if (pace->line_ns == 0 || bytes.len == 0)
        return pace->paid;
    int64_t oldest = now.ns - NS_PER_S;
    if (pace->paid.ns < oldest)
        pace->paid.ns = oldest;
    pace->paid.ns += count_lines(bytes) * pace->line_ns;
    return pace->paid;
}
