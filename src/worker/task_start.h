/* What a task's options mean for the guard: defaults and what depends on the
 * machine filled in. */
#ifndef POINTSMAN_WORKER_TASK_START_H
#define POINTSMAN_WORKER_TASK_START_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "os/account.h"
#include "os/guard.h"
#include "wire/task_options.h"

struct task_start {
    const struct task_options *options;
    const struct account *account; /* NULL = ours */
    bool terminal;    /* it stays in our group unless it says otherwise */
    int64_t grace_ms; /* between TERM and KILL, unless it says otherwise */
};

/* What `ret_start` points to lies in the arena. */
void task_start_fill(const struct task_start *task, struct arena *arena,
                     struct guard_start *ret_start);

#endif
