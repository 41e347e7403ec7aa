#include "os/fifo.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/dir.h"

/* Every user who may use the base may trigger; only the owner may listen. */
enum { FIFO_MODE = 0622 };

static bool make(int dir, const char *name, struct err *err) {
    if (disk->mkfifoat(dir, name, FIFO_MODE) < 0 && errno != EEXIST)
        return err_errno(err, errno, "cannot create FIFO '%s'", name);
    return true;
}

bool fifo_open(int dir, const char *name, int *ret_fd, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    struct stat st;
    if (!make(dir, name, err) ||
        !dir_open_file(dir, name, O_RDWR | O_NONBLOCK, 0, &fd, err))
        return false;
    if (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode))
        return err_set(err, ERR_CANNOT, "cannot listen on '%s': not a FIFO",
                       name);
    /* The umask removed the others' write permission; a FIFO of another owner
     * keeps its mode. */
    (void)disk->fchmod(fd, FIFO_MODE);
    *ret_fd = take_fd(&fd);
    return true;
}

bool fifo_is_there(int dir, const char *name, int fd) {
    struct stat named, open;
    bool there;
    return dir_stat(dir, name, &named, &there, NULL) && there &&
           fstat(fd, &open) == 0 && named.st_ino == open.st_ino &&
           named.st_dev == open.st_dev;
}

bool fifo_drain(int fd) {
    char bytes[512];
    bool any = false;
    for (;;) {
        ssize_t got = read(fd, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return any;
        any = true;
    }
}

void fifo_trigger(int dir, const char *name) {
    CLEANUP(fd_close) int fd = -1;
    struct stat st;
    if (!dir_open_file(dir, name, O_WRONLY | O_NONBLOCK, 0, &fd, NULL))
        return;
    if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
        (void)!write(fd, "", 1);
}
