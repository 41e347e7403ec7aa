/* Identify, measure and kill processes that this one cannot wait for. */
#ifndef POINTSMAN_OS_PROCESS_H
#define POINTSMAN_OS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lib/text.h"

/* Start time in ticks since boot: together with the pid it identifies a
 * process. 0: no such process. */
unsigned long long process_start(pid_t pid);
pid_t process_parent(pid_t pid); /* 0: no such process */
/* True if the process that started then still exists and is not a zombie. */
bool process_lives(pid_t pid, unsigned long long start);

/* Whether a process descends from another one that lives and adopts orphans
 * (PR_SET_CHILD_SUBREAPER), so that descendants never leave its tree.
 * *ret_child is the child of `ancestor` through which it descends. */
enum process_descent {
    PROCESS_UNRELATED,
    PROCESS_DESCENDANT,
    PROCESS_UNREADABLE /* /proc does not show it, or not any more */
};
enum process_descent process_descent(pid_t pid, pid_t ancestor,
                                     pid_t *ret_child);

/* True if a thread of the process is stopped, by a signal or by a process that
 * traces it. */
bool process_is_stopped(pid_t pid);

/* Appends "PID (NAME)". */
void process_describe(pid_t pid, struct text *out);
/* The process that traces it, or 0. */
pid_t process_tracer(pid_t pid);
/* The wait status of a zombie that this process cannot wait for, because
 * another one traces it. False: it cannot be read. */
bool process_zombie_status(pid_t pid, int *ret_status);

/* True if the process of a pidfd has ended. */
bool process_has_ended(int pidfd);

/* The resident memory of the process; 0 if it has ended. */
unsigned long long process_resident_kib(pid_t pid);

/* Usage of one process; zeros if it has ended. */
void process_usage(pid_t pid, uint64_t *ret_cpu_us, uint64_t *ret_memory_kib,
                   uint64_t *ret_procs);

/* Kills exactly that process; does nothing if its pid has been reused. */
void process_kill(pid_t pid, unsigned long long start);

/* Kills all processes that have this file open, except this one. WRITERS: only
 * processes that have it open for writing, and no copies of this process that
 * have not called exec yet. Returns their number. */
enum process_holders { PROCESS_HOLDERS, PROCESS_WRITERS };
unsigned process_kill_holders(const struct stat *file,
                              enum process_holders which);
/* The processes, without zombies, that are in the group or have the file
 * (NULL: none) open for writing. Returns how many of them are in ret_pids. */
size_t process_find(pid_t group, const struct stat *file, pid_t *ret_pids,
                    size_t most);

/* Kills and reaps the children of the calling thread until none is left or
 * wait_ms have passed. For the first thread of a subreaper these include the
 * orphans of all its descendants. False: some are left. */
bool process_end_orphans(int wait_ms);
/* Reaps dead children without waiting. */
void process_reap_orphans(void);

#endif
