#include <stdio.h>
#include <string.h>

#include "serve/land.h"

static const char *const verdict_words[] = {
    [LAND_DONE] = "done",           [LAND_ALREADY] = "already-landed",
    [LAND_LANDED] = "landed",       [LAND_NOT_LANDED] = "not-landed",
    [LAND_CONFLICT] = "conflict",   [LAND_FAILED] = "failed",
    [LAND_TEMPORARY] = "temporary", [LAND_PERMANENT] = "permanent",
    [LAND_STOPPED] = "stopped",
};

void land_status_set(struct land_status *status, enum land_verdict verdict,
                     const char *reason, struct span text) {
    *status = (struct land_status){.verdict = verdict};
    snprintf(status->reason, sizeof status->reason, "%s", reason);
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    text_addescaped(&line, text);
    size_t room = sizeof status->text - 1;
    if (line.len > room) {
        /* Not within a character, nor within an escape. */
        line.len = room - 3;
        while (line.len > 0 && line.p[line.len] != ' ')
            line.len--;
        text_adds(&line, "...");
    }
    memcpy(status->text, text_string(&line), line.len);
}

void land_status_format(const struct land_status *status, struct text *out) {
    text_adds(out, verdict_words[status->verdict]);
    if (status->reason[0] != '\0')
        text_addf(out, " %s", status->reason);
    if (status->text[0] != '\0')
        text_addf(out, " %s", status->text);
}

bool land_status_parse(struct span line, struct land_status *ret_status) {
    struct span word;
    line = span_trim(line);
    span_cut(&line, ' ', &word);
    for (size_t i = 0; i < COUNT(verdict_words); i++) {
        if (!span_is(word, verdict_words[i]))
            continue;
        *ret_status = (struct land_status){.verdict = (enum land_verdict)i};
        if (i == LAND_FAILED) {
            if (!span_cut(&line, ' ', &word) || word.len >= LAND_REASON_BYTES)
                return false;
            memcpy(ret_status->reason, word.p, word.len);
        }
        size_t n =
            line.len < LAND_STATUS_BYTES ? line.len : LAND_STATUS_BYTES - 1;
        if (n > 0)
            memcpy(ret_status->text, line.p, n);
        return true;
    }
    return false;
}

int land_status_exit(const struct land_status *status) {
    switch (status->verdict) {
    case LAND_DONE:
    case LAND_ALREADY:
    case LAND_LANDED:
    case LAND_NOT_LANDED:
        return 0;
    case LAND_CONFLICT:
    case LAND_FAILED:
        return 101;
    case LAND_TEMPORARY:
        return 111;
    case LAND_STOPPED:
        return 102;
    case LAND_PERMANENT:
        break;
    }
    return 100;
}
