#include "core/order_inner.h"

#include <assert.h>
#include <stdlib.h>

/* An id and its dependents. The meaning of a dependency is one verdict per id,
 * shared by all dependents, and what it means for the kind of each; nodes only
 * count verdicts, so that a change costs one step per dependent and nothing
 * else. */

struct order_item *order_item_find(const struct order *order, struct span id) {
    return map_get(&order->items, id);
}

struct order_item *order_item_ref(struct order *order, struct span id) {
    struct order_item *item = order_item_find(order, id);

    if (item == NULL) {
        item = mem_alloc(sizeof(*item));
        item->id = span_make(mem_copy(id.p, id.len), id.len);
        item->state = STATE_NONE;
        item->verdict = VERDICT_ASKED;
        list_init(&item->edges);
        list_init(&item->to_ask);
        list_init(&item->rank_dirty);
        map_put(&order->items, item->id, item);
    }
    item->refs++;
    return item;
}

void order_item_free(struct order_item *item) {
    list_remove(&item->to_ask);
    list_remove(&item->rank_dirty);
    order_key_unref(item->key);
    order_key_unref(item->recorded);
    free(item->successors);
    free(item->olds);
    free((void *)(uintptr_t)item->id.p);
    free(item);
}

static void item_forget_old(struct order_item *item,
                            const struct order_item *old) {
    for (size_t i = 0; i < item->old_count; i++)
        if (item->olds[i] == old) {
            item->olds[i] = item->olds[--item->old_count];
            return;
        }
}

void order_item_unref(struct order *order, struct order_item *item) {
    assert(item->refs > 0);
    /* A loop, not a recursion: chains of successors may be long. */
    while (--item->refs == 0) {
        struct order_item *next = NULL;

        for (size_t i = 0; i < item->successor_count; i++) {
            struct order_item *successor = item->successors[i];

            item_forget_old(successor, item);
            if (successor->refs > 1 || next != NULL)
                order_item_unref(order, successor);
            else
                next = successor;
        }
        map_remove(&order->items, item->id);
        order_item_free(item);
        if (next == NULL)
            return;
        item = next;
    }
}

static void look_up(struct order *order, struct order_item *item) {
    if (item->node != NULL || item->known || item->asked)
        return;
    item->asked = true;
    list_push(&order->to_ask, &item->to_ask);
}

void order_item_link(struct order *order, struct order_item *old,
                     struct order_item *successor) {
    size_t count = old->successor_count;

    for (size_t i = 0; i < count; i++)
        if (old->successors[i] == successor)
            return;
    if (old == successor)
        return;
    old->successors =
        mem_grow(old->successors, count + 1, sizeof(*old->successors));
    old->successors[count] = successor;
    old->successor_count++;
    successor->refs++;
    successor->olds = mem_grow(successor->olds, successor->old_count + 1,
                               sizeof(*successor->olds));
    successor->olds[successor->old_count++] = old;
    look_up(order, successor);
    /* Another live item: it belongs in front of the dependents of `old`. */
    successor->refs++;
    order_pointers_push(&order->late, successor);
}

/* ---- chains ------------------------------------------------------------- */

void order_chain_down(struct order *order, struct order_item *item) {
    struct order_pointers *down = &order->down;
    uint64_t mark = ++order->mark;

    down->count = 0;
    item->down_mark = mark;
    order_pointers_push(down, item);
    for (size_t i = 0; i < down->count; i++) {
        struct order_item *at = down->p[i];

        for (size_t k = 0; k < at->successor_count; k++) {
            struct order_item *next = at->successors[k];

            if (next->down_mark == mark)
                continue;
            next->down_mark = mark;
            order_pointers_push(down, next);
        }
    }
}

void order_chain_up(struct order *order, struct order_item *item) {
    struct order_pointers *up = &order->up;
    uint64_t mark = ++order->mark;

    up->count = 0;
    item->up_mark = mark;
    order_pointers_push(up, item);
    for (size_t i = 0; i < up->count; i++) {
        struct order_item *at = up->p[i];

        for (size_t k = 0; k < at->old_count; k++) {
            struct order_item *next = at->olds[k];

            if (next->up_mark == mark)
                continue;
            next->up_mark = mark;
            order_pointers_push(up, next);
        }
    }
}

/* ---- verdicts ----------------------------------------------------------- */

