/* Whose turn is it? Of the jobs that can start a task now, the one that comes
 * first: by class, by the rank that the policy gives it, by the share of its
 * account, and by the policy among the jobs of one account
 * (doc/design/nodes.md, N8 and N9). Pure.
 *
 * Turns are counted by start-time fair queueing: who starts a task moves back
 * by one place, an account by one divided by its weight. Who could not start
 * anything for a while goes on from the present turn, and is not owed what it
 * missed. */
#ifndef POINTSMAN_CORE_NODE_TURNS_H
#define POINTSMAN_CORE_NODE_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/heap.h"
#include "lib/map.h"
#include "lib/text.h"
#include "core/job.h"

enum node_policy {
    NODE_POLICY_ROUND_ROBIN,         /* one task of each job, in turn */
    NODE_POLICY_RANKED_PRIORITY,     /* all of the job with the highest
                                        priority first */
    NODE_POLICY_RANDOMIZED_PRIORITY, /* a job by chance, in proportion to its
                                        priority */
    NODE_POLICY_LONG_TAIL            /* all of the job with the fewest ready
                                        tasks first */
};

struct node_account;

/* The jobs of one account and class. */
struct node_share {
    size_t place; /* in node_turns.shares */
    struct node_account *account;
    enum job_class job_class;
    struct heap jobs; /* struct node_entrant that can start a task */
    double turn;      /* that of the job that started last */
};

struct node_account {
    char *name;
    uint32_t number; /* in order of appearance */
    uint32_t weight; /* at least 1 */
    uint32_t limit;  /* tasks that run at once; 0: no limit */
    uint32_t running;
    double turn;
    struct node_share shares[JOB_CLASSES];
};

/* Takes part; embedded in what it stands for. */
struct node_entrant {
    size_t place; /* in its share */
    uint64_t num; /* breaks ties; smaller comes first */
    uint32_t priority;
    struct node_share *share;
    uint64_t rank;
    double turn;
    uint64_t shuffle; /* breaks ties before num */
    uint64_t draws;
};

struct node_turns {
    enum node_policy policy;
    uint64_t seed;
    struct heap shares; /* struct node_share that can start a task */
    struct map accounts;
    double turn;
};

void node_turns_init(struct node_turns *turns, enum node_policy policy,
                     uint64_t seed);
/* All entrants have left. */
void node_turns_clear(struct node_turns *turns);

/* The account of that name, with weight 1 and no limit if it is new. */
struct node_account *node_turns_account(struct node_turns *turns,
                                        struct span name);
void node_turns_set_account(struct node_turns *turns,
                            struct node_account *account, uint32_t weight,
                            uint32_t limit);

/* `priority` in thousandths, at least 1. It has nothing to start yet. */
void node_turns_join(struct node_turns *turns, struct node_entrant *entrant,
                     uint64_t num, enum job_class job_class, uint32_t priority,
                     struct node_account *account);
/* The same for an entrant whose class, priority or account has changed. */
void node_turns_rejoin(struct node_turns *turns, struct node_entrant *entrant,
                       enum job_class job_class, uint32_t priority,
                       struct node_account *account);
void node_turns_leave(struct node_turns *turns, struct node_entrant *entrant);
/* Whether it can start a task now, and how many are ready. */
void node_turns_offer(struct node_turns *turns, struct node_entrant *entrant,
                      bool can_start, uint64_t ready);

/* NULL: nobody can start a task. */
struct node_entrant *node_turns_next(struct node_turns *turns);
/* The entrant, the next one, started a task. */
void node_turns_started(struct node_turns *turns, struct node_entrant *entrant);
/* A task of the account runs, which no turn was used for, or has ended. */
void node_turns_runs(struct node_turns *turns, struct node_account *account);
void node_turns_ended(struct node_turns *turns, struct node_account *account);

#endif
