/* What stands at the end of a gzip stream (RFC 1952, 2.3.1): the CRC-32 and the
 * length of what was packed. libarchive reads over them, so that a damaged byte
 * would pass where it still unpacks to something. */
#ifndef POINTSMAN_WIRE_GZIP_SUM_H
#define POINTSMAN_WIRE_GZIP_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GZIP_END_BYTES = 8 };

struct gzip_sum {
    uint32_t crc; /* inverted, of what was unpacked so far */
    uint64_t unpacked;
    unsigned char begin[2], end[GZIP_END_BYTES]; /* of the packed bytes */
    uint64_t packed;
};

#define GZIP_SUM_INIT ((struct gzip_sum){.crc = UINT32_MAX})

/* Packed bytes as they come from the file, one piece after the other. */
void gzip_sum_packed(struct gzip_sum *sum, const void *p, size_t bytes);
/* What came out of them; call it after the first packed ones. */
void gzip_sum_unpacked(struct gzip_sum *sum, const void *p, size_t bytes);
/* After the last ones: do the sums agree? True for what is not gzip. A file of
 * several gzip members does not agree: it has a sum for each. */
bool gzip_sum_agrees(const struct gzip_sum *sum);

#endif
