/* What a task's options mean for the guard: defaults and what depends on the
 * machine filled in. */
#ifndef POINTSMAN_SERVE_TASK_START_H
#define POINTSMAN_SERVE_TASK_START_H

#include <stdbool.h>
#include <stdint.h>

#include "os/guard.h"
#include "wire/task_options.h"

/* `terminal`: it is to stay in our group unless it says otherwise. `grace_ms`:
 * between TERM and KILL, unless it says otherwise. */
void task_start_fill(struct guard_start *start,
                     const struct task_options *options, bool terminal,
                     int64_t grace_ms);

#endif
