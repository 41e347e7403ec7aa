/* The scheduler: the one role that decides what happens to admitted jobs and
 * records it (doc/design/ordering.md, O12).
 *
 * It has two parts, which may live in one process or in two (`daemon queue`,
 * `daemon exec`): staging (Q -> S -> P, from core/order) and starting (P -> X
 * -> D F T, from core/picker and core/retry). It touches the world only through
 * the store, the runner and the times it is given, so that the simulator drives
 * the very same code.
 *
 * Everything it knows of jobs comes from the store's events. A decision is an
 * operation on the store, conditional on the state it was made for. A start is
 * sent only after its assignment is durable (doc/design/processes.md, P3). */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_H
#define POINTSMAN_SCHEDULER_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/time.h"
#include "core/job.h"
#include "core/train.h"
#include "scheduler/node_feed.h"
#include "scheduler/runner.h"
#include "store/store.h"

struct scheduler;

enum { SCHEDULER_STAGES = 1, SCHEDULER_STARTS = 2 };

struct scheduler_target {
    struct span name;
    unsigned lanes; /* of a command: sets executing at one time; 0 = no limit */
    bool by_command;           /* a command target, not a branch */
    struct train_config train; /* of a branch (doc/design/train.md) */
    struct train_key key; /* what the results of its checks depend on, without
                             tree, ids and environment */
    struct span environment; /* command that prints what else they depend on;
                                empty: none */
};

enum { SCHEDULER_SUM_BYTES = 65 };

struct scheduler_options {
    unsigned parts; /* bits of SCHEDULER_* */
    unsigned slots; /* concurrency */
    unsigned max_temp, max_crash;
    int64_t wait_for_dep_ms;
    int64_t age_step_ms;   /* 0 = off */
    unsigned rollback_max; /* maximum number of sets per rollback; 0 = no
                              limit */
    bool rollback_files;   /* closure deps+files, unless the RB sets it */
    int64_t hup_grace_ms;  /* time between HUP and KILL of a member */
    uint64_t job_limit;    /* number of jobs to start; 0 = no limit */
    uint64_t seed;         /* seed of the jitter */
    struct span actor;     /* "daemon:exec" */
    struct span worker;    /* shard of the worker in this process */
    /* Does this process start the job because somebody waits for it here? It
     * then starts what the job waits for as well, and nothing else. NULL: it
     * starts all jobs. */
    bool (*hosts)(void *ctx, struct span id);
    void *hosts_ctx;
    const struct scheduler_target *targets;
    size_t target_count;
    /* For merge trains. The commit that the branch of a target is at, "none"
     * if it does not exist; false: only a process of git can tell. NULL: the
     * same. */
    bool (*read_tip)(void *ctx, struct span target,
                     char ret_commit[TRAIN_TREE_BYTES]);
    /* The actors whose approvals of a set count now, as approvals_counted of
     * changes/approvals.h. NULL: all that were given count. */
    bool (*approvers)(void *ctx, struct store *store, uint64_t num,
                      struct wall now, struct arena *arena,
                      const struct span **ret_actors, size_t *ret_count,
                      struct err *err);
    void *ctx; /* of the last two */
    /* Nodes and standing jobs; NULL: none. Must outlive the scheduler. */
    const struct node_feed *nodes;
    void (*sum)(struct span bytes, char ret_hex[SCHEDULER_SUM_BYTES]);
};

struct scheduler *scheduler_new(struct store *store,
                                const struct scheduler_options *options,
                                const struct runner *runner);
/* From here on nothing is decided or started. Submitted batches may still be
 * recorded: call store_drain before scheduler_free. */
void scheduler_dismiss(struct scheduler *scheduler);
void scheduler_free(struct scheduler *scheduler);

/* Loads the live jobs. `recover`: attempts that according to the registry are
 * running on the worker of this process are not (the caller has made sure that
 * nothing of them is left): decides about them like about any end. Those on
 * other workers are awaited. */
bool scheduler_start(struct scheduler *scheduler, struct wall now, bool recover,
                     struct err *err);
/* An attempt of a command that runs on while another program is executed in
 * this process. */
struct scheduler_running {
    uint64_t handle, num;
    uint64_t task; /* its place in an array, or 0 */
    unsigned attempt;
    struct wall assigned;
    bool is_lasting;
};

/* True if the scheduler can be closed without ending anything: after
 * scheduler_drain nothing is under way except started attempts of commands. */
