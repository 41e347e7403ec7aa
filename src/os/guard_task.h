/* One task inside the guard process: what was ordered, what is known of it,
 * and the work that launchers and the main thread share: reading its pipes and
 * reaping it.
 *
 * A task has one owner at a time, and only the owner touches it:
 *
 *     waiting --> a launcher --> main (watched) --> over --> held | freed
 *                           \___ ended at once ___/
 *
 * `wish` is the exception: main writes it under the lock of the life. */
#ifndef POINTSMAN_OS_GUARD_TASK_H
#define POINTSMAN_OS_GUARD_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/arena.h"
#include "lib/list.h"
#include "lib/text.h"
#include "lib/time.h"
#include "os/cgroup.h"
#include "os/guard.h"
#include "os/guard_capture.h"
#include "os/guard_frame.h"
#include "os/guard_pace.h"

enum {
    GUARD_TASK_READ_BYTES = 64 << 10, /* of a reader's buffer */
    GUARD_TASK_LINE_MAX = 8 << 10     /* of a status or progress line */
};

enum guard_task_state {
    GUARD_TASK_WAITING,
    GUARD_TASK_LAUNCHING, /* a launcher's */
    GUARD_TASK_WATCHED,   /* main's */
    GUARD_TASK_OVER       /* its end is to be told, or was */
};

/* Making and freeing a pipe costs two microseconds, so a task with a leaf gets
 * pipes that were used before, of which we keep both ends: that the leaf is
 * empty tells that nobody writes any more, end of file is not needed. */
struct pipe_ends {
    int ours;   /* -1: closed */
    int theirs; /* the end to write to; -1: closed here */
    bool kept;
};

/* A pipe of lines of which the last one counts. Two buffers in the task's arena
 * take turns: one has the last whole line, the other what came since. */
struct line_pipe {
    struct pipe_ends ends;
    struct arena *arena;
    bool has_line;
    bool fresh;        /* a line came since it was last cleared */
    struct span line;  /* the last whole one */
    char *buffers[2];  /* of GUARD_TASK_LINE_MAX; NULL: nothing came yet */
    unsigned filling;  /* the one that is filled, ... */
    size_t part_bytes; /* ... and how far */
};

/* What the client asked for and nobody has done yet. */
struct guard_task_request {
    int signal;          /* 0 = none */
    struct mono kill_at; /* MONO_NEVER: no KILL but by `signal` */
    bool expired;        /* it is the lease that ends it */
};

/* One more kill: KILL beats every other signal, else the last one counts; of
 * the times for KILL the earliest; a KILL at once needs none later. */
void guard_task_request_add(struct guard_task_request *request, int signal,
                            int64_t grace_ms, struct mono now);

struct guard_task {
    struct list link;
    struct guard_task *same_slot; /* of the table of ids */
    uint64_t id;
    enum guard_task_state state;
    bool held; /* over and told, only the lock is left; main's */
    struct guard_task_request request;

    /* All that the task owns lies here, itself included; only what it writes
     * has memory of its own, in `capture`. */
    struct arena arena;

    /* As ordered. */
    unsigned flags; /* enum guard_start_flag */
    mode_t mask;
    int64_t timeout_ms, grace_ms;
    char **argv; /* one more element may be put in front */
    char **envp;
    const char *search; /* value of PATH in envp, or NULL */
    const char *dir, *lock_path;
    int stdin_fd; /* -1: /dev/null */
    const struct guard_limit *limits;
    uint32_t limit_count;
    struct guard_user user; /* with GUARD_START_USER */

    /* While it runs. */
    int lock_fd, pidfd;
    /* Of STAMP_OUT and, unless both go one way, STAMP_ERR. People hand these on
     * to others: they are kept only as long as a launcher has the task, and
     * used again when nothing came by them. */
    struct pipe_ends out[2];
    int canary_fd; /* at its end of file nobody has the task's any more */
    struct line_pipe status, progress;
    struct cgroup_leaf *leaf;
    struct guard_capture capture;
    struct guard_pace pace;
    struct mono read_at; /* owes for lines: not read before */
    struct mono began;
    struct wall started; /* at the same moment */
    bool exited;         /* the process is a zombie, or reaped */
    bool reaped;
    struct guard_end end;

    /* Main's. */
    bool paused; /* its output is not watched until read_at */
    bool blind;  /* epoll would not take it: looked at by the clock */
    bool leaf_watched;
    bool killed; /* by KILL */
    struct mono due, timeout_at, kill_at, spill_at, courtesy_at, give_up_at;
    struct mono ask_at;
    struct mono sample_at, report_at;
    struct mono flush_at;   /* stamps go to their file */
    bool sampled, reported; /* told: the client, that it runs */
    uint64_t cpu_before_us; /* of others in its leaf */
    size_t heap_place;
};

/* `stdin_fd` is the task's now. */
struct guard_task *guard_task_new(const struct guard_start_frame *start,
                                  int output_fd, int stdin_fd);
/* Closes all that is open and frees. The leaf is the caller's affair. */
void guard_task_free(struct guard_task *task);
/* Closes all but the lock, and frees what was written: the end was reported. */
void guard_task_shrink(struct guard_task *task);

enum guard_task_pipe {
    GUARD_TASK_PIPE_OPEN,
    GUARD_TASK_PIPE_EMPTY,
    GUARD_TASK_PIPE_ENDED
};

/* Closes the other ends of `out`: from now on they end as pipes do. */
void guard_task_loosen(struct guard_task *task);
/* Read what is there, without waiting, up to a share that leaves others their
 * turn. EMPTY: it was all;
 * ENDED: nobody holds the other end; the descriptor is still open. */
enum guard_task_pipe guard_task_read_out(struct guard_task *task,
                                         enum stamp_stream stream,
                                         char *buffer);
enum guard_task_pipe guard_task_read_lines(struct line_pipe *pipe,
                                           char *buffer);
/* Nobody writes any more: reads the rest; a last line without line feed counts
 * too. Closes it, unless it is kept. */
void guard_task_end_lines(struct line_pipe *pipe, char *buffer);
/* Those that are not kept. */
bool guard_task_pipes_closed(const struct guard_task *task);

/* To the group, or to the process alone where it has none of its own.
 * Nothing once it is reaped: the number could be somebody else's. */
void guard_task_signal(const struct guard_task *task, int signal);
/* To whom the order says, and a CONT: a stopped one could not hear it. */
void guard_task_signal_all(const struct guard_task *task, int signal);
/* KILL to the group and to everybody in the leaf. */
void guard_task_kill(const struct guard_task *task);
/* Takes the zombie's result. False: it is not dead. */
bool guard_task_reap(struct guard_task *task);
/* Reaped, and nobody is left in its leaf, or without one in its group and with
 * its canary. */
bool guard_task_gone(const struct guard_task *task);
/* KILL to those who left the group and still hold the canary. */
void guard_task_kill_strays(const struct guard_task *task);
/* Before the others: what former tasks used in its leaf, which is all but what
 * its first process did. It must not be reaped. */
void guard_task_sample_first(struct guard_task *task,
                             const struct cgroup_tree *tree);
/* What it uses now; peaks go to `end`. */
void guard_task_sample(struct guard_task *task, const struct cgroup_tree *tree,
                       struct guard_usage *ret_usage);
/* Nothing more comes: fills in the rest of `end`. */
void guard_task_finish(struct guard_task *task);
/* It never ran. Returns false. */
bool guard_task_fail(struct guard_task *task, enum guard_result result, int sys,
                     const char *format, ...) PRINTF_LIKE(4, 5);

#endif
