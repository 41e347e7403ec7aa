#include "cli/job_output.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/call_connect.h"
#include "cli/console.h"
#include "os/stamp.h"
#include "api/log_filter.h"

/* A closed standard error is no reason to stop. */
static bool write_out(unsigned stream, struct span piece) {
    if (stream == STAMP_OUT || stream == STAMP_UNKNOWN)
        return console_write(piece) && console_flush();
    (void)fwrite(piece.p, 1, piece.len, stderr);
    (void)fflush(stderr);
    return true;
}

/* Output that goes to a file does not disturb the line of progress. */
static bool shares_terminal(unsigned stream) {
    return (stream != STAMP_OUT && stream != STAMP_UNKNOWN) ||
           isatty(STDOUT_FILENO) == 1;
}

static bool is_output(const struct job_output *output) {
    return output->head[0] < LOG_FRAME_PROGRESS;
}

/* What was printed before the stream broke off is not printed again. */
static struct span drop_again(struct job_output *output, struct span piece) {
    size_t drop = output->again < piece.len ? (size_t)output->again : piece.len;

    output->again -= drop;
    output->since += piece.len - drop;
    return span_make(piece.p + drop, piece.len - drop);
}

static bool print_piece(struct job_output *output, struct span piece) {
    unsigned stream = output->head[0];
    if (!is_output(output)) {
        text_addspan(&output->line, piece);
        return true;
    }
    piece = drop_again(output, piece);
    if (piece.len == 0)
        return true;
    if (output->sink != NULL)
        return output->sink(output->ctx, piece);
    if (!shares_terminal(stream))
        return write_out(stream, piece);
    progress_hide(&output->progress);
    bool ok = write_out(stream, piece);
    progress_show(&output->progress, piece);
    return ok;
}

static void show_note(struct job_output *output) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    bool within = output->progress.within;
    if (output->note != NULL) {
        output->note(output->ctx, text_span(&output->line));
        return;
    }
    progress_hide(&output->progress);
    console_note("%spointsman: %s", within && isatty(STDOUT_FILENO) ? "\n" : "",
                 call_printable(text_string(&output->line), &arena));
    progress_show(&output->progress, SPAN("\n"));
}

static void end_frame(struct job_output *output) {
    if (output->head[0] == LOG_FRAME_PROGRESS && output->sink == NULL)
        progress_set(&output->progress, text_span(&output->line));
    if (output->head[0] == LOG_FRAME_PLACE) {
        text_reset(&output->place);
        text_addspan(&output->place, text_span(&output->line));
        output->since = output->again = 0;
    }
    if (output->head[0] == LOG_FRAME_NOTE)
        show_note(output);
    text_reset(&output->line);
    output->head_bytes = 0;
}

static void take_head(struct job_output *output, struct span *bytes) {
    while (bytes->len > 0 && output->head_bytes < LOG_FRAME_HEAD) {
        output->head[output->head_bytes++] = (unsigned char)bytes->p[0];
        *bytes = span_make(bytes->p + 1, bytes->len - 1);
    }
    if (output->head_bytes < LOG_FRAME_HEAD)
        return;
    const unsigned char *head = output->head;
    output->left = (uint32_t)head[4] << 24 | (uint32_t)head[5] << 16 |
                   (uint32_t)head[6] << 8 | head[7];
}

bool job_output_take(void *ctx, struct span bytes) {
    struct job_output *output = ctx;
    while (bytes.len > 0) {
        if (output->left == 0) {
            take_head(output, &bytes);
            if (output->head_bytes == LOG_FRAME_HEAD && output->left == 0)
                end_frame(output);
            continue;
        }
        size_t part = output->left < bytes.len ? output->left : bytes.len;
        if (!print_piece(output, span_make(bytes.p, part)))
            return false;
        output->left -= (uint32_t)part;
        if (output->left == 0)
            end_frame(output);
        bytes = span_make(bytes.p + part, bytes.len - part);
    }
    return true;
}

void job_output_break(struct job_output *output) {
    progress_hide(&output->progress);
    text_reset(&output->line);
    output->head_bytes = 0;
    output->left = 0;
    output->again = output->since;
}

void job_output_clear(struct job_output *output) {
    progress_clear(&output->progress);
    text_clear(&output->line);
    text_clear(&output->place);
}
