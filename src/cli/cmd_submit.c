#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/submission_line.h"
#include "cli/wait_note.h"
#include "cli/console.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/terminal.h"

enum {
    BATCH_LINES = 1000, /* at most in one call */
    BATCH_BYTES = 4 << 20,
    BATCH_PIECE_BYTES = 64 << 10
};

/* ---- one ----------------------------------------------------------------- */

/* The value of a setting, or "". */
static const char *setting_value(struct call *call, struct client *client,
                                 const char *name) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    if (!client_get(client, &reply, NULL, "/api/v1/settings"))
        return "";
    struct span rest = text_span(&reply), line;
    while (span_cut(&rest, '\n', &line) && line.len > 0)
        if (strcmp(call_line_text(line, "name", &call->arena), name) == 0)
            return call_line_text(line, "value", &call->arena);
    return "";
}

/* --after may name a job that is submitted later, or be mistyped. */
static void note_unknown(struct call *call, struct client *client,
                         const struct lines *after) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    for (size_t i = 0; i < after->count; i++) {
        struct err err = {0};
        struct span span;
        unsigned share;
        (void)submission_share_parse(after->items[i], &span, &share);
        const char *id = arena_string(&call->arena, span);
        bool found = client_get(client, &reply, &err, "/api/v1/jobs/%s",
                                client_word(&call->arena, id));
        if (found
                ? strcmp(call_line_text(text_span(&reply), "id", &call->arena),
                         id) != 0
                : err.kind == ERR_NO_JOB)
            console_note("pointsman: there is no job '%s' yet; the job waits "
                         "for it for at most %s s (queue.wait-for-dep), then "
                         "fails",
                         id, setting_value(call, client, "queue.wait-for-dep"));
        text_reset(&reply);
    }
}

static int submit_one(struct call *call) {
    CLEANUP(text_clear) struct text body = TEXT_INIT, reply = TEXT_INIT;
    struct client *client = NULL;
    struct submission submission;
    struct err err = {0};

    if (!submission_of_call(call, &submission, &err))
        return console_error(&err);
    submission.hold = call_has(call, "hold");
    submission_format(&submission, &body);
    bool ok = call_client(call, &client, &err) &&
              client_call(client, API_POST, "/api/v1/jobs", text_span(&body),
                          &reply, &err);
    if (!ok) {
        client_close(client);
        return console_error(&err);
    }
    const char *id = call_line_text(text_span(&reply), "id", &call->arena);
    (void)console_printf("%s\n", id);
    (void)console_flush();
    note_unknown(call, client, &submission.after);
    note_unknown(call, client, &submission.after_any);
    note_unknown(call, client, &submission.after_failed);
    if (terminal_is(STDERR_FILENO))
        wait_note_print(client, id, false, &call->arena);
    client_close(client);
    return console_finish(0);
}

/* ---- a batch ------------------------------------------------------------- */

struct batch {
    struct client *client;
    struct text in;   /* read, not yet processed */
    struct text body; /* lines to be sent */
    size_t lines;     /* number of lines in `body` */
    char **refused;   /* one per line: why it was not sent, or NULL */
    size_t refused_cap, answered;
    size_t line; /* of the input, from 1 */
    size_t failed;
    bool over;
};

static void batch_refuse(struct batch *batch, char *why) {
    if (batch->lines == batch->refused_cap) {
        batch->refused_cap = batch->refused_cap ? 2 * batch->refused_cap : 256;
        batch->refused = mem_grow(batch->refused, batch->refused_cap,
                                  sizeof *batch->refused);
    }
    batch->refused[batch->lines++] = why;
}

/* Each line is completed with this process's defaults; a line that cannot be
 * parsed is answered here, in its place. */
static void store_batch_add_op(struct batch *batch, struct span line) {
    struct arena arena = ARENA_INIT;
    struct submission submission;
    struct err err = {0};

    batch->line++;
    if (submission_parse(span_trim(line), SUBMISSION_LINE, &arena, &submission,
                         &err) &&
        submission_fill(&submission, &arena, &err)) {
        submission_format(&submission, &batch->body);
        text_addc(&batch->body, '\n');
        batch_refuse(batch, NULL);
    } else {
        batch_refuse(batch, mem_string(err.text));
    }
    arena_clear(&arena);
}

/* Prints the answers made here that come before the server's next one. */
static void batch_answer_own(struct batch *batch) {
    while (batch->answered < batch->lines &&
           batch->refused[batch->answered] != NULL) {
        char *why = batch->refused[batch->answered++];
        batch->failed++;
        (void)console_printf("error: %s\n", why);
        free(why);
    }
}

