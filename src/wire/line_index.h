/* An index of line beginnings in an output, so that lines are found without
 * reading it: the offset of every 64th line, as differences in a variable
 * number of bytes (7 bits each, high bit: more follows). A line ends at LF; the
 * last one needs none. Lines count from 0. The output may hold any bytes. While
 * an output grows, its index is only appended to. */
#ifndef POINTSMAN_WIRE_LINE_INDEX_H
#define POINTSMAN_WIRE_LINE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/text.h"

enum { LINE_INDEX_EVERY = 64, LINE_INDEX_MARK_BYTES = 10 };

/* The writer's side. */
struct line_index {
    uint64_t bytes; /* bytes seen so far */
    uint64_t lines; /* LFs seen so far */
    uint64_t mark;  /* offset of the last mark */
};

#define LINE_INDEX_INIT ((struct line_index){0})

/* Takes the next bytes of the output; appends new marks to `marks`. */
void line_index_feed(struct line_index *index, struct span bytes,
                     struct text *marks);

/* The reader's side. `marks` may be cut anywhere: only whole marks count. */
struct line_index_place {
    uint64_t line;   /* a multiple of LINE_INDEX_EVERY */
    uint64_t offset; /* where that line begins */
};

/* The nearest marked line at or before `line`; UINT64_MAX: the last one. */
struct line_index_place line_index_find(struct span marks, uint64_t line);

/* Offset after `lines` line ends in `bytes`, or its length if it has fewer. */
size_t lines_skip(struct span bytes, uint64_t lines);
/* The number of lines: LFs, plus one if any bytes follow the last one. */
uint64_t lines_count(struct span bytes);

#endif
