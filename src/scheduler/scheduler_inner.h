/* Inside the scheduler: for scheduler*.c only. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_INNER_H
#define POINTSMAN_SCHEDULER_SCHEDULER_INNER_H

#include "lib/list.h"
#include "lib/map.h"
#include "lib/random.h"
#include "core/order.h"
#include "core/rollback_scope.h"
#include "core/retry.h"
#include "core/picker.h"
#include "core/groups.h"
#include "scheduler/scheduler.h"
#include "wire/land_verdict.h"

/* Back-offs that one look takes up. */
enum { BACKOFF_MAX = 512 };

/* A task of an array that executes. */
struct array_task {
    struct span node; /* in the array's arena */
    enum task_status status;
    unsigned attempt;
    struct retry_counts counts;
    struct wall not_before;
    bool running;
};

struct array {
    struct list link; /* scheduler.arrays, the most urgent first */
    struct tracked_job *tracked;
    struct arena arena;
    struct array_task *tasks;
    size_t count, first_open; /* all before first_open are final or running */
    size_t running;
    bool begun; /* P -> X is committed */
};

/* What is known of one job: while it may be started soon, and while it
 * executes. That of a waiting job is a cache and may be dropped. */
struct tracked_job {
    struct list link; /* scheduler.waiting while it waits */
    uint64_t num;
    struct job job;      /* its spans point into this block */
    struct array *array; /* executing arrays only */
    unsigned attempts;   /* under way */
    enum retry_killer killer;
    bool executing;
    bool kill; /* cancelled without grace */
};

/* One that lands by the attempt of another (##group). */
struct companion {
    struct tracked_job *tracked;
    unsigned number; /* of its own attempt */
};

/* One start of a task, or a probe, from its assignment until its end is
 * recorded. */
struct attempt {
    struct list link; /* scheduler.attempts or scheduler.ended */
    uint64_t handle;
    struct tracked_job *tracked;
    size_t task;
    bool of_array;
    unsigned number;
    struct companion *companions;
    size_t companion_count;
    uint64_t *landing; /* they and the job's own, in the order they land in */
    struct wall assigned;
    bool is_started;   /* handed to the runner */
    bool is_lasting;   /* known to run */
    bool is_withdrawn; /* asked for, should it not have begun */
    bool is_ended;     /* in scheduler.ended */
    bool recovery;     /* found executing at the start; only probed */
    /* Changes whose end leaves it open whether they landed are probed. */
    bool probing, probed, landed;
    uint64_t probe_handle; /* 0: not under way */
    unsigned probe_count;  /* those that got no answer */
    struct wall probe_again;
    struct run_end end; /* its spans in end_memory */
    char *end_memory;
    struct land_verdict_line said; /* by a landing or a revert, as it ended */
};

/* An RB that waits for its turn. */
struct rollback_waiting {
    struct list link;
    uint64_t num;
    struct wall not_before;
    size_t rank_bytes;
    char rank[];
};

/* The rollback this process does: one at a time. */
struct rollback_run {
    struct arena arena;      /* since it began */
    struct attempt *attempt; /* of the RB; NULL: none */
    struct rollback_entry *entries;
    size_t count;
    struct run_member *reverts; /* of a run that is about to start */
    size_t revert_count;
    struct span because;
    struct wall begun, give_up; /* when members have had their time */
    bool verdict_known;         /* it ends without a process */
    struct retry_verdict verdict;
};

enum plan_kind {
    PLAN_TAKE,      /* a rollback begins */
    PLAN_MORE,      /* it takes more */
    PLAN_REVERT,    /* its process may start */
    PLAN_END,       /* of an attempt */
    PLAN_START,     /* of an attempt */
    PLAN_BEGIN,     /* of an array */
    PLAN_ARRAY_END, /* an array ends without an attempt that ends */
    PLAN_STAGE,     /* what the order proposed */
    PLAN_RANK,      /* the same: another rank */
    PLAN_BACKOFF    /* back-offs that are over */
};

/* What the batch under way is to bring about. */
struct plan {
    enum plan_kind kind;
    unsigned op;             /* of the move, or of the only operation */
    struct attempt *attempt; /* END, START */
    uint64_t num;
    bool again; /* END: the job goes on, this was one task of several */
    bool back;  /* END: the job is to be pending again */
};

struct scheduler {
    struct store *store;
    struct scheduler_options options;
    struct arena names; /* of options */
    struct runner runner;
    struct order *order;
    struct picker *picker;
    struct groups *groups;
    struct tracked_job *group_next; /* picked: starts in a batch of its own */
    struct random random;
    struct wall now;

    struct map jobs; /* num -> struct tracked_job */
    struct list waiting;
    size_t waiting_count;
    struct list attempts, ended; /* of struct attempt.link */
    struct map by_handle;
    struct list arrays;
    uint64_t next_handle;
    uint64_t started;
    size_t running; /* attempts assigned and not ended */

