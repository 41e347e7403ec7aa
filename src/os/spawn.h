/* Starts a child that shares this process's memory until it calls exec: no page
 * table is copied, so the cost does not depend on the size of this process. The
 * calling thread waits until the child has called exec or exited. */
#ifndef POINTSMAN_OS_SPAWN_H
#define POINTSMAN_OS_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Runs child(arg) on the given stack; its return value is the exit status.
 * cgroup_fd: the cgroup to start it in, which needs clone3; -1 = the caller's.
 * Returns the pid, or -1 with errno set. */
pid_t spawn_child(int (*child)(void *arg), void *arg, char *stack,
                  size_t stack_bytes, int cgroup_fd, int *ret_pidfd);

/* True if clone3 may be called (some containers forbid it) and spawn.c has the
 * assembly for this processor. */
bool spawn_has_clone3(void);

#endif
