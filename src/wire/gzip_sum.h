/* Checks the end of a gzip stream (RFC 1952, 2.3.1): the CRC-32 and the length
 * of the packed data. libarchive ignores them, so that a damaged byte would go
 * unnoticed if the stream can still be unpacked. */
#ifndef POINTSMAN_WIRE_GZIP_SUM_H
#define POINTSMAN_WIRE_GZIP_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GZIP_END_BYTES = 8 };

struct gzip_sum {
    uint32_t crc; /* inverted CRC of the bytes unpacked so far */
    uint64_t unpacked;
    unsigned char begin[2], end[GZIP_END_BYTES]; /* of the stream */
    uint64_t packed;
};

#define GZIP_SUM_INIT ((struct gzip_sum){.crc = UINT32_MAX})

/* Adds packed bytes in the order in which they come from the file. */
void gzip_sum_packed(struct gzip_sum *sum, const void *p, size_t bytes);
/* Adds bytes unpacked from them; call it after the first packed ones. */
void gzip_sum_unpacked(struct gzip_sum *sum, const void *p, size_t bytes);
/* True if the sums match, or if the stream is not gzip; call it after the last
 * bytes. A file of several gzip members does not match: each has its own sum.
 */
bool gzip_sum_agrees(const struct gzip_sum *sum);

#endif
