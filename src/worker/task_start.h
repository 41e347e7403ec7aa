/* Translates a task's options for the guard and fills in defaults and values
 * that depend on the machine. */
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
    const struct account *account; /* NULL = that of this process */
    bool terminal; /* the task stays in our group unless its options differ */
    int64_t grace_ms; /* between TERM and KILL, unless its options differ */
};

/* The pointers in `ret_start` point into the arena. */
void task_start_fill(const struct task_start *task, struct arena *arena,
                     struct guard_start *ret_start);

#endif
