/* The work of the guard's main thread on tasks that last: it waits for their
 * pipes, their process and their cgroup with epoll, for their deadlines with a
 * heap, and ends them completely:
 *
 *     process gone -> (a moment, if others hold its pipes) -> KILL to group and
 *     cgroup -> reaped -> pipes closed and cgroup empty, or 2 s later -> over
 */
#ifndef POINTSMAN_OS_GUARD_WATCH_H
#define POINTSMAN_OS_GUARD_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/heap.h"
#include "lib/text.h"
#include "os/guard_life.h"

enum {
    GUARD_WATCH_SPILL_MS = 200,    /* then slow output goes to its file */
    GUARD_WATCH_FLUSH_MS = 10,     /* then stamps go to their file */
    GUARD_WATCH_COURTESY_MS = 100, /* for processes that outlive the first one
                                    */
    GUARD_WATCH_GIVE_UP_MS = 2000,
    GUARD_WATCH_ASK_MS = 2, /* between checks whether a group is empty */
    GUARD_WATCH_BLIND_MS = 50,
    GUARD_WATCH_FIRST_SAMPLE_MS = 100,
    GUARD_WATCH_SAMPLE_MS = 2000 /* between samples of its usage */
};

struct guard_watch {
    struct guard_life *life;
    int epoll_fd;
    struct heap due;       /* tasks by their next deadline */
    struct list requested; /* tasks with a pending request */
    struct text *out;      /* frames for the client */
    char *buffer;          /* of GUARD_TASK_READ_BYTES */
    int *unreaped;         /* pidfds of zombies that other processes trace */
    size_t unreaped_count;
};

/* Low bits of epoll's data for a task; tasks are aligned to 16. */
enum guard_watch_kind {
    WATCH_PROCESS,
    WATCH_OUT,
    WATCH_ERR,
    WATCH_STATUS,
    WATCH_PROGRESS,
    WATCH_LEAF,
    WATCH_WHATS = 8
};

void guard_watch_init(struct guard_watch *watch, struct guard_life *life,
                      int epoll_fd, struct text *out);
void guard_watch_clear(struct guard_watch *watch);

/* Takes over the task. */
void guard_watch_take(struct guard_watch *watch, struct guard_task *task);
/* Handles an event from epoll; the task may be over already. */
void guard_watch_event(struct guard_watch *watch, struct guard_task *task,
                       enum guard_watch_kind what);
/* Handles all deadlines that have passed. */
void guard_watch_due(struct guard_watch *watch);
/* The next deadline. */
struct mono guard_watch_next(const struct guard_watch *watch);

/* Reaps zombies that had to be left. True: some are still traced. */
bool guard_watch_reap(struct guard_watch *watch);

/* Sends the signal, then KILL after grace_ms. Who asked first is recorded. */
void guard_watch_kill(struct guard_watch *watch, struct guard_task *task,
                      int signal, int64_t grace_ms, enum guard_killer killer);
/* The same for the client; the request is merged with its other requests until
 * guard_watch_grant carries it out. */
void guard_watch_request(struct guard_watch *watch, struct guard_task *task,
                         int signal, int64_t grace_ms);
void guard_watch_grant(struct guard_watch *watch);

#endif
