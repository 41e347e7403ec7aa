/* The output of attempts, under attempts/ of a base (G13 in doc/design/).
 *
 * Small outputs are appended to a shared segment (one write for many of them);
 * large or long-lived ones are separate files, which the guard writes while the
 * attempt runs, so that they can be followed. Where an output lies is given by
 * its place, a short text kept with the attempt in the registry:
 *
 *     s<segment>.<offset>.<bytes>     bytes within segments/<segment>
 *     s<segment>.<offset>.<bytes>.<b> the same, followed by b bytes of stamps
 *     f<name>                         the file files/<name>, with its stamps
 *                                     (os/stamp.h) in files/<name>.stamps
 *     ""                              no output
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

/* Opens attempts/ below the base's descriptor and makes it if it is absent and
 * `write` is true. The first output of a writer starts a new segment. */
bool output_open(int base_fd, bool write, struct output **ret_output,
                 struct err *err);
void output_close(struct output *output); /* flushes; NULL is fine */

/* Adds a small output and its stamps, if it has any. Its place is written to
 * ret_place at once; the bytes are written by output_flush. */
bool output_add(struct output *output, struct span bytes, struct span stamps,
                char ret_place[OUTPUT_PLACE_BYTES], struct err *err);
/* The same with the first `limit` bytes of a file. */
bool output_add_file(struct output *output, int fd, uint64_t limit,
                     char ret_place[OUTPUT_PLACE_BYTES], uint64_t *ret_bytes,
                     struct err *err);
/* Call it when the guard has written the whole file of an attempt, or something
 * else on the file system has to be synced with the next outputs. */
void output_filed(struct output *output);
/* The files to sync before the results are committed (store_sync_first). */
struct output_sync {
    int fd;          /* -1: nothing was written */
    bool filesystem; /* syncfs(fd): files, their stamps and their names */
};
/* Writes what was added. */
bool output_flush(struct output *output, struct output_sync *ret_sync,
                  struct err *err);

/* The name, relative to the base, of an attempt's file, for the guard:
 * attempts/files/<num / 1000>/<num>.<task>.<attempt>; its directory is created.
 * `ret_place` is its place. */
bool output_file(struct output *output, uint64_t num, uint64_t task,
                 unsigned attempt, struct text *ret_path,
                 char ret_place[OUTPUT_PLACE_BYTES], struct err *err);

/* The place of an attempt's file, which need not exist. */
void output_place_format(uint64_t num, uint64_t task, unsigned attempt,
                         char ret_place[OUTPUT_PLACE_BYTES]);

/* An output opened for reading, packed or not. */
struct output_view {
    int fd; /* -1: nothing is open */
    off_t first;
    uint64_t bytes;
    struct packed *packed; /* NULL: not packed */
};
#define OUTPUT_VIEW_INIT ((struct output_view){.fd = -1})

/* Errors: ERR_DATA (not a place, or damaged), ERR_NO_JOB (no such file),
 * ERR_UNAVAILABLE. */
bool output_view_open(struct output *output, struct span place,
                      struct output_view *ret_view, struct err *err);
void output_view_close(struct output_view *view);
/* Like pread, with `at` relative to the beginning of the output. */
ssize_t output_view_read(const struct output_view *view, uint64_t at,
                         char *block, size_t bytes);

/* The stamps of an output. -1: it has none, or they cannot be read. They may
 * grow as long as the output does. */
int output_stamps_open(struct output *output, struct span place,
                       off_t *ret_first, uint64_t *ret_bytes);

/* Packs an output in its own file, to which nothing will be added
 * (os/packed.h); its place stays the same. May be called from any thread; may
 * take long. */
bool output_pack(struct output *output, struct span place, struct err *err);

#endif
