/* The internals of order.h, for its own files only. Each file uses only files
 * that stand above it in this list:
 *   order_pointers.c, order_key.c
 *   order_node.c    what must be done after a job has changed
 *   order_item.c    ids, dependencies on them, chains of successors (O10)
 *   order_path.c    rows of uses per path (O2, O6)
 *   order_preds.c   the jobs that a job waits for
 *   order_effect.c  proposals
 *   order_rank.c    inheritance (O14)
 *   order_insert.c  L: a newcomer in front of the jobs that depend on it
 *   order_line.c    L: placing, moving behind newcomers, cycles (O4, O5, O9)
 *   order_follow.c  sets that follow others onto a merge train (O20)
 *   order_why.c     explanations
 *   order.c         input, and the decision about each job */
#ifndef POINTSMAN_CORE_ORDER_INNER_H
#define POINTSMAN_CORE_ORDER_INNER_H

#include "lib/heap.h"
#include "lib/list.h"
#include "lib/map.h"
#include "core/order.h"

/* A shared order key: a rank may be the key of a job that has left. */
struct order_key {
    size_t refs;
    size_t bytes;
    char p[];
};

struct order_key *order_key_new(struct span span);
struct order_key *order_key_ref(struct order_key *key); /* NULL stays NULL */
void order_key_unref(struct order_key *key);
/* Sets *slot to another reference of `key`, and releases what was in it; each
 * may be NULL. */
void order_key_set(struct order_key **slot, struct order_key *key);
int order_key_compare(const struct order_key *a, const struct order_key *b);
/* Its first byte, the number of a class. */
unsigned char order_key_class(const struct order_key *key);

/* A growing array of pointers; emptied by count = 0. */
struct order_pointers {
    void **p;
    size_t count, cap;
};

void order_pointers_push(struct order_pointers *pointers, void *p);
void order_pointers_clear(struct order_pointers *pointers);

/* The present meaning of a dependency on an id. */
enum order_verdict {
    VERDICT_ASKED,   /* it is being looked up */
    VERDICT_UNKNOWN, /* the id is unknown; its job may still arrive */
    VERDICT_WAIT,    /* it, or a successor, is live */
    VERDICT_SERVED,
    VERDICT_ROLLED_BACK,
    VERDICT_FAILED,
    VERDICTS
};

/* An id that is in the order or that a job in the order refers to. It lives as
 * long as `refs`, which counts its node, the edges to it and the items of which
 * it is a successor. */
struct order_item {
    size_t refs;
    struct span id;          /* own memory */
    struct order_node *node; /* its job; NULL: not here, and the rest counts */
    bool asked;              /* its lookup was requested */
    bool known;              /* order_outside has answered */
    enum job_state state;
    bool rolled_back;
    struct wall since;
    struct order_tasks tasks; /* counted only while `shares` is not 0 */
    size_t shares;            /* edges to it that need a share of its tasks */
    uint64_t num;
    struct order_key *key, *recorded; /* if live and outside: for inheritance */
    bool inherited;                   /* `recorded` is not `key`; holds a
                                         reference */
    struct list edges;                /* struct order_edge.in_item */
    struct order_item **successors;   /* referenced */
    struct order_item **olds;         /* items of which it is a successor */
    size_t successor_count, old_count;
    enum order_verdict verdict; /* for its dependents, successors included */
    struct list to_ask;
    struct list rank_dirty;
    uint64_t up_mark, down_mark, set_mark;
};

enum order_edge_use {
    USE_DEPENDENCY,
    USE_HINT,
    USE_RECORD,     /* only until it is first placed */
    USE_SUPERSEDES, /* keeps the item and its link alive */
    USE_SETTLED     /* a dependency or hint that does not count any more */
};

struct order_edge {
    struct order_node *node;
    struct order_item *item;
    struct list in_item;
    enum order_edge_use use;
    enum edge_kind kind;
    unsigned share;             /* as in struct job_edge */
    enum order_verdict verdict; /* for USE_DEPENDENCY: what the item's means for
                                   this one, counted in node->counts */
    bool waits;                 /* for USE_HINT: counted in node->hints */
};

