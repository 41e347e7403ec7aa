/* Creates zone files in memory. */
#ifndef POINTSMAN_TESTS_CRON_ZONE_BYTES_H
#define POINTSMAN_TESTS_CRON_ZONE_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct zone_bytes {
    unsigned char p[4096];
    size_t len;
};

struct zone_change {
    int64_t at;
    unsigned char type;
};

/* A file of version 2 whose first block is empty; `footer` is given without its
 * line feeds. */
void zone_bytes_make(struct zone_bytes *ret, const struct zone_change *changes,
                     size_t change_count, const int32_t *offsets,
                     size_t offset_count, const char *footer);

#endif
