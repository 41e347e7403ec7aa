/* What main thread and launchers of one guard share.
 *
 *     control socket -> main -> waiting -> launchers -> handed -> main: watched
 *                                              |                          |
 *     control socket <- main <------------- over <------------------------+
 *
 * A launcher stays with its child for a moment: the short ones end under its
 * hands, and main never hears of them before their end. Everything below the
 * line in struct guard_life is under `lock`. */
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
    LAST_WAIT_MS = 10000 /* at the end, for processes of ours to be gone */
};

struct guard_life {
    pid_t pid;
    int base_fd, output_fd;
    int life_fd;  /* lock that tasks inherit; -1: none */
    int wake_fd;  /* eventfd: main, look at handed and over */
    int nudge_fd; /* eventfd: launchers, stop lingering */
    bool has_cgroup;
    bool can_clone3;
    bool lowered;       /* tasks that stay ours have to raise their rights */
    uint64_t rights;    /* then all that is used here (os/rights.h) */
    bool restore_files; /* children get the old limit of descriptors */
    struct rlimit child_files;
    struct guard_lease lease; /* its own lock */

    pthread_mutex_t lock; /* ------------------------------------------ */
    pthread_cond_t work;
    struct cgroup_tree tree;
    struct pipe_ends spares[GUARD_SPARES]; /* empty, and nobody else has them */
    unsigned spare_count;
    struct list waiting; /* for a slot, in order */
    unsigned waiting_count;
    struct list outside; /* for a launcher only */
    struct list handed;
    struct list over;
    unsigned over_count;
    unsigned slots, running; /* running: those that hold a slot */
    unsigned unfinished;     /* launching, handed or watched */
    unsigned idle, lingering;
    bool nudged; /* nudge_fd is up */
    bool woken;  /* main has been told and not yet looked */
    bool closing;
    bool expired; /* no lease: nothing is started */
};

enum { LAUNCHER_STACK_BYTES = 128 << 10 };

/* One thread that starts children. */
struct guard_launcher {
    struct guard_life *life;
    bool is_last; /* removes our cgroups */
    pthread_t thread;
    char *buffer; /* GUARD_TASK_READ_BYTES, and for building paths */
    char *stack;
};

bool guard_launcher_start(struct guard_launcher *launcher,
                          struct guard_life *life, struct err *err);
/* After life->closing, when no task is left; waits for the thread. */
void guard_launcher_join(struct guard_launcher *launcher);

/* Locks, opens, forks, executes. False: it does not run, `end` says why. */
bool guard_launch(struct guard_life *life, struct guard_launcher *launcher,
                  struct guard_task *task);

/* Under the lock. */
/* Ends may wait for each other: more is left to start than they are. */
bool guard_life_gathers(const struct guard_life *life);
/* There may be something to start now. */
void guard_life_wake_launchers(struct guard_life *life);
/* Launchers that linger are to hand over what they have. */
void guard_life_nudge(struct guard_life *life);
/* The task's end is complete. */
void guard_life_over(struct guard_life *life, struct guard_task *task);

#endif
