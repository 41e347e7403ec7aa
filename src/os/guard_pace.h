/* Limits how fast the output of a task is read, in lines per second: a token
 * bucket that holds one second's worth. Reading is paid for afterwards; a task
 * in debt is not read until the debt is paid, so it waits in its write and no
 * line is lost (doc/design/processes.md). */
#ifndef POINTSMAN_OS_GUARD_PACE_H
#define POINTSMAN_OS_GUARD_PACE_H

#include <stdint.h>

#include "lib/text.h"
#include "lib/time.h"

struct guard_pace {
    int64_t line_ns;  /* what a line costs; 0 = no limit */
    struct mono paid; /* all is paid for at this moment */
};

/* Lines a second; 0 = no limit. */
void guard_pace_init(struct guard_pace *pace, uint32_t lines);
/* Accounts for bytes read now. Returns the time from which more may be read:
 * `now` or earlier if there is no debt. A line counts at its LF; 64 KiB without
 * an LF count as one too. */
struct mono guard_pace_charge(struct guard_pace *pace, struct span bytes,
                              struct mono now);

#endif
