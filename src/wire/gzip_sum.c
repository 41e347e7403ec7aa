#include "wire/gzip_sum.h"

#include <string.h>

#define POLYNOMIAL UINT32_C(0xedb88320) /* of IEEE 802.3, reflected */

static void make_table(uint32_t table[256]) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
        table[byte] = crc;
    }
}

static const uint32_t *crc_table(void) {
    static _Thread_local uint32_t table[256];
    if (table[1] == 0)
        make_table(table);
    return table;
}

static bool is_gzip(const struct gzip_sum *sum) {
    return sum->packed >= 2 && sum->begin[0] == 0x1f && sum->begin[1] == 0x8b;
}

void gzip_sum_packed(struct gzip_sum *sum, const void *p, size_t bytes) {
    const unsigned char *from = p;
    for (size_t i = 0; i < bytes && sum->packed + i < sizeof(sum->begin); i++)
        sum->begin[sum->packed + i] = from[i];
    sum->packed += bytes;
    if (bytes >= GZIP_END_BYTES) {
        memcpy(sum->end, from + bytes - GZIP_END_BYTES, GZIP_END_BYTES);
        return;
    }
    memmove(sum->end, sum->end + bytes, GZIP_END_BYTES - bytes);
    memcpy(sum->end + GZIP_END_BYTES - bytes, from, bytes);
}

void gzip_sum_unpacked(struct gzip_sum *sum, const void *p, size_t bytes) {
    const unsigned char *from = p;
    const uint32_t *table = crc_table();
    sum->unpacked += bytes;
    if (!is_gzip(sum))
        return;
    uint32_t crc = sum->crc;
    for (size_t i = 0; i < bytes; i++)
        crc = table[(crc ^ from[i]) & 0xff] ^ crc >> 8;
    sum->crc = crc;
}

static uint32_t little_endian(const unsigned char *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

bool gzip_sum_agrees(const struct gzip_sum *sum) {
    return !is_gzip(sum) ||
           (little_endian(sum->end) == (sum->crc ^ UINT32_MAX) &&
            little_endian(sum->end + 4) == (uint32_t)sum->unpacked);
}
