/* How an attempt went, as kept with it in the registry: its times, and its
 * usage other than CPU time and memory. A line of words, most followed by a
 * number; words without information are omitted:
 *
 *     exited 1200 closed 1201 gone 1203 leftovers read 4096 written 0 procs 3
 *     cut lossy lost 512 unmarked 512 unstamped errno 28
 *
 * (in one line). Times are in ms since the attempt began. Unknown words are
 * skipped. */
#ifndef POINTSMAN_WIRE_ATTEMPT_TRACE_H
#define POINTSMAN_WIRE_ATTEMPT_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"

/* Output that could not be kept. */
struct attempt_loss {
    bool any;         /* some was lost, or may be */
    bool origins;     /* the streams and times of its bytes were lost */
    int64_t bytes;    /* 0: how many is not known */
    int64_t unmarked; /* of these, no mark in the output says so */
    int64_t sys;      /* errno of the last loss; 0: not known */
};

struct attempt_trace {
    /* -1: known only as the end of the attempt. */
    int64_t exited_ms; /* its first process exited */
    int64_t closed_ms; /* no process had its pipes open any more */
    int64_t gone_ms;   /* no process of it was left */
    bool leftovers;    /* other processes of it had to be killed */
    bool survivors;    /* and some were still there when the wait ended */
    bool status;       /* it reported a status */
    bool cut;          /* it was cut short: its server, supervisor or machine
                          ended while it ran */
    int64_t read_bytes, written_bytes, procs;
    struct attempt_loss loss;
};

void attempt_trace_format(const struct attempt_trace *trace, struct text *out);
/* An empty line: nothing is known. */
void attempt_trace_parse(struct span line, struct attempt_trace *ret_trace);

#endif
