/* The runner carries out attempts for the scheduler: the local worker over the
 * guard, or the simulator's pretend machine. */
#ifndef POINTSMAN_SCHEDULER_RUNNER_H
#define POINTSMAN_SCHEDULER_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"
#include "lib/time.h"
#include "core/job.h"
#include "wire/attempt_trace.h"

/* A landed set that a rollback reverts (landing/revert.h). */
struct run_member {
    struct span id, sum, name;
    enum job_class job_class;
    struct wall admitted;
    uint32_t uid; /* of its submitter */
    bool again;   /* on a command target: apply the set again */
};

/* A set of a stack, below the one that lands. */
struct run_base {
    struct span id, sum, name;
    bool landed; /* its own base was verified when it landed */
};

/* A set that has landed and must be on the branch. */
struct run_need {
    struct span id, sum;
};

/* A set that lands, with its approvers, the sets that it is stacked on (the
 * nearest first), and the landed sets that it depends on. */
struct run_set {
    const struct job *job;
    const struct span *approved_by;
    size_t approved_count;
    const struct run_base *bases;
    size_t base_count;
    const struct run_need *needs;
    size_t need_count;
};

/* What a process does for the merge train of a target. */
enum run_train_task {
    RUN_TRAIN_MERGE,       /* merge sets[], report the trees; no attempt */
    RUN_TRAIN_CHECK,       /* run the checks on `tree` */
    RUN_TRAIN_ENVIRONMENT, /* report what `environment` prints; no attempt */
    RUN_TRAIN_LAND         /* land sets[], if the tip is `tip` and the trees
                              result */
};

struct run_train {
    enum run_train_task task;
    struct span target;
    struct span tip;   /* LAND: commit of the branch, "none": there is no
                          branch; empty: any, without checks */
    struct span tree;  /* MERGE: onto this one; empty: only report the tip */
    bool aside, fresh; /* MERGE: each step onto `tree`; forget old objects */
    bool locks;        /* it is an attempt of `job` itself, not of the tip */
    unsigned lane;     /* CHECK */
    /* CHECK: other sets whose code is in `tree` and that have not landed. */
    const struct run_set *below;
    size_t below_count;
    const struct span *trees; /* LAND: after sets[i]; empty: any */
    const bool *joined; /* MERGE, LAND: sets[i] is one unit with the next set */
};

struct run_start {
    uint64_t handle;       /* the scheduler's handle, never used twice */
    const struct job *job; /* valid during the call only */
    struct span node;      /* for a task of an array; otherwise empty */
    uint64_t task;         /* index of the task in the array, or its number */
    struct span level;     /* for a task of a standing job: that of its node, */
    struct span place;     /* the names from below the root, with slashes, */
    struct span job_name;  /* and what the job is called */
    unsigned attempt;
    bool probe; /* only ask whether all of `sets` are on the target already */
    struct run_set set;         /* for a change: `job` and what it lands with */
    const struct run_set *sets; /* all that land together, in this order */
    size_t set_count;           /* 0: only `set` */
    const struct run_member *members; /* for a rollback: newest first */
    size_t member_count;
    struct span because;           /* for a rollback; may be empty */
    const struct run_train *train; /* NULL: not for a merge train */
};

enum run_stop {
    RUN_STOP_TERM,
    RUN_STOP_HUP,    /* a rollback stops it */
    RUN_STOP_RETURN, /* the role stops: TERM, and KILL even if the job asks for
                        TERM only */
    RUN_STOP_KILL,
    RUN_STOP_WITHDRAW /* only if it has not started: it ends with result 104 */
};

/* Results of an attempt: its target is not configured, and it waits; it may not
 * run under any account that is left (core/run_as.h), and the job is held. */
enum { RUN_UNAVAILABLE = 69, RUN_FORBIDDEN = 77 };
/* Its process is gone, and how it ended is not known. */
enum { RUN_RECOVERED = 105 };

/* How an attempt ended. */
struct run_end {
    uint64_t handle;
    int result;    /* 0 it ran; 99 another process has its lock; 100 cannot be
                      executed; 111 not now; RUN_UNAVAILABLE,
                      RUN_FORBIDDEN, RUN_RECOVERED */
    int exit_code; /* -1: none */
    int signal;    /* 0: none */
    bool timed_out;
    struct attempt_loss loss; /* of its output */
    struct span status;       /* last line of the status descriptor, or empty */
    struct span detail;       /* for other results: a sentence */
    struct span survivors;    /* processes that were still there: pids, names */
    struct span place;        /* location of its output (os/output.h) */
    bool in_file;             /* that is a file of its own */
    bool is_durable;          /* nothing of it need be synced before the end is
                                 committed */
    uint64_t output_bytes;
    struct wall started, ended;
    uint64_t cpu_us, peak_kib;
    struct span trace; /* wire/attempt_trace.h */
};

/* Resource usage of the running attempts of one job. */
struct run_usage {
    unsigned running;
    struct wall started; /* of the first of their processes; 0: not known yet */
    struct span progress; /* latest line of the latest attempt; may be empty */
    uint64_t cpu_us, memory_kib, procs; /* sums; 0: not known yet */
};

/* The data that must be synced before ends are committed (store_sync_first). */
struct run_sync {
    int fd;          /* -1: nothing was written */
    bool filesystem; /* syncfs(fd) instead of fdatasync(fd) */
    bool lost;       /* outputs that are not in files of their own could not all
                        be written */
    int sys;         /* errno of that; 0: not known */
};

struct runner {
    void *ctx;
    /* The end arrives through scheduler_ended(), never within this call. */
    void (*start)(void *ctx, const struct run_start *start);
    void (*stop)(void *ctx, uint64_t handle, enum run_stop how);
    /* All starts of this turn have been passed. */
    void (*flush)(void *ctx);
    /* Writes the outputs of the ends reported so far, and is called only if one
     * of them is not durable, or for the branch. Returns what must be
     * synced before these are committed. `whole`: the file system of the base,
     * in any case. */
    struct run_sync (*write_outputs)(void *ctx, bool whole);
    /* The end is recorded: the proof that it ran (its lock) may be removed. */
    void (*release)(void *ctx, uint64_t handle);
};

#endif
