/* The state shared by the main thread and the launchers of one guard.
 *
 *     control socket -> main -> waiting -> launchers -> handed -> main: watched
 *                                              |                          |
 *     control socket <- main <------------- over <------------------------+
 *
 * A launcher stays with its child for a moment: short tasks end while the
 * launcher has them, and main hears of them only when they are over. Everything
 * below the line in struct guard_life is under `lock`. */
#ifndef POINTSMAN_OS_GUARD_LIFE_H
#define POINTSMAN_OS_GUARD_LIFE_H

#include <pthread.h>
#include <sys/resource.h>

#include "lib/list.h"
#include "os/cgroup.h"
#include "os/guard_lease.h"
#include "os/guard_task.h"

enum {
    GUARD_BATCH = 100,
    GUARD_BATCH_MS = 20,
    GUARD_LINGER_MS = 2,
    GUARD_SPARES = 128,
    GUARD_TASK_FDS = 13, /* of a running task, and the lock of one that ended */
    LAST_WAIT_MS = 10000 /* at the end, until our processes are gone */
};

struct guard_life {
    pid_t pid;
    int base_fd, output_fd;
    int life_fd;  /* lock that tasks inherit; -1: none */
    int wake_fd;  /* eventfd: main, look at handed and over */
    int nudge_fd; /* eventfd: launchers, stop lingering */
    bool has_cgroup;
    bool can_clone3;
    bool lowered; /* tasks without a change of user must raise their rights */
    uint64_t rights;    /* the only rights used then (os/rights.h) */
    bool restore_files; /* children get the original descriptor limit back */
    struct rlimit child_files;
    struct guard_lease lease; /* has its own lock */

    pthread_mutex_t lock; /* ------------------------------------------ */
    pthread_cond_t work;
    struct cgroup_tree tree;
    struct pipe_ends spares[GUARD_SPARES]; /* empty pipes that no other process
                                              holds */
    unsigned spare_count, spares_most;
    struct list waiting; /* waiting for a slot, in order */
    unsigned waiting_count;
    struct list outside; /* waiting only for a launcher */
    struct list handed;
    struct list over;
    unsigned over_count;
    unsigned slots, running; /* running: number of tasks that hold a slot */
    unsigned slots_most;     /* allowed by the limit on descriptors */
    unsigned unfinished; /* tasks that are launching, handed over or watched */
    unsigned idle, lingering;
    bool nudged;  /* nudge_fd is readable */
    bool woken;   /* wake_fd is readable */
    bool closing; /* start nothing more, and end what runs */
    bool leaving; /* main is done with tasks and cgroups: launchers end */
    bool expired; /* no lease: start nothing */
};

enum { LAUNCHER_STACK_BYTES = 128 << 10 };

/* A thread that starts children. */
struct guard_launcher {
    struct guard_life *life;
    bool is_last; /* removes our cgroups */
    pthread_t thread;
    char *buffer; /* of GUARD_TASK_READ_BYTES, also for building paths */
    char *stack;
};

bool guard_launcher_start(struct guard_launcher *launcher,
                          struct guard_life *life, struct err *err);
/* Waits for the thread; call it after life->leaving. */
void guard_launcher_join(struct guard_launcher *launcher);

/* Locks, opens, forks, executes. False: the task does not run, `end` says why.
 */
bool guard_launch(struct guard_life *life, struct guard_launcher *launcher,
                  struct guard_task *task);

/* The functions below are called under the lock. */
/* True if ends may be gathered: more tasks are waiting to start than have
 * ended. */
bool guard_life_gathers(const struct guard_life *life);
/* Sets the number of slots, 0 = as many as the descriptors allow. */
void guard_life_set_slots(struct guard_life *life, int64_t slots);
/* Wakes launchers: there may be a task to start now. */
void guard_life_wake_launchers(struct guard_life *life);
/* Asks lingering launchers to hand over their tasks. */
void guard_life_nudge(struct guard_life *life);
/* Queues the task for reporting; its `end` is complete. */
void guard_life_over(struct guard_life *life, struct guard_task *task);

#endif
