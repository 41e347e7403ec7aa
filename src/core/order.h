/* The order: which job waits for which. Makes the decisions of queueing and
 * staging (doc/design/ordering.md) for all live jobs that have relations:
 * changes, and commands with --after or --touches. Pure: no clock, no
 * randomness, no I/O.
 *
 * All these jobs stand in ONE line, L, which respects every dependency. A job
 * that touches a thing waits for the jobs before it in L that touch it too, so
 * no cycle can exist (O4). New jobs go to the end of L; a placed job moves only
 * if it turns out to depend on a newcomer: it then moves behind it.
 *
 * Per (target, path) the uses form a row of groups: a file use is a group by
 * itself, the directory uses between two file uses form one group (O2). A
 * member waits for all members of the preceding group. The direct precursors
 * are therefore never listed in memory, a job that leaves from the middle is
 * spliced out just by leaving (O6), and the cost is O(files), not O(files x
 * jobs).
 *
 *     p:  [W1] <- [r2 r3] <- [W4]          W4 waits for r2 and r3, they for W1
 *     W1 leaves:  [r2 r3] <- [W4]          r2 leaves:  [r3] <- [W4]
 *
 * How to drive it. The registry is the source of truth. The owner of the order
 *   1. admits each live job with relations (order_admit): at start-up with
 *      the precursors recorded for it, later as events arrive;
 *   2. answers its questions (order_next_unknown) about ids that are not in it;
 *   3. calls order_scan until it proposes nothing, commits the proposals in
 *      the order given, each only if the job is still in `from`, and
 *   4. reports every step that was committed, by itself or by another process
 *      (order_move, order_hold, order_outside), preferably straight from the
 *      registry's events. A proposal that could not be committed needs no
 *      answer if the reason arrives as an event; otherwise call order_again.
 *
 * A held job does not move but keeps its place in L. A retried job with
 * relations is admitted again, in Q, by order_admit.
 *
 * Sets that land together (##group) are admitted as one entry: the union of
 * what they touch and of what they need outside the group, with the ids of all
 * but the first as `aliases`. SUPERSEDES edges are not included: order_outside
 * reports them for the set that they lead to. When a set joins or leaves the
 * group, the entry is forgotten and admitted again.
 *
 * The same calls in the same order always give the same proposals. */
#ifndef POINTSMAN_CORE_ORDER_H
#define POINTSMAN_CORE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/text.h"
#include "lib/time.h"
#include "core/job.h"

struct order;

struct order_limits {
    int64_t wait_for_dep_ms; /* how long an unknown dependency may still arrive
                                (O8) */
};

struct order *order_new(const struct order_limits *limits);
void order_free(struct order *order); /* NULL is fine */
/* The new limits apply from the next scan on. */
void order_set_limits(struct order *order, const struct order_limits *limits);

/* ---- input
 * ---------------------------------------------------------------- */

struct order_entry {
    uint64_t num;
    struct span id;
    enum job_class job_class;
    enum job_state state; /* Q S P X, or A while its rollback is open ... */
    enum job_state was;   /* ... and then this is the state it came from */
    struct span key;      /* its own order key */
    struct span rank;     /* as stored in the registry; empty = the key */
    struct span target;   /* for changes; empty: a command, whose touches are
                             keys in a namespace of their own */
    unsigned holds;
    bool rb; /* goes straight Q -> P; touches and edges don't count */
    struct wall admitted, since;  /* as in struct job */
    const struct job_edge *edges; /* of all kinds; PRECURSOR edges are the
                                     record */
    size_t edge_count;
    bool inherits; /* the registry's record does not have all of these
                      PRECURSOR edges yet */
    const struct job_touch *touches;
    size_t touch_count;
    const struct span *aliases; /* further ids that belong to this entry */
    size_t alias_count;
};

/* Adds a live job with relations. Everything is copied. A num already known is
 * ignored (an admission may be reported twice), and so is an entry whose id
 * belongs to another num already. */
void order_admit(struct order *order, const struct order_entry *entry);

