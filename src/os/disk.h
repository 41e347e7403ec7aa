/* Every call that changes files of a base goes through this table, so that a
 * test can count the calls, exit at the k-th one or make it fail, as a full
 * disk or a power cut would. */
#ifndef POINTSMAN_OS_DISK_H
#define POINTSMAN_OS_DISK_H

#include <stddef.h>
#include <sys/types.h>

struct disk {
    /* Used with O_CREAT only; opening for reading does not go through this
     * table. */
    int (*openat)(int dir, const char *name, int flags, mode_t mode);
    ssize_t (*write)(int fd, const void *bytes, size_t count);
    int (*ftruncate)(int fd, off_t size);
    int (*fchmod)(int fd, mode_t mode);
    int (*fchown)(int fd, uid_t uid, gid_t gid);
    int (*fsync)(int fd);
    int (*syncfs)(int fd);
    int (*renameat)(int from_dir, const char *from, int to_dir, const char *to);
    int (*renameat2)(int from_dir, const char *from, int to_dir, const char *to,
                     unsigned flags);
    int (*linkat)(int from_dir, const char *from, int to_dir, const char *to,
                  int flags);
    int (*unlinkat)(int dir, const char *name, int flags);
    int (*mkdirat)(int dir, const char *name, mode_t mode);
    int (*mkfifoat)(int dir, const char *name, mode_t mode);
};

/* The table in use: the system calls, unless a test replaces it. */
extern const struct disk *disk;

#endif
