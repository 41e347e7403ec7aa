#include "cli/streams.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/talk.h"
#include "os/stamp.h"
#include "api/log_filter.h"

/* Nobody reading standard error is no reason to stop. */
static bool write_out(unsigned stream, struct span piece) {
    if (stream == STAMP_OUT || stream == STAMP_UNKNOWN)
        return talk_out(piece) && talk_flush();
    (void)fwrite(piece.p, 1, piece.len, stderr);
    (void)fflush(stderr);
    return true;
}

/* What is written to a file does not touch the line of progress. */
static bool shares_terminal(unsigned stream) {
    return (stream != STAMP_OUT && stream != STAMP_UNKNOWN) ||
           isatty(STDOUT_FILENO) == 1;
}

static bool pass_on(struct streams *streams, struct span piece) {
    unsigned stream = streams->head[0];
    if (stream == LOG_FRAME_PROGRESS) {
        text_addspan(&streams->line, piece);
        return true;
    }
    streams->passed += piece.len;
    if (!shares_terminal(stream))
        return write_out(stream, piece);
    progress_hide(&streams->progress);
    bool ok = write_out(stream, piece);
    progress_show(&streams->progress, piece);
    return ok;
}

static void end_frame(struct streams *streams) {
    if (streams->head[0] == LOG_FRAME_PROGRESS)
        progress_set(&streams->progress, text_span(&streams->line));
    text_reset(&streams->line);
    streams->head_bytes = 0;
}

static void take_head(struct streams *streams, struct span *bytes) {
    while (bytes->len > 0 && streams->head_bytes < LOG_FRAME_HEAD) {
        streams->head[streams->head_bytes++] = (unsigned char)bytes->p[0];
        *bytes = span_make(bytes->p + 1, bytes->len - 1);
    }
    if (streams->head_bytes < LOG_FRAME_HEAD)
        return;
    const unsigned char *head = streams->head;
    streams->left = (uint32_t)head[4] << 24 | (uint32_t)head[5] << 16 |
                    (uint32_t)head[6] << 8 | head[7];
}

bool streams_take(void *ctx, struct span bytes) {
    struct streams *streams = ctx;
    while (bytes.len > 0) {
        if (streams->left == 0) {
            take_head(streams, &bytes);
            if (streams->head_bytes == LOG_FRAME_HEAD && streams->left == 0)
                end_frame(streams);
            continue;
        }
        size_t part = streams->left < bytes.len ? streams->left : bytes.len;
        if (!pass_on(streams, span_make(bytes.p, part)))
            return false;
        streams->left -= (uint32_t)part;
        if (streams->left == 0)
            end_frame(streams);
        bytes = span_make(bytes.p + part, bytes.len - part);
    }
    return true;
}

void streams_resume(struct streams *streams) {
    text_reset(&streams->line);
    streams->head_bytes = 0;
    streams->left = 0;
}

void streams_clear(struct streams *streams) {
    progress_clear(&streams->progress);
    text_clear(&streams->line);
}
