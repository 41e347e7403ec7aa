/* How fast the output of a task is read: so many lines a second, as a bucket of
 * tokens that holds one second's worth. What is read is paid for afterwards;
 * who owes is not read until it is paid, so the task waits in its write, and
 * not a line is lost (doc/design/processes.md). */
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
/* These bytes were read now. The moment from which on more may be read: `now`
 * or before it when nothing is owed. A line counts at its LF, and every 64 KiB
 * without one. */
struct mono guard_pace_charge(struct guard_pace *pace, struct span bytes,
                              struct mono now);

#endif
