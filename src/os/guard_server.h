/* The guard's side of the socket: receives and sends frames, and holds the
 * table of all tasks by id. */
#ifndef POINTSMAN_OS_GUARD_SERVER_H
#define POINTSMAN_OS_GUARD_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/text.h"
#include "os/guard_life.h"
#include "os/guard_watch.h"

enum { GUARD_SERVER_FDS = 64 };

struct guard_server {
    struct guard_life *life;
    struct guard_watch *watch;
    int fd, epoll_fd;
    struct text in, out;
    size_t sent;         /* bytes of `out` already sent */
    bool waits_to_write; /* the client is slow */
    bool gone;           /* the client closed, died or sent an invalid frame */
    int fds[GUARD_SERVER_FDS]; /* received descriptors, for starts still to come
                                */
    unsigned fd_count;
    struct guard_task **slots; /* hash chains by id */
    size_t slot_count, task_count;
};

void guard_server_init(struct guard_server *server, struct guard_life *life,
                       struct guard_watch *watch, int fd, int epoll_fd);
/* Also frees all tasks. */
void guard_server_clear(struct guard_server *server);

/* Reads the frames that have arrived and executes them. */
void guard_server_read(struct guard_server *server);
/* Sends as much as the socket accepts. */
void guard_server_send(struct guard_server *server);
/* Encodes the ends of these tasks and frees them, or keeps only their locks. */
void guard_server_report(struct guard_server *server, struct list *over);
/* Drops all tasks that are waiting and kills all that run. */
void guard_server_end_all(struct guard_server *server);
/* The lease has run out: withdraws all tasks that are waiting, kills all that
 * run. */
void guard_server_lease_expired(struct guard_server *server);

#endif