/* The use of one path by one job. */
struct order_use {
    struct order_node *node;
    struct order_place *place;
    struct order_group *group; /* NULL while the job is not in L */
    struct list in_group;
    bool file; /* false: used as a directory */
};

struct order_group {
    struct order_place *place;
    struct list in_place;
    struct list uses;
    size_t count;
    bool file;
};

struct order_place {
    struct span name; /* "pTARGET\0PATH" or "kKEY", own memory */
    struct list groups;
    size_t refs;                  /* uses */
    struct order_node *last_node; /* while uses are collected: the node that has
                                     one already, or NULL, */
    size_t last_use;              /* and its index */
};

struct order_node {
    uint64_t num;
    struct order_item *item;
    struct order_item **aliases; /* further ids that belong to this node */
    size_t alias_count;
    enum job_class job_class;
    enum job_state state;
    enum job_state was; /* its state before A */
    unsigned holds;
    bool rb;
    struct wall admitted, since;
    struct order_key *key, *rank, *recorded;
    struct order_edge *edges;
    size_t edge_count;
    struct order_use *uses;
    size_t use_count;

    uint64_t seq;            /* place in L; 0: not placed */
    struct list in_line;     /* L again */
    bool tangled;            /* see order_insert.c */
    size_t blocked;          /* number of uses not in the first group */
    size_t counts[VERDICTS]; /* its dependencies, by verdict */
    size_t hints;            /* number of hints it waits for */
    bool failing;            /* its failure is proposed */
    bool goes_back;          /* its record must be rebuilt */
    bool splice;             /* its record is missing a job */
    bool rides;              /* it is on the merge train of its target */
    bool parked;             /* pending, but waits: its owner was told so */
    bool was_recorded;       /* before a restart; not compared with L yet */
    unsigned asked;          /* kind + 1 of the proposal under way */
    const char *failure;     /* the reason, for order_why; static */

    struct list dirty, fresh, rank_unrecorded;
    size_t in_deadlines, in_ranks;
    /* while it is being placed */
    size_t hard, soft, in_heap;
    uint64_t old_seq;
    bool moving;
    uint64_t sum; /* sum of its precursors before */
    uint64_t walk_mark;
};

/* A job that another job waits for. */
struct order_pred {
    struct order_item *item;
    struct order_place *place; /* because of this path, or NULL */
    bool hint;
};

struct order_preds {
    struct order_pred *p;
    size_t count, cap;
};

struct order {
    struct order_limits limits;
    struct map nodes;  /* num -> node */
    struct map items;  /* id -> item */
    struct map places; /* name -> place */
    uint64_t seq, mark;
    struct list line;            /* L */
    struct order_node *inserted; /* the last node inserted inside L, or NULL */
    struct list dirty;           /* to be judged */
    struct list fresh;           /* to be placed */
    struct list to_ask;          /* ids to be looked up */
    struct list rank_items, rank_unrecorded;
    struct heap deadlines;      /* nodes with unknown dependencies */
    struct heap ranks;          /* nodes whose rank is to be recomputed, last in
                                   L first */
    struct order_pointers late; /* items that became successors; referenced */
    struct order_pointers up, down; /* chains of successors, see below */
    struct order_pointers stack, tangles;
    struct order_pointers items_found; /* by order_preds_items */
    struct order_preds preds;
    struct text scratch;
    /* during a scan */
    struct arena *arena;
    struct order_effect *effects;
    size_t effect_count, effect_cap;
    struct wall now;
};

/* ---- order_node.c ------------------------------------------------------- */

/* Its items: 0 is its own, then the aliases. */
static inline struct order_item *order_node_item(const struct order_node *node,
                                                 size_t i) {
    return i == 0 ? node->item : node->aliases[i - 1];
}
static inline bool order_node_is_waiting(const struct order_node *node) {
    return node->state == STATE_QUEUED || node->state == STATE_STAGED;
}
/* Whether something in front of it has to go first. A set that follows others
 * onto a merge train waits for them in P and X too. */
