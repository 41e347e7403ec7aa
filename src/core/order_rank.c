#include "core/order_inner.h"

#include <stdlib.h>

/* O14: a job that a more urgent job waits for, directly or through others, is
 * scheduled with the key of the latter. A newcomer pushes its key forward at
 * once, only as far as it is the most urgent. When a job leaves, the jobs that
 * may have inherited its key are recomputed at the end of the scan, last in L
 * first, so that each is computed once. */

/* ---- pushing ------------------------------------------------------------ */

static bool key_is(const struct order_key *a, const struct order_key *b) {
    return a != NULL && b != NULL && order_key_compare(a, b) == 0;
}

int order_rank_compare(const void *a, const void *b) {
    const struct order_node *x = a, *y = b;

    if (x->seq != y->seq)
        return x->seq > y->seq ? -1 : 1;
    return (x->num > y->num) - (x->num < y->num);
}

static void unrecorded_touch(struct order *order, struct order_node *node) {
    if (list_empty(&node->rank_unrecorded))
        list_push(&order->rank_unrecorded, &node->rank_unrecorded);
}

static void push_to(struct order *order, const struct order_node *from,
                    struct order_item *item) {
    struct order_node *node = item->node;

    if (node == NULL) {
        order_item_rank_again(order, item);
    } else if (!order_node_inherits(node) || !order_node_lends(from, node)) {
        return;
    } else if (order_key_compare(from->rank, node->rank) < 0) {
        order_key_set(&node->rank, from->rank);
        unrecorded_touch(order, node);
        order_pointers_push(&order->stack, node);
    }
}

/* Pushes its rank to all in front of it, as far as it is the most urgent
 * there. */
static void push(struct order *order, struct order_node *node) {
    struct order_pointers *stack = &order->stack;

    stack->count = 0;
    order_pointers_push(stack, node);
    while (stack->count > 0) {
        struct order_node *at = stack->p[--stack->count];

        if (!order_node_passes_rank(at))
            continue;
        order_preds_collect(order, at);
        for (size_t i = 0; i < order->preds.count; i++)
            push_to(order, at, order->preds.p[i].item);
    }
}

void order_rank_joined(struct order *order, struct order_node *node) {
    order_key_set(&node->rank, node->key);
    unrecorded_touch(order, node);
    push(order, node);
}

/* Recomputes the jobs that may have inherited `rank` from it. */
static void rank_preds_again(struct order *order, const struct order_node *node,
                             const struct order_key *rank) {
    order_preds_collect(order, node);
    for (size_t i = 0; i < order->preds.count; i++) {
        struct order_item *item = order->preds.p[i].item;
        struct order_node *pred = item->node;

        if (pred == NULL)
            order_item_rank_again(order, item);
        else if (key_is(pred->rank, rank) && !key_is(pred->key, rank))
            order_node_rank_again(order, pred);
    }
}

void order_rank_waits_again(struct order *order, struct order_node *node) {
    push(order, node);
}

void order_rank_leaving(struct order *order, struct order_node *node) {
    rank_preds_again(order, node, node->rank);
}

/* ---- computing ---------------------------------------------------------- */

static void keep_better(struct order_key **best, const struct order_edge *edge,
                        const struct order_item *item) {
    const struct order_node *node = edge->node;

    if (node->seq != 0 && order_node_lends(node, item->node) &&
        order_key_compare(node->rank, *best) < 0)
        *best = node->rank;
}

/* The best rank among the jobs that wait for the item because of its id. */
static struct order_key *best_of_edges(struct order *order,
                                       struct order_item *item,
                                       struct order_key *best) {
    order_chain_up(order, item);
    for (size_t i = 0; i < order->up.count; i++) {
        struct order_item *at = order->up.p[i];

        LIST_EACH (&at->edges, it) {
            const struct order_edge *edge =
                LIST_OF(it, struct order_edge, in_item);

            if (edge->use == USE_DEPENDENCY && edge->verdict == VERDICT_WAIT)
                keep_better(&best, edge, item);
            else if (edge->use == USE_HINT && edge->waits && at == item)
                keep_better(&best, edge, item);
        }
    }
    return best;
}

