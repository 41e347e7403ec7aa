#include "os/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int system_openat(int dir, const char *name, int flags, mode_t mode) {
    return openat(dir, name, flags, mode);
}

static int system_renameat2(int from_dir, const char *from, int to_dir,
                            const char *to, unsigned flags) {
    return renameat2(from_dir, from, to_dir, to, flags);
}

static const struct disk disk_system = {
    .openat = system_openat,
    .write = write,
    .ftruncate = ftruncate,
    .fchmod = fchmod,
    .fchown = fchown,
    .fsync = fsync,
    .syncfs = syncfs,
    .renameat = renameat,
    .renameat2 = system_renameat2,
    .linkat = linkat,
    .unlinkat = unlinkat,
    .mkdirat = mkdirat,
    .mkfifoat = mkfifoat,
};

const struct disk *disk = &disk_system;
