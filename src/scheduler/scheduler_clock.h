/* Waiting is measured on the wall clock, whose times people read and which a
 * restart does not change. If that clock is set back, everything that is
 * planned moves with it. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_CLOCK_H
#define POINTSMAN_SCHEDULER_SCHEDULER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

struct scheduler;

/* Before the jobs are loaded: it may have been set while nobody watched. */
bool scheduler_clock_recall(struct scheduler *scheduler, struct err *err);
/* True: the batch in progress is for a clock that was set, and nothing else is
 * planned. */
bool scheduler_clock_plan(struct scheduler *scheduler);
/* That batch, about so much, was written; not `ok`: it is planned again. */
void scheduler_clock_committed(struct scheduler *scheduler, int64_t ms,
                               bool ok);

#endif
