/* The guard's side of the socket: frames in, frames out, and the table of all
 * tasks by id. */
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
    size_t sent;               /* of out */
    bool waits_to_write;       /* the client is slow */
    bool gone;                 /* the client closed, died or talked nonsense */
    int fds[GUARD_SERVER_FDS]; /* came along, for starts to follow */
    unsigned fd_count;
    struct guard_task **slots; /* chains by id */
    size_t slot_count, task_count;
};

void guard_server_init(struct guard_server *server, struct guard_life *life,
                       struct guard_watch *watch, int fd, int epoll_fd);
/* Frees all tasks too. */
void guard_server_clear(struct guard_server *server);

/* Reads what is there and does what it says. */
void guard_server_read(struct guard_server *server);
/* Sends as much as goes. */
void guard_server_send(struct guard_server *server);
/* Encodes the ends of these and forgets them, or keeps only their locks. */
void guard_server_report(struct guard_server *server, struct list *over);
/* Forgets all that wait, kills all that run. */
void guard_server_end_all(struct guard_server *server);
/* The lease has passed: withdraws all that wait, kills all that run. */
void guard_server_lease_expired(struct guard_server *server);

#endif