bool order_item_is_live(const struct order_item *item) {
    return item->node != NULL || (item->known && item->state < JOB_STATES &&
                                  (STATES_LIVE & STATE_BIT(item->state)) != 0);
}

enum job_state order_item_state(const struct order_item *item) {
    return item->node != NULL ? item->node->state : item->state;
}

static enum order_verdict own_verdict(const struct order_item *item) {
    if (item->node != NULL)
        return item->node->failing ? VERDICT_FAILED : VERDICT_WAIT;
    if (!item->known)
        return VERDICT_ASKED;
    if (item->state >= JOB_STATES)
        return VERDICT_UNKNOWN;
    if (order_item_is_live(item))
        return VERDICT_WAIT;
    if (item->state != STATE_DONE)
        return VERDICT_FAILED;
    return item->rolled_back ? VERDICT_ROLLED_BACK : VERDICT_SERVED;
}

/* O10: a failed item is replaced by any successor in its chain that is done,
 * and is waited for as long as a successor is live. */
static enum order_verdict chain_verdict(struct order *order,
                                        struct order_item *item) {
    enum order_verdict own = own_verdict(item);
    bool waits = false;

    if (item->successor_count == 0 ||
        (own != VERDICT_FAILED && own != VERDICT_ROLLED_BACK))
        return own;
    order_chain_down(order, item);
    for (size_t i = 1; i < order->down.count; i++) {
        enum order_verdict verdict = own_verdict(order->down.p[i]);

        if (verdict == VERDICT_SERVED)
            return VERDICT_SERVED;
        waits = waits || verdict == VERDICT_WAIT || verdict == VERDICT_ASKED;
    }
    return waits ? VERDICT_WAIT : own;
}

void order_item_rank_again(struct order *order, struct order_item *item) {
    if (list_empty(&item->rank_dirty))
        list_push(&order->rank_items, &item->rank_dirty);
}

static void edge_count(struct order *order, struct order_edge *edge,
                       enum order_verdict verdict, bool more) {
    struct order_node *node = edge->node;

    if (more)
        node->counts[verdict]++;
    else
        node->counts[verdict]--;
    if (verdict == VERDICT_UNKNOWN)
        order_node_deadline_changed(order, node);
}

/* A share of the tasks: of a live job, it may have been reached already, or be
 * out of reach. */
static enum order_verdict share_verdict(const struct order_edge *edge,
                                        enum order_verdict verdict) {
    const struct order_tasks *tasks = &edge->item->tasks;
    size_t needed = tasks->count * edge->share;

    if (tasks->count == 0 ||
        (verdict != VERDICT_WAIT && verdict != VERDICT_FAILED))
        return verdict;
    if (tasks->done * 100 >= needed)
        return VERDICT_SERVED;
    return (tasks->count - tasks->failed) * 100 < needed ? VERDICT_FAILED
                                                         : verdict;
}

/* What the verdict on the item means for an edge to it. */
static enum order_verdict edge_verdict(const struct order_edge *edge,
                                       enum order_verdict verdict) {
    bool succeeded =
        verdict == VERDICT_SERVED || verdict == VERDICT_ROLLED_BACK;

    if (edge->kind == EDGE_AFTER_SHARE)
        return share_verdict(edge, verdict);
    if (edge->kind == EDGE_AFTER_ANY)
        return succeeded || verdict == VERDICT_FAILED ? VERDICT_SERVED
                                                      : verdict;
    if (edge->kind == EDGE_AFTER_FAILED)
        return succeeded                   ? VERDICT_FAILED
               : verdict == VERDICT_FAILED ? VERDICT_SERVED
                                           : verdict;
    return verdict;
}

/* The verdict became, or ceased to be, WAIT: the ranks inherited by the awaited
 * jobs change, and these have to stand in front in L. */
static void chain_judge(struct order *order, struct order_item *item) {
    order_chain_down(order, item);
    for (size_t i = 0; i < order->down.count; i++) {
        struct order_item *at = order->down.p[i];

        if (at->node == NULL) {
            if (order_item_is_live(at))
                order_item_rank_again(order, at);
            continue;
        }
        order_node_rank_again(order, at->node);
        if (i > 0 && item->verdict == VERDICT_WAIT) {
            at->refs++;
            order_pointers_push(&order->late, at);
        }
    }
}

/* What a pending job needed is done: if that is rolled back later, the job is a
 * member of the rollback, and does not wait again. */
