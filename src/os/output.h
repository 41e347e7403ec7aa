/* The output of attempts, under attempts/ of a base (G13 in doc/design/).
 *
 * Small outputs are appended to a shared segment (one write for many of them);
 * large or long-lived ones are files of their own, which the guard writes while
 * the attempt runs, so that they can be followed. Where an output lies is said
 * by its place, a short text kept with the attempt in the registry:
 *
 *     s<segment>.<offset>.<bytes>     bytes within segments/<segment>
 *     s<segment>.<offset>.<bytes>.<b> the same, with b bytes of stamps behind
 *     f<name>                         the file files/<name>, and its stamps
 *                                     (os/stamp.h) in files/<name>.stamps
 *     ""                              there was none
 *
 * A segment is closed at OUTPUT_SEGMENT_BYTES; nothing in it ever changes. */
#ifndef POINTSMAN_OS_OUTPUT_H
#define POINTSMAN_OS_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/text.h"

enum { OUTPUT_SEGMENT_BYTES = 64 * 1024 * 1024, OUTPUT_PLACE_BYTES = 96 };

struct output;

/* Opens attempts/ below the base's descriptor, making it when absent and
 * `write` is true. A writer's first output starts a segment of its own. */
bool output_open(int base_fd, bool write, struct output **ret_output,
                 struct err *err);
void output_close(struct output *output); /* flushes; NULL is fine */

/* Adds a small output and its stamps, if it has any; its place is written to
 * ret_place at once, the bytes leave with output_flush. */
bool output_add(struct output *output, struct span bytes, struct span stamps,
                char ret_place[OUTPUT_PLACE_BYTES], struct err *err);
/* The guard has written the whole file of an attempt. */
void output_filed(struct output *output);
/* What must be synced before the results are committed (store_sync_first). */
struct output_sync {
    int fd;          /* -1: nothing was written */
    bool filesystem; /* syncfs(fd): files, their stamps and their names */
};
/* Writes what was added. */
bool output_flush(struct output *output, struct output_sync *ret_sync,
                  struct err *err);

/* The name below the base of the file of an attempt, for the guard:
 * attempts/files/<num / 1000>/<num>.<task>.<attempt>; its directory is made.
 * `ret_place` is its place. */
bool output_file(struct output *output, uint64_t num, uint64_t task,
                 unsigned attempt, struct text *ret_path,
                 char ret_place[OUTPUT_PLACE_BYTES], struct err *err);

/* A place that is open for reading, packed or not. */
struct output_view {
    int fd; /* -1: nothing is open */
    off_t first;
    uint64_t bytes;
    struct pack_result *packed; /* NULL: as it is */
};
#define OUTPUT_VIEW_INIT ((struct output_view){.fd = -1})

/* Errors: ERR_DATA (not a place, or damaged), ERR_NO_JOB (pruned),
 * ERR_UNAVAILABLE. */
bool output_view_open(struct output *output, struct span place,
                      struct output_view *ret_view, struct err *err);
void output_view_close(struct output_view *view);
/* Like pread, `at` from its own beginning. */
ssize_t output_view_read(const struct output_view *view, uint64_t at,
                         char *block, size_t bytes);

/* The stamps of an output. -1: it has none, or they cannot be read. They may
 * grow as long as the output does. */
int output_stamps_open(struct output *output, struct span place,
                       off_t *ret_first, uint64_t *ret_bytes);

/* An output in a file of its own, to which nothing will be added, is packed
 * (os/packed.h); it keeps its place. From any thread; may take long. */
bool output_pack(struct output *output, struct span place, struct err *err);

#endif
