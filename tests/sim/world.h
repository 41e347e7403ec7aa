/* A simulated world for the scheduler: a clock that jumps, scripted processes,
 * a target that remembers what landed, and a registry in memory that can crash.
 * All of it depends on one seed. */
#ifndef POINTSMAN_TESTS_SIM_WORLD_H
#define POINTSMAN_TESTS_SIM_WORLD_H

#include "lib/list.h"
#include "lib/map.h"
#include "lib/random.h"
#include "scheduler/scheduler.h"
#include "store/store.h"

enum {
    WORLD_SLOTS = 3,
    WORLD_PATHS = 6,
    WORLD_MAX_TEMP = 6,
    WORLD_GROUPS = 8,
    WORLD_AHEAD = 128
};

/* The behaviour of a process, chosen when it starts. */
enum fate {
    FATE_DONE,
    FATE_FAILS,
    FATE_TEMPORARY,
    FATE_SIGNAL,  /* dies of a signal that the program did not send */
    FATE_FOREVER, /* runs until it is killed */
    FATE_CANNOT,
    FATE_FORBIDDEN, /* its account may not run it, or cannot work in the base */
    FATE_CONFLICT   /* change sets only */
};

/* What a process does for the merge train; see struct run_train. */
struct train_part {
    bool merges, checks, lands;
    bool locks, aside;
    char tip[TRAIN_TREE_BYTES], tree[TRAIN_TREE_BYTES];
    struct train_step_set {
        char id[80], tree[TRAIN_TREE_BYTES];
        bool joined;
    } * sets;
    size_t set_count;
};

struct process {
    struct list link;
    uint64_t handle, num, task;
    unsigned attempt;
    bool change, probe, running;
    bool killed, landed;
    struct ghost **reverts; /* members of a rollback */
    size_t revert_count;
    struct train_part train;
    bool moved, changed; /* its landing found another tip or tree */
    enum fate fate;
    struct wall ends, lands; /* lands: when the ref moves */
    char id[80];
    struct ghost *sets[WORLD_GROUPS]; /* one set, or a group */
    size_t set_count;
};

/* What the judge knows about a job from the world, not from the registry. */
struct ghost {
    uint64_t num;
    char id[80];
    bool change, array, at_most_once;
    unsigned paths; /* bits */
    char after[80];
    char group[16];
    struct ghost
        *ahead[WORLD_AHEAD]; /* sets that it follows: they come first */
    size_t ahead_count;
    unsigned want;   /* sets in that group; 0: not given */
    unsigned live;   /* running processes */
    unsigned starts; /* starts of a command with one task */
    unsigned landings;
    /* Its back-off: which one, how long, and when it must have ended at the
     * latest, on a clock that is never set. */
    uint64_t backoff_seq;
    int64_t backoff_ms;
    struct wall backoff_end;
    bool acknowledged;
    bool cancelled; /* the cancellation was acknowledged */
    /* Whether a set is in effect on the target, and what a rollback put out of
     * effect. */
    bool effect, rollback;
    struct ghost *out_by; /* the rollback that put it out of effect */
    struct ghost **reverted;
    size_t reverted_count;
};

struct world {
    struct random random;
    struct wall now;
    int64_t set_back_ms; /* by which the clock was set back so far */
    struct store *store;
    struct scheduler *scheduler; /* starts sets, and stages them if ... */
    struct scheduler *queue;     /* ... this one is NULL */
    bool apart, sqlite;
    struct list processes;
    struct map ghosts; /* id -> struct ghost */
    /* The pretend branch: a tree is a hash of the sets that it contains. */
    char commit[TRAIN_TREE_BYTES], tree[TRAIN_TREE_BYTES];
    unsigned commits;
    struct map passed; /* trees whose checks passed -> themselves */
    unsigned submitted;
    unsigned lanes;
    bool follow; /* sets follow others onto the train */
    unsigned followed;
    unsigned groups, group_left, group_want; /* the group that is arriving */
    unsigned crashes, rollbacks;
    bool calm;         /* faults have stopped */
    bool others_write; /* other processes write between decision and commit */
    bool grouped;      /* some sets land together */
    unsigned rollback_percent; /* percentage of additional actions: rollbacks */
    bool trace;
    uint64_t seed;
};

