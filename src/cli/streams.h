/* The output of a job as it comes in frames (serve/log_filter.h), each passed
 * on to where it would have gone without us: standard output or standard
 * error. */
#ifndef POINTSMAN_CLI_STREAMS_H
#define POINTSMAN_CLI_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct streams {
    unsigned char head[8]; /* LOG_FRAME_HEAD */
    unsigned head_bytes;   /* of a head that goes on */
    uint32_t left;         /* of the present frame */
    uint64_t passed;       /* bytes of output, heads not counted */
};

/* For client_stream; `ctx` is the struct, zeroed or after streams_resume. */
bool streams_take(void *ctx, struct span bytes);
/* The stream broke off and begins anew, behind `passed`. */
void streams_resume(struct streams *streams);

#endif