static struct order_key *rank_of(struct order *order,
                                 const struct order_node *node) {
    struct order_key *best = node->key;

    for (size_t i = 0; i <= node->alias_count; i++)
        best = best_of_edges(order, order_node_item(node, i), best);
    for (size_t i = 0; node->seq != 0 && i < node->use_count; i++) {
        struct order_group *behind = order_path_group_behind(&node->uses[i]);

        if (behind == NULL)
            continue;
        LIST_EACH (&behind->uses, it) {
            const struct order_node *waiter =
                LIST_OF(it, struct order_use, in_group)->node;
            if (order_node_passes_rank(waiter) &&
                order_key_compare(waiter->rank, best) < 0)
                best = waiter->rank;
        }
    }
    return best;
}

static void compute(struct order *order, struct order_node *node) {
    struct order_key *old = order_key_ref(node->rank);
    struct order_key *now = rank_of(order, node);

    int change = order_key_compare(now, old);

    if (change != 0) {
        order_key_set(&node->rank, now);
        unrecorded_touch(order, node);
    }
    if (change < 0)
        push(order, node);
    if (change > 0)
        rank_preds_again(order, node, old);
    order_key_unref(old);
}

/* ---- reporting ---------------------------------------------------------- */

static struct order_effect *add_rank_effect(struct order *order, uint64_t num,
                                            enum job_state from,
                                            const struct order_key *rank) {
    struct order_effect *effect = order_effect_add(order, NULL, ORDER_RANK, "");

    effect->num = num;
    effect->from = from;
    effect->rank = arena_span(order->arena, span_make(rank->p, rank->bytes));
    effect->urgency = order_key_class(rank);
    return effect;
}

/* As long as the registry has another job's key for it, the item is remembered,
 * even when no job refers to it any more: it has to get its own key back. */
static void item_set_inherited(struct order *order, struct order_item *item,
                               bool inherited) {
    if (inherited == item->inherited)
        return;
    item->inherited = inherited;
    if (inherited)
        item->refs++;
    else
        order_item_unref(order, item);
}

static void propose_item_rank(struct order *order, struct order_item *item) {
    struct order_key *best;

    if (item->node != NULL || item->key == NULL || !order_item_is_live(item)) {
        item_set_inherited(order, item, false);
        return;
    }
    best = best_of_edges(order, item, item->key);
    if (!key_is(best, item->recorded)) {
        order_key_set(&item->recorded, best);
        add_rank_effect(order, item->num, item->state, best);
    }
    item_set_inherited(order, item, !key_is(best, item->key));
}

static void propose_node_rank(struct order *order, struct order_node *node) {
    bool leaves = node->asked == ORDER_READY + 1 ||
                  node->asked == ORDER_FOLLOW + 1 ||
                  node->asked == ORDER_TO_PENDING_RB + 1;
    bool rides = node->state == STATE_EXECUTING && node->rides;

    if (node->state != STATE_PENDING && !leaves && !rides)
        return;
    if (key_is(node->rank, node->recorded))
        return;
    order_key_set(&node->recorded, node->rank);
    add_rank_effect(order, node->num, node->state, node->rank)->target =
        arena_span(order->arena, order_path_target(node));
}

void order_rank_record(struct order *order, struct order_node *node) {
    list_remove(&node->rank_unrecorded);
    list_push(&order->rank_unrecorded, &node->rank_unrecorded);
}

void order_rank_finish(struct order *order) {
    struct order_node *node;
    struct list *link;

    while ((node = heap_pop(&order->ranks)) != NULL)
        compute(order, node);
    while ((link = list_pop(&order->rank_items)) != NULL)
        propose_item_rank(order, LIST_OF(link, struct order_item, rank_dirty));
    while ((link = list_pop(&order->rank_unrecorded)) != NULL)
        propose_node_rank(order,
                          LIST_OF(link, struct order_node, rank_unrecorded));
}
