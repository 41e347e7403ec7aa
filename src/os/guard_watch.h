/* What the guard's main thread does with tasks that last: it waits for their
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
    GUARD_WATCH_SPILL_MS = 200,    /* slow output goes to its file */
    GUARD_WATCH_FLUSH_MS = 10,     /* stamps go to theirs */
    GUARD_WATCH_COURTESY_MS = 100, /* for those who outlive the process */
    GUARD_WATCH_GIVE_UP_MS = 2000,
    GUARD_WATCH_ASK_MS = 2, /* whether a group is empty */
    GUARD_WATCH_BLIND_MS = 50,
    GUARD_WATCH_FIRST_SAMPLE_MS = 100,
    GUARD_WATCH_SAMPLE_MS = 2000 /* what it uses */
};

struct guard_watch {
    struct guard_life *life;
    int epoll_fd;
    struct heap due;       /* tasks by their next deadline */
    struct list requested; /* tasks with a wish */
    struct text *out;      /* frames for the client */
    char *buffer;          /* GUARD_TASK_READ_BYTES */
};

/* Low bits of what epoll says about a task; tasks are aligned to 16. */
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

/* The task is ours now. */
void guard_watch_take(struct guard_watch *watch, struct guard_task *task);
/* epoll said so; fine when the task is over by now. */
void guard_watch_event(struct guard_watch *watch, struct guard_task *task,
                       enum guard_watch_kind what);
/* Does what is due. */
void guard_watch_due(struct guard_watch *watch);
/* The next deadline. */
struct mono guard_watch_next(const struct guard_watch *watch);

/* Signal, then KILL after grace_ms. The first asker is remembered. */
void guard_watch_kill(struct guard_watch *watch, struct guard_task *task,
                      int signal, int64_t grace_ms, enum guard_killer killer);
/* The same for the client, together with what else it asks for until
 * guard_watch_grant, which does it. */
void guard_watch_request(struct guard_watch *watch, struct guard_task *task,
                         int signal, int64_t grace_ms);
void guard_watch_grant(struct guard_watch *watch);

#endif
