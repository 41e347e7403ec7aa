/* Where the bytes of an output come from: runs of bytes, each with the stream
 * and the time it was read. Stamps are kept beside the output, which stays as
 * it was written:
 *
 *     "pms1", then for each run two numbers, 7 bits per byte, low bits first
 *     (high bit: more follows): bytes * 4 + stream; milliseconds since the
 *     previous run, or since 1970 for the first one
 *
 * Runs cover an output from its beginning without gaps. Bytes after the last
 * whole run are of unknown origin: the writer died before it recorded them. */
#ifndef POINTSMAN_OS_STAMP_H
#define POINTSMAN_OS_STAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"

enum stamp_stream {
    STAMP_OUT,
    STAMP_ERR,
    STAMP_OURS, /* lines added by pointsman: limit, lost bytes */
    STAMP_UNKNOWN,
    STAMP_STREAMS
};

struct stamp {
    uint64_t bytes;
    int64_t ms; /* since 1970; 0 for UNKNOWN */
    enum stamp_stream stream;
};

enum { STAMP_MAGIC_BYTES = 4, STAMP_BYTES_MAX = 20 /* of a coded run */ };

/* The writer's side. */
struct stamps {
    struct text coded; /* whole runs, not taken yet; the caller resets it */
    int64_t last_ms;
    bool begun;        /* the magic was written */
    struct stamp open; /* the last run, may still grow; bytes 0: none */
};
#define STAMPS_INIT ((struct stamps){.coded = TEXT_INIT})

void stamps_clear(struct stamps *stamps);
/* Adds bytes. Bytes of the same stream in the same millisecond form one run; a
 * time earlier than the previous one is replaced by that one. */
void stamps_add(struct stamps *stamps, enum stamp_stream stream, int64_t ms,
                uint64_t bytes);
/* Moves everything added so far into `coded`. */
void stamps_close(struct stamps *stamps);

/* The reader's side: its position in the runs. */
struct stamp_walk {
    int64_t ms;
    bool begun;
};

/* Cuts the next run off the front of *rest. False: no whole or valid run is
 * there; then *rest is unchanged. */
bool stamp_take(struct stamp_walk *walk, struct span *rest,
                struct stamp *ret_stamp);

#endif