    struct store_batch *batch; /* under way, or being built */
    bool in_flight;
    bool dismissed; /* what was decided is recorded, and not acted on */
    struct plan *plans;
    size_t plan_count, plan_cap;

    struct map outages; /* target -> struct outage */

    struct list rollbacks;       /* of struct rollback_waiting */
    struct rollback_scope scope; /* whoever does it: from its events */
    struct rollback_run rollback_run;

    bool draining, returning;
    bool idle; /* the last look found nothing to do */
    bool failed;
    struct wall again_at;     /* after a batch that failed */
    struct wall excess_since; /* more is assigned than will begin soon; 0: no */
    struct wall due_at; /* the next back-off is over, as far as is known */
    uint64_t due[BACKOFF_MAX]; /* of this look */
    size_t due_count;
    bool due_crowd; /* there are more than one look takes up */
    struct err store_err;
};

struct why;

/* tracked jobs (scheduler_job.c) */
struct tracked_job *scheduler_job_get(struct scheduler *scheduler,
                                      uint64_t num);
/* A copy of the job, replacing what was known unless it executes. */
struct tracked_job *scheduler_job_keep(struct scheduler *scheduler,
                                       const struct job *job);
/* That of a job with all of its row, read when it is not at hand; NULL: it can
 * no longer be started (said in the log when its row cannot be read). */
struct tracked_job *scheduler_job_pending(struct scheduler *scheduler,
                                          uint64_t num);
void scheduler_job_execute(struct scheduler *scheduler,
                           struct tracked_job *tracked);
void scheduler_job_drop(struct scheduler *scheduler,
                        struct tracked_job *tracked);
void scheduler_jobs_clear(struct scheduler *scheduler);

/* Offers a pending job for picking; reads its row. */
void scheduler_offer_num(struct scheduler *scheduler, uint64_t num);
void scheduler_offer(struct scheduler *scheduler, const struct job *job);

struct plan *scheduler_plan_add(struct scheduler *scheduler,
                                enum plan_kind kind);
void scheduler_log_read_failure(const char *what, uint64_t num,
                                const struct err *err);

/* what happened (scheduler_event.c) */
store_listener scheduler_on_event;
bool scheduler_load(struct scheduler *scheduler, struct err *err);
/* Tells the order what the registry knows of an id outside of it. */
void scheduler_order_outside(struct scheduler *scheduler, struct span id);
void scheduler_order_answer(struct scheduler *scheduler);
void scheduler_order_admit(struct scheduler *scheduler, const struct job *job);

/* starts (scheduler_start.c) */
void scheduler_plan_starts(struct scheduler *scheduler);
/* Takes back what was assigned ahead of slots: `count` attempts, the youngest
 * first. */
void scheduler_withdraw_ahead(struct scheduler *scheduler, unsigned count);
/* Does so when the slots turn out to be long busy, not at once: they may be
 * free before what was taken back could be assigned anew. Result: when to look
 * again (WALL_NEVER: time alone changes nothing). */
struct wall scheduler_withdraw_excess(struct scheduler *scheduler);
void scheduler_start_committed(struct scheduler *scheduler,
                               const struct plan *plan, bool ok);
struct attempt *scheduler_attempt_new(struct scheduler *scheduler,
                                      struct tracked_job *tracked,
                                      unsigned number);
void scheduler_attempt_free(struct scheduler *scheduler,
                            struct attempt *attempt);
/* The number the schedule knows the attempt by. */
uint64_t scheduler_attempt_slot(const struct attempt *attempt);
void scheduler_array_free(struct array *array);

void scheduler_array_begun(struct scheduler *scheduler, const struct plan *plan,
                           bool ok);

/* sets that land together (scheduler_group.c) */
/* A job of a group enters the order by its group. False: it enters alone. */
bool scheduler_group_take(struct scheduler *scheduler, const struct job *job,
                          const struct job_edge *edges, size_t edge_count);
/* The step was committed; instead of order_move. False: it is of none. */
bool scheduler_group_move(struct scheduler *scheduler,
                          const struct store_event *event, bool undecided);
bool scheduler_group_hold(struct scheduler *scheduler, uint64_t num,
                          unsigned holds);
/* Proposals of the order for the one that stands for its group are made for
 * each member. False: it is of none. */
bool scheduler_group_effect(struct scheduler *scheduler,
                            const struct order_effect *effect);
/* Members that fail with another. */
void scheduler_group_plan_fails(struct scheduler *scheduler);
/* Offers the one that now stands for the group of `num`, if any. */
void scheduler_group_offer(struct scheduler *scheduler, uint64_t num);
/* Plans the start of group_next, all or nothing. */
void scheduler_group_plan_start(struct scheduler *scheduler);
/* It did not begin. */
void scheduler_group_start_failed(struct scheduler *scheduler,
                                  struct attempt *attempt);
bool scheduler_attempt_carries(const struct attempt *attempt,
                               const struct tracked_job *tracked);
