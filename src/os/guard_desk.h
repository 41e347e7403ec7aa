/* The guard's side of the socket: frames in, frames out, and the table of all
 * tasks by id. */
#ifndef POINTSMAN_OS_GUARD_DESK_H
#define POINTSMAN_OS_GUARD_DESK_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/text.h"
#include "os/guard_life.h"
#include "os/guard_watch.h"

enum { DESK_FDS = 64 };

struct desk {
    struct guard_life *life;
    struct watch *watch;
    int fd, epoll_fd;
    struct text in, out;
    size_t sent;         /* of out */
    bool waits_to_write; /* the client is slow */
    bool gone;           /* the client closed, died or talked nonsense */
    int fds[DESK_FDS];   /* came along, for starts to follow */
    unsigned fd_count;
    struct task **slots; /* chains by id */
    size_t slot_count, task_count;
};

void desk_init(struct desk *desk, struct guard_life *life, struct watch *watch,
               int fd, int epoll_fd);
/* Frees all tasks too. */
void desk_clear(struct desk *desk);

/* Reads what is there and does what it says. */
void desk_read(struct desk *desk);
/* Sends as much as goes. */
void desk_send(struct desk *desk);
/* Encodes the ends of these and forgets them, or keeps only their locks. */
void desk_tell(struct desk *desk, struct list *over);
/* Forgets all that wait, kills all that run. */
void desk_end_all(struct desk *desk);
/* The lease has passed: withdraws all that wait, kills all that run. */
void desk_lapse(struct desk *desk);

#endif
