/* A file that was packed when nothing more was to be added to it, and can still
 * be read from anywhere: frames of zstd, each of PACKED_FRAME_BYTES, and behind
 * them where they begin, in a frame that others skip (the seekable format of
 * zstd). `zstd -d` and `zstdcat` read it too. */
#ifndef POINTSMAN_OS_PACKED_H
#define POINTSMAN_OS_PACKED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

enum { PACKED_FRAME_BYTES = 256 << 10 };

/* Reads `from_fd` from its beginning to its end, writes `to_fd`; may take long:
 * for a thread of its own. ERR_UNAVAILABLE: there is no libzstd here. */
bool packed_write(int from_fd, int to_fd, struct err *err);

struct pack_result;

/* The descriptor stays the caller's and must stay open. ERR_DATA: not such a
 * file, or a damaged one. */
bool packed_open(int fd, struct pack_result **ret_packed, struct err *err);
void packed_close(struct pack_result *packed); /* NULL is fine */
/* As it was before. */
uint64_t packed_bytes(const struct pack_result *packed);
/* Like pread: up to the end of a frame at a time, 0 at the end, -1 with errno
 * set (EIO: it is damaged). */
ssize_t packed_read(struct pack_result *packed, uint64_t at, char *block,
                    size_t bytes);

#endif