static inline bool order_node_is_behind(const struct order_node *node) {
    return node->blocked > 0 || node->hints > 0 ||
           node->counts[VERDICT_WAIT] > 0;
}
static inline bool order_node_follows(const struct order_node *node) {
    return (node->state == STATE_PENDING || node->state == STATE_EXECUTING) &&
           order_node_is_behind(node);
}
/* What it waits for inherits its rank. */
static inline bool order_node_passes_rank(const struct order_node *node) {
    return order_node_is_waiting(node) || order_node_follows(node);
}
/* The same for one of the jobs that it waits for. A pending job does not move
 * behind a successor of its dependency. */
static inline bool order_node_lends(const struct order_node *node,
                                    const struct order_node *to) {
    return order_node_is_waiting(node) ||
           (order_node_follows(node) && (to == NULL || to->seq < node->seq));
}
/* The state by which it stands in L: an undecided job keeps the place to which
 * it may come back. */
static inline enum job_state
order_node_stands_as(const struct order_node *node) {
    return node->state == STATE_ABANDONED ? node->was : node->state;
}
static inline bool order_node_stands_waiting(const struct order_node *node) {
    enum job_state state = order_node_stands_as(node);

    return state == STATE_QUEUED || state == STATE_STAGED;
}
/* Has the job judged again: later in this scan, or in the next one. */
void order_node_touch(struct order *order, struct order_node *node);
struct wall order_node_deadline(const struct order *order,
                                const struct order_node *node);
/* Its counts changed: updates its entry in order->deadlines. */
void order_node_deadline_changed(struct order *order, struct order_node *node);
/* False: it is not placed yet; it gets its rank from the jobs that move behind
 * it once it is. */
bool order_node_inherits(const struct order_node *node);
/* Recomputes its rank at the end of the scan. */
void order_node_rank_again(struct order *order, struct order_node *node);

/* ---- order_item.c ------------------------------------------------------- */

struct order_item *order_item_find(const struct order *order, struct span id);
struct order_item *order_item_ref(struct order *order, struct span id);
void order_item_unref(struct order *order, struct order_item *item);
/* The caller must renew the verdict of `old` (order_item_changed). */
void order_item_link(struct order *order, struct order_item *old,
                     struct order_item *successor);
void order_item_free(struct order_item *item);
/* Its own facts changed: renews its verdict and those of the items it
 * supersedes. */
void order_item_changed(struct order *order, struct order_item *item);
/* The same for all ids of the node. */
void order_items_changed(struct order *order, struct order_node *node);
/* order->down: the item and all its successors at any depth. */
void order_chain_down(struct order *order, struct order_item *item);
/* order->up: the item and everything it supersedes, at any depth. */
void order_chain_up(struct order *order, struct order_item *item);
/* `relation`: where it comes from. */
void order_edge_open(struct order *order, struct order_edge *edge,
                     struct order_node *node, struct order_item *item,
                     enum order_edge_use use, const struct job_edge *relation);
void order_edge_close(struct order *order, struct order_edge *edge);
void order_edge_hint_update(struct order *order, struct order_edge *edge);
/* The job became pending: dependencies that are done do not count any more. */
void order_edges_settle_served(struct order *order, struct order_node *node);
/* For a job that was pending or executing before a restart: what its record
 * does not name had left the queue before, came later, or is a member of its
 * group, which lands with it. */
void order_edges_settle(struct order *order, struct order_node *node);
/* A job leaves that was not placed yet: the jobs whose record from before a
 * restart names it inherit its record (O6). */
void order_record_pass_on(struct order *order, struct order_node *node);
/* Drops the record from before a restart. */
void order_record_close(struct order *order, struct order_node *node);
/* Recomputes its rank at the end of the scan. */
void order_item_rank_again(struct order *order, struct order_item *item);
/* True if its job is live, in the order or outside. */
bool order_item_is_live(const struct order_item *item);
enum job_state order_item_state(const struct order_item *item);

/* ---- order_path.c ------------------------------------------------------- */

void order_path_uses_open(struct order *order, struct order_node *node,
                          const struct order_entry *entry);
void order_path_uses_close(struct order *order, struct order_node *node);
void order_path_append(struct order *order,
                       struct order_use *use); /* at the end */
