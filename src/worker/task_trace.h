/* What is kept of how a task went (wire/attempt_trace.h). */
#ifndef POINTSMAN_WORKER_TASK_TRACE_H
#define POINTSMAN_WORKER_TASK_TRACE_H

#include "lib/text.h"
#include "os/guard.h"

/* Appends nothing if it went as usual. */
void task_trace_format(const struct guard_end *end, struct text *out);

#endif
