/* Tarballs for tests, written byte by byte, so that broken and hostile ones can
 * be written too. */
#ifndef POINTSMAN_TESTS_SUPPORT_TARBALL_H
#define POINTSMAN_TESTS_SUPPORT_TARBALL_H

#include <stdio.h>
#include <string.h>

#include "lib/text.h"

/* Adds a header block. `type` is as in tar: 0 file, 1 hard link, 2 symbolic
 * link, 3 and 4 devices, 5 directory, 6 FIFO, x PAX, L GNU long name, ... */
static inline void tarball_header(struct text *tar, const char *name, char type,
                                  size_t size, unsigned mode,
                                  const char *link) {
    char block[512] = {0};
    unsigned sum = 0;
    memcpy(block, name, strnlen(name, 100));
    snprintf(block + 100, 8, "%07o", mode & 07777777u);
    snprintf(block + 108, 8, "%07o", 0u);
    snprintf(block + 116, 8, "%07o", 0u);
    snprintf(block + 124, 12, "%011zo", size & 077777777777u);
    snprintf(block + 136, 12, "%011o", 0u);
    memset(block + 148, ' ', 8);
    block[156] = type;
    if (link)
        memcpy(block + 157, link, strnlen(link, 100));
    memcpy(block + 257, "ustar\00000", 8);
    for (size_t i = 0; i < sizeof block; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
    text_add(tar, block, sizeof block);
}

static inline void tarball_content(struct text *tar, const void *p,
                                   size_t bytes) {
    static const char zeros[512];
    text_add(tar, p, bytes);
    if (bytes % 512)
        text_add(tar, zeros, 512 - bytes % 512);
}

static inline void tarball_file(struct text *tar, const char *name,
                                const char *content) {
    tarball_header(tar, name, '0', strlen(content), 0644, NULL);
    tarball_content(tar, content, strlen(content));
}

static inline void tarball_end(struct text *tar) {
    static const char zeros[1024];
    text_add(tar, zeros, sizeof zeros);
}

/* Adds a PAX header with one record, for the next member. */
static inline void tarball_pax(struct text *tar, const char *key,
                               struct span value) {
    CLEANUP(text_clear) struct text body = TEXT_INIT;
    size_t rest = strlen(key) + value.len + 3, total = rest + 1;
    for (char digits[24];;) {
        size_t with =
            rest + (size_t)snprintf(digits, sizeof digits, "%zu", total);
        if (with == total)
            break;
        total = with;
    }
    text_addf(&body, "%zu %s=", total, key);
    text_addspan(&body, value);
    text_addc(&body, '\n');
    tarball_header(tar, "PaxHeader", 'x', body.len, 0644, NULL);
    tarball_content(tar, body.p, body.len);
}

#endif
