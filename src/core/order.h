/* Who waits for whom: the decisions of queueing and staging
 * (doc/design/ordering.md) over all live jobs that have relations: changes,
 * and commands with --after or --touches. Pure: no clock, no chance, no I/O.
 *
 * All of them stand in ONE line, L, which respects every dependency. Whoever
 * touches a thing waits for those before it in L that touch it too; so no ring
 * can exist (O4). New jobs go to the end of L; only when one already placed
 * turns out to depend on a newcomer does it move behind it.
 *
 * Per (target, path) the uses stand in a row of groups: a file use alone, the
 * directory uses between two file uses together (O2). A member waits for all
 * members of the group before its own. So the direct precursors are never
 * listed in memory, who leaves from the middle is spliced out by leaving
 * (O6), and everything costs O(files), not O(files x jobs).
 *
 *     p:  [W1] <- [r2 r3] <- [W4]          W4 waits for r2 and r3, they for W1
 *     W1 leaves:  [r2 r3] <- [W4]          r2 leaves:  [r3] <- [W4]
 *
 * How it is driven. The registry is the truth. Whoever owns the order
 *   1. tells it each live job with relations (order_admit), at start-up with
 *      the precursors recorded for it, later as events come in;
 *   2. answers what it asks (order_next_unknown) about ids that are not in it;
 *   3. calls order_scan until it proposes nothing, commits the proposals in
 *      the order given, each only if the job is still in `from`, and
 *   4. tells it of every step that was committed, its own or another
 *      process's (order_move, order_hold, order_outside), best straight from
 *      the registry's events. A proposal that lost needs no answer when the
 *      reason for losing arrives as an event; else say order_again.
 *
 * A held job does not move but keeps its place in L. A retried job with
 * relations comes back in Q, by order_admit.
 *
 * Sets that land together (##group) are told as one entry: what they touch and
 * need outside of the group taken together, the ids of all but the first as
 * `aliases`; but no SUPERSEDES edges: these are told by order_outside of the
 * set they lead to. When one joins or leaves, the entry is forgotten and told
 * anew.
 *
 * The same calls in the same order give the same proposals, always. */
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
    int64_t wait_for_dep_ms; /* an unknown dependency may still arrive (O8) */
};

struct order *order_new(const struct order_limits *limits);
void order_free(struct order *order); /* NULL is fine */
/* New limits hold from the next scan on. */
void order_set_limits(struct order *order, const struct order_limits *limits);

/* ---- what it is told ---------------------------------------------------- */

struct order_entry {
    uint64_t num;
    struct span id;
    enum job_class job_class;
    enum job_state state; /* Q S P X, or A while its rollback is open ... */
    enum job_state was;   /* ... and this, then, where it came from */
    struct span key;      /* own order key */
    struct span rank;     /* as the registry has it; empty = the key */
    struct span target;   /* of a change; empty: a command, and the touches
                             are keys, a namespace of their own */
    unsigned holds;
    bool rb; /* straight Q -> P; touches and edges don't count */
    struct wall admitted, since;  /* as in struct job */
    const struct job_edge *edges; /* of all kinds; PRECURSOR = the record */
    size_t edge_count;
    const struct job_touch *touches;
    size_t touch_count;
    const struct span *aliases; /* ids that live by this entry, too */
    size_t alias_count;
};

/* A live job with relations. Everything is copied. A num already known is
 * ignored (admissions may be told twice). An id that lives here already under
 * another num is ignored too. */
void order_admit(struct order *order, const struct order_entry *entry);

/* A step that was committed: to D, F, T it leaves, whoever waited inherits
 * what it waited for. To A: `rollback_open` keeps it in its place (undecided,
 * not "left"), so that it can come back there, behind what it depends on that
 * came meanwhile; told again with false it is final and leaves. Unknown nums
 * are ignored: false. */
bool order_move(struct order *order, uint64_t num, enum job_state to,
                struct wall since, bool rollback_open);
/* It will be told anew, or parts of it: who depends on its ids goes on waiting.
 * False: unknown num. */
bool order_forget(struct order *order, uint64_t num);
/* Its holds as they are now. False: unknown num. */
bool order_hold(struct order *order, uint64_t num, unsigned holds);
/* A proposal for it was not committed though nothing about it changed (the
 * disk was full): propose again. Say so of all that followed in the same scan
 * too and commit none of them: a failure may rest on the one before it. False:
 * nobody here refers to it any more; an ORDER_RANK may then be repeated as it
 * is. */
bool order_again(struct order *order, uint64_t num);

/* What is known of an id that is not in the order: final long ago, a live
 * plain command, or nothing at all. Told when asked, and again when it changes
 * as long as order_watches() says that somebody cares: a watched plain command
 * moved, a watched id was admitted as a plain command, or a done set was
 * rolled back. About an id that lives in the order only `successors` count. */