enum retry_killer scheduler_attempt_killer(const struct attempt *attempt);
/* What the end of the attempt means for one of several. */
struct retry_verdict scheduler_group_verdict(const struct attempt *attempt,
                                             const struct tracked_job *tracked,
                                             const struct retry_verdict *whole,
                                             struct span detail);
void scheduler_group_why(struct scheduler *scheduler, const struct job *job,
                         struct why *why);

/* targets that cannot be used (scheduler_target.c) */
/* A landing found that; it is recorded and the target's queue held. */
void target_unavailable(struct scheduler *scheduler, struct span target,
                        struct span why);
/* An attempt had its answer from the target. */
void target_usable(struct scheduler *scheduler, struct span target);
/* When the target is tried again; 0: it can be used. */
struct wall target_again(const struct scheduler *scheduler, struct span target);
/* Notes what a job that was loaded says of its target. */
void target_recall(struct scheduler *scheduler, const struct job *job);
/* Adds why the job waits for its target. False: it does not. */
bool target_why(const struct scheduler *scheduler, const struct job *job,
                struct why *why);
/* Tries all of them at the next turn: what was wrong may have been mended. */
void targets_try(struct scheduler *scheduler);
void targets_clear(struct scheduler *scheduler);

/* back-offs that are over (scheduler_backoff.c) */
/* A job is not to start before that time (0: at once). */
void scheduler_backoff_expect(struct scheduler *scheduler,
                              struct wall not_before);
struct wall scheduler_backoff_next(const struct scheduler *scheduler);
/* Offers the first BACKOFF_MAX of those whose time has come; they are in `due`.
 */
void scheduler_backoff_offer(struct scheduler *scheduler);
/* Plans that those of them that were not picked are like all others. */
void scheduler_backoff_clear(struct scheduler *scheduler);
void scheduler_backoff_committed(struct scheduler *scheduler, bool ok);

/* ends (scheduler_end.c) */
/* Arrays that have nothing more to run, though no attempt of them ended. */
void scheduler_plan_array_ends(struct scheduler *scheduler);
void scheduler_array_end_committed(struct scheduler *scheduler,
                                   const struct plan *plan, bool ok);
void scheduler_plan_ends(struct scheduler *scheduler);
void scheduler_end_committed(struct scheduler *scheduler,
                             const struct plan *plan, bool ok);
void scheduler_probe_start(struct scheduler *scheduler,
                           struct attempt *attempt);
struct wall scheduler_probes_next(const struct scheduler *scheduler);
/* rollback (scheduler_rollback.c) */
/* A lane nobody picks from: RBs stand in the schedule's window only so that it
 * sees the registry's jobs without gaps. No target has that name. */
extern const struct span scheduler_rollback_lane;
bool scheduler_is_rollback(const struct job *job);
void scheduler_rollback_offer(struct scheduler *scheduler,
                              const struct job *job);
void scheduler_rollback_forget(struct scheduler *scheduler, uint64_t num);
void scheduler_rollback_clear(struct scheduler *scheduler);
/* An RB found executing at the start: its target stays closed. */
void scheduler_rollback_recover(struct scheduler *scheduler,
                                struct attempt *attempt);
/* Begins, goes on with or ends a rollback. True: the batch is its own, and all
 * or nothing. */
bool scheduler_rollback_plan(struct scheduler *scheduler);
void scheduler_rollback_committed(struct scheduler *scheduler,
                                  const struct plan *plan, bool ok);
/* What is recorded beside the end of an RB's attempt. */
void scheduler_rollback_plan_end(struct scheduler *scheduler,
                                 struct attempt *attempt,
                                 const struct retry_verdict *verdict);
void scheduler_rollback_ended(struct scheduler *scheduler,
                              const struct attempt *attempt);
struct retry_verdict scheduler_decide_end(struct scheduler *scheduler,
                                          struct attempt *attempt,
                                          const struct retry_end *end);
/* Fills rollback_run->reverts (scheduler_members.c). False: the registry cannot
 * be read, logged. */
bool scheduler_rollback_members(struct scheduler *scheduler,
                                const struct job *rb,
                                const struct rollback_decision *decision);
/* Who approved a change, for its trailers (scheduler_start.c). */
void scheduler_read_approvals(struct scheduler *scheduler, struct arena *arena,
                              const struct job *job, struct run_set *ret_set);
struct wall scheduler_rollback_next(const struct scheduler *scheduler);

/* what an open rollback covers (scheduler_scope.c) */
/* Reads what the open rollback `num` covers, anew. */
void scheduler_scope_open(struct scheduler *scheduler, uint64_t num);
/* The rollback is over, or was given up. */
void scheduler_scope_close(struct scheduler *scheduler, struct wall at);

void scheduler_stop_job(struct scheduler *scheduler,
                        struct tracked_job *tracked, enum run_stop how);
/* How to end what runs of a job that has a killer. */
enum run_stop scheduler_stop_kind(const struct tracked_job *tracked);

#endif
