/* Where the bytes of an output come from: runs of bytes, each with the stream
 * it was read from and the time it was read at. They are kept beside the
 * output, which stays as it was written:
 *
 *     "pms1", then for each run two numbers, 7 bits a byte, low ones first
 *     (high bit: more follows): bytes * 4 + stream; milliseconds since the run
 *     before, for the first one since 1970
 *
 * Runs cover an output from its beginning without gaps. What lies behind the
 * last whole one is of unknown origin: nobody lived to tell. */
#ifndef POINTSMAN_OS_STAMP_H
#define POINTSMAN_OS_STAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"

enum stamp_stream {
    STAMP_OUT,
    STAMP_ERR,
    STAMP_OURS, /* marked lines of pointsman: limit, lost bytes */
    STAMP_UNKNOWN,
    STAMP_STREAMS
};

struct stamp {
    uint64_t bytes;
    int64_t ms; /* since 1970; of UNKNOWN: 0 */
    enum stamp_stream stream;
};

enum { STAMP_MAGIC_BYTES = 4, STAMP_BYTES_MAX = 20 /* of a coded run */ };

/* The writer's side. */
struct stamps {
    struct text coded; /* whole runs, not taken yet; the caller's to reset */
    int64_t last_ms;
    bool begun;        /* the magic was written */
    struct stamp open; /* may still grow; bytes 0: none */
};
#define STAMPS_INIT ((struct stamps){.coded = TEXT_INIT})

void stamps_clear(struct stamps *stamps);
/* More bytes. What came from the same stream in the same millisecond is one
 * run; a time before the last one counts as the last one. */
void stamps_add(struct stamps *stamps, enum stamp_stream stream, int64_t ms,
                uint64_t bytes);
/* All that was added is in `coded` now. */
void stamps_close(struct stamps *stamps);

/* The reader's side: where it is in the runs. */
struct stamp_walk {
    int64_t ms;
    bool begun;
};

/* Cuts the next run off the front of *rest. False: no whole one is there, or
 * what is there is none; then *rest is left as it is. */
bool stamp_take(struct stamp_walk *walk, struct span *rest,
                struct stamp *ret_stamp);

#endif
