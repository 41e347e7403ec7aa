#include "os/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/time.h"

#include "os/dir.h"

enum { TRIES = 50 };

/* behind the pid */
#define BORROWED " borrowed"
#define OF_A_RUN " run"

static bool is_same_file(int dir, const char *name, int fd) {
    struct stat held, named;
    return fstat(fd, &held) == 0 &&
           fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

static bool open_lock(int dir, const char *name, bool create, int *ret_fd,
                      struct err *err) {
    struct err why = {0};
    if (!dir_open_file(dir, name, O_RDWR | O_NONBLOCK, 0, ret_fd, &why) &&
        why.sys == ENOENT && create)
        return dir_open_file(dir, name, O_RDWR | O_CREAT, 0600, ret_fd, err);
    if (*ret_fd >= 0 || why.sys == ENOENT)
        return true;
    /* A reader may hold a lock too, and a job file may be read-only. */
    if (why.sys == EACCES || why.sys == EROFS)
        return dir_open_file(dir, name, O_RDONLY | O_NONBLOCK, 0, ret_fd, err);
    if (err)
        *err = why;
    return false;
}

bool lock_take(int dir, const char *name, enum lock_kind kind, bool create,
               bool wait, int *ret_fd, struct err *err) {
    int how = (kind == LOCK_SHARED ? LOCK_SH : LOCK_EX) | (wait ? 0 : LOCK_NB);
    *ret_fd = -1;
    for (;;) {
        CLEANUP(fd_close) int fd = -1;
        if (!open_lock(dir, name, create, &fd, err))
            return false;
        if (fd < 0)
            return true;
        while (flock(fd, how) < 0) {
            if (errno == EWOULDBLOCK)
                return true;
            if (errno != EINTR)
                return err_errno(err, errno, "cannot lock '%s'", name);
        }
        if (is_same_file(dir, name, fd)) {
            *ret_fd = take_fd(&fd);
            return true;
        }
    }
}

bool lock_is_held(int dir, const char *name, bool *ret_held, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    struct stat st;
    bool there;
    if (!dir_stat(dir, name, &st, &there, err))
        return false;
    if (!lock_take(dir, name, LOCK_SHARED, false, false, &fd, err))
        return false;
    *ret_held = there && fd < 0;
    return true;
}

struct holder {
    pid_t pid; /* -1: the file has none */
    bool borrows;
    bool is_run; /* which hosts what it waits for */
};

static bool take_word(struct span *said, const char *word) {
    if (!span_ends(*said, word))
        return false;
    said->len -= strlen(word);
    return true;
}

static struct holder read_holder(int dir, const char *name) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct holder holder = {.pid = -1};
    uint64_t pid;
    if (!dir_read(dir, name, 64, &text, NULL))
        return holder;
    struct span said = span_trim(text_span(&text));
    holder.borrows = take_word(&said, BORROWED);
    holder.is_run = take_word(&said, OF_A_RUN);
    if (span_u64(said, &pid) && pid > 0 && pid <= INT32_MAX)
        holder.pid = (pid_t)pid;
    return holder;
}

static bool is_alive(pid_t pid) {
    return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

/* A process that only checks the lock holds it for a moment. A real holder has
 * written its pid. */
static bool take_with_retries(int dir, const char *name, bool await_borrower,
                              int *ret_fd, struct holder *ret_holder,
                              struct err *err) {
    const struct timespec between = {.tv_nsec = 10 * NS_PER_MS};
    pid_t awaited = 0;
    for (int i = 0; i < TRIES; i++) {
        *ret_holder = (struct holder){.pid = -1};
        if (!lock_take(dir, name, LOCK_EXCLUSIVE, true, false, ret_fd, err))
            return false;
        if (*ret_fd >= 0)
            return true;
        *ret_holder = read_holder(dir, name);
        if (is_alive(ret_holder->pid)) {
            if (!ret_holder->borrows || !await_borrower)
                return true;
            if (awaited != ret_holder->pid)
                log_info("waiting until process %ld gives back '%s'",
                         (long)ret_holder->pid, name);
            awaited = ret_holder->pid;
            i = -1;
        }
        nanosleep(&between, NULL);
    }
    return true;
}

bool lock_take_pid_file(int dir, const char *name, enum lock_pid_file how,
                        int *ret_fd, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    struct holder holder;
    char said[48];
    if (!take_with_retries(dir, name, how == LOCK_PID_KEEP_LATER, &fd, &holder,
                           err))
        return false;
    if (fd < 0) {
        if (holder.is_run && holder.pid > 0)
            return err_set(err, ERR_RUNNING,
                           "process %ld is a `run` that started without a "
                           "server and holds '%s' until its job has ended: "
                           "start again then, or end it (kill -INT %ld)",
                           (long)holder.pid, name, (long)holder.pid);
        if (holder.pid > 0)
            return err_set(err, ERR_RUNNING,
                           "process %ld is already running and holds '%s'",
                           (long)holder.pid, name);
        return err_set(err, ERR_RUNNING,
                       "another process is already running and holds '%s'",
                       name);
    }
    (void)disk->fchmod(fd, 0600);
    int len = snprintf(said, sizeof(said), "%ld%s\n", (long)getpid(),
                       how == LOCK_PID_BORROW ? BORROWED
                       : how == LOCK_PID_RUN  ? OF_A_RUN
                                              : "");
    if (disk->ftruncate(fd, 0) < 0)
        return err_errno(err, errno, "cannot write '%s'", name);
    if (!dir_write_file(fd, span_make(said, (size_t)len), err))
        return err_wrap(err, "file '%s'", name);
    *ret_fd = take_fd(&fd);
    return true;
}

void lock_give_pid_file(int dir, const char *name, int *fd) {
    if (*fd >= 0)
        (void)dir_remove(dir, name, NULL, NULL);
    fd_close(fd);
}

bool lock_pid_file_holder(int dir, const char *name, pid_t *ret_pid,
                          struct err *err) {
    bool held;
    *ret_pid = 0;
    if (!lock_is_held(dir, name, &held, err))
        return false;
    if (held)
        *ret_pid = read_holder(dir, name).pid;
    return true;
}

static struct flock byte_lock(uint64_t at, short type) {
    return (struct flock){.l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)(at >> 2),
                          .l_len = 1};
}

bool lock_take_byte(int dir, const char *name, uint64_t at, int *ret_fd,
                    struct err *err) {
    struct flock lock = byte_lock(at, F_RDLCK);
    CLEANUP(fd_close)
    int fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    *ret_fd = -1;
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", name);
    if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
        return err_errno(err, errno, "cannot lock '%s'", name);
    *ret_fd = take_fd(&fd);
    return true;
}

bool lock_byte_is_held(int dir, const char *name, uint64_t at) {
    struct flock lock = byte_lock(at, F_WRLCK);
    CLEANUP(fd_close)
    int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 &&
           lock.l_type != F_UNLCK;
}
