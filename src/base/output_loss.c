#include "base/output_loss.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "wire/attempt_trace.h"

static void say_why(struct output_loss *loss, const char *why) {
    snprintf(loss->why, sizeof(loss->why), "%s", why);
}

static void take_recorded(const struct store_attempt *attempt,
                          struct output_loss *loss) {
    struct attempt_trace trace;
    attempt_trace_parse(attempt->trace, &trace);
    loss->any = trace.loss.any || trace.loss.origins;
    loss->origins = trace.loss.origins && !trace.loss.any;
    loss->bytes = (uint64_t)trace.loss.bytes;
    loss->unmarked = (uint64_t)trace.loss.unmarked;
    const char *words = trace.loss.sys > 0 && trace.loss.sys < 4096
                            ? strerrordesc_np((int)trace.loss.sys)
                            : NULL;
    if (trace.cut && !loss->any)
        say_why(loss, "the attempt was cut short");
    else if (loss->any)
        say_why(loss, words ? words : "it could not be written to disk");
    loss->any |= trace.cut;
}

/* What the registry says was kept, and the file does not hold. */
static void take_missing(struct output *output,
                         const struct store_attempt *attempt,
                         struct output_loss *loss) {
    CLEANUP(output_view_close) struct output_view view = OUTPUT_VIEW_INIT;
    struct err err = {0};
    uint64_t kept = attempt->output_bytes;
    if (attempt->output.len == 0 || kept == 0)
        return;
    if (output_view_open(output, attempt->output, &view, &err)) {
        if (view.bytes >= kept)
            return;
        kept -= view.bytes;
        snprintf(err.text, sizeof(err.text),
                 "its file is shorter than recorded, as after a power cut");
    } else if (err.kind != ERR_NO_JOB && err.kind != ERR_DATA) {
        kept = 0;
    }
    /* A disk that refused bytes is the better reason. */
    if (!loss->any || loss->origins) {
        loss->origins = false;
        say_why(loss, err.text);
        loss->missing = kept;
    }
    loss->any = true;
    loss->bytes += kept;
    loss->unmarked += kept;
}

void output_loss_find(struct output *output,
                      const struct store_attempt *attempt,
                      struct output_loss *ret_loss) {
    *ret_loss = (struct output_loss){0};
    if (attempt->ended.ns == 0)
        return;
    take_recorded(attempt, ret_loss);
    if (output != NULL)
        take_missing(output, attempt, ret_loss);
}

void output_loss_format(const struct output_loss *loss, struct text *out) {
    uint64_t bytes = loss->bytes;
    if (bytes > 0)
        text_addf(out, "%" PRIu64 " byte%s of its output %s lost: %s", bytes,
                  bytes == 1 ? "" : "s", bytes == 1 ? "is" : "are", loss->why);
    else
        text_addf(out, "%s lost: %s",
                  loss->origins ? "the streams and times of its output are"
                                : "some of its output may be",
                  loss->why);
}