struct world_options {
    unsigned lanes; /* of the target; 0: one to three, depending on the seed */
    bool alone;     /* no other process writes while a decision is under way */
    bool ungrouped; /* no set is part of a group */
    bool apart;     /* `daemon queue` and `daemon exec` are two processes */
    unsigned rollbacks; /* percentage of additional actions: rollbacks */
    bool sqlite;        /* the registry is SQLite in memory */
    bool trace;
};

void world_open(struct world *world, uint64_t seed,
                const struct world_options *options);
void world_close(struct world *world);
/* Does everything that is due now, until nothing is due. */
void world_settle(struct world *world);
/* Advances to the next time when something ends or is due, by at most
 * most_ms. */
void world_pass(struct world *world, int64_t most_ms);
/* Faults stop, holds are released, endless jobs end, and time passes until no
 * job is live. Returns false if that never happens. */
bool world_drain(struct world *world);

bool world_chance(struct world *world, unsigned percent);
uint64_t world_draw(struct world *world, uint64_t below);
/* Prints a line if --trace is given. */
void world_trace(const struct world *world, const char *format, ...)
    PRINTF_LIKE(2, 3);
/* The whole process is killed with kill -9: the guard kills every task,
 * everything uncommitted is lost, and a new process recovers. */
void world_crash(struct world *world);

/* The clock is set back, with or without the scheduler noticing it. */
void world_set_back(struct world *world);

/* As before an upgrade, which is then given up: no set starts for a while. */
void world_rest_sets(struct world *world);

/* world_process.c: the processes that the scheduler starts. */
struct runner world_runner(struct world *world);
/* Starts the processes that waited for a slot. */
void world_begin_waiting(struct world *world);
/* Lets one process that is due land or end. Returns false if none ended. */
bool world_end_due(struct world *world);
struct wall world_next_end(const struct world *world);
/* The clock was set back; processes do not care. */
void world_ends_set_back(struct world *world, int64_t ms);
/* Makes processes that would never end do so soon. */
void world_end_endless(struct world *world);
void world_kill_all(struct world *world);

/* world_people.c: does one random action of a user, or one fault. */
void world_act(struct world *world);
/* Another process is faster: its write is committed before the scheduler's
 * latest decision. */
void world_interfere(struct world *world);
void world_release_all(struct world *world);
void world_admit(struct world *world, struct ghost *ghost, struct job *job,
                 const struct job_edge *edges, size_t edge_count,
                 const struct job_touch *touches, size_t touch_count,
                 const struct span *nodes, size_t node_count);
struct ghost *world_ghost_new(struct world *world, const char *prefix);

/* world_rollback.c: a request for a rollback, its process, its landing, and its
 * status line. */
void world_roll_back(struct world *world);
struct ghost *world_pick_set(struct world *world); /* NULL if there is none */
void world_revert_begins(struct world *world, struct process *process,
                         const struct run_start *order);
void world_revert_lands(struct world *world, struct process *process);
struct span world_revert_status(const struct process *process);

/* world_train.c: the pretend branch, and processes for the merge train. */
void world_branch_open(struct world *world);
void world_branch_close(struct world *world);
/* Somebody pushes. */
void world_push(struct world *world);
/* The branch moves to a new commit with this tree. */
void world_branch_move(struct world *world, const char *tree);
bool world_read_tip(void *ctx, struct span target,
                    char ret_commit[TRAIN_TREE_BYTES]);
void world_train_begins(struct process *process, const struct run_start *order);
void world_train_free(struct process *process);
/* False: the tip or a tree is not the expected one. */
bool world_train_lands(struct world *world, struct process *process);
/* The answer of a process that has not been killed. */
struct span world_train_status(struct world *world,
                               const struct process *process);

struct ghost *world_ghost(struct world *world, struct span id);
/* Prints the message with the seed and ends the program. */
void world_fail(const struct world *world, const char *format, ...)
    PRINTF_LIKE(2, 3);

/* judge.c: called by the world at each start and at the end. */
void judge_start(struct world *world, const struct process *process);
/* Sets land, one after another. */
void judge_landing(struct world *world, const struct process *process);
/* Every event of the registry. */
void judge_event(void *ctx, const struct store_event *event);
void judge_settled(struct world *world);
/* A new scheduler may not know that the clock was set back. */
void judge_restart(struct world *world);
void judge_over(struct world *world);

#endif
