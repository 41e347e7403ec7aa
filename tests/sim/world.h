/* A pretend world for the scheduler: a clock that jumps, processes that are
 * scripts, a target that remembers what landed, a registry in memory that can
 * crash. Everything is drawn from one seed. */
#ifndef POINTSMAN_TESTS_SIM_WORLD_H
#define POINTSMAN_TESTS_SIM_WORLD_H

#include "lib/list.h"
#include "lib/map.h"
#include "lib/random.h"
#include "scheduler/scheduler.h"
#include "store/store.h"

enum { WORLD_SLOTS = 3, WORLD_PATHS = 6, WORLD_MAX_TEMP = 6, WORLD_GROUPS = 8 };

/* The behaviour of a process, drawn when it starts. */
enum fate {
    FATE_DONE,
    FATE_FAILS,
    FATE_TEMPORARY,
    FATE_SIGNAL,   /* dies of a signal that this program did not send */
    FATE_FOR_EVER, /* runs until it is killed */
    FATE_CANNOT,
    FATE_CONFLICT /* changes */
};

struct process {
    struct list link;
    uint64_t handle, num, task;
    unsigned attempt;
    bool change, probe, running;
    bool killed, landed;
    struct ghost **reverts; /* of a rollback */
    size_t revert_count;
    enum fate fate;
    struct wall ends, lands; /* lands: the moment the ref moves */
    char id[80];
    struct ghost *sets[WORLD_GROUPS]; /* those it is about: one, or a group */
    size_t set_count;
};

/* The judge's knowledge of a job: from the world, not from the registry. */
struct ghost {
    uint64_t num;
    char id[80];
    bool change, array, at_most_once;
    unsigned paths; /* bits */
    char after[80];
    char group[16];
    unsigned want;   /* the number of sets in that group; 0: not given */
    unsigned live;   /* processes */
    unsigned starts; /* of commands of one task */
    unsigned landings;
    bool acknowledged;
    bool cancelled; /* and its submitter was notified */
    /* Rollback: of sets, whether they are in effect on the target; of RBs, what
     * they turned. */
    bool effect, rollback;
    struct ghost *out_by; /* who put it out of effect */
    struct ghost **turned;
    size_t turned_count;
};

struct world {
    struct random random;
    struct wall now;
    struct store *store;
    struct scheduler *scheduler; /* it starts, and stages unless ... */
    struct scheduler *queue;     /* ... this one does; may be NULL */
    bool apart;
    struct list processes;
    struct map ghosts; /* id -> struct ghost */
    unsigned submitted;
    unsigned lanes;
    unsigned groups, group_left, group_want; /* the group that is arriving */
    unsigned crashes, rollbacks;
    bool calm;        /* faults have stopped */
    bool meddled;     /* other processes write between decision and commit */
    bool grouped;     /* some sets land together */
    unsigned regrets; /* percent of further deeds that are rollbacks */
    bool trace;
    uint64_t seed;
};

struct world_options {
    unsigned lanes; /* of the target; 0: one to three, from the seed */
    bool alone;     /* no other process writes while a decision is under way */
    bool ungrouped; /* every set lands by itself */
    bool apart;     /* `daemon queue` and `daemon exec` beside each other */
    unsigned rollbacks; /* percent of deeds that are one, besides the others */
    bool sqlite;        /* a registry of real statements, in memory */
    bool trace;
};

void world_open(struct world *world, uint64_t seed,
                const struct world_options *options);
void world_close(struct world *world);
/* One random action of a user, or one mishap. */
void world_act(struct world *world);
/* Lets everything that is due now happen, until nothing is due. */
void world_settle(struct world *world);
/* Advances to the next moment when something ends or is due, at most ms
 * ahead. */
void world_pass(struct world *world, int64_t most_ms);
/* Faults stop, holds are lifted, endless jobs are cancelled, and time passes
 * until nothing lives. False: that never happens. */
bool world_drain(struct world *world);

/* world_rollback.c: a user rolls sets back; a rollback's process; the ref
 * moves; its final report. */
void world_roll_back(struct world *world);
struct ghost *world_pick_set(struct world *world); /* NULL: none */
void world_revert_begins(struct world *world, struct process *process,
                         const struct run_start *order);
void world_revert_lands(struct world *world, struct process *process);
struct span world_revert_says(const struct process *process);
void world_admit(struct world *world, struct ghost *ghost, struct job *job,
                 const struct job_edge *edges, size_t edge_count,
                 const struct job_touch *touches, size_t touch_count,
                 const struct span *nodes, size_t node_count);
struct ghost *world_ghost_new(struct world *world, const char *prefix);

struct ghost *world_ghost(struct world *world, struct span id);
/* Ends the program with the seed. */
void world_fail(const struct world *world, const char *format, ...)
    PRINTF_LIKE(2, 3);

/* judge.c: called by the world at each start and at the end. */
void judge_start(struct world *world, const struct process *process);
void judge_settled(struct world *world);
void judge_over(struct world *world);

#endif
