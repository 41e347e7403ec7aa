/* Locks on files (flock), which end with their holder. A lock belongs to the
 * inode, so after locking these functions check that the name still refers to
 * that inode (doc/design/registry.md, G4). */
#ifndef POINTSMAN_OS_LOCK_H
#define POINTSMAN_OS_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

enum lock_kind { LOCK_SHARED, LOCK_EXCLUSIVE };

/* Opens and locks NAME (made when absent if `create`). Waits when `wait`, else
 * *ret_fd is -1 if another process holds it. Also -1 if it is absent. The
 * lock lasts until *ret_fd is closed. */
bool lock_take(int dir, const char *name, enum lock_kind kind, bool create,
               bool wait, int *ret_fd, struct err *err);
/* Does a process hold LOCK_EXCLUSIVE? False if the file is absent. */
bool lock_is_held(int dir, const char *name, bool *ret_held, struct err *err);

/* Locks one byte of the file, which stays empty and is made when absent. Several
 * processes may hold the same byte. */
bool lock_take_byte(int dir, const char *name, uint64_t at, int *ret_fd,
                    struct err *err);
/* Does a process hold the byte? False if the file is absent. */
bool lock_byte_is_held(int dir, const char *name, uint64_t at);

/* How a pid file is taken. Who borrows it says so in it ("17 borrowed") and
 * gives it back after a moment; a `run` without a server says "17 run". */
enum lock_pid_file {
    LOCK_PID_KEEP,
    LOCK_PID_RUN,
    LOCK_PID_KEEP_LATER, /* waits, without limit, while it is borrowed */
    LOCK_PID_BORROW
};

/* A role's pid file, locked for as long as the role is held. ERR_RUNNING when
 * another process has it ("process 17 is already running and holds ..."; of a
 * `run` it says how to end that). */
bool lock_take_pid_file(int dir, const char *name, enum lock_pid_file how,
                        int *ret_fd, struct err *err);
/* Removes the file while it is still locked, then closes it. -1 is fine. */
void lock_give_pid_file(int dir, const char *name, int *fd);
/* The pid of the holder. 0: not held; -1: held, but the file has no pid. */
bool lock_pid_file_holder(int dir, const char *name, pid_t *ret_pid,
                          struct err *err);

#endif
