/* The lease of a guard whose scheduler is another process, perhaps on another
 * machine (P12 in doc/design/). The client may only extend it; when it has
 * passed, everybody in the cgroups of the tasks is killed, whatever the client
 * and the guard's other threads are doing: a thread of its own waits for that
 * moment, with nothing else to wait for, and needs no memory for it.
 *
 *     none --extend--> runs --deadline--> passed (killed) --extend--> runs
 *
 * The clock counts while the machine sleeps: what it missed is due when it
 * wakes. Where there is no cgroup the first thread kills, as soon as it is told
 * (its event descriptor). */
#ifndef POINTSMAN_OS_GUARD_LEASE_H
#define POINTSMAN_OS_GUARD_LEASE_H

#include <pthread.h>
#include <stdbool.h>

#include "lib/err.h"
#include "lib/time.h"
#include "os/cgroup.h"

struct guard_lease {
    struct cgroup_tree *tree;
    int timer_fd, event_fd; /* -1: no lease is asked for */
    bool harmless; /* the thread is to give up all rights; before open */
    char *stack;
    pthread_t thread;
    pthread_mutex_t lock; /* ---- */
    struct boot until;    /* 0: there was none yet */
    bool passed;          /* killed; main has not yet noted it */
    bool closing;
};

void guard_lease_init(struct guard_lease *lease);
/* Starts the thread. `tree` may have no directory: then there is nothing to be
 * killed here. ERR_UNAVAILABLE and the like: the system refuses a timer or a
 * thread. */
bool guard_lease_open(struct guard_lease *lease, struct cgroup_tree *tree,
                      struct err *err);
void guard_lease_close(struct guard_lease *lease);
/* Readable once it has passed; -1: no lease. */
int guard_lease_fd(const struct guard_lease *lease);
/* An earlier moment than the present one is ignored. */
void guard_lease_extend(struct guard_lease *lease, struct boot until);
/* There is one, it has not passed, and if an earlier one did, that was taken
 * note of. */
bool guard_lease_runs(struct guard_lease *lease);
/* Takes the news: true once for each time it passed. */
bool guard_lease_take_passed(struct guard_lease *lease);

#endif
