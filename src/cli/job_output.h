/* The output of a job as it comes in frames (api/log_filter.h): each frame
 * is passed on to standard output or standard error, where the command
 * itself would have written it; its progress is drawn, and notes on the job are
 * printed. */
#ifndef POINTSMAN_CLI_JOB_OUTPUT_H
#define POINTSMAN_CLI_JOB_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"
#include "cli/progress.h"

struct job_output {
    /* Gets all output in place of the standard streams; may be NULL. False:
     * enough. */
    bool (*sink)(void *ctx, struct span bytes);
    /* Gets what is said about the output; NULL: standard error does. */
    void (*note)(void *ctx, struct span sentence);
    void *ctx;
    unsigned char head[8]; /* LOG_FRAME_HEAD */
    unsigned head_bytes;   /* of an incomplete head */
    uint32_t left;         /* of the current frame */
    struct text place;     /* sent last (wire/log_place.h); empty: none */
    uint64_t since;        /* bytes of output received after it */
    uint64_t again;        /* of which so many come once more */
    struct progress progress;
    struct text line; /* of progress or of the place, as far as received */
};
#define JOB_OUTPUT_INIT ((struct job_output){.progress = PROGRESS_INIT})

/* For client_stream; `ctx` is the struct. */
bool job_output_take(void *ctx, struct span bytes);
/* The stream broke off; the next one begins at `place`. */
void job_output_break(struct job_output *output);
void job_output_clear(struct job_output *output);

#endif
