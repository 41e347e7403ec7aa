/* How far the reader of a growing output has come. A server sends it between
 * the pieces of an output; a reader whose connection was lost gives it back and
 * gets what follows, byte for byte, also from another server. */
#ifndef POINTSMAN_WIRE_LOG_PLACE_H
#define POINTSMAN_WIRE_LOG_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"

enum { LOG_PLACE_STREAMS = 4 }; /* as many as os/stamp.h has */

/* Outputs are shown in the order of `assigned`, node and attempt. Times are
 * nanoseconds since 1970. */
struct log_place {
    uint64_t begun;    /* when the newest attempt was assigned that existed when
                          the reader began; of these, only the last of each node
                          is shown */
    uint64_t assigned; /* of the output being shown; 0: it existed then */
    uint64_t attempt;  /* 0: nothing was shown yet */
    uint64_t over;     /* 1: that output was shown to its end */
    uint64_t at;       /* bytes of that output that were looked at */
    /* Bytes that were shown or left out, by stream: less than `at` if the line
     * in which they end was not shown yet. */
    uint64_t shown[LOG_PLACE_STREAMS];
    uint64_t skip_lines, lines_left; /* of lines chosen by number */
    uint64_t skip;                   /* lines of the stream, see log_tail */
    struct span node;                /* of that output */
};

void log_place_format(const struct log_place *place, struct text *out);
/* Untrusted input. The node is a part of `text`. False: not a place. */
bool log_place_parse(struct span text, struct log_place *ret_place);

#endif
