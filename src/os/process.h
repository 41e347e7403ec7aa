/* Processes that are not ours to wait for: who they are, and their end. */
#ifndef POINTSMAN_OS_PROCESS_H
#define POINTSMAN_OS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Start time in ticks since boot: with the pid, a process's identity.
 * 0: no such process. */
unsigned long long process_start(pid_t pid);
/* Is the process that started then still there, and more than a zombie nobody
 * has waited for? */
bool process_lives(pid_t pid, unsigned long long start);

/* What it has in memory; 0: gone. */
unsigned long long process_resident_kib(pid_t pid);

/* Of one process; nothing of one that is gone. */
void process_usage(pid_t pid, uint64_t *ret_cpu_us, uint64_t *ret_memory_kib,
                   uint64_t *ret_procs);

/* KILL to that very process; nothing when the pid is somebody else's now. */
void process_kill(pid_t pid, unsigned long long start);

/* KILL to all who have this file open, but not to ourselves. WRITERS: who have
 * it open for writing and are not a copy of us on its way to its own program.
 * Returns how many. */
enum process_holders { PROCESS_HOLDERS, PROCESS_WRITERS };
unsigned process_kill_holders(const struct stat *file,
                              enum process_holders which);

/* Kills and reaps, until there is none left or wait_ms are over, the children
 * of the calling thread: for the first thread of a subreaper, all orphans of
 * its descendants. False: some are left. */
bool process_end_orphans(int wait_ms);
/* Reaps those that are dead, without waiting. */
void process_reap_orphans(void);

#endif
