/* log/CSID: a job's history readable without the registry. First
 * line: the CSID and its dependencies. Then a line an event:
 *
 *     @4000... 17 Q S daemon:queue 0 staged
 *
 * "-" stands for no state; blanks, control bytes and backslashes in actor,
 * control bytes and backslashes in reason are \xNN. A line is at most 4 KiB, LF
 * included; a longer reason is cut and ends in "...". */
#ifndef POINTSMAN_WIRE_EVENT_LINE_H
#define POINTSMAN_WIRE_EVENT_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "lib/time.h"
#include "wire/sections.h"

enum { EVENT_LINE_BYTES = 4096 };

struct event_line {
    struct wall tai;
    uint64_t seq;
    char from, to; /* one of QSPXDFTA, or '-' */
    struct span actor;
    uint64_t attempt;
    struct span reason; /* may be empty */
};

/* Appends the line with its LF. */
void event_line_format(const struct event_line *event, struct text *out);
/* `line` without its LF. What it returns lives in the arena. */
bool event_line_parse(struct span line, struct arena *arena,
                      struct event_line *ret_event, struct err *err);

/* The first line. More dependencies than fit are left out, "..." ends it. */
void event_head_format(struct span csid, const struct lines *dependencies,
                       struct text *out);
bool event_head_parse(struct span line, struct arena *arena,
                      struct span *ret_csid, struct lines *ret_dependencies,
                      struct err *err);

#endif