static bool is_settled_by(const struct order_edge *edge,
                          enum order_verdict verdict) {
    return verdict == VERDICT_SERVED && !order_node_stands_waiting(edge->node);
}

/* True if it ceased to wait, or waits now. */
static bool edge_update(struct order *order, struct order_edge *edge) {
    const struct order_item *item = edge->item;
    enum order_verdict old = edge->verdict,
                       new = edge_verdict(edge, item->verdict);

    if (old == new)
        return false;
    edge_count(order, edge, old, false);
    edge->verdict = new;
    if (is_settled_by(edge, new))
        edge->use = USE_SETTLED;
    else
        edge_count(order, edge, new, true);
    /* A plain command that arrived: the record lacks it. A chain that is
     * satisfied: the record names successors that are still live, and a share
     * of a job that is. */
    if ((new == VERDICT_WAIT && item->node == NULL) ||
        (old == VERDICT_WAIT &&
         (item->successor_count > 0 || edge->kind == EDGE_AFTER_SHARE)))
        edge->node->splice = true;
    order_node_touch(order, edge->node);
    return old == VERDICT_WAIT || new == VERDICT_WAIT;
}

static void verdict_update(struct order *order, struct order_item *item) {
    enum order_verdict old = item->verdict, new = chain_verdict(order, item);
    bool waits = old != new && (old == VERDICT_WAIT || new == VERDICT_WAIT);
    bool shares = false;

    item->verdict = new;
    if (waits)
        chain_judge(order, item);
    LIST_EACH (&item->edges, it) {
        struct order_edge *edge = LIST_OF(it, struct order_edge, in_item);

        if (edge->use == USE_HINT)
            order_edge_hint_update(order, edge);
        else if (edge->use == USE_DEPENDENCY)
            shares |= edge_update(order, edge);
    }
    if (shares && !waits)
        chain_judge(order, item);
}

void order_set_tasks(struct order *order, struct span id,
                     const struct order_tasks *tasks) {
    struct order_item *item = order_item_find(order, id);

    if (item == NULL ||
        (item->tasks.count == tasks->count && item->tasks.done == tasks->done &&
         item->tasks.failed == tasks->failed))
        return;
    item->tasks = *tasks;
    order_item_changed(order, item);
}

bool order_counts_tasks(const struct order *order, struct span id) {
    const struct order_item *item = order_item_find(order, id);

    return item != NULL && item->shares > 0;
}

void order_item_changed(struct order *order, struct order_item *item) {
    if (item->old_count == 0) {
        verdict_update(order, item);
        return;
    }
    order_chain_up(order, item);
    for (size_t i = 0; i < order->up.count; i++)
        verdict_update(order, order->up.p[i]);
}

void order_items_changed(struct order *order, struct order_node *node) {
    for (size_t i = 0; i <= node->alias_count; i++)
        order_item_changed(order, order_node_item(node, i));
}

/* ---- edges -------------------------------------------------------------- */

/* A hint counts while the job it names is live and stands in front (O7): a set
 * that arrived later, or that waits for this one, is no precursor. A plain
 * command has no place, so a pending job does not wait for it any more. */
static bool hint_waits(const struct order_edge *edge) {
    const struct order_node *to = edge->item->node;

    if (edge->node->rb || to == edge->node)
        return false;
    if (to != NULL)
        return to->seq != 0 && edge->node->seq > to->seq;
    return order_node_stands_waiting(edge->node) &&
           (order_item_is_live(edge->item) || !edge->item->known);
}

void order_edge_hint_update(struct order *order, struct order_edge *edge) {
    bool waits = hint_waits(edge);

    if (waits == edge->waits)
        return;
    edge->waits = waits;
    if (waits)
        edge->node->hints++;
    else
        edge->node->hints--;
    if (edge->item->node != NULL) {
        order_node_rank_again(order, edge->item->node);
    } else {
        order_item_rank_again(order, edge->item);
        /* A plain command that arrived: the record lacks it. */
        edge->node->splice = edge->node->splice || waits;
    }
    order_node_touch(order, edge->node);
}

void order_edge_open(struct order *order, struct order_edge *edge,
                     struct order_node *node, struct order_item *item,
                     enum order_edge_use use, const struct job_edge *relation) {
    edge->node = node;
    edge->item = item;
    edge->use = use;
    edge->kind = relation->kind;
    edge->share = relation->share;
    edge->verdict = edge_verdict(edge, item->verdict);
    item->shares += edge->kind == EDGE_AFTER_SHARE;
    list_push(&item->edges, &edge->in_item);
    if (use == USE_DEPENDENCY || use == USE_HINT)
        look_up(order, item);
    if (use == USE_DEPENDENCY)
        edge_count(order, edge, edge->verdict, true);
    if (use == USE_HINT)
        order_edge_hint_update(order, edge);
}

