/* A launcher in a process of its own: while tasks are short, each launcher of
 * the guard works in a process that lives in a cgroup leaf and is the parent of
 * the tasks that it starts.
 *
 *     guard: thread of the launcher      its process, in a leaf
 *       waits ........................... starts a task, waits for it, starts
 *                                         the next one, ...
 *     a task lasts:
 *       works again, hands the task      stays, does nothing: the parent of the
 *       to main                          task, until main ends it
 *
 * Such a task costs less than one that is born into a leaf of its own: it needs
 * neither a pidfd nor a cgroup that becomes populated and empty again.
 * The process adopts orphans, so a wait that fails with ECHILD shows that
 * nothing of the task is left. But an orphan whose parent has entered another
 * PID namespace is adopted there. So the leaf, which keeps everything together
 * that has to be killed, must also show no process but this one.
 *
 * It shares the guard's memory and descriptors, and uses the thread-local
 * storage of the thread, which therefore does nothing but wait. If somebody
 * kills it, what it did last is not known: then the guard ends (P16). */
#ifndef POINTSMAN_OS_GUARD_PARENT_H
#define POINTSMAN_OS_GUARD_PARENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/cgroup.h"

struct guard_parent;

enum guard_parent_way {
    GUARD_PARENT_NONE, /* it could not be started */
    GUARD_PARENT_DIED, /* somebody has killed it */
    GUARD_PARENT_ENDS, /* it is of no use any more */
    GUARD_PARENT_STAYS /* it has a child */
};

typedef enum guard_parent_way guard_parent_work(void *arg,
                                                struct guard_parent *parent);

/* Runs work(arg, parent) in a new process that lives in the leaf, and waits for
 * its answer, ENDS or STAYS. The process has ended then, unless it stays: only
 * in this case *ret_parent is set. As long as it lives it is the leaf's `host`.
 */
enum guard_parent_way guard_parent_run(struct cgroup_leaf *leaf,
                                       guard_parent_work *work, void *arg,
                                       struct guard_parent **ret_parent);
pid_t guard_parent_pid(const struct guard_parent *parent);
/* True if only the process is in its leaf. Called in it. */
bool guard_parent_is_alone(const struct guard_parent *parent);
/* False: somebody moved it to another cgroup, and so were its children. */
bool guard_parent_is_home(const struct guard_parent *parent);
/* True if somebody else has killed a process that stays: its child may have
 * got the parent-death signal. */
bool guard_parent_was_killed(const struct guard_parent *parent);
/* Kills a process that stays. Its children are the guard's then. True: it has
 * ended, and everything is freed. False: it has not ended within a moment; call
 * it again. */
bool guard_parent_end(struct guard_parent *parent);

#endif
