/* Which part of an output is shown, and how: its bytes come in pieces, each
 * from one stream, and are shown unchanged, or only the lines in which an
 * expression is found, or with the time and stream of each line. A line
 * belongs to one stream: output of another stream in between does not split
 * it. */
#ifndef POINTSMAN_API_LOG_FILTER_H
#define POINTSMAN_API_LOG_FILTER_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/pattern.h"
#include "lib/text.h"
#include "lib/time.h"
#include "os/stamp.h"

/* A longer line is searched in pieces of this size. */
enum { LOG_LINE_BYTES = 1 << 20 };

enum log_form {
    LOG_BYTES, /* unchanged, unless there is a label */
    LOG_TIMES, /* "2026-11-21T19:20:21.123Z out LINE" and an LF; of lines of
                  unknown origin "- - LINE" */
};
/* If the output is framed, a head of 8 bytes is before each piece: enum
 * stamp_stream, three zeros, the length of the piece (u32, big end first). */
enum {
    LOG_FRAME_HEAD = 8,
    /* Pieces that are no output: */
    LOG_FRAME_PROGRESS = STAMP_STREAMS, /* progress that the job reports */
    LOG_FRAME_PLACE, /* what came so far ends there (wire/log_place.h) */
    LOG_FRAME_NOTE   /* a sentence about the job or its output, for standard
                        error */
};

/* The beginning of an unfinished line. */
struct log_part {
    struct text text;
    int64_t ms; /* of its first byte */
};

struct log_filter {
    struct span label;       /* before each line, with ": "; p NULL: none */
    struct pattern *pattern; /* NULL: every line */
    enum log_form form;
    bool framed;
    bool one_stream;
    enum stamp_stream stream; /* only this one */
    uint64_t skip;            /* this many line ends are passed over first */
    struct log_part parts[STAMP_STREAMS];
};

/* A zeroed struct shows everything unchanged. ERR_USAGE: not an expression. */
bool log_filter_search(struct log_filter *filter, struct span expression,
                       bool fold_case, struct err *err);
void log_filter_clear(struct log_filter *filter);

/* Appends the part of `piece` that is to be shown. Only stream and time of
 * `from` are used. */
void log_filter_add(struct log_filter *filter, const struct stamp *from,
                    struct span piece, struct text *out);
/* The output ends here: an unfinished line counts as a line. */
void log_filter_end(struct log_filter *filter, struct text *out);

/* Appends a sentence about the output: in a frame of its own, or as a marked
 * line. Call log_filter_end before. */
void log_filter_note(const struct log_filter *filter, struct wall at,
                     struct span sentence, struct text *out);

/* Appends a piece that is no output. */
void log_frame_add(struct text *out, unsigned kind, struct span piece);

/* "5-17", "5-", "5": lines from 1. */
bool log_lines_parse(struct span text, uint64_t *ret_skip,
                     uint64_t *ret_lines); /* UINT64_MAX: all others */

/* "out" or "err". */
bool log_stream_parse(struct span word, enum stamp_stream *ret_stream);

#endif
