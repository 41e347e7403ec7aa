#include "core/order_inner.h"

static void preds_push(struct order_preds *preds, struct order_item *item,
                       struct order_place *place, bool hint) {
    if (preds->count == preds->cap) {
        preds->cap = preds->cap > 0 ? 2 * preds->cap : 16;
        preds->p = mem_grow(preds->p, preds->cap, sizeof(*preds->p));
    }
    preds->p[preds->count++] = (struct order_pred){item, place, hint};
}

static void preds_of_edge(struct order *order, const struct order_edge *edge) {
    if (edge->use == USE_HINT && edge->waits && order_item_is_live(edge->item))
        preds_push(&order->preds, edge->item, NULL, true);
    if (edge->use != USE_DEPENDENCY || edge->verdict != VERDICT_WAIT)
        return;
    order_chain_down(order, edge->item);
    for (size_t i = 0; i < order->down.count; i++)
        if (order_item_is_live(order->down.p[i]))
            preds_push(&order->preds, order->down.p[i], NULL, false);
}

void order_preds_collect(struct order *order, const struct order_node *node) {
    order->preds.count = 0;
    for (size_t i = 0; i < node->edge_count; i++)
        preds_of_edge(order, &node->edges[i]);
    if (node->seq == 0)
        return;
    for (size_t i = 0; i < node->use_count; i++) {
        struct order_group *before = order_path_group_before(&node->uses[i]);

        if (before == NULL)
            continue;
        LIST_EACH (&before->uses, it) {
            preds_push(&order->preds,
                       LIST_OF(it, struct order_use, in_group)->node->item,
                       before->place, false);
        }
    }
}

static struct order_node *node_of_edge(struct order *order,
                                       const struct order_edge *edge) {
    if (edge->use == USE_HINT && edge->waits)
        return edge->item->node;
    if (edge->use != USE_DEPENDENCY || edge->verdict != VERDICT_WAIT)
        return NULL;
    order_chain_down(order, edge->item);
    for (size_t i = 0; i < order->down.count; i++) {
        struct order_item *item = order->down.p[i];

        if (item->node != NULL)
            return item->node;
    }
    return NULL;
}

struct order_node *order_preds_first(struct order *order,
                                     const struct order_node *node) {
    for (size_t i = 0; i < node->edge_count; i++) {
        struct order_node *first = node_of_edge(order, &node->edges[i]);

        if (first != NULL)
            return first;
    }
    for (size_t i = 0; node->seq != 0 && i < node->use_count; i++) {
        struct order_group *before = order_path_group_before(&node->uses[i]);

        if (before != NULL)
            return LIST_OF(before->uses.next, struct order_use, in_group)->node;
    }
    return NULL;
}

static bool rides_with(const struct order_node *node,
                       const struct order_node *other) {
    return other != NULL && other->rides &&
           span_equal(order_path_target(node), order_path_target(other));
}

static bool edge_rides(struct order *order, const struct order_node *node,
                       const struct order_edge *edge) {
    if (edge->use == USE_HINT && edge->waits)
        return rides_with(node, edge->item->node);
    if (edge->use != USE_DEPENDENCY || edge->verdict != VERDICT_WAIT)
        return true;
    order_chain_down(order, edge->item);
    for (size_t i = 0; i < order->down.count; i++) {
        const struct order_item *item = order->down.p[i];

        if (order_item_is_live(item) && !rides_with(node, item->node))
            return false;
    }
    return true;
}

bool order_preds_ride(struct order *order, const struct order_node *node) {
    for (size_t i = 0; i < node->edge_count; i++)
        if (!edge_rides(order, node, &node->edges[i]))
            return false;
    for (size_t i = 0; i < node->use_count; i++) {
        struct order_group *before = order_path_group_before(&node->uses[i]);

        if (before == NULL)
            continue;
        LIST_EACH (&before->uses, it) {
            if (!LIST_OF(it, struct order_use, in_group)->node->rides)
                return false;
        }
    }
    return true;
}

static void mark_all(struct order *order, uint64_t mark,
                     struct order_pointers *items) {
    items->count = 0;
    for (size_t i = 0; i < order->preds.count; i++) {
        struct order_item *item = order->preds.p[i].item;
        const struct order_node *node = item->node;
        size_t count = node != NULL ? node->alias_count + 1 : 1;

        for (size_t k = 0; k < count; k++) {
            struct order_item *one =
                node != NULL ? order_node_item(node, k) : item;

            if (one->set_mark != mark)
                order_pointers_push(items, one);
            one->set_mark = mark;
        }
    }
}

const struct order_pointers *order_preds_items(struct order *order,
                                               const struct order_node *node,
                                               uint64_t mark) {
    order_preds_collect(order, node);
    /* A pending set fails for it when it is released, also after a restart. */
    for (size_t i = 0; i < node->edge_count; i++)
        if (node->edges[i].use == USE_DEPENDENCY &&
            node->edges[i].verdict == VERDICT_FAILED &&
            !order_node_stands_waiting(node))
            preds_push(&order->preds, node->edges[i].item, NULL, false);
    mark_all(order, mark, &order->items_found);
    return &order->items_found;
}

size_t order_preds_ids(struct order *order, const struct order_node *node,
                       const struct span **ret_ids) {
    const struct order_pointers *items =
        order_preds_items(order, node, ++order->mark);
    struct span *ids =
        arena_alloc(order->arena, (items->count + 1) * sizeof(*ids));

    for (size_t i = 0; i < items->count; i++)
        ids[i] = arena_span(order->arena,
                            ((const struct order_item *)items->p[i])->id);
    *ret_ids = ids;
    return items->count;
}
