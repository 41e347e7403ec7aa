#include "cron/zone_bytes.h"

#include <string.h>

static void put(struct zone_bytes *out, const void *p, size_t bytes) {
    memcpy(out->p + out->len, p, bytes);
    out->len += bytes;
}

static void put_number(struct zone_bytes *out, int64_t value, int bytes) {
    while (bytes-- > 0)
        out->p[out->len++] = (unsigned char)((uint64_t)value >> (8 * bytes));
}

static void put_header(struct zone_bytes *out, size_t times, size_t types,
                       size_t chars) {
    put(out, "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
    put_number(out, 0, 4); /* UTC indicators */
    put_number(out, 0, 4); /* standard indicators */
    put_number(out, 0, 4); /* leap seconds */
    put_number(out, (int64_t)times, 4);
    put_number(out, (int64_t)types, 4);
    put_number(out, (int64_t)chars, 4);
}

void zone_bytes_make(struct zone_bytes *ret, const struct zone_change *changes,
                     size_t change_count, const int32_t *offsets,
                     size_t offset_count, const char *footer) {
    ret->len = 0;
    put_header(ret, 0, 1, 1);
    put(ret, "\0\0\0\0\0\0", 7); /* one type, and its empty name */
    put_header(ret, change_count, offset_count, 4);
    for (size_t i = 0; i < change_count; i++)
        put_number(ret, changes[i].at, 8);
    for (size_t i = 0; i < change_count; i++)
        put_number(ret, changes[i].type, 1);
    for (size_t i = 0; i < offset_count; i++) {
        put_number(ret, offsets[i], 4);
        put_number(ret, 0, 2);
    }
    put(ret, "ABC", 4);
    put(ret, "\n", 1);
    put(ret, footer, strlen(footer));
    put(ret, "\n", 1);
}
