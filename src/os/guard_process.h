/* A guard process as its client sees it: how it is started, and how it ends. */
#ifndef POINTSMAN_OS_GUARD_PROCESS_H
#define POINTSMAN_OS_GUARD_PROCESS_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "lib/err.h"
#include "os/guard.h"

struct guard_process {
    int fd;                  /* our end of its socket; -1: closed */
    pid_t pid;               /* 0: none, or it was reaped */
    unsigned long long born; /* see process_start */
    char *tree;              /* path of its cgroup tree, or NULL; owned */
    struct rlimit limits[RLIM_NLIMITS]; /* see guard_process_note_limits */
};
#define GUARD_PROCESS_INIT ((struct guard_process){.fd = -1})

/* Starts the process and sends it what it has to know; it answers on the socket
 * with READY or FAILED. On an error *ret_process is as after
 * guard_process_close. */
bool guard_process_start(const struct guard_options *options,
                         struct guard_process *ret_process, struct err *err);
/* Kills the process and everything in its cgroup tree. Does not wait. */
void guard_process_kill(struct guard_process *process);
/* Notes the limits on resources that it has now. */
void guard_process_note_limits(struct guard_process *process);
/* Undoes what a task may do to the process without stopping it: a cgroup tree
 * that is frozen is thawed, a limit lower than the noted one is raised again.
 * *ret_fault: what was found, a sentence; NULL: nothing. False: it cannot be
 * undone. */
bool guard_process_mend(const struct guard_process *process,
                        const char **ret_fault);
/* True if the process has ended, and its descriptors and locks are closed. It
 * is reaped, if no other process traces it. */
bool guard_process_is_over(struct guard_process *process);
/* Closes the socket and forgets the process. */
void guard_process_close(struct guard_process *process);

#endif
