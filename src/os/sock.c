#include "os/sock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/dir.h"

/* sun_path holds 108 bytes; the path of a base may be longer. */
static bool address(int dir, const char *name, struct sockaddr_un *ret,
                    struct err *err) {
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    int len = snprintf(ret->sun_path, sizeof(ret->sun_path),
                       "/proc/self/fd/%d/%s", dir, name);
    if (len < 0 || (size_t)len >= sizeof(ret->sun_path))
        return err_set(err, ERR_CANNOT, "name of socket '%s' is too long",
                       name);
    return true;
}

static int new_socket(void) {
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

bool sock_connect(int dir, const char *name, int *ret_fd, struct err *err) {
    CLEANUP(fd_close) int fd = new_socket();
    struct sockaddr_un to;
    if (!address(dir, name, &to, err))
        return false;
    if (fd < 0)
        return err_errno(err, errno, "cannot create a socket");
    while (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
        if (errno == EINTR)
            continue;
        if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTSOCK)
            return err_set(err, ERR_UNAVAILABLE,
                           "no process listens on socket '%s'", name);
        return err_errno(err, errno, "cannot connect to socket '%s'", name);
    }
    *ret_fd = take_fd(&fd);
    return true;
}

/* A name left by a dead listener refuses connections. */
static bool remove_stale(int dir, const char *name, struct err *err) {
    struct stat st;
    bool there;
    if (!dir_stat(dir, name, &st, &there, err))
        return false;
    if (!there)
        return true;
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, ERR_CANNOT, "cannot listen on '%s': not a socket",
                       name);
    CLEANUP(fd_close) int fd = -1;
    if (sock_connect(dir, name, &fd, NULL))
        return err_set(err, ERR_RUNNING,
                       "another process listens on socket '%s'", name);
    return dir_remove(dir, name, NULL, err);
}

bool sock_listen(int dir, const char *name, mode_t mode, int *ret_fd,
                 struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    struct sockaddr_un at;
    if (!address(dir, name, &at, err) || !remove_stale(dir, name, err))
        return false;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_errno(err, errno, "cannot create a socket");
    /* The socket refuses connections until it listens, and by then the mode is
     * set. */
    if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
        return err_errno(err, errno, "cannot bind socket '%s'", name);
    if (fchmodat(dir, name, mode, 0) < 0)
        return err_errno(err, errno, "cannot set the mode of socket '%s'",
                         name);
    if (listen(fd, SOMAXCONN) < 0)
        return err_errno(err, errno, "cannot listen on socket '%s'", name);
    *ret_fd = take_fd(&fd);
    return true;
}

bool sock_pair(int ret_fds[2], struct err *err) {
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_fds) ==
               0 ||
           err_errno(err, errno, "cannot create a pair of sockets");
}

/* Room for the descriptors of one message. */
union rights_room {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(SOCK_FDS * sizeof(int))];
};

bool sock_send(int fd, struct span bytes, const int *fds, size_t fd_count,
               struct err *err) {
    CLEANUP(text_free_string) char *copy = span_string(bytes);
    union rights_room control = {0};
    struct iovec part = {.iov_base = copy, .iov_len = bytes.len};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd_count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
    }
    ssize_t n;
    do
        n = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return true;
    bool closed = errno == EPIPE || errno == ECONNRESET;
    return closed ? err_set(err, ERR_UNAVAILABLE, "nobody reads the socket")
                  : err_errno(err, errno, "cannot send a message");
}

static void fds_take(struct msghdr *message, int ret_fds[SOCK_FDS]) {
    size_t taken = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL;
         c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count && taken < SOCK_FDS; i++)
            memcpy(&ret_fds[taken++], CMSG_DATA(c) + i * sizeof(int),
                   sizeof(int));
    }
}

ssize_t sock_receive(int fd, char *bytes, size_t room, int ret_fds[SOCK_FDS]) {
    union rights_room control = {0};
    struct iovec part = {.iov_base = bytes, .iov_len = room};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    for (size_t i = 0; i < SOCK_FDS; i++)
        ret_fds[i] = -1;
    ssize_t n;
    do
        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        fds_take(&message, ret_fds);
    return n;
}

bool sock_peer(int fd, struct sock_peer *ret_peer, struct err *err) {
    struct ucred cred;
    socklen_t len = sizeof(cred);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return err_errno(err, errno, "cannot determine the peer of the socket");
    *ret_peer = (struct sock_peer){cred.pid, cred.uid, cred.gid};
    return true;
}

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Before Linux 6.5 the pid is all there is: if the peer has ended since it
 * connected, another process may have its pid. */
int sock_peer_process(int fd, const struct sock_peer *peer) {
    int pidfd;
    socklen_t len = sizeof(pidfd);
    if (peer->pid <= 0)
        return -1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0)
        return pidfd;
    if (errno != ENOPROTOOPT)
        return -1;
    return (int)syscall(SYS_pidfd_open, peer->pid, 0);
}

size_t sock_peer_groups(int fd, uint32_t ret_groups[SOCK_PEER_GROUPS]) {
    struct sock_peer peer;
    gid_t groups[SOCK_PEER_GROUPS - 1];
    socklen_t bytes = sizeof(groups);
    if (!sock_peer(fd, &peer, NULL))
        return 0;
    ret_groups[0] = peer.gid;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) < 0)
        return 1;
    memcpy(&ret_groups[1], groups, bytes);
    return 1 + bytes / sizeof(gid_t);
}
