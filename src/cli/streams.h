/* The output of a job as it comes in frames (api/log_filter.h), each passed
 * on to where it would have gone without us: standard output or standard
 * error; its progress is drawn. */
#ifndef POINTSMAN_CLI_STREAMS_H
#define POINTSMAN_CLI_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"
#include "cli/progress.h"

struct streams {
    unsigned char head[8]; /* LOG_FRAME_HEAD */
    unsigned head_bytes;   /* of a head that goes on */
    uint32_t left;         /* of the present frame */
    uint64_t passed;       /* bytes of output, heads not counted */
    struct progress progress;
    struct text line; /* of progress, as far as it has come */
};
#define STREAMS_INIT ((struct streams){.progress = PROGRESS_INIT})

/* For client_stream; `ctx` is the struct. */
bool streams_take(void *ctx, struct span bytes);
/* The stream broke off and begins anew, behind `passed`. */
void streams_resume(struct streams *streams);
void streams_clear(struct streams *streams);

#endif
