/* The inside of order.h, shared by its files only. Each uses only files that
 * stand above it in this list:
 *   order_pointers.c, order_key.c
 *   order_node.c    what a change of a job makes due
 *   order_item.c    ids, dependencies on them, chains of successors (O10)
 *   order_path.c    rows of uses per path (O2, O6)
 *   order_preds.c   the jobs that a job waits for
 *   order_effect.c  proposals
 *   order_rank.c    inheritance (O14)
 *   order_insert.c  L: a newcomer in front of those who depend on it
 *   order_line.c    L: placing, moving behind newcomers, cycles (O4, O5, O9)
 *   order_why.c     explanations
 *   order.c         what it is told, and what a job's facts add up to */
#ifndef POINTSMAN_CORE_ORDER_INNER_H
#define POINTSMAN_CORE_ORDER_INNER_H

#include "lib/heap.h"
#include "lib/list.h"
#include "lib/map.h"
#include "core/order.h"

/* An order key, shared: a rank is the key of somebody who may have left. */
struct order_key {
    size_t refs;
    size_t bytes;
    char p[];
};

struct order_key *order_key_new(struct span span);
struct order_key *order_key_ref(struct order_key *key); /* NULL stays NULL */
void order_key_unref(struct order_key *key);
/* Sets *slot to a reference of `key`. */
void order_key_set(struct order_key **slot, struct order_key *key);
int order_key_compare(const struct order_key *a, const struct order_key *b);

/* A growing array of pointers; emptied by count = 0. */
struct order_pointers {
    void **p;
    size_t count, cap;
};

void order_pointers_push(struct order_pointers *pointers, void *p);
void order_pointers_clear(struct order_pointers *pointers);

/* What a dependency on an id amounts to at present. */
enum order_verdict {
    VERDICT_ASKED,   /* it is being looked up */
    VERDICT_UNKNOWN, /* nobody knows it; it may be on its way */
    VERDICT_WAIT,    /* it, or a successor, lives */
    VERDICT_SERVED,
    VERDICT_ROLLED_BACK,
    VERDICT_FAILED,
    VERDICTS
};

/* An id that lives here or that somebody here refers to. Lives as long as
 * `refs`: its node, edges to it, items it is a successor of. */
struct order_item {
    size_t refs;
    struct span id;          /* own memory */
    struct order_node *node; /* lives here; NULL: all that follows counts */
    bool asked;              /* it was to be looked up */
    bool known;              /* we were told about it */
    enum job_state state;
    bool rolled_back;
    struct wall since;
    uint64_t num;
    struct order_key *key, *recorded; /* live and outside: for inheritance */
    bool lent;                        /* told is not key; keeps a reference */
    struct list edges;                /* struct order_edge.in_item */
    struct order_item **successors;   /* referenced */
    struct order_item **olds;         /* of which it is a successor */
    size_t successor_count, old_count;
    enum order_verdict
        verdict; /* for those who depend on it, with successors */
    struct list to_ask;
    struct list rank_dirty;
    uint64_t up_mark, down_mark, set_mark;
};

enum order_edge_use {
    USE_DEPENDENCY,
    USE_HINT,
    USE_RECORD,    /* only until the first placing */
    USE_SUPERSEDES /* keeps the item and its link */
};

struct order_edge {
    struct order_node *node;
    struct order_item *item;
    struct list in_item;
    enum order_edge_use use;
    bool waits; /* USE_HINT: counted in node->hints */
};

/* One job's use of one path. */
struct order_use {
    struct order_node *node;
    struct order_place *place;
    struct order_group *group; /* NULL while the job is not in L */
    struct list in_group;
    bool file; /* else as a directory */
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
    struct order_node *last_node; /* while uses are collected: is there one, */
    size_t last_use;              /* and which */
};

struct order_node {
    uint64_t num;
    struct order_item *item;
    struct order_item **aliases; /* further ones that live by this node */
    size_t alias_count;
    enum job_class job_class;
    enum job_state state;
    enum job_state was; /* before it came into A */
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
    size_t blocked;          /* uses that are not in the first group */
    size_t counts[VERDICTS]; /* of its dependencies */
    size_t hints;            /* hints it waits for */
    bool failing;            /* its failure is proposed */
    bool goes_back;          /* its record must be made anew */
    bool splice;             /* its record lacks somebody */
    bool was_recorded;       /* in a former life; not compared with L yet */
    unsigned asked;          /* kind + 1 of the proposal under way */
    const char *doom;        /* why, for order_why; static */

    struct list dirty, fresh, rank_unrecorded;
    size_t in_deadlines, in_ranks;
    /* while being placed */
    size_t hard, soft, in_heap;
    uint64_t old_seq;
    bool moving;
    uint64_t sum; /* of its precursors before */
    uint64_t walk_mark;
};

/* Somebody a job waits for. */
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
    struct order_node *inserted; /* the last one in the midst of L, or NULL */
    struct list dirty;           /* to be judged */
    struct list fresh;           /* to be placed */
    struct list to_ask;          /* ids to be looked up */
    struct list rank_items, rank_unrecorded;
    struct heap deadlines;      /* of nodes with unknown dependencies */
    struct heap ranks;          /* to be computed anew, last in L first */
    struct order_pointers late; /* items that became successors; referenced */
    struct order_pointers up, down; /* chains of successors, see below */
    struct order_pointers stack, tangles;
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
/* Where it stands in L: an undecided one keeps the place it may come back to.
 */
