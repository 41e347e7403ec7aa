/* The guard: a small process that starts all our children, watches them, reads
 * their output and ends them completely (P1 to P15 in doc/design/). The large
 * process never forks: it talks to the guard over one socket, and each message
 * carries many starts or many ends.
 *
 * A task is over when its process is reaped, its cgroup is empty and its pipes
 * are closed. When the main process has ended, any processes it left behind are
 * killed. When the guard's socket closes, because guard_close was called or
 * this process died for whatever reason, the guard kills all its tasks and
 * exits.
 *
 * A guard that dies, is stopped or does not answer is killed and replaced: the
 * next one makes sure that nothing of its tasks is left, and their ends are
 * then reported as GUARD_LOST. What is requested in between waits for it.
 *
 * Everything here runs in the thread of the loop. Events are called from the
 * loop, never from inside guard_start and similar functions. */
#ifndef POINTSMAN_OS_GUARD_H
#define POINTSMAN_OS_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "lib/err.h"
#include "lib/text.h"
#include "lib/time.h"

/* Descriptor numbers in every child that asked for them; the child's
 * environment names them as POINTSMAN_STATUS_FD and POINTSMAN_PROGRESS_FD. */
enum { GUARD_STATUS_FD = 3, GUARD_PROGRESS_FD = 4 };

struct guard;

/* Which processes get a signal other than KILL. KILL always goes to all
 * processes of the task. If a task has no group, its process stands for the
 * group; if it has no cgroup, its group stands for the cgroup. */
enum guard_to {
    GUARD_TO_GROUP,
    GUARD_TO_CHILD, /* its first process only */
    GUARD_TO_CGROUP /* all of them, also those that left the group */
};

/* The signal that the kernel sends to a task's first process when the guard
 * dies. */
enum guard_death { GUARD_DEATH_KILL, GUARD_DEATH_TERM, GUARD_DEATH_NONE };

/* The account a task runs as. Only a guard running as root can change it. */
struct guard_user {
    uid_t uid;
    gid_t gid;
    const gid_t *groups; /* all supplementary groups */
    uint32_t group_count;
};

enum { GUARD_LIMITS_MAX = 32 };
#define GUARD_UNLIMITED UINT64_MAX

/* Limits of a task as a whole, enforced by its cgroup. A CPU weight that cannot
 * be set is ignored; if another limit lacks its controller, the task cannot be
 * started. */
enum guard_whole { GUARD_MEMORY = 1000, GUARD_PIDS, GUARD_CPU_WEIGHT };

struct guard_limit {
    uint64_t value; /* soft and hard */
    uint32_t what;  /* RLIMIT_..., or a value of enum guard_whole */
    uint32_t zero;
};

enum { GUARD_NO_KILL = -1 }; /* as grace_ms: send the signal, never KILL */

/* Zero is a good default for every member but base_fd. Descriptors and strings
 * must stay valid until the guard is closed. */
struct guard_options {
    int base_fd;      /* the base's directory; lock paths are relative to it */
    int output_fd;    /* directory of output paths; 0 = base_fd */
    const char *role; /* NULL = "task". A base may have only one guard per role:
                         the caller holds the role's lock, and the guard kills
                         leftovers of that role when it starts */
    const char *cgroup_root; /* cgroup v2 directory for the tree; NULL = own
                                cgroup; "" = do not use cgroups */
    const char *life_path;  /* lock file of this role's tasks, used only without
                               a cgroup: every task inherits the lock, so that
                               survivors of an earlier life are found and
                               killed; NULL = none */
    const char *executable; /* NULL = /proc/self/exe */
    /* Number of threads; 0 = one per slot, but at least one and at most
     * LAUNCHERS_A_CORE per core. */
    unsigned launchers;
    unsigned slots; /* tasks at once; later starts wait in the guard, in order;
                       0 = no limit */
    bool leased;    /* the guard starts nothing before guard_lease, and ends
                       everything when the lease runs out */
    int64_t reply_ms; /* a guard that is stopped for so long is replaced, one
                         that is only silent after six times as long; 0 =
                         10 s */
};

