/* The guard: a small process that starts every child of ours, watches it,
 * reads its output and ends it completely (P1 to P15 in doc/design/). The large
 * process never forks: it talks to the guard over one socket, many starts and
 * many ends a message.
 *
 * A task is over when its process is reaped, its cgroup is empty and its pipes
 * are closed. When the main process is gone, whatever it left behind is killed.
 * When the guard's socket closes, because guard_close was called or because
 * this process died of anything, the guard kills all its tasks and exits.
 *
 * Everything here runs in the thread of the loop; events are called from it,
 * never from inside guard_start and its like. */
#ifndef POINTSMAN_OS_GUARD_H
#define POINTSMAN_OS_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "lib/err.h"
#include "lib/text.h"
#include "lib/time.h"

/* Descriptor numbers of every child that asked for them, to be said in its
 * environment as POINTSMAN_STATUS_FD and POINTSMAN_PROGRESS_FD. */
enum { GUARD_STATUS_FD = 3, GUARD_PROGRESS_FD = 4 };

struct guard;

/* Which processes get a signal that is not KILL. KILL always goes to all of the
 * task.
 * Where a task has no group, the group is its process; where it has no cgroup,
 * the cgroup is its group. */
enum guard_to {
    GUARD_TO_GROUP,
    GUARD_TO_CHILD, /* its first process only */
    GUARD_TO_CGROUP /* all of them, also those that left the group */
};

/* What the kernel sends a task's first process when the guard dies. */
enum guard_death { GUARD_DEATH_KILL, GUARD_DEATH_TERM, GUARD_DEATH_NONE };

/* The account a task runs as. Only a guard of root can change it. */
struct guard_user {
    uid_t uid;
    gid_t gid;
    const gid_t *groups; /* supplementary, all of them */
    uint32_t group_count;
};

enum { GUARD_LIMITS_MAX = 32 };
#define GUARD_UNLIMITED UINT64_MAX

/* Limits of a task as a whole, by its cgroup. A weight that cannot be given is
 * left out; without a controller for the others the task cannot be started. */
enum guard_whole { GUARD_MEMORY = 1000, GUARD_PIDS, GUARD_CPU_WEIGHT };

struct guard_limit {
    uint64_t value; /* soft and hard */
    uint32_t what;  /* RLIMIT_..., or of enum guard_whole */
    uint32_t zero;
};

enum { GUARD_NO_KILL = -1 }; /* for grace_ms: never more than the signal */

/* Zero is a good default for every member but base_fd. */
struct guard_options {
    int base_fd;             /* the base's directory; lock paths start there */
    int output_fd;           /* directory of output paths; 0 = base_fd */
    const char *role;        /* NULL = "task". Of one role only one guard may
                                live per base: the caller holds its lock, and
                                leftovers of that role are killed at the start */
    const char *cgroup_root; /* cgroup v2 directory to live under; NULL = own
                                cgroup; "" = do not use cgroups */
    const char *life_path;   /* lock file of this role's tasks; only where there
                                is no cgroup: every task inherits the lock, so
                                that survivors of a former life are found and
                                killed; NULL = none */
    const char *executable;  /* NULL = /proc/self/exe */
    /* Threads; 0 = one a slot, but no fewer than one and no more than
     * LAUNCHERS_A_CORE for each core. */
    unsigned launchers;
    unsigned slots; /* tasks at once, later starts wait in order in the
                       guard; 0 = no limit */
    bool leased;    /* the guard starts nothing before guard_lease, and ends
                       everything when that moment has passed */
};

struct guard_start {
    uint64_t id; /* the caller's, unique among those not ended */
    char *const *argv;
    char *const *envp;     /* may be NULL */
    struct span env_block; /* more: "A=1\0B=2\0", as prebuilt */
    const char *dir;       /* NULL = / */
    mode_t mask;           /* umask */
    const char *lock_path; /* job file to lock (P5), absolute or from base_fd;
                              stays locked until guard_release; NULL = none */
    int stdin_fd;          /* -1 = /dev/null; the guard gets a copy: may be
                              closed once this call returns */
    bool status_fd, progress_fd;
    bool keep_group; /* stays in the guard's group, and so gets what
                        the terminal sends */
    bool canary; /* without a cgroup: a pipe nobody writes to, so that whoever
                    left the group is found, and killed, as long as it holds
                    that pipe */
    enum guard_to kill_to;
    enum guard_death death;
    const struct guard_user *user;    /* NULL = ours */
    const struct guard_limit *limits; /* in addition to those of the guard */
    uint32_t limit_count;             /* at most GUARD_LIMITS_MAX */
    bool outside_slots;               /* starts at once whatever `slots` says */
    int64_t timeout_ms;               /* 0 = none; over it TERM, grace, KILL */
    int64_t grace_ms;                 /* 0 = KILL at once; or GUARD_NO_KILL */
    const char *output_path; /* file for output that is large or slow, from
                                output_fd, must not exist; NULL = keep only
                                the last inline_max bytes */
    uint32_t inline_max;     /* 0 = 8 KiB; at most 64 KiB */
    uint64_t output_max;     /* 0 = 64 MiB; over it head and tail stay */
    bool streams;            /* standard error has a pipe of its own, and the
                                output is stamped (os/stamp.h): the file in
                                output_path.stamps; else both share a pipe */
    uint32_t output_lines;   /* a second; over it the task waits in its write;
                                0 = no limit */
};

enum guard_result {
    GUARD_RAN = 0,
    GUARD_TAKEN = 99,      /* somebody else has the lock, or the job moved */
    GUARD_CANNOT = 100,    /* cannot be executed: no such program, ... */
    GUARD_WITHDRAWN = 104, /* killed before it was started: nothing ran */
    GUARD_TEMPORARY = 111  /* not now: no memory, no processes, full disk */
};

