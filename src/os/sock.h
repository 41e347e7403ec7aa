/* Unix sockets addressed by an open directory and a name, so that the length of
 * the path does not matter. */
#ifndef POINTSMAN_OS_SOCK_H
#define POINTSMAN_OS_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/text.h"

/* Listens, non-blocking, close-on-exec. Replaces the socket of a dead listener;
 * ERR_RUNNING if another process listens. */
bool sock_listen(int dir, const char *name, mode_t mode, int *ret_fd,
                 struct err *err);
/* Connects, blocking. ERR_UNAVAILABLE: no listener, or no such socket. */
bool sock_connect(int dir, const char *name, int *ret_fd, struct err *err);

/* Messages between a process and its child: a pair of sockets that keep their
 * boundaries, and messages that carry descriptors. */
bool sock_pair(int ret_fds[2], struct err *err);
enum { SOCK_FDS = 4 };
/* Never waits. ERR_UNAVAILABLE: nobody reads any more. */
bool sock_send(int fd, struct span bytes, const int *fds, size_t fd_count,
               struct err *err);
/* Waits unless the socket is non-blocking. The descriptors are ours, with
 * CLOEXEC; ret_fds[i] -1: none. Returns the number of bytes: 0 = the other end
 * is closed, -1 = none now, or an error. */
ssize_t sock_receive(int fd, char *bytes, size_t room, int ret_fds[SOCK_FDS]);

/* The credentials of the peer (SO_PEERCRED). */
struct sock_peer {
    pid_t pid;
    uid_t uid;
    gid_t gid;
};
bool sock_peer(int fd, struct sock_peer *ret_peer, struct err *err);
/* A pidfd of the process that connected; -1: it has ended, or is not in a pid
 * namespace that this process sees. */
int sock_peer_process(int fd, const struct sock_peer *peer);
/* The groups that the peer's process had when it connected, its own and the
 * additional ones; with too many, only its own. Returns their number. */
enum { SOCK_PEER_GROUPS = 1024 };
size_t sock_peer_groups(int fd, uint32_t ret_groups[SOCK_PEER_GROUPS]);

#endif
