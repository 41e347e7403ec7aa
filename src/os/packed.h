/* A packed file that can still be read from any offset. It is packed when it
 * will not grow any more: zstd frames of PACKED_FRAME_BYTES each, followed by a
 * table of where they begin, in a frame that other readers skip (the seekable
 * format of zstd). `zstd -d` and `zstdcat` read it too. */
#ifndef POINTSMAN_OS_PACKED_H
#define POINTSMAN_OS_PACKED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

enum { PACKED_FRAME_BYTES = 256 << 10 };

/* Reads `from_fd` from its beginning to its end and writes `to_fd`; may take
 * long, so call it in a separate thread. ERR_UNAVAILABLE: libzstd is not
 * installed. */
bool packed_write(int from_fd, int to_fd, struct err *err);

struct packed;

/* The caller keeps the descriptor and must leave it open. ERR_DATA: not a
 * packed file, or a damaged one. */
bool packed_open(int fd, struct packed **ret_packed, struct err *err);
void packed_close(struct packed *packed); /* NULL is fine */
/* The size before packing. */
uint64_t packed_bytes(const struct packed *packed);
/* Like pread: reads up to the end of a frame at most, returns 0 at the end, -1
 * with errno set (EIO: the file is damaged). */
ssize_t packed_read(struct packed *packed, uint64_t at, char *block,
                    size_t bytes);

#endif
