/* The output of a job as it comes in frames (api/log_filter.h): each frame
 * is passed on to standard output or standard error, where the command
 * itself would have written it; its progress is drawn. */
#ifndef POINTSMAN_CLI_JOB_OUTPUT_H
#define POINTSMAN_CLI_JOB_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"
#include "cli/progress.h"

struct job_output {
    unsigned char head[8]; /* LOG_FRAME_HEAD */
    unsigned head_bytes;   /* of an incomplete head */
    uint32_t left;         /* of the current frame */
    uint64_t passed;       /* bytes of output, heads not counted */
    struct progress progress;
    struct text line; /* of progress, as far as received */
};
#define JOB_OUTPUT_INIT ((struct job_output){.progress = PROGRESS_INIT})

/* For client_stream; `ctx` is the struct. */
bool job_output_take(void *ctx, struct span bytes);
/* The stream broke off and resumes after `passed`. */
void job_output_resume(struct job_output *output);
void job_output_clear(struct job_output *output);

#endif