static bool batch_answer(void *ctx, struct span line) {
    struct batch *batch = ctx;
    struct arena arena = ARENA_INIT;
    const char *id = call_line_text(line, "id", &arena);

    batch_answer_own(batch);
    batch->answered++;
    if (id[0] != '\0') {
        (void)console_printf("%s\n", id);
    } else {
        batch->failed++;
        (void)console_printf("error: %s\n",
                             call_line_text(line, "error", &arena));
    }
    arena_clear(&arena);
    return true;
}

static bool batch_send(struct batch *batch, struct err *err) {
    struct client_lines lines = {.line = batch_answer, .ctx = batch};

    bool ok =
        batch->body.len == 0 ||
        client_stream(batch->client, API_POST, "/api/v1/jobs/batch",
                      text_span(&batch->body), client_take_lines, &lines, err);
    client_lines_end(&lines);
    if (ok)
        batch_answer_own(batch);
    while (batch->answered < batch->lines)
        free(batch->refused[batch->answered++]);
    text_reset(&batch->body);
    batch->lines = batch->answered = 0;
    return ok && console_flush();
}

/* Takes the whole lines out of the input; the rest stays for the next piece. */
static bool batch_take(struct batch *batch, struct err *err) {
    struct span rest = text_span(&batch->in), line;
    const char *end;

    while ((end = rest.len == 0 ? NULL : memchr(rest.p, '\n', rest.len)) !=
               NULL ||
           (batch->over && rest.len > 0)) {
        line =
            span_make(rest.p, end == NULL ? rest.len : (size_t)(end - rest.p));
        size_t taken = line.len + (end != NULL);
        rest = span_make(rest.p + taken, rest.len - taken);
        store_batch_add_op(batch, line);
        if ((batch->lines == BATCH_LINES || batch->body.len > BATCH_BYTES) &&
            !batch_send(batch, err))
            return false;
    }
    struct text left = TEXT_INIT;
    text_addspan(&left, rest);
    text_clear(&batch->in);
    batch->in = left;
    if (batch->in.len > SUBMISSION_BYTES)
        return err_set(err, ERR_DATA,
                       "line %zu of the batch is longer than %d bytes",
                       batch->line + 1, (int)SUBMISSION_BYTES);
    return true;
}

/* Is more input available at once? If not, what came so far is sent, so that
 * a writer that waits for the answer to its line gets it. */
static bool more_at_once(void) {
    struct pollfd look = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&look, 1, 0) > 0;
}

static bool batch_read(struct batch *batch, struct err *err) {
    static char piece[BATCH_PIECE_BYTES];

    while (!batch->over) {
        ssize_t got = read(STDIN_FILENO, piece, sizeof(piece));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, errno, "cannot read standard input");
        text_add(&batch->in, piece, (size_t)got);
        batch->over = got == 0;
        if (!batch_take(batch, err) ||
            ((batch->over || !more_at_once()) && !batch_send(batch, err)))
            return false;
    }
    return true;
}

/* Options that describe one job are refused: in a batch the lines hold them. */
static bool only_batch(const struct call *call, struct err *err) {
    for (size_t i = 0; i < call->given_count; i++) {
        const struct option *option = call->given[i].option;
        if (option->command != COMMAND_EVERY &&
            strcmp(option->name, "batch") != 0)
            return err_set(
                err, ERR_USAGE,
                "--%s cannot be used with --batch: write it into the "
                "lines",
                option->name);
    }
    return call_operands(call, 0, 0, err);
}

static int submit_batch(struct call *call) {
    struct batch batch = {0};
    struct err err = {0};

    if (!only_batch(call, &err) || !call_client(call, &batch.client, &err))
        return console_error(&err);
    bool ok = batch_read(&batch, &err);
    client_close(batch.client);
    text_clear(&batch.in);
    text_clear(&batch.body);
    free(batch.refused);
    if (!ok)
        return err.kind == ERR_NONE ? console_finish(0) : console_error(&err);
    if (batch.failed == 0)
        return console_finish(0);
    err_set(&err, ERR_DATA,
            "%zu of %zu lines were rejected: see the errors above",
            batch.failed, batch.line);
    return console_finish(console_error(&err));
}

int cmd_submit(struct call *call) {
    return call_has(call, "batch") ? submit_batch(call) : submit_one(call);
}