/* Reports a committed step. In D, F and T the job leaves, and the jobs that
 * waited for it inherit what it waited for. In A: `rollback_open` keeps it in
 * its place (undecided, not gone), so that it can come back there, behind any
 * dependency that arrived meanwhile; reported again with false it is final and
 * leaves. Returns false for an unknown num, which is ignored. */
bool order_move(struct order *order, uint64_t num, enum job_state to,
                struct wall since, bool rollback_open);
/* Removes an entry that will be admitted again, in whole or in part: jobs that
 * depend on its ids go on waiting. The next questions are about its ids, since
 * one of them may have ended before. False: unknown num. */
bool order_forget(struct order *order, uint64_t num);
/* Sets its current holds. False: unknown num. */
bool order_hold(struct order *order, uint64_t num, unsigned holds);
/* A proposal for this job was not committed although nothing about it changed
 * (the disk was full): propose it again. Call this also for all proposals that
 * followed it in the same scan and commit none of them: a failure may rest on
 * the one before it. False: nothing here refers to the job any more; an
 * ORDER_RANK may then be repeated as it is. */
bool order_again(struct order *order, uint64_t num);

/* Facts about an id that is not in the order: a job that ended long ago, a live
 * plain command, or an unknown id. Passed when asked, and again on a change for
 * as long as order_watches() returns true: a watched plain command moved, a
 * watched id was admitted as a plain command, or a done set was rolled back.
 * For an id that is in the order only `successors` counts. */
struct order_other {
    struct span id;
    enum job_state state; /* STATE_NONE: the id is unknown */
    bool rolled_back;     /* D, and rolled back later */
    struct wall since;    /* when it entered that state; for order_why */
    uint64_t num;         /* for live jobs: for inheritance (ORDER_RANK) ... */
    struct span key;      /* ... its own key (empty: does not inherit) ... */
    struct span rank;     /* ... and its rank in the registry; empty: the key */
    const struct span *successors; /* ids with a SUPERSEDES edge to it (O10) */
    size_t successor_count;
};
void order_outside(struct order *order, const struct order_other *other);

/* How many tasks a job has, and how they stand. */
struct order_tasks {
    size_t count, done, failed;
};
/* The tasks of the job of this id, known here or outside. It counts only while
 * order_counts_tasks: pass it when that has become true, and whenever the tasks
 * have changed. */
void order_set_tasks(struct order *order, struct span id,
                     const struct order_tasks *tasks);
/* True if a job here waits for a share of the tasks of this id. */
bool order_counts_tasks(const struct order *order, struct span id);

/* The next id to be answered by order_outside; false: none. Each id is returned
 * once. */
bool order_next_unknown(struct order *order, struct span *ret_id);
/* True if the order remembers this id, so that order_outside must report its
 * changes. (The id is in the order, or a job depends on it, directly or through
 * successors.) */
bool order_watches(const struct order *order, struct span id);
bool order_has(const struct order *order, uint64_t num);
/* The key with which the job is scheduled: its own, or that of the most urgent
 * job that waits for it. Empty: nothing here refers to the id. Valid until the
 * next call. */
struct span order_rank(const struct order *order, struct span id);

/* ---- sets that follow others (O20)
 * -------------------------------------------------------- */

/* The set has joined the merge train of its target, or has left it. While it is
 * there, others may follow it. False: unknown num. */
bool order_ride(struct order *order, uint64_t num, bool rides);

/* A job that a pending set waits for. */
struct order_follow {
    uint64_t num;
    bool dependency; /* must be done; otherwise it must only have left the
                        queue */
};
/* What a set in P waits for, in the arena. False: not known yet. In this case,
 * and if it waits for anything while it is on no train, ORDER_OFFER is proposed
 * once that may have changed. */
bool order_follows(struct order *order, uint64_t num, struct arena *arena,
                   struct order_follow **ret_follows, size_t *ret_count);

/* ---- proposals
 * ------------------------------------------------------------ */

