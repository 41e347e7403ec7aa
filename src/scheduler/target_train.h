/* The merge train of a target, as the scheduler drives it. core/train decides;
 * here is what its decisions are about: the sets, their attempts, the process
 * that merges, and the jobs that wait to join. */
#ifndef POINTSMAN_SCHEDULER_TARGET_TRAIN_H
#define POINTSMAN_SCHEDULER_TARGET_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/list.h"
#include "lib/map.h"
#include "lib/time.h"
#include "core/retry.h"
#include "core/train.h"
#include "scheduler/runner.h"
#include "scheduler/scheduler.h"

struct attempt;

/* A set or group that has joined. */
struct target_unit {
    struct list link;
    struct list leave_link;
    struct target_train *target;
    uint64_t num;   /* of its last set */
    uint64_t *sets; /* in landing order */
    size_t set_count;
    struct attempt *run; /* of its checks; NULL: none */
    bool executing;      /* its sets are in X */
    bool landing;        /* an attempt carries it */
    bool leaves; /* it has left the train; its sets leave X when nothing of it
                    runs any more */
    bool told;   /* a proposal to fail or leave waits for the end of its run */
    const char *alone; /* why its checks may not run together with the code of
                          others that have not landed; NULL: they may */
    bool is_rebuilt;   /* its candidate could not be checked out, was built
                          again, and has not been checked out since */
    bool moves;        /* its sets leave X in the batch in progress */
    bool is_proposal;  /* ... as the train had proposed */
    enum train_departure departs; /* for a proposal */
    struct retry_verdict verdict; /* for sets that nobody asked to end */
};

/* What a process does for the train. If a later step found the target
 * unavailable, an earlier one that succeeds does not show that it is back. */
enum target_step { TARGET_STEP_MERGE, TARGET_STEP_CHECK, TARGET_STEP_LAND };

/* A job that is to join. */
struct target_waiting {
    struct list link;
    uint64_t num;
    struct wall not_before; /* of this process; 0: at once */
    struct wall begun; /* its first attempt, if it was executing before this
                          start; 0: none */
};

/* The output of the command `environment` of a target. */
struct target_environment {
    enum {
        ENVIRONMENT_AWAITED, /* not known since the start, or the command is
                                another one: nothing starts */
        ENVIRONMENT_KNOWN,
        ENVIRONMENT_FAILED /* no result is recorded or used again */
    } state;
    uint64_t handle; /* of its process; 0: none */
    bool ended, stopped;
    bool outdated; /* it runs the command of an earlier configuration */
    int result;
    struct text said;
    struct wall due;               /* when it runs next; 0: at once */
    unsigned tries;                /* failures in a row */
    char sum[SCHEDULER_SUM_BYTES]; /* of the last known output; "": none */
    struct text fault;             /* why it failed */
};

struct target_train {
    struct list link;
    struct span name; /* in `names` */
    struct arena names;
    const struct scheduler_target *target; /* NULL: not configured any more */
    struct train *train;
    struct list units;   /* of struct target_unit.link */
    struct list leaving; /* those that leave: target_unit.leave_link */
    struct map by_set;   /* the units, by the number of each of their sets */
    struct list waiting; /* of struct target_waiting.link */
    struct map waiting_by_num;

    /* The process that merges or reads the tip; 0: none. */
    uint64_t merge_handle;
    uint64_t *steps;
    size_t step_count, step_cut; /* proposed; begun by the process */
    bool merge_ended;
    bool merge_wait; /* no merge could be started: try at the next turn */
    struct text merge_said;
    int merge_result;

    unsigned closed;            /* bits of enum train_closed */
    enum target_step outage;    /* if it is unavailable: what showed that */
    char tip[TRAIN_TREE_BYTES]; /* commit that the train knows; "": none yet */
    bool tip_wanted;            /* it has to be read by a process */
    unsigned tip_tries;
    struct wall tip_again; /* after a failure */
    bool has_objects;      /* candidates were merged since the start */
    uint64_t removals;     /* of their objects, to merge all of them again */

