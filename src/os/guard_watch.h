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
    WATCH_SPILL_MS = 200,    /* slow output goes to its file */
    WATCH_SETTLE_MS = 10,    /* stamps go to theirs */
    WATCH_COURTESY_MS = 100, /* for those who outlive the process */
    WATCH_GIVE_UP_MS = 2000,
    WATCH_ASK_MS = 2, /* whether a group is empty */
    WATCH_BLIND_MS = 50,
    WATCH_FIRST_SAMPLE_MS = 100,
    WATCH_SAMPLE_MS = 2000 /* what it uses */
};

struct watch {
    struct guard_life *life;
    int epoll_fd;
    struct heap due;     /* tasks by their next deadline */
    struct list wishing; /* tasks with a wish */
    struct text *out;    /* frames for the client */
    char *buffer;        /* TASK_READ_BYTES */
};

/* Low bits of what epoll says about a task; tasks are aligned to 16. */
enum watch_what {
    WATCH_PROCESS,
    WATCH_OUT,
    WATCH_ERR,
    WATCH_STATUS,
    WATCH_PROGRESS,
    WATCH_LEAF,
    WATCH_WHATS = 8
};

void watch_init(struct watch *watch, struct guard_life *life, int epoll_fd,
                struct text *out);
void watch_clear(struct watch *watch);

/* The task is ours now. */
void watch_take(struct watch *watch, struct task *task);
/* epoll said so; fine when the task is over by now. */
void watch_event(struct watch *watch, struct task *task, enum watch_what what);
/* Does what is due. */
void watch_due(struct watch *watch);
/* The next deadline. */
struct mono watch_next(const struct watch *watch);

/* Signal, then KILL after grace_ms. The first asker is remembered. */
void watch_kill(struct watch *watch, struct task *task, int signal,
                int64_t grace_ms, enum guard_killer killer);
/* The same for the client, together with what else it asks for until
 * watch_grant, which does it. */
void watch_wish(struct watch *watch, struct task *task, int signal,
                int64_t grace_ms);
void watch_grant(struct watch *watch);

#endif