enum order_effect_kind {
    ORDER_STAGE,         /* Q -> S `staged`; `precursors` is the record */
    ORDER_TO_PENDING_RB, /* Q -> P `rb` */
    ORDER_READY,         /* S -> P `ready` */
    ORDER_FOLLOW,        /* S -> P `follows`: all that it waits for is on the
                            merge train of its target */
    ORDER_OFFER,         /* stays in P: ask again what it waits for; nothing is
                            recorded */
    ORDER_FAIL,          /* Q | S | P -> F; reason, detail */
    ORDER_RECOMPUTE,     /* S -> Q `recompute` (O5) */
    ORDER_SPLICE,        /* keeps its state; `precursors` replaces its record
                            (O6) */
    ORDER_RANK           /* schedule it with `rank` (O14); may be a plain
                            command that a job here depends on */
};

struct order_effect {
    enum order_effect_kind kind;
    uint64_t num;
    enum job_state from;           /* commit only while the job is in this
                                      state */
    struct span reason;            /* of life.def; empty for SPLICE, OFFER and
                                      RANK */
    struct span detail;            /* a sentence for people; may be empty */
    struct span about;             /* for FAIL: the dependency that causes it;
                                      empty: a cycle */
    struct span rank;              /* for ORDER_RANK */
    unsigned char urgency;         /* first byte of the rank that the job has or
                                      gets: the number of its class */
    struct span target;            /* of a change set that touches something */
    const struct span *precursors; /* ids: STAGE and SPLICE */
    size_t precursor_count;
};

/* Everything to be done now. The work is proportional to what changed since the
 * last scan. Effects live in the arena. Call until it returns 0: a job that was
 * staged can become ready, or fail, in the next scan. */
size_t order_scan(struct order *order, struct wall now, struct arena *arena,
                  struct order_effect **ret_effects);

/* When the passing of time alone changes something; WALL_NEVER: never. */
struct wall order_next_time(const struct order *order);
/* The clock was set back by so much: unknown dependencies are waited for no
 * longer than before. */
void order_set_back(struct order *order, int64_t ms);

/* ---- explanations
 * --------------------------------------------------------- */

enum order_reason_kind {
    ORDER_WHY_HOLD,       /* the job is held */
    ORDER_WHY_PRECURSOR,  /* id must leave the queue first; path = why */
    ORDER_WHY_HINT,       /* the same, requested by the submitter */
    ORDER_WHY_DEPENDENCY, /* id must be done first, or what `relation` says */
    ORDER_WHY_SUCCESSOR,  /* id failed; the job waits for its successor
                             `other` */
    ORDER_WHY_UNKNOWN,    /* id is unknown; the job waits for it until
                             `until` */
    ORDER_WHY_ASKED,      /* id is being looked up */
    ORDER_WHY_FAILING,    /* will fail: detail says why */
    ORDER_WHY_UNSTAGED,   /* its precursors are not computed yet */
    ORDER_WHY_READY       /* nothing in the order holds the job back */
};

struct order_reason {
    enum order_reason_kind kind;
    struct span id;           /* the job it waits for */
    enum job_state state;     /* state of id */
    struct wall since;        /* when id entered that state */
    unsigned holds;           /* holds of id; for ORDER_WHY_HOLD of the job
                                 itself */
    struct span path;         /* path that both touch; empty: another reason */
    struct span other;        /* for ORDER_WHY_SUCCESSOR */
    enum edge_kind relation;  /* for ORDER_WHY_DEPENDENCY: its kind ... */
    unsigned share;           /* ... share, ... */
    struct order_tasks tasks; /* ... and tasks, if it needs a share of them */
    struct wall until;        /* for ORDER_WHY_UNKNOWN */
    struct span detail;
    /* The end of the chain: following the waits from `id` for `steps` steps (0:
     * id itself) leads to `root`; empty: it is further away than the search
     * goes. */
    struct span root;
    enum job_state root_state;
    struct wall root_since;
    unsigned root_holds;
    size_t steps;
};

/* Every reason that holds the job back, by name; at least one for a live job.
 * Writes at most `limit` reasons; *ret_count is the total number. Spans live in
 * the arena. Returns the number of reasons written; 0: unknown num. */
size_t order_why(const struct order *order, uint64_t num, struct wall now,
                 size_t limit, struct arena *arena,
                 struct order_reason **ret_reasons, size_t *ret_count);

#endif
