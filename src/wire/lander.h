/* What a landing process that stays (landing/land_serve.h) gets from the worker
 * (worker/lander.h), and what it answers. Both come from one program. */
#ifndef POINTSMAN_WIRE_LANDER_H
#define POINTSMAN_WIRE_LANDER_H

#include <stdint.h>

#include "core/land_verdict.h"

/* A request is one message with these descriptors: the start, a file for the
 * output, and the lock of the job file (may be missing), which the process
 * holds until it has answered. */
enum { LANDER_FD_START, LANDER_FD_OUTPUT, LANDER_FD_LOCK };

/* An answer is one message; bytes behind the line are not sent. */
struct lander_answer {
    uint64_t cpu_us;
    uint32_t exit_code;
    uint32_t line_bytes;
    char line[LAND_STATUS_BYTES + 64]; /* status line (wire/land_verdict.h) */
};

#endif
