/* Limits how fast the output of a task is read, in lines per second: a token
 * bucket that holds one second's worth. Bytes are charged after they are read;
 * a task in debt is not read until the debt is paid, so it blocks in write and
 * no line is lost (doc/design/processes.md). */
#ifndef POINTSMAN_OS_GUARD_PACE_H
#define POINTSMAN_OS_GUARD_PACE_H

#include <stdint.h>

#include "lib/text.h"
#include "lib/time.h"

struct guard_pace {
    int64_t line_ns;  /* cost of a line; 0 = no limit */
    struct mono paid; /* the time at which the debt is paid */
};

/* Lines per second; 0 = no limit. */
void guard_pace_init(struct guard_pace *pace, uint32_t lines);
/* Charges for bytes read now. Returns the time from which more may be read:
 * `now` or earlier if there is no debt. A line counts at its LF; 64 KiB without
 * an LF count as one line. */
struct mono guard_pace_charge(struct guard_pace *pace, struct span bytes,
                              struct mono now);

#endif
