/* One task inside the guard process: its start request, its state, and the work
 * that launchers and the main thread share: reading its pipes and reaping it.
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
    GUARD_TASK_READ_BYTES = 64 << 10,  /* size of a reader's buffer */
    GUARD_TASK_STATUS_MAX = 160 << 10, /* longest status line */
    GUARD_TASK_PROGRESS_MAX = 8 << 10  /* and progress line */
};

enum guard_task_state {
    GUARD_TASK_WAITING,
    GUARD_TASK_LAUNCHING, /* owned by a launcher */
    GUARD_TASK_WATCHED,   /* owned by main */
    GUARD_TASK_OVER       /* its end will be reported, or has been */
};

/* Making and freeing a pipe costs two microseconds, so tasks with a leaf reuse
 * pipes, of which we keep both ends: an empty leaf shows that there is no
 * writer any more, so end of file is not needed. */
struct pipe_ends {
    int ours;   /* -1: closed */
    int theirs; /* the write end; -1: closed here */
    bool kept;
};

/* A pipe of lines of which only the last one matters. Two buffers in the task's
 * arena take turns: one has the last whole line, the other the bytes since. */
struct line_pipe {
    struct pipe_ends ends;
    struct arena *arena;
    bool has_line;
    bool fresh;        /* a line came since this was last cleared */
    struct span line;  /* the last whole line */
    size_t max;        /* bytes of a line */
    char *buffers[2];  /* they grow; NULL: nothing read yet */
    size_t room[2];    /* of the buffers */
    unsigned filling;  /* index of the buffer being filled */
    size_t part_bytes; /* bytes in that buffer */
};

/* A request of the client that has not been carried out yet. */
struct guard_task_request {
    int signal;          /* 0 = none */
    struct mono kill_at; /* MONO_NEVER: KILL only if `signal` is KILL */
    bool expired;        /* the request comes from the expired lease */
};

/* Adds another kill: KILL beats every other signal, otherwise the last signal
 * wins; the earliest time for KILL wins; after a KILL none is scheduled. */
void guard_task_request_add(struct guard_task_request *request, int signal,
                            int64_t grace_ms, struct mono now);

struct guard_task {
    struct list link;
    struct guard_task *same_slot; /* chain in the table of ids */
    uint64_t id;
    enum guard_task_state state;
    bool held; /* over and reported, only the lock is kept; main's */
    struct guard_task_request request;

    /* Everything the task owns lies here, including the task itself; only its
     * output has separate memory, in `capture`. */
    struct arena arena;

    /* As requested. */
    unsigned flags; /* enum guard_start_flag */
    mode_t mask;
    int64_t timeout_ms, grace_ms;
    char **argv; /* has room for one more element in front */
    char **envp;
    const char *search; /* value of PATH in envp, or NULL */
    const char *dir, *lock_path;
    int stdin_fd; /* -1: /dev/null */
    const struct guard_limit *limits;
    uint32_t limit_count;
    struct guard_user user; /* with GUARD_START_USER */

    /* State while it runs. */
    int lock_fd, pidfd;
    /* Pipes of STAMP_OUT and, unless both streams share one, STAMP_ERR. A task
     * may pass these on to other processes: both ends are kept only as long as
     * a launcher has the task, and reused only if nothing was written to them.
     */
    struct pipe_ends out[2];
    int canary_fd; /* end of file: no process holds the task's end any more */
    struct line_pipe status, progress;
    struct cgroup_leaf *leaf;
    struct guard_capture capture;
    struct guard_pace pace;
    struct mono read_at; /* in debt for lines: not read before this time */
    struct mono began;
    struct wall started; /* the same moment by the wall clock */
    bool exited;         /* the process is a zombie, or reaped */
    bool reaped;
    struct guard_end end;

    /* Used by main only. */
    bool paused; /* its output is not watched until read_at */
    bool blind;  /* epoll refused its descriptor: polled instead */
    bool leaf_watched;
    bool killed; /* by KILL */
    struct mono due, timeout_at, kill_at, spill_at, courtesy_at, give_up_at;
    struct mono ask_at;
    struct mono sample_at, report_at;
    struct mono flush_at;   /* when stamps are written to their file */
    bool sampled, reported; /* reported: the client knows that it runs */
    uint64_t cpu_before_us; /* used by earlier tasks in its leaf */
    size_t heap_place;
};

/* The task takes over `stdin_fd`. */
struct guard_task *guard_task_new(const struct guard_start_frame *start,
                                  int output_fd, int stdin_fd);
/* Closes all descriptors and frees the task. The caller handles the leaf. */
void guard_task_free(struct guard_task *task);
/* Closes all descriptors but the lock and frees the output, after the end was
 * reported. */
void guard_task_shrink(struct guard_task *task);

enum guard_task_pipe {
    GUARD_TASK_PIPE_OPEN,
    GUARD_TASK_PIPE_EMPTY,
    GUARD_TASK_PIPE_ENDED
};

/* Closes the write ends of `out`: from now on they reach end of file as usual.
 */
void guard_task_loosen(struct guard_task *task);
/* Read what is available without waiting, up to a limit that leaves other tasks
 * their turn. EMPTY: everything was read; ENDED: the other end is closed
 * everywhere; our descriptor is still open. */
enum guard_task_pipe guard_task_read_out(struct guard_task *task,
                                         enum stamp_stream stream,
                                         char *buffer);
enum guard_task_pipe guard_task_read_lines(struct line_pipe *pipe,
                                           char *buffer);
/* There is no writer any more: reads the rest; a last line without LF counts
 * too. Closes the pipe unless it is kept. */
void guard_task_end_lines(struct line_pipe *pipe, char *buffer);
/* True if all pipes that are not kept are closed. */
bool guard_task_pipes_closed(const struct guard_task *task);

/* Signals the group, or the process alone if it has no group of its own. Does
 * nothing after it is reaped, since the number may be reused. */
void guard_task_signal(const struct guard_task *task, int signal);
/* Signals the processes that the request names, then sends CONT, because a
 * stopped process would not handle the signal. */
void guard_task_signal_all(const struct guard_task *task, int signal);
/* Sends KILL to the group and to all processes in the leaf. */
void guard_task_kill(const struct guard_task *task);
/* Takes the zombie's result. False: it is still alive. */
bool guard_task_reap(struct guard_task *task);
/* Another process traces the zombie and keeps it from being reaped: fills in
 * its result as far as it can be known. */
void guard_task_give_up(struct guard_task *task);
/* Sets `error` of the end to a list of the processes that are left. */
void guard_task_name_survivors(struct guard_task *task);
/* True if it is reaped and no process is left in its leaf or, without a leaf,
 * in its group or holding its canary. */
bool guard_task_gone(const struct guard_task *task);
/* Sends KILL to processes that left the group and still hold the canary. False:
 * there is none. */
bool guard_task_kill_strays(const struct guard_task *task);
/* Call this before the other samples: it records how much earlier tasks used in
 * the leaf, which is everything except the usage of the first process. That
 * process must not be reaped yet. */
void guard_task_sample_first(struct guard_task *task,
                             const struct cgroup_tree *tree);
/* Samples current usage; peaks go to `end`. */
void guard_task_sample(struct guard_task *task, const struct cgroup_tree *tree,
                       struct guard_usage *ret_usage);
/* Fills in the rest of `end` when nothing more will be read. */
void guard_task_finish(struct guard_task *task);
/* Records that the task never ran. Returns false. */
bool guard_task_fail(struct guard_task *task, enum guard_result result, int sys,
                     const char *format, ...) PRINTF_LIKE(4, 5);

#endif