enum { GUARD_NOT_EXECUTABLE = 126, GUARD_NOT_FOUND = 127 };

enum guard_killer {
    GUARD_NOBODY,
    GUARD_CALLER,  /* guard_kill */
    GUARD_TIMEOUT, /* timeout_ms */
    GUARD_CLOSING, /* guard_close */
    GUARD_LEASE    /* the lease has run out */
};

struct guard_end {
    uint64_t id;
    enum guard_result result;
    struct span error; /* a sentence when result is not GUARD_RAN */
    pid_t pid;         /* 0: never started */
    int exit_code;     /* -1 when ended by a signal or never started; but what
                          a shell would say when GUARD_CANNOT is about exec */
    int signal;        /* 0 when exited */
    bool core_dumped;
    bool timed_out;
    enum guard_killer killer; /* what first asked for its end */
    int kill_signal;          /* the signal; 0 = none was sent */
    bool leftovers;           /* other processes of it had to be killed */
    bool survivors;           /* something still held its pipe or cgroup when
                                 we stopped waiting (2 s) */
    int64_t user_us, system_us, max_rss_kib; /* of its first process, and of
                                                those that waited for */
    /* Of the whole task as far as we looked, which is at those that last; 0:
     * not known. */
    int64_t cpu_us, peak_kib, procs_peak, read_bytes, written_bytes;
    /* Since it began; 0: with its end. */
    int64_t exited_ns;          /* its first process */
    int64_t closed_ns;          /* no process had its pipes open any more */
    int64_t gone_ns;            /* no process of it was left */
    struct wall started, ended; /* 0: never started */
    int64_t run_ns;             /* between them by the monotonic clock */
    bool has_status;
    struct span status;    /* last line on the status descriptor */
    struct span output;    /* inline, when not output_in_file */
    struct span stamps;    /* of it, when they were asked for */
    bool output_in_file;   /* whole in output_path */
    uint64_t output_bytes; /* there, or inline */
    uint64_t output_total; /* written by the task; more when cut */
    bool output_lost;      /* the disk refused some */
};

/* What a task uses, every two seconds. */
struct guard_usage {
    uint64_t id;
    int64_t cpu_us, memory_kib, procs;
};

/* Spans in events are valid during the call only. */
struct guard_events {
    /* Only for tasks that last longer than a moment (2 ms) or tell their
     * progress; `ended` tells all. */
    void (*started)(void *ctx, uint64_t id, pid_t pid, struct wall at);
    /* The newest line on the progress descriptor. */
    void (*progress)(void *ctx, uint64_t id, struct span line);
    void (*usage)(void *ctx, const struct guard_usage *usage);
    /* Once for every guard_start. */
    void (*ended)(void *ctx, const struct guard_end *end);
    /* The guard died; nothing more comes. Its tasks get a KILL from the
     * kernel, those in its cgroup from us. The process is to exit. */
    void (*lost)(void *ctx, const char *why);
};

/* Starts the guard (early: before anything large is allocated), waits until
 * leftovers of former lives are gone, watches it from the loop. */
bool guard_open(uv_loop_t *loop, const struct guard_options *options,
                const struct guard_events *events, void *ctx,
                struct guard **ret_guard, struct err *err);

/* Queued; everything queued in a turn of the loop goes out as one message,
 * before the loop waits (or by guard_flush). Nothing of `start` is kept. */
void guard_start(struct guard *guard, const struct guard_start *start);

/* Signal (TERM, HUP, INT, KILL ...) to where kill_to says, KILL of everything
 * after grace_ms. Again with SIGKILL: skips the grace. What is asked of one
 * task in one turn is put together: one signal is sent, KILL before all others,
 * else the last one, and of the times for KILL the earliest counts. A start
 * still waiting ends as GUARD_WITHDRAWN. Unknown ids are ignored: they have
 * ended. */
void guard_kill(struct guard *guard, uint64_t id, int signal, int64_t grace_ms);
/* Takes a start back that still waits: it ends as GUARD_WITHDRAWN. A task that
 * has begun is left alone. */
void guard_withdraw(struct guard *guard, uint64_t id);

/* Unlocks lock_path of an ended task (after its end is recorded). */
void guard_release(struct guard *guard, uint64_t id);

/* Changes the number of slots. */
void guard_set_slots(struct guard *guard, unsigned slots);

/* Extends the lease, to the time the last answered heartbeat was sent and what
 * it grants from there; an earlier moment changes nothing. Once it has passed,
 * all tasks are killed, by the guard itself, even if this process is stopped or
 * hangs; starts that wait, and those that come before the next extension, end
 * as GUARD_WITHDRAWN. Only for a guard that was opened as leased. */
void guard_lease(struct guard *guard, struct boot until);

void guard_flush(struct guard *guard);

/* Kills all tasks (nothing is reported any more), waits in the loop until the
 * guard is gone, frees everything, calls closed (may be NULL). The loop must
 * run until then. */
void guard_close(struct guard *guard, void (*closed)(void *ctx), void *ctx);

/* How it keeps tasks in hand: "cgroup /sys/fs/cgroup/...", or "process groups:"
 * and what that means, and why there is no cgroup. Lives as long as the guard.
 */
const char *guard_mode(const struct guard *guard);
bool guard_has_cgroup(const struct guard *guard);
/* Which limits of tasks as a whole it can keep: "memory pids cpu", "none". */
const char *guard_controllers(const struct guard *guard);
pid_t guard_pid(const struct guard *guard);

/* The guard itself, `pointsman guard --fd N`. Returns its exit status. */
int guard_main(int argc, char **argv);

#endif
