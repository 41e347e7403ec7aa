/* log/CSID: a job's history readable without the registry. First
 * line: the CSID and its dependencies. Then a line an event:
 *
 *     @4000... 17 Q S daemon:queue 0 staged
 *     @4000... 18 S S uid:7 0 {"holds":"operator"} hold:asked -- operator
 *
 * "-" stands for no state. Before the reason stands an object in braces if the
 * event has facts. Control bytes and backslashes are \xNN; so are blanks in
 * the actor and in the facts. A line is at most 4 KiB, LF included; a longer
 * reason is cut and ends in "...". */
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