bool scheduler_may_leave(const struct scheduler *scheduler);
/* Lists these attempts, in the arena. */
size_t scheduler_list_running(const struct scheduler *scheduler,
                              struct arena *arena,
                              struct scheduler_running **ret_running);
/* Before scheduler_start: these attempts are running, and are not recovered.
 * The array must be valid until then. If the registry does not know of one of
 * them as executing, scheduler_start fails (ERR_DATA). */
void scheduler_adopt(struct scheduler *scheduler,
                     const struct scheduler_running *running, size_t count);
/* From here on no set starts to be landed, checked or rolled back; commands
 * do. */
void scheduler_settle(struct scheduler *scheduler);
/* True if, after that, no set is landed, checked or rolled back any more. */
bool scheduler_has_settled(const struct scheduler *scheduler);
/* Ends scheduler_settle and scheduler_drain: everything goes on. */
void scheduler_proceed(struct scheduler *scheduler);
/* The clock was set back by so much since the last turn and shows `now`: call
 * it before the next one, and before the store delivers what was recorded
 * since. Nothing that waits for a time waits longer for that. */
void scheduler_set_back(struct scheduler *scheduler, struct wall now,
                        int64_t ms);
/* Sets new limits and targets. */
void scheduler_configure(struct scheduler *scheduler,
                         const struct scheduler_options *options);

/* Does all that can be done now. *ret_next: when the passing of time alone
 * gives it work (WALL_NEVER: never). Errors of the store only. */
bool scheduler_turn(struct scheduler *scheduler, struct wall now,
                    struct wall *ret_next, struct err *err);
/* From the runner: this attempt has been running for more than a moment. True:
 * attempts assigned behind it may have to be withdrawn, call scheduler_turn
 * soon. */
bool scheduler_lasting(struct scheduler *scheduler, uint64_t handle);
/* From the runner; handled at the next turn. The spans are copied. */
void scheduler_ended(struct scheduler *scheduler, const struct run_end *end);

/* Nothing starts as long as a rollback is about to be admitted. */
void scheduler_await_rollback(struct scheduler *scheduler, bool awaits);
/* Another process stages, and this one does not: what is about to be staged
 * there comes before less urgent work here. */
void scheduler_follow(struct scheduler *scheduler, bool follows);
/* Starts nothing new from now on. A target is asked once whether a set landed
 * whose process died; without an answer the set stays executing until the next
 * start, so that a target that cannot be used does not hold up a stop. */
void scheduler_drain(struct scheduler *scheduler);
/* The same, and asks all running attempts to end, or kills them; their jobs go
 * back to P, reason `returned`. */
void scheduler_return(struct scheduler *scheduler, bool kill);

unsigned scheduler_running(const struct scheduler *scheduler);
/* True if nothing is running, no batch is under way, and nothing can change
 * without time passing or something arriving (doc/design/processes.md,
 * P14). */
bool scheduler_idle(const struct scheduler *scheduler);
/* True if the job limit was reached and nothing is running any more. */
bool scheduler_used_up(const struct scheduler *scheduler);

/* Instead of scheduler_start, for a scheduler that only explains why this job
 * waits and is then freed: loads what that needs, counts the executions of
 * other processes and decides nothing. */
bool scheduler_start_why(struct scheduler *scheduler, const struct job *job,
                         struct wall now, struct err *err);

/* Each reason that holds the job back, with a sentence: precursor, dependency,
 * hold, lane, slot, time. For a set on a merge train: where it is. None for any
 * other job that is running or has ended. */
struct scheduler_reason {
    const char *kind; /* "precursor" "dependency" "hold" "lane" "slot" "time"
                         "record" "target" "account" "upgrade" */
    struct span id;   /* id of what it waits for; may be empty */
    struct span text;
    bool is_open_ended; /* nobody knows how long it lasts */
};
bool scheduler_why(struct scheduler *scheduler, const struct job *job,
                   struct wall now, struct arena *arena,
                   struct scheduler_reason **ret_reasons, size_t *ret_count,
                   struct err *err);

/* The same for the task of a standing job on a node, by a scheduler that runs
 * such jobs. ERR_NO_JOB: the job has no such task; ERR_REFUSED: it is no such
 * job, or does not run here. */
bool scheduler_why_task(struct scheduler *scheduler, const struct job *job,
                        struct span node, struct wall now, struct arena *arena,
                        struct scheduler_reason **ret_reasons,
                        size_t *ret_count, struct err *err);

#endif