void order_edge_close(struct order *order, struct order_edge *edge) {
    if (edge->item == NULL)
        return;
    if (edge->use == USE_DEPENDENCY)
        edge_count(order, edge, edge->verdict, false);
    edge->item->shares -= edge->kind == EDGE_AFTER_SHARE;
    if (edge->waits)
        edge->node->hints--;
    edge->waits = false;
    list_remove(&edge->in_item);
    order_item_unref(order, edge->item);
    edge->item = NULL;
}

static void edge_settle(struct order *order, struct order_edge *edge) {
    if (edge->use == USE_DEPENDENCY)
        edge_count(order, edge, edge->verdict, false);
    edge->use = USE_SETTLED;
}

void order_edges_settle_served(struct order *order, struct order_node *node) {
    for (size_t i = 0; i < node->edge_count; i++)
        if (node->edges[i].use == USE_DEPENDENCY &&
            node->edges[i].verdict == VERDICT_SERVED)
            edge_settle(order, &node->edges[i]);
}

/* True if the record names the item, or one that supersedes it and was waited
 * for in its place. */
static bool is_recorded(struct order *order, struct order_item *item,
                        uint64_t mark) {
    order_chain_down(order, item);
    for (size_t i = 0; i < order->down.count; i++) {
        const struct order_item *at = order->down.p[i];

        if (at->set_mark == mark)
            return true;
    }
    return false;
}

void order_edges_settle(struct order *order, struct order_node *node) {
    uint64_t mark = ++order->mark;

    for (size_t i = 0; i < node->edge_count; i++)
        if (node->edges[i].use == USE_RECORD)
            node->edges[i].item->set_mark = mark;
    for (size_t i = 0; i < node->edge_count; i++) {
        struct order_edge *edge = &node->edges[i];

        if ((edge->use == USE_DEPENDENCY ||
             (edge->use == USE_HINT && !edge->waits)) &&
            !is_recorded(order, edge->item, mark))
            edge_settle(order, edge);
    }
}

/* Adds the record of `from` to that of `node`, as far as it is new there. */
static void record_add(struct order *order, struct order_node *node,
                       const struct order_node *from) {
    struct order_edge *old = node->edges;
    size_t count = node->edge_count;
    uint64_t mark = ++order->mark;

    node->edges =
        mem_alloc((count + from->edge_count + 1) * sizeof(*node->edges));
    for (size_t i = 0; i < count; i++) {
        node->edges[i] = old[i];
        if (old[i].use == USE_RECORD)
            old[i].item->set_mark = mark;
        list_insert_before(&old[i].in_item, &node->edges[i].in_item);
        list_remove(&old[i].in_item);
    }
    free(old);
    for (size_t i = 0; i < from->edge_count; i++) {
        struct order_item *item = from->edges[i].item;

        if (from->edges[i].use != USE_RECORD || item->set_mark == mark)
            continue;
        item->set_mark = mark;
        item->refs++;
        order_edge_open(order, &node->edges[node->edge_count++], node, item,
                        USE_RECORD, &(struct job_edge){.kind = EDGE_PRECURSOR});
    }
    node->splice = true;
}

void order_record_pass_on(struct order *order, struct order_node *node) {
    struct order_pointers heirs = {0};

    for (size_t i = 0; node->seq == 0 && i <= node->alias_count; i++) {
        LIST_EACH (&order_node_item(node, i)->edges, it) {
            struct order_edge *edge = LIST_OF(it, struct order_edge, in_item);

            if (edge->use == USE_RECORD && edge->node != node)
                order_pointers_push(&heirs, edge->node);
        }
    }
    for (size_t i = 0; i < heirs.count; i++)
        record_add(order, heirs.p[i], node);
    order_pointers_clear(&heirs);
}

/* The record is at the end of the edges. */
void order_record_close(struct order *order, struct order_node *node) {
    while (node->edge_count > 0 &&
           node->edges[node->edge_count - 1].use == USE_RECORD)
        order_edge_close(order, &node->edges[--node->edge_count]);
}