struct guard_start {
    uint64_t id; /* chosen by the caller; unique among tasks that have not ended
                  */
    char *const *argv;
    char *const *envp;     /* may be NULL */
    struct span env_block; /* more variables: "A=1\0B=2\0", prebuilt */
    const char *dir;       /* NULL = / */
    mode_t mask;           /* umask */
    const char *lock_path; /* job file to lock (P5), absolute or relative to
                              base_fd; stays locked until guard_release; NULL =
                              none */
    int stdin_fd; /* -1 = /dev/null; the guard gets a copy, so it may be closed
                     once this call returns */
    bool status_fd, progress_fd;
    bool keep_group; /* stays in the guard's group, and so gets the signals of
                        the terminal */
    bool canary; /* without a cgroup: give the task a pipe that is never written
                    to; a process that left the group but still holds this pipe
                    is found and killed */
    enum guard_to kill_to;
    enum guard_death death;
    const struct guard_user *user;    /* NULL = the guard's own */
    const struct guard_limit *limits; /* in addition to those of the guard */
    uint32_t limit_count;             /* at most GUARD_LIMITS_MAX */
    bool outside_slots;      /* starts at once, regardless of `slots` */
    int64_t timeout_ms;      /* 0 = none; then TERM, grace, KILL */
    int64_t grace_ms;        /* 0 = KILL at once; or GUARD_NO_KILL */
    const char *output_path; /* file for large or slow output, relative to
                                output_fd; must not exist; NULL = keep only the
                                last inline_max bytes */
    uint32_t inline_max;     /* 0 = 8 KiB; at most 64 KiB */
    uint64_t output_max; /* 0 = 64 MiB; beyond it only head and tail are kept */
    bool streams; /* standard error has its own pipe and the output is stamped
                     (os/stamp.h), in the file output_path.stamps; otherwise
                     both share a pipe */
    uint32_t output_lines; /* per second; beyond it the task blocks in write (0:
                              no limit) */
};

enum guard_result {
    GUARD_RAN = 0,
    GUARD_TAKEN = 99,      /* another process has the lock, or the job moved */
    GUARD_CANNOT = 100,    /* cannot be executed: no such program, ... */
    GUARD_WITHDRAWN = 104, /* killed before it was started: nothing ran */
    GUARD_LOST = 105,      /* its guard died: it may have run, and is gone */
    GUARD_TEMPORARY = 111  /* not now: no memory, no processes, full disk */
};

/* Exit codes of what did not run: a limit, user or directory was refused, or
 * the program was. */
enum {
    GUARD_NOT_STARTED = 125,
    GUARD_NOT_EXECUTABLE = 126,
    GUARD_NOT_FOUND = 127
};

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
    struct span error; /* a sentence if result is not GUARD_RAN; with
                          `survivors`, their pids and names */
    pid_t pid;         /* 0: never started */
    int exit_code; /* -1 if ended by a signal or never started; if exec failed
                      (GUARD_CANNOT), the status a shell would return */
    int signal;    /* 0 when exited */
    bool core_dumped;
    bool timed_out;
    enum guard_killer killer; /* who first asked for the task's end */
    int kill_signal;          /* the signal; 0 = none was sent */
    bool leftovers;           /* other processes of it had to be killed */
    bool survivors; /* a process still held its pipe or cgroup after 2 s, when
                       the guard stopped waiting */
    int64_t user_us, system_us, max_rss_kib; /* of its first process and the
                                                children that it waited for */
    /* Usage of the whole task as far as it was sampled, which is done only for
     * tasks that last; 0: not known. */
    int64_t cpu_us, peak_kib, procs_peak, read_bytes, written_bytes;
    /* Since the task began; 0: at its end. */
    int64_t exited_ns;          /* its first process exited */
    int64_t closed_ns;          /* its pipes were closed by all processes */
    int64_t gone_ns;            /* no process of the task was left */
    struct wall started, ended; /* 0: never started */
    int64_t run_ns;             /* from start to end, by the monotonic clock */
    bool has_status;
    struct span status;      /* last line on the status descriptor */
    struct span output;      /* inline, when not output_in_file */
    struct span stamps;      /* of `output`, if requested */
    bool output_in_file;     /* the whole output is in output_path */
    uint64_t output_bytes;   /* in the file, or inline */
    uint64_t output_total;   /* written by the task; more than output_bytes if
                                truncated */
    bool output_lost;        /* some could not be written to disk */
    uint64_t lost_bytes;     /* of the task's output; may be 0 even then */
    uint64_t unmarked_bytes; /* of these, no mark in the output says so */
    bool stamps_lost;        /* the stamps could not be written to disk */
    int lost_sys;            /* errno of the last loss */
};

/* Resource usage of a task, reported every two seconds. */
struct guard_usage {
    uint64_t id;
    int64_t cpu_us, memory_kib, procs;
};

/* Spans in events are valid during the call only. */
struct guard_events {
    /* Called only for tasks that last longer than a moment (2 ms) or report
     * progress; `ended` has the complete information. */
    void (*started)(void *ctx, uint64_t id, pid_t pid, struct wall at);
    /* The newest line on the progress descriptor. */
    void (*progress)(void *ctx, uint64_t id, struct span line);
    void (*usage)(void *ctx, const struct guard_usage *usage);
    /* Called exactly once for every guard_start. */
    void (*ended)(void *ctx, const struct guard_end *end);
    /* The guard died, does not answer or cannot be started. Another one is
     * started, if need be again and again; `why` is a sentence. */
    void (*lost)(void *ctx, const char *why);
    /* The next guard is ready; the ends of the tasks of its predecessor
     * follow. */
    void (*restored)(void *ctx);
};

