/* Children of a small one-shot process (`pointsman land`): started, waited for
 * with a time limit, ended completely; and the wish of others that we stop.
 *
 * TERM, HUP and INT stay blocked from child_stop_init on and are asked for
 * where it suits us, so that no signal can end the process between two steps.
 * Children stay in our process group, where the guard reaches them with us;
 * orphans of children come to us and are ended with them. */
#ifndef POINTSMAN_LANDING_CHILD_H
#define POINTSMAN_LANDING_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "os/account.h"

struct child_stop {
    int signal; /* the first that asked: SIGTERM or SIGHUP; 0 = none yet */
};

void child_stop_init(struct child_stop *stop);
/* Did somebody ask us to stop? SIGTERM (also for INT), SIGHUP or 0. */
int child_stop_requested(struct child_stop *stop);
/* As child_stop_requested, after so long, or as soon as somebody asks. NULL:
 * nobody does. */
int child_stop_wait(struct child_stop *stop, int64_t ms);

struct child {
    const char *const *argv; /* argv[0] is looked up in PATH */
    char *const *envp;
    const char *dir;      /* NULL = ours */
    int in, out, err;     /* become 0, 1, 2; -1 = /dev/null, ours, ours */
    int status, progress; /* become 3, 4; -1 = none */
    bool shielded;        /* TERM, HUP and INT stay blocked in it */
    const struct account *account; /* NULL = ours */
};

enum child_how { CHILD_EXITED, CHILD_SIGNALLED, CHILD_LATE, CHILD_STOPPED };

struct child_end {
    enum child_how how;
    int code; /* exit status, or the signal */
};

/* ERR_CONFIG: no such program; ERR_TEMPORARY: not now. */
bool child_start(const struct child *child, pid_t *ret_pid, struct err *err);

/* Waits; SIGCHLD must be blocked (child_stop_init) when there is a limit. Over
 * timeout_ms (0 = none), or when asked to stop (`stop` not NULL), it and all it
 * started get TERM, after grace_ms KILL. */
struct child_end child_wait(pid_t pid, struct child_stop *stop,
                            int64_t timeout_ms, int64_t grace_ms);

#endif
