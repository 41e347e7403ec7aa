#include "serve/drop.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "os/dir.h"

bool drop_open(struct base *base, char ret_name[256], int *ret_fd,
               struct err *err) {
    dir_fresh_name(SPAN("drop"), ret_name);
    return dir_open_file(base->dirs[BASE_TMP], ret_name,
                         O_RDWR | O_CREAT | O_EXCL, 0600, ret_fd, err) &&
           base_give_file(base, *ret_fd, err);
}

bool drop_seal(int fd, struct err *err) {
    if (disk->fchmod(fd, 0440) < 0)
        return err_errno(err, errno, "cannot make a tarball read-only");
    if (disk->fsync(fd) < 0)
        return err_errno(err, errno, "cannot sync a tarball");
    return true;
}

static bool is_same_data(struct base *base, const char *name, const char *sum,
                         struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    char found[SUM_TEXT_BYTES];
    uint64_t bytes;
    if (!dir_open_file(base->dirs[BASE_DATA], name, O_RDONLY | O_NONBLOCK, 0,
                       &fd, err) ||
        !sum_file(fd, found, &bytes, err))
        return err_wrap(err, "data of '%s'", name);
    if (strcmp(found, sum) == 0)
        return true;
    return err_set(err, ERR_REFUSED,
                   "duplicate-csid: a set called '%s' with other content was "
                   "handed in before",
                   name);
}

static bool make_marker(struct base *base, const char *name, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    char fresh[256];
    enum dir_moved moved;
    dir_fresh_name(span_of(name), fresh);
    if (!dir_open_file(base->dirs[BASE_TMP], fresh, O_WRONLY | O_CREAT | O_EXCL,
                       0640, &fd, err) ||
        !base_give_file(base, fd, err) ||
        !dir_move(base->dirs[BASE_TMP], fresh, base->dirs[BASE_PREQUEUE], name,
                  DIR_DURABLE, &moved, err)) {
        (void)dir_remove(base->dirs[BASE_TMP], fresh, NULL, NULL);
        return false;
    }
    if (moved == DIR_MOVED)
        return true;
    /* It was handed in before and is still on its way. */
    return dir_remove(base->dirs[BASE_TMP], fresh, NULL, err) &&
           dir_sync_now(base->dirs[BASE_PREQUEUE], err);
}

bool drop_publish(struct base *base, const char *from, const char *name,
                  const char *sum, struct err *err) {
    enum dir_moved moved;
    if (!dir_move(base->dirs[BASE_TMP], from, base->dirs[BASE_DATA], name,
                  DIR_DURABLE, &moved, err))
        return false;
    if (moved == DIR_ABSENT)
        return err_set(err, ERR_TEMPORARY,
                       "somebody removed '%s' from tmp/ while it was taken in",
                       from);
    if (moved == DIR_EXISTS &&
        (!is_same_data(base, name, sum, err) ||
         !dir_remove(base->dirs[BASE_TMP], from, NULL, err)))
        return false;
    return make_marker(base, name, err);
}
