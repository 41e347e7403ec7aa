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
    if (edge->use != USE_DEPENDENCY || edge->item->verdict != VERDICT_WAIT)
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
    if (edge->use != USE_DEPENDENCY || edge->item->verdict != VERDICT_WAIT)
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

size_t order_preds_ids(struct order *order, const struct order_node *node,
                       const struct span **ret_ids) {
    uint64_t mark;
    struct span *ids;
    size_t count = 0;

    order_preds_collect(order, node);
    mark = ++order->mark;
    ids = arena_alloc(order->arena, (order->preds.count + 1) * sizeof(*ids));
    for (size_t i = 0; i < order->preds.count; i++) {
        struct order_item *item = order->preds.p[i].item;

        if (item->set_mark == mark)
            continue;
        item->set_mark = mark;
        ids[count++] = arena_span(order->arena, item->id);
    }
    *ret_ids = ids;
    return count;
}