/* `splice`: the members that inherit get a new record. */
void order_path_remove(struct order *order, struct order_use *use, bool splice);
/* Inserts it as a group of its own in front of another; both are file uses. */
void order_path_insert(struct order *order, struct order_use *use,
                       struct order_group *before);
/* Its members get a new record. */
void order_path_group_inherits(struct order *order, struct order_group *group);
struct order_group *
order_path_group_before(const struct order_use *use); /* NULL: it is first */
struct order_group *order_path_group_in_front(const struct order_group *group);
struct order_group *order_path_group_last(const struct order_place *place);
struct order_group *order_path_group_behind(const struct order_use *use);
struct span order_place_path(const struct order_place *place);
/* The target of a change set that touches something; else empty. */
struct span order_path_target(const struct order_node *node);

/* ---- order_preds.c ------------------------------------------------------ */

/* order->preds: all items it waits for directly; one may appear more than
 * once. */
void order_preds_collect(struct order *order, const struct order_node *node);
/* One of its precursors that is in the order; NULL: there is none. Does not
 * look at the others. */
struct order_node *order_preds_first(struct order *order,
                                     const struct order_node *node);
/* True if all that it waits for is on the merge train of its target. */
bool order_preds_ride(struct order *order, const struct order_node *node);
/* Marks and returns the items of all its precursors, each once: all ids of
 * those that land together, which stand by themselves after a restart (O13).
 * Valid until the next call. */
const struct order_pointers *order_preds_items(struct order *order,
                                               const struct order_node *node,
                                               uint64_t mark);
/* The ids of its precursors, each once, in the arena of the scan. */
size_t order_preds_ids(struct order *order, const struct order_node *node,
                       const struct span **ret_ids);

/* ---- order_effect.c ----------------------------------------------------- */

struct order_effect *order_effect_add(struct order *order,
                                      struct order_node *node,
                                      enum order_effect_kind kind,
                                      const char *reason);
/* Proposes it, with its record if that is part of it; once, until the job is
 * reported on. */
void order_propose(struct order *order, struct order_node *node,
                   enum order_effect_kind kind, const char *reason);
/* Proposes that the job fails; its dependents are judged accordingly. */
void order_effect_fail(struct order *order, struct order_node *node,
                       const char *reason, const char *detail);

/* ---- order_follow.c ----------------------------------------------------- */

/* The dependency for which a pending set fails; NULL: none. */
const struct order_item *order_follow_ended(struct order *order,
                                            const struct order_node *node);
/* The node is about to leave L. */
void order_follow_leaves(struct order *order, struct order_node *node);
/* Proposes what is to be done for a job in P or X. */
void order_follow_judge(struct order *order, struct order_node *node);

/* ---- order_line.c ------------------------------------------------------- */

/* Places all fresh nodes. */
void order_line_place(struct order *order);
/* Takes the node out of L. */
void order_line_leave(struct order *order, struct order_node *node);

/* ---- order_insert.c ----------------------------------------------------- */

/* Gives it a label and place at the end of L, or removes them. */
void order_label_last(struct order *order, struct order_node *node);
void order_label_clear(struct order *order, struct order_node *node);
/* Marks what is tangled by its arrival. */
void order_insert_placed(struct order *order, struct order_node *node);
/* It became a successor of an item that other jobs depend on. */
void order_insert_late(struct order *order, struct order_node *node);
/* If a single newcomer is to be placed and can stand in front of its dependents
 * without a visible difference for any other job, places it there. */
bool order_insert_alone(struct order *order);

/* ---- order_rank.c ------------------------------------------------------- */

int order_rank_compare(const void *a, const void *b); /* for order->ranks */
void order_rank_joined(struct order *order, struct order_node *node);
void order_rank_leaving(struct order *order, struct order_node *node);
void order_rank_waits_again(struct order *order, struct order_node *node);
/* Its rank is recorded at the end of the scan, if that has to be done now. */
void order_rank_record(struct order *order, struct order_node *node);
void order_rank_finish(struct order *order); /* at the end of a scan */

#endif
