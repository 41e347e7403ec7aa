/* log/CSID: a job's history, readable without the registry. The first line has
 * the CSID and its dependencies. Each further line is an event:
 *
 *     @4000... 17 Q S daemon:queue 0 staged
 *     @4000... 18 S S uid:7 0 {"holds":"operator"} hold:asked -- operator
 *
 * "-" stands for no state. If the event has facts, an object in braces precedes
 * the reason. Control bytes and backslashes are written as \xNN, and so are
 * blanks in the actor and in the facts. A line has at most 4 KiB including LF;
 * a longer reason is cut and ends in "...". */
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
    struct span facts;  /* JSON (core/event_facts.h), or empty */
};

/* Appends the line with its LF. */
void event_line_format(const struct event_line *event, struct text *out);
/* `line` without its LF. The result lives in the arena. */
bool event_line_parse(struct span line, struct arena *arena,
                      struct event_line *ret_event, struct err *err);

/* Appends the first line. If there are more dependencies than fit, the rest is
 * replaced by "...". */
void event_head_format(struct span csid, const struct lines *dependencies,
                       struct text *out);
bool event_head_parse(struct span line, struct arena *arena,
                      struct span *ret_csid, struct lines *ret_dependencies,
                      struct err *err);

#endif
