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
    TASK_READ_BYTES = 64 << 10, /* of a reader's buffer */
    TASK_LINE_MAX = 8 << 10     /* of a status or progress line */
};

enum task_state {
    TASK_WAITING,
    TASK_LAUNCHING, /* a launcher's */
    TASK_WATCHED,   /* main's */
    TASK_OVER       /* its end is to be told, or was */
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
    char *buffers[2];  /* of TASK_LINE_MAX; NULL: nothing came yet */
    unsigned filling;  /* the one that is filled, ... */
    size_t part_bytes; /* ... and how far */
};

/* What the client asked for and nobody has done yet. */
struct task_wish {
    int signal;          /* 0 = none */
    struct mono kill_at; /* MONO_NEVER: no KILL but by `signal` */
    bool stop;
    bool lapsed; /* it is the lease that ends it */
};

/* One more kill: KILL beats every other signal, else the last one counts; of
 * the times for KILL the earliest; a KILL at once needs none later. */
void task_wish_add(struct task_wish *wish, int signal, int64_t grace_ms,
                   struct mono now);

struct task {
    struct list link;
    struct task *same_slot; /* of the table of ids */
    uint64_t id;
    enum task_state state;
    bool held; /* over and told, only the lock is left; main's */
    struct task_wish wish;

    /* All that the task owns lies here, itself included; only what it writes
     * has memory of its own, in `capture`. */
    struct arena arena;

    /* As ordered. */
    unsigned flags; /* enum guard_order_flag */
    mode_t mask;
    int64_t timeout_ms, grace_ms;
    char **argv; /* one more element may be put in front */
    char **envp;
    const char *search; /* value of PATH in envp, or NULL */
    const char *dir, *lock_path;
    int stdin_fd; /* -1: /dev/null */
    const struct guard_limit *limits;
    uint32_t limit_count;
    struct guard_user user; /* with GUARD_ORDER_USER */

    /* While it runs. */
    int lock_fd, pidfd;
    /* Of STAMP_OUT and, unless both go one way, STAMP_ERR. People hand these on
     * to others: they are kept only as long as a launcher has the task, and
     * used again when nothing came by them. */
    struct pipe_ends out[2];
    int canary_fd; /* at its end of file nobody has the task's any more */
    struct line_pipe status, progress;
    struct cgroup_leaf *leaf;
    struct capture capture;
    struct pace pace;
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
    struct mono sample_at, tell_at;
    struct mono settle_at;  /* stamps go to their file */
    bool sampled, told;     /* told: the client, that it runs */
    uint64_t cpu_before_us; /* of others in its leaf */
    size_t heap_place;
};

/* `stdin_fd` is the task's now. */
struct task *task_new(const struct guard_order *order, int output_fd,
                      int stdin_fd);
/* Closes all that is open and frees. The leaf is the caller's affair. */
void task_free(struct task *task);
/* Closes all but the lock, and frees what was written: the end was reported. */
void task_shrink(struct task *task);

enum task_pipe { TASK_PIPE_OPEN, TASK_PIPE_EMPTY, TASK_PIPE_ENDED };

/* Closes the other ends of `out`: from now on they end as pipes do. */
void task_loosen(struct task *task);
/* Read what is there, without waiting, up to a share that leaves others their
 * turn. EMPTY: it was all;
 * ENDED: nobody holds the other end; the descriptor is still open. */
enum task_pipe task_read_out(struct task *task, enum stamp_stream stream,
                             char *buffer);
enum task_pipe task_read_lines(struct line_pipe *pipe, char *buffer);
/* Nobody writes any more: reads the rest; a last line without line feed counts
 * too. Closes it, unless it is kept. */
void task_end_lines(struct line_pipe *pipe, char *buffer);
/* Those that are not kept. */
bool task_pipes_closed(const struct task *task);

/* To the group, or to the process alone where it has none of its own.
 * Nothing once it is reaped: the number could be somebody else's. */
void task_signal(const struct task *task, int signal);
/* To whom the order says, and a CONT: a stopped one could not hear it. */
void task_ask(const struct task *task, int signal);
/* KILL to the group and to everybody in the leaf. */
void task_kill(const struct task *task);
/* Takes the zombie's result. False: it is not dead. */
bool task_reap(struct task *task);
/* Reaped, and nobody is left in its leaf, or without one in its group and with
 * its canary. */
bool task_gone(const struct task *task);
/* KILL to those who left the group and still hold the canary. */
void task_kill_strays(const struct task *task);
/* Before the others: what former tasks used in its leaf, which is all but what
 * its first process did. It must not be reaped. */
void task_sample_first(struct task *task, const struct cgroup_tree *tree);
/* What it uses now; peaks go to `end`. */
void task_sample(struct task *task, const struct cgroup_tree *tree,
                 struct guard_usage *ret_usage);
/* Nothing more comes: fills in the rest of `end`. */
void task_finish(struct task *task);
/* It never ran. Returns false. */
bool task_fail(struct task *task, enum guard_result result, int sys,
               const char *format, ...) PRINTF_LIKE(4, 5);

#endif
