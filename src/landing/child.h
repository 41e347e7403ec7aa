/* Children of a small one-shot process (`pointsman land`), which are started,
 * waited for with a time limit and ended completely; and requests to stop.
 *
 * TERM, HUP and INT stay blocked after child_stop_init and are checked where it
 * is safe, so that no signal can end the process between two steps. Children
 * stay in our process group, where the guard reaches them together with us;
 * orphans of children are reparented to us and ended with them. */
#ifndef POINTSMAN_LANDING_CHILD_H
#define POINTSMAN_LANDING_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "os/account.h"

struct child_stop {
    int signal; /* the first stop signal: SIGTERM or SIGHUP; 0 = none yet */
};

void child_stop_init(struct child_stop *stop);
/* The stop signal that was received: SIGTERM (also for INT), SIGHUP or 0. */
int child_stop_requested(struct child_stop *stop);
/* Waits for a stop signal at most this long; returns as child_stop_requested.
 * NULL: no stop signals. */
int child_stop_wait(struct child_stop *stop, int64_t ms);

struct child {
    const char *const *argv; /* argv[0] is looked up in PATH */
    char *const *envp;
    const char *dir;  /* NULL = same directory, */
    int at;           /* or this open one; 0 = none */
    int in, out, err; /* become 0, 1, 2; -1 = /dev/null, or the same as ours */
    int status, progress; /* become 3, 4; -1 = none */
    bool shielded;        /* TERM, HUP and INT stay blocked in the child */
    const struct account *account; /* NULL = same account */
};

enum child_how { CHILD_EXITED, CHILD_SIGNALLED, CHILD_LATE, CHILD_STOPPED };

struct child_end {
    enum child_how how;
    int code; /* exit status, or the signal */
};

/* ERR_CONFIG: the program is missing or cannot be executed (err->sys);
 * ERR_TEMPORARY: cannot start now; ERR_DENIED: the account may not enter `dir`;
 * ERR_UNAVAILABLE: nobody can. */
bool child_start(const struct child *child, pid_t *ret_pid, struct err *err);

/* Waits for the child; with a limit SIGCHLD must be blocked (child_stop_init).
 * After timeout_ms (0 = none), or when asked to stop (`stop` not NULL), the
 * child and all its descendants get TERM, and KILL after grace_ms. */
struct child_end child_wait(pid_t pid, struct child_stop *stop,
                            int64_t timeout_ms, int64_t grace_ms);

#endif