static inline enum job_state
order_node_stands_as(const struct order_node *node) {
    return node->state == STATE_ABANDONED ? node->was : node->state;
}
static inline bool order_node_stands_waiting(const struct order_node *node) {
    enum job_state state = order_node_stands_as(node);

    return state == STATE_QUEUED || state == STATE_STAGED;
}
/* Judges the job again in this scan or the next. */
void order_node_touch(struct order *order, struct order_node *node);
struct wall order_node_deadline(const struct order *order,
                                const struct order_node *node);
/* Its counts changed: is it in order->deadlines as it should? */
void order_node_deadline_changed(struct order *order, struct order_node *node);
/* False: it is not placed yet, and gets its rank from those who move behind it
 * once it is. */
bool order_node_inherits(const struct order_node *node);
/* Computes its rank again at the end of the scan. */
void order_node_rank_again(struct order *order, struct order_node *node);

/* ---- order_item.c ------------------------------------------------------- */

struct order_item *order_item_find(const struct order *order, struct span id);
struct order_item *order_item_ref(struct order *order, struct span id);
void order_item_unref(struct order *order, struct order_item *item);
/* The verdict of `old` is for the caller to renew (order_item_changed). */
void order_item_link(struct order *order, struct order_item *old,
                     struct order_item *successor);
void order_item_free(struct order_item *item);
/* Its own facts changed: verdicts of it and of what it stands in for. */
void order_item_changed(struct order *order, struct order_item *item);
/* The same for all ids that live by the node. */
void order_items_changed(struct order *order, struct order_node *node);
/* order->down: the item and all its successors at any depth. */
void order_chain_down(struct order *order, struct order_item *item);
/* order->up: the item and everything it stands in for, at any depth. */
void order_chain_up(struct order *order, struct order_item *item);
void order_edge_open(struct order *order, struct order_edge *edge,
                     struct order_node *node, struct order_item *item,
                     enum order_edge_use use);
void order_edge_close(struct order *order, struct order_edge *edge);
void order_edge_hint_update(struct order *order, struct order_edge *edge);
/* Forgets the record of a former life. */
void order_record_close(struct order *order, struct order_node *node);
/* Computes its rank again at the end of the scan. */
void order_item_rank_again(struct order *order, struct order_item *item);
/* Live, here or outside? */
bool order_item_is_live(const struct order_item *item);
enum job_state order_item_state(const struct order_item *item);

/* ---- order_path.c ------------------------------------------------------- */

void order_path_uses_open(struct order *order, struct order_node *node,
                          const struct order_entry *entry);
void order_path_uses_close(struct order *order, struct order_node *node);
void order_path_append(struct order *order,
                       struct order_use *use); /* at the end */
/* `splice`: those who inherit get a new record. */
void order_path_remove(struct order *order, struct order_use *use, bool splice);
/* As a group of its own in front of another; both are files. */
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

/* ---- order_preds.c ------------------------------------------------------ */

/* order->preds: all it waits for directly; one may appear more than once. */
void order_preds_collect(struct order *order, const struct order_node *node);
/* One of them that lives in the order; NULL: there is none. Does not look at
 * the others. */
struct order_node *order_preds_first(struct order *order,
                                     const struct order_node *node);
/* Their ids, each once, in the arena of the scan. */
size_t order_preds_ids(struct order *order, const struct order_node *node,
                       const struct span **ret_ids);

/* ---- order_effect.c ----------------------------------------------------- */

struct order_effect *order_effect_add(struct order *order,
                                      struct order_node *node,
                                      enum order_effect_kind kind,
                                      const char *reason);
/* Proposes that the job fails; those who depend on it are judged by that. */
void order_effect_fail(struct order *order, struct order_node *node,
                       const char *reason, const char *detail);

/* ---- order_line.c ------------------------------------------------------- */

/* Places all fresh nodes. */
void order_line_place(struct order *order);
/* Takes it out of L. */
void order_line_leave(struct order *order, struct order_node *node);

/* ---- order_insert.c ----------------------------------------------------- */

/* Its label and place at the end of L, or none any more. */
void order_label_last(struct order *order, struct order_node *node);
void order_label_clear(struct order *order, struct order_node *node);
/* What its coming tangles. */
void order_insert_placed(struct order *order, struct order_node *node);
/* It became a successor of what others depend on. */
void order_insert_late(struct order *order, struct order_node *node);
/* When one newcomer alone is to be placed, and may stand in front of those who
 * depend on it without anybody else seeing a difference: places it there. */
bool order_insert_alone(struct order *order);

/* ---- order_rank.c ------------------------------------------------------- */

int order_rank_compare(const void *a, const void *b); /* of order->ranks */
void order_rank_joined(struct order *order, struct order_node *node);
void order_rank_leaving(struct order *order, struct order_node *node);
void order_rank_waits_again(struct order *order, struct order_node *node);
void order_rank_finish(struct order *order); /* the end of a scan */

#endif
