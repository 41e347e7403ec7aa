/* An attempt, from its assignment until its end is recorded. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_ATTEMPT_H
#define POINTSMAN_SCHEDULER_SCHEDULER_ATTEMPT_H

#include "lib/list.h"
#include "core/retry.h"
#include "core/train.h"
#include "scheduler/runner.h"
#include "scheduler/scheduler.h"
#include "scheduler/scheduler_job.h"
#include "wire/land_verdict.h"

struct scheduler;

/* A set that lands in the attempt of another. */
struct companion {
    struct tracked_job *tracked;
    unsigned number; /* number of its own attempt */
};

/* A start of a task, or a probe, from its assignment until its end is
 * recorded. */
struct attempt {
    struct list link; /* scheduler.attempts or scheduler.ended */
    uint64_t handle;
    struct tracked_job *tracked;
    size_t task;
    bool of_array;
    struct node_attempt *node; /* NULL: not of a standing job; else `task` is
                                  the number of its task */
    struct node_task before;   /* for an array: the task as it was when it
                                  started or ended, for as long as that is not
                                  recorded */
    unsigned number;
    unsigned worker; /* its number in scheduler.workers */
    struct companion *companions;
    size_t companion_count;
    struct target_train *train; /* NULL: not for a merge train */
    bool checks;                /* ... it only runs checks on `tree` ... */
    uint64_t unit;              /* ... of this unit; 0: the tip */
    uint64_t home;              /* ... recorded under this unit */
    bool begins;                /* ... whose sets leave P with it */
    char tree[TRAIN_TREE_BYTES];
    char key[SCHEDULER_SUM_BYTES]; /* of its result; "": it is not recorded */
    unsigned lane;
    uint64_t removals; /* of the objects of candidates, before it began */
    uint64_t *below;   /* other sets in `tree` that have not landed */
    size_t below_count;
    enum train_run_end run_end; /* decided, being recorded */
    enum train_landing_end landing_end;
    bool stopped;      /* its end was requested by the train */
    bool row_ended;    /* recovery: its row has an end already */
    uint64_t *landing; /* these sets and the job itself, in landing order */
    struct wall assigned;
    bool is_started;   /* handed to the runner */
    bool is_lasting;   /* known to be running */
    bool is_withdrawn; /* withdrawal requested, in case it has not started */
    bool is_ended;     /* in scheduler.ended */
    bool recovery;     /* found executing at the start; only probed */
    bool is_awaited;   /* another worker may run it, and has not said so yet */
    /* Changes are probed if their end leaves open whether they landed. */
    bool probing, probed, landed;
    bool answered;         /* by the target */
    char *probe_trouble;   /* the target could not be asked; not recorded yet */
    uint64_t probe_handle; /* 0: not in progress */
    unsigned probe_count;  /* probes without an answer */
    struct wall probe_again;
    struct run_end end; /* its spans in end_memory */
    char *end_memory;
    struct land_verdict_line said; /* verdict of a landing or a revert that
                                      ended */
};

/* Call when the job starts executing. */
struct attempt *scheduler_attempt_new(struct scheduler *scheduler,
                                      struct tracked_job *tracked,
                                      unsigned number);
/* An attempt that a program before this one started, and that runs on. */
struct attempt *
scheduler_attempt_adopt(struct scheduler *scheduler,
                        struct tracked_job *tracked,
                        const struct scheduler_running *running);
/* Among those given to scheduler_adopt; NULL: it is not. */
const struct scheduler_running *
scheduler_attempt_adopted(const struct scheduler *scheduler, uint64_t num,
                          uint64_t task, unsigned number);
/* An attempt that may run on another worker: it holds what it was assigned
 * with, until that worker is heard of (doc/design/fleet.md, F9). */
struct attempt *scheduler_attempt_await(struct scheduler *scheduler,
                                        struct tracked_job *tracked,
                                        unsigned number, unsigned worker,
                                        struct wall assigned);
/* An attempt that is running according to the registry becomes one that ended
 * in a way found only by recovery; the usual decisions follow. */
struct attempt *scheduler_attempt_recover(struct scheduler *scheduler,
                                          struct tracked_job *tracked,
                                          unsigned number,
                                          struct wall assigned);
/* Adds to the batch that the job starts to execute; returns the index of that
 * operation. */
unsigned scheduler_attempt_begin(struct scheduler *scheduler, uint64_t num,
                                 struct span reason);
/* Adds the assignment of an attempt to the batch; returns its index. `node`: of
 * a task of an array, else empty. `goes_on`: as in struct store_attempt. */
unsigned scheduler_attempt_assign(struct scheduler *scheduler, uint64_t num,
                                  struct span node, unsigned number,
                                  bool goes_on);
void scheduler_attempt_free(struct scheduler *scheduler,
                            struct attempt *attempt);
/* The number under which the picker knows the attempt. */
uint64_t scheduler_attempt_slot(const struct attempt *attempt);
/* Its task of an array; NULL: the job is not an array. */
struct array_task *scheduler_attempt_task(const struct attempt *attempt);
/* The request to end it or any of the jobs that it carries. */
enum retry_killer scheduler_attempt_killer(const struct attempt *attempt);
/* Ends all attempts that carry the job. */
void scheduler_stop_job(struct scheduler *scheduler,
                        struct tracked_job *tracked, enum run_stop how);
/* How to end the running attempts of a job that has a killer. */
enum run_stop scheduler_stop_kind(const struct tracked_job *tracked);

#endif