/* Starts the guard, waits until leftovers of earlier lives are gone and watches
 * it from the loop. Call it early, before anything large is allocated. */
bool guard_open(uv_loop_t *loop, const struct guard_options *options,
                const struct guard_events *events, void *ctx,
                struct guard **ret_guard, struct err *err);

/* Queues a start. Everything queued in one turn of the loop is sent as one
 * message before the loop waits (or by guard_flush). No pointer in `start` is
 * kept. */
void guard_start(struct guard *guard, const struct guard_start *start);

/* Sends the signal (TERM, HUP, INT, KILL ...) as kill_to says, and KILL to all
 * processes after grace_ms. A second call with SIGKILL skips the grace.
 * Requests for one task in one turn are merged: only one signal is sent, KILL
 * if any request has it, otherwise the last one, and the earliest time for KILL
 * wins. A start that is still waiting ends as GUARD_WITHDRAWN. Unknown ids are
 * ignored: those tasks have ended. */
void guard_kill(struct guard *guard, uint64_t id, int signal, int64_t grace_ms);
/* Withdraws a start that is still waiting: it ends as GUARD_WITHDRAWN. A task
 * that has begun is not affected. */
void guard_withdraw(struct guard *guard, uint64_t id);

/* Unlocks lock_path of an ended task; call it after the end is recorded. */
void guard_release(struct guard *guard, uint64_t id);

/* Changes the number of slots. */
void guard_set_slots(struct guard *guard, unsigned slots);

/* Extends the lease to the time at which the last answered heartbeat was sent
 * plus the time that it grants; an earlier time changes nothing. When the lease
 * runs out, the guard kills all tasks, even if this process is stopped or
 * hangs. Starts that are waiting, and those that arrive before the next
 * extension, end as GUARD_WITHDRAWN. Only for a guard that was opened as
 * leased. */
void guard_lease(struct guard *guard, struct boot until);

void guard_flush(struct guard *guard);

/* What another program that is executed in this process needs to take over the
 * guard with its tasks. The spans are valid as long as the guard. */
struct guard_handover {
    int fd; /* the socket; it is open across exec, and so are its tasks */
    pid_t pid;
    bool has_cgroup;
    struct span mode, tree, controllers;
    unsigned slots_most;
    const uint64_t *ids; /* of unfinished starts; the receiver's */
    size_t id_count;
};

/* True if nothing is queued, half sent or half received, and the guard is well:
 * it can be handed over. */
bool guard_is_settled(const struct guard *guard);
size_t guard_unfinished(const struct guard *guard);
/* Gives up the guard without ending it. After that only guard_close may be
 * called, which frees the rest. `ids` is not set. */
void guard_hand_over(struct guard *guard, struct guard_handover *ret_handover);
/* Takes over a guard that the program before handed over. The options must be
 * those it was opened with; their descriptor of the base may differ. Nothing is
 * read before the loop runs. False: it is not our child any more. */
bool guard_adopt(uv_loop_t *loop, const struct guard_options *options,
                 const struct guard_handover *handover,
                 const struct guard_events *events, void *ctx,
                 struct guard **ret_guard, struct err *err);

/* Kills all tasks (no more events are reported), waits in the loop until the
 * guard is gone, frees everything and calls `closed` (may be NULL). The loop
 * must run until then. */
void guard_close(struct guard *guard, void (*closed)(void *ctx), void *ctx);

/* False: the guard is being replaced. */
bool guard_runs(const struct guard *guard);
/* How the guard controls tasks: "cgroup /sys/fs/cgroup/...", or "process
 * groups:" with what that means and why there is no cgroup. The string is valid
 * until the guard is replaced. */
const char *guard_mode(const struct guard *guard);
bool guard_has_cgroup(const struct guard *guard);
/* Which limits on whole tasks are available: "memory pids cpu", or "none". */
const char *guard_controllers(const struct guard *guard);
/* How many tasks at once the limit on descriptors allows; more slots than that
 * are not used. */
unsigned guard_slots_most(const struct guard *guard);
/* Meaningless while the guard is being replaced. */
pid_t guard_pid(const struct guard *guard);

/* The same for a guard that is started with this limit on descriptors, and
 * asked for so many slots. */
unsigned guard_slots_within(uint64_t files, unsigned slots);

/* The guard itself, `pointsman guard --fd N`. Returns its exit status. */
int guard_main(int argc, char **argv);

#endif
