/* Descriptors with an owner: CLEANUP(fd_close) int fd = -1; ... take_fd(&fd).
 */
#ifndef POINTSMAN_OS_FD_H
#define POINTSMAN_OS_FD_H

#include <errno.h>
#include <unistd.h>

static inline void fd_close(int *fd) {
    if (*fd >= 0) {
        int kept = errno;
        (void)close(*fd);
        errno = kept;
    }
    *fd = -1;
}
/* The caller owns the descriptor now; *fd no longer holds it. */
static inline int take_fd(int *fd) {
    int taken = *fd;
    *fd = -1;
    return taken;
}

#endif
