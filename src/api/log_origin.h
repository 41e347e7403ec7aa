/* The stream from which the bytes of an output came, and when: its stamps
 * (os/stamp.h), read forwards like the output, a block at a time. */
#ifndef POINTSMAN_API_LOG_ORIGIN_H
#define POINTSMAN_API_LOG_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/output.h"
#include "os/stamp.h"

enum { LOG_ORIGIN_STEP_BYTES = 4 << 20 }; /* at most in one call */

struct log_origin {
    char place[OUTPUT_PLACE_BYTES]; /* empty: nothing is open */
    int fd;                         /* -1: no stamps exist */
    off_t first;
    uint64_t bytes; /* of stamps, as far as known */
    uint64_t read;  /* of them so far */
    struct text block;
    size_t block_at;
    struct stamp_walk walk;
    struct stamp run; /* the current one; before the first: no bytes */
    uint64_t run_end; /* where it ends in the output */
};
#define LOG_ORIGIN_INIT ((struct log_origin){.fd = -1})

/* Opens the stamps of the output in that place, as far as they reach now. */
void log_origin_open(struct log_origin *origin, struct output *output,
                     struct span place);
void log_origin_close(struct log_origin *origin);

enum log_origin_found {
    LOG_ORIGIN_FOUND,
    LOG_ORIGIN_MORE, /* call again to continue */
    LOG_ORIGIN_NONE  /* the stamps end before it */
};

/* The run that holds byte `at`; *ret_run.bytes counts from `at` on. Cheap if
 * called in the order of the bytes; a step back restarts at the beginning. */
enum log_origin_found log_origin_find(struct log_origin *origin, uint64_t at,
                                      struct stamp *ret_run);

/* The stream a run is shown as: unknown origin means standard output. */
enum stamp_stream log_origin_shown(enum stamp_stream stream);

/* Finds the last lines of one stream: counts the stream's lines in a growing
 * part at the end of the output until there are enough. */
struct log_tail {
    enum stamp_stream stream;
    uint64_t lines;         /* wanted */
    uint64_t end, from, at; /* positions in the output; from..at has been
                               counted */
    uint64_t window;        /* bytes before end; 0: not begun */
    uint64_t feeds;         /* counted */
    bool cut;               /* the last line has no LF (so far) */
};

/* Where to begin (ret_at), and how many lines of the stream to skip from
 * there on. False: call again. */
bool log_tail_find(struct log_tail *tail, struct log_origin *origin,
                   const struct output_view *view, uint64_t *ret_at,
                   uint64_t *ret_skip);

#endif
