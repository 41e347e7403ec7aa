#include "core/order_inner.h"

void order_node_touch(struct order *order, struct order_node *node) {
    list_remove(&node->dirty);
    list_push(&order->dirty, &node->dirty);
}

struct wall order_node_deadline(const struct order *order,
                                const struct order_node *node) {
    return wall_add_ms(node->admitted, order->limits.wait_for_dep_ms);
}

void order_node_deadline_changed(struct order *order, struct order_node *node) {
    bool wanted = node->counts[VERDICT_UNKNOWN] > 0;

    if (wanted == heap_has(&order->deadlines, node))
        return;
    if (wanted)
        heap_push(&order->deadlines, node);
    else
        heap_remove(&order->deadlines, node);
}

bool order_node_inherits(const struct order_node *node) {
    return node->seq != 0 || node->rb;
}

void order_node_rank_again(struct order *order, struct order_node *node) {
    if (order_node_inherits(node) && !heap_has(&order->ranks, node))
        heap_push(&order->ranks, node);
}