    /* A landing that was proposed and has not begun: its units and trees. */
    bool land_wanted;
    struct arena land_arena;
    struct span land_tip;
    struct train_landing_unit *land_units;
    size_t land_count;
    struct attempt *landing; /* in progress */
    struct attempt *landed;  /* the train knows that, the registry does not yet:
                                nothing else lands before it is recorded */
    bool stop_landing;
    struct attempt *tip_run;
    struct wall tip_run_again; /* after an end that says nothing */
    bool waits_for_batch;      /* its next start needs an empty batch */
    struct wall prune_at;      /* when old results are removed next */
    struct target_environment environment;
    uint64_t counts[TRAIN_NOTES]; /* of its events, since the start */
    uint64_t lanes;               /* bits of those in use, for POINTSMAN_LANE */
};

struct scheduler;

struct target_train *target_train_find(const struct scheduler *scheduler,
                                       struct span target);
/* Creates the trains of the targets that are branches, and passes their
 * configuration on. */
void target_trains_configure(struct scheduler *scheduler);
/* The same for one train. While its environment command fails, no result is
 * used again, as if a check were volatile. */
void target_train_set_config(struct target_train *target);
/* Call it before new options are taken: other checks make results void, and
 * candidates are rebuilt. */
void target_trains_note_changes(struct scheduler *scheduler,
                                const struct scheduler_options *options);
void target_trains_clear(struct scheduler *scheduler);

struct target_unit *target_unit_find(const struct target_train *target,
                                     uint64_t num);
struct target_unit *target_unit_of_set(const struct target_train *target,
                                       uint64_t set);
struct target_unit *target_unit_new(struct target_train *target,
                                    const uint64_t *sets, size_t count);
/* It has left the train: see `leaves`. */
void target_unit_leave(struct target_unit *unit);
void target_unit_free(struct target_unit *unit);
/* The same; returns its sets, for the caller to free. */
uint64_t *target_unit_free_but_sets(struct target_unit *unit);

/* All of its units leave, or it has none. */
bool target_train_is_empty(const struct target_train *target);

struct target_waiting *target_waiting_find(const struct target_train *target,
                                           uint64_t num);
void target_waiting_add(struct target_train *target, uint64_t num,
                        struct wall not_before);
void target_waiting_forget(struct target_train *target, uint64_t num);

/* The train that a set belongs on; NULL: on none. */
struct target_train *target_train_of(const struct scheduler *scheduler,
                                     const struct job *job);
/* The class of its rank. */
enum job_class target_train_class(const struct job *job);
/* The rank of a job that may be on its train has changed. False: it is not. */
bool target_train_rank(struct scheduler *scheduler, const struct job *job);
/* A pending job that nothing holds. False: it does not belong on a train. */
bool target_train_offer(struct scheduler *scheduler, const struct job *job);

/* The back-off of a pending job has been ended. */
void target_train_at_once(struct scheduler *scheduler, const struct job *job);

/* Copies what is configured of a target into the arena. */
void target_train_copy_key(struct arena *arena, const struct train_key *key,
                           struct train_key *ret_key);
/* The key of a result: of the tree for these sets; none: of the tip. In the
 * arena. Only if results are recorded. */
struct span target_train_key(const struct scheduler *scheduler,
                             const struct target_train *target,
                             struct span tree, const struct span *ids,
                             size_t id_count, struct arena *arena);
/* True if the target has checks, or is not configured now: then nothing lands.
 */
bool target_train_checks(const struct target_train *target);
/* True if results are recorded. */
bool target_train_remembers(const struct target_train *target);
/* The lowest free lane, which is taken until it is returned. */
unsigned target_lane_take(struct target_train *target);
void target_lane_return(struct target_train *target, unsigned lane);

#endif
