#include "os/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers of Debian 12, so defined here; the kernel reads as
 * much of the struct as its version knows. */
struct landlock_rules {
    uint64_t fs, net, scoped;
};

struct landlock_path {
    uint64_t allowed;
    int32_t fd;
} __attribute__((packed));

enum { LANDLOCK_VERSION = 1, LANDLOCK_BENEATH = 1 };

#define FS_EXECUTE (UINT64_C(1) << 0)
#define FS_WRITE_FILE (UINT64_C(1) << 1)
#define FS_READ_FILE (UINT64_C(1) << 2)
#define FS_READ_DIR (UINT64_C(1) << 3)
#define FS_MAKE_CHAR (UINT64_C(1) << 6)
#define FS_MAKE_BLOCK (UINT64_C(1) << 11)
#define FS_TRUNCATE (UINT64_C(1) << 14)
#define FS_IOCTL (UINT64_C(1) << 15)
/* With a device node a program could access the disk itself, so none may be
 * made. */
#define FS_DEVICES (FS_MAKE_CHAR | FS_MAKE_BLOCK)
/* The rights that a version knows: 13, then refer, truncate, and ioctl. */
static uint64_t fs_rights(int abi) {
    int count = abi == 1 ? 13 : abi == 2 ? 14 : abi < 5 ? 15 : 16;
    return (UINT64_C(1) << count) - 1;
}

static size_t rules_bytes(int abi) {
    return abi < 4 ? 8 : abi < 6 ? 16 : 24;
}

int landlock_abi(void) {
    long abi =
        syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_VERSION);
    return abi > 0 ? (int)abi : 0;
}

static bool allow_path(int rules_fd, const char *path, uint64_t rights,
                       struct err *err) {
    struct stat stat;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &stat) < 0) {
        int sys = errno;
        if (fd >= 0)
            close(fd);
        return err_errno(err, sys, "cannot open '%s'", path);
    }
    if (!S_ISDIR(stat.st_mode))
        rights &=
            FS_EXECUTE | FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL;
    struct landlock_path rule = {.allowed = rights, .fd = fd};
    long ret =
        syscall(SYS_landlock_add_rule, rules_fd, LANDLOCK_BENEATH, &rule, 0);
    int sys = errno;
    close(fd);
    return ret == 0 || err_errno(err, sys, "cannot allow '%s'", path);
}

static uint64_t rights_of(enum landlock_grant grant, uint64_t all) {
    switch (grant) {
    case LANDLOCK_READ:
        return FS_READ_FILE | FS_READ_DIR;
    case LANDLOCK_RUN:
        return FS_READ_FILE | FS_READ_DIR | FS_EXECUTE;
    case LANDLOCK_CHANGE:
        return all & ~(FS_EXECUTE | FS_DEVICES);
    case LANDLOCK_ALL:
        break;
    }
    return all & ~FS_DEVICES;
}

bool landlock_enter(const struct landlock_rule *rules, size_t count,
                    struct err *err) {
    int abi = landlock_abi();
    uint64_t all = fs_rights(abi);
    struct landlock_rules handled = {
        .fs = all, .net = abi >= 4 ? 3 : 0, .scoped = abi >= 6 ? 3 : 0};
    int fd = (int)syscall(SYS_landlock_create_ruleset, &handled,
                          rules_bytes(abi), 0);
    if (fd < 0)
        return err_errno(err, errno, "cannot create landlock rules");
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        ok = allow_path(fd, rules[i].path, rights_of(rules[i].grant, all) & all,
                        err);
    if (ok && syscall(SYS_landlock_restrict_self, fd, 0) != 0)
        ok = err_errno(err, errno, "cannot apply landlock rules");
    close(fd);
    return ok;
}