struct order_other {
    struct span id;
    enum job_state state; /* STATE_NONE: nobody knows it */
    bool rolled_back;     /* D, and taken back later */
    struct wall since;    /* in that state; for order_why */
    uint64_t num;         /* live ones: for inheritance (ORDER_RANK) ... */
    struct span key;      /* ... its own key (empty: does not inherit) ... */
    struct span rank;     /* ... and its rank in the registry; empty: the key */
    const struct span *successors; /* ids with a SUPERSEDES edge to it (O10) */
    size_t successor_count;
};
void order_outside(struct order *order, const struct order_other *other);

/* The next id it must be told about by order_outside; false: none. Each is
 * handed out once. */
bool order_next_unknown(struct order *order, struct span *ret_id);
/* Is anything remembered about this id, so that order_outside must be told of
 * changes? (It lives here, or somebody depends on it, directly or through
 * successors.) */
bool order_watches(const struct order *order, struct span id);
bool order_has(const struct order *order, uint64_t num);

/* ---- what it proposes --------------------------------------------------- */

enum order_effect_kind {
    ORDER_STAGE,         /* Q -> S `staged`; `precursors` is the record */
    ORDER_TO_PENDING_RB, /* Q -> P `rb` */
    ORDER_READY,         /* S -> P `ready` */
    ORDER_FAIL,          /* Q | S -> F; reason, detail */
    ORDER_RECOMPUTE,     /* S -> Q `recompute` (O5) */
    ORDER_SPLICE,        /* stays in S; `precursors` replace its record (O6) */
    ORDER_RANK           /* schedule it with `rank` (O14); may be a plain
                            command that somebody here depends on */
};

struct order_effect {
    enum order_effect_kind kind;
    uint64_t num;
    enum job_state from;           /* commit only while it is in this state */
    struct span reason;            /* of life.def; empty for SPLICE and RANK */
    struct span detail;            /* a sentence for people; may be empty */
    struct span about;             /* FAIL because of this dependency; empty:
                                      because of a cycle */
    struct span rank;              /* ORDER_RANK */
    const struct span *precursors; /* ids: STAGE and SPLICE */
    size_t precursor_count;
};

/* Everything to be done now. Work in proportion to what changed since the last
 * scan. Effects live in the arena. Call until it returns 0: a job that was
 * staged can be ready, or fail, in the next scan. */
size_t order_scan(struct order *order, struct wall now, struct arena *arena,
                  struct order_effect **ret_effects);

/* When the passing of time alone changes something; WALL_NEVER: never. */
struct wall order_next_time(const struct order *order);

/* ---- what it explains --------------------------------------------------- */

enum order_reason_kind {
    ORDER_WHY_HOLD,       /* holds */
    ORDER_WHY_PRECURSOR,  /* id must leave the queue first; path = why */
    ORDER_WHY_HINT,       /* the same, named by the submitter */
    ORDER_WHY_DEPENDENCY, /* id must be done first */
    ORDER_WHY_SUCCESSOR,  /* id failed; waits for its successor `other` */
    ORDER_WHY_UNKNOWN,    /* nobody knows id; waits for it until `until` */
    ORDER_WHY_ASKED,      /* id is being looked up */
    ORDER_WHY_FAILING,    /* will fail: detail says why */
    ORDER_WHY_UNSTAGED,   /* its precursors are not computed yet */
    ORDER_WHY_READY       /* nothing here holds it back */
};

struct order_reason {
    enum order_reason_kind kind;
    struct span id;       /* whom it waits for */
    enum job_state state; /* of id */
    struct wall since;    /* id is in that state */
    unsigned holds;       /* of id; for ORDER_WHY_HOLD its own */
    struct span path;     /* both touch it; empty: not because of a path */
    struct span other;    /* ORDER_WHY_SUCCESSOR */
    struct wall until;    /* ORDER_WHY_UNKNOWN */
    struct span detail;
    /* Where the waiting ends: following who waits for whom from `id` on,
     * `steps` further (0: id itself) stands `root`; empty: further away than
     * an answer follows. */
    struct span root;
    enum job_state root_state;
    struct wall root_since;
    unsigned root_holds;
    size_t steps;
};

/* Every reason that holds the job back, by name; at least one for a live job.
 * At most `limit` reasons; *ret_count says how many there are in all. Spans
 * live in the arena. Returns those written; 0: unknown num. */
size_t order_why(const struct order *order, uint64_t num, struct wall now,
                 size_t limit, struct arena *arena,
                 struct order_reason **ret_reasons, size_t *ret_count);

#endif
