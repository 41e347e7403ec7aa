/* How an attempt went, as kept with it in the registry: what happened when, and
 * what it used besides time and memory. A line of words, most with a number,
 * those that say nothing left out:
 *
 *     exited 1200 closed 1201 gone 1203 leftovers read 4096 written 0 procs 3
 *
 * Times are in ms since it began. Words nobody knows are passed over. */
#ifndef POINTSMAN_WIRE_ATTEMPT_TRACE_H
#define POINTSMAN_WIRE_ATTEMPT_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"

struct attempt_trace {
    /* -1: not known apart from its end */
    int64_t exited_ms; /* its first process */
    int64_t closed_ms; /* nobody had its pipes any more */
    int64_t gone_ms;   /* nobody of it was left */
    bool leftovers;    /* others of it had to be killed */
    bool survivors;    /* and would not go while we waited */
    bool status;       /* it said how it went */
    int64_t read_bytes, written_bytes, procs;
};

void attempt_trace_format(const struct attempt_trace *trace, struct text *out);
/* An empty line: nothing is known. */
void attempt_trace_parse(struct span line, struct attempt_trace *ret_trace);

#endif
