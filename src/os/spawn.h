/* Starts a child that shares our memory until it calls exec: no page table is
 * copied, so it costs the same however large we are. The calling thread waits
 * until the child has called exec or exited. */
#ifndef POINTSMAN_OS_SPAWN_H
#define POINTSMAN_OS_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Runs child(arg) on the given stack; what it returns is the exit status.
 * cgroup_fd: directory to be born into, needs clone3; -1 = where we are.
 * Returns the pid, or -1 with errno set. */
pid_t spawn_child(int (*child)(void *arg), void *arg, char *stack,
                  size_t stack_bytes, int cgroup_fd, int *ret_pidfd);

/* Whether clone3 may be called here (some containers forbid it) and this
 * machine's form of it is known to us. */
bool spawn_has_clone3(void);

#endif
