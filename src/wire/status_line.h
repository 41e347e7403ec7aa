/* Status that a command reports: lines on POINTSMAN_STATUS_FD; the last one
 * overrides the exit status.
 *
 *     done | failed [TEXT] | temporary [TEXT] | permanent [TEXT]
 *     conflict PATH...
 *     {"status": "temporary", "reason": "disk full"}
 *     {"result": "error_backoff", "data": {...}}        (Bistro's words)
 *     {"result_bits": 96}                               (and its bits)
 *
 * Bistro's words are also accepted as plain lines: incomplete,
 * incomplete_backoff, backoff, error_backoff. In Bistro "failed" is final, so
 * in {"result": ...} it means permanent; our own "failed" is retried as the job
 * says. */
#ifndef POINTSMAN_WIRE_STATUS_LINE_H
#define POINTSMAN_WIRE_STATUS_LINE_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"

enum { STATUS_LINE_BYTES = 4096 };

enum status_word {
    STATUS_DONE,
    STATUS_FAILED,             /* retried as the job says */
    STATUS_TEMPORARY,          /* retried later, counts as temporary */
    STATUS_PERMANENT,          /* never retried */
    STATUS_CONFLICT,           /* permanent; reason is the paths */
    STATUS_INCOMPLETE,         /* more to do: run again at once */
    STATUS_INCOMPLETE_BACKOFF, /* more to do: run again after the back-off */
};

struct status_line {
    enum status_word word;
    struct span reason; /* may be empty */
    struct span data;   /* JSON given as "data", or empty */
};

/* `line` without LF. Error ERR_DATA "cannot parse status ...": the attempt
 * counts as failed. Results live in the arena or in `line`. */
bool status_line_parse(struct span line, struct arena *arena,
                       struct status_line *ret_status, struct err *err);

#endif
