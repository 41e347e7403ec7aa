/* The lease of a guard whose scheduler is another process, perhaps on another
 * machine (P12 in doc/design/). The client may only extend the lease; when it
 * has run out, all processes in the tasks' cgroups are killed, whatever the
 * client and the guard's other threads are doing: a separate thread waits for
 * that moment and for nothing else, and needs no memory to act.
 *
 *     none --extend--> runs --deadline--> passed (killed) --extend--> runs
 *
 * The clock also counts while the machine sleeps, so a deadline missed in sleep
 * is due on waking. Without a cgroup the guard's first thread kills the tasks
 * as soon as the event descriptor reports it. */
#ifndef POINTSMAN_OS_GUARD_LEASE_H
#define POINTSMAN_OS_GUARD_LEASE_H

#include <pthread.h>
#include <stdbool.h>

#include "lib/err.h"
#include "lib/time.h"
#include "os/cgroup.h"

struct guard_lease {
    struct cgroup_tree *tree;
    int timer_fd, event_fd; /* -1: no lease is used */
    bool harmless; /* the thread must drop all rights; set before open */
    char *stack;
    pthread_t thread;
    pthread_mutex_t lock; /* ---- */
    struct boot until;    /* 0: no lease was granted yet */
    bool passed; /* tasks were killed; not yet taken by the first thread */
    bool closing;
};

void guard_lease_init(struct guard_lease *lease);
/* Starts the thread. If `tree` has no directory, the thread kills nothing.
 * ERR_UNAVAILABLE and similar: the system refuses a timer or a thread. */
bool guard_lease_open(struct guard_lease *lease, struct cgroup_tree *tree,
                      struct err *err);
void guard_lease_close(struct guard_lease *lease);
/* The descriptor that is readable once the lease has run out; -1: no lease. */
int guard_lease_fd(const struct guard_lease *lease);
/* A time before the current end is ignored. */
void guard_lease_extend(struct guard_lease *lease, struct boot until);
/* True if a lease was granted and is still running, and an earlier expiry has
 * been taken with guard_lease_take_passed. */
bool guard_lease_runs(struct guard_lease *lease);
/* True once for each time the lease ran out. */
bool guard_lease_take_passed(struct guard_lease *lease);

#endif
