#include "core/order_inner.h"

struct order_effect *order_effect_add(struct order *order,
                                      struct order_node *node,
                                      enum order_effect_kind kind,
                                      const char *reason) {
    struct order_effect *effect;

    if (order->effect_count == order->effect_cap) {
        order->effect_cap = order->effect_cap > 0 ? 2 * order->effect_cap : 64;
        order->effects = mem_grow(order->effects, order->effect_cap,
                                  sizeof(*order->effects));
    }
    effect = &order->effects[order->effect_count++];
    *effect = (struct order_effect){.kind = kind, .reason = span_of(reason)};
    if (node != NULL) {
        effect->num = node->num;
        effect->from = node->state;
        effect->urgency = order_key_class(node->rank);
        effect->target = arena_span(order->arena, order_path_target(node));
        if (kind != ORDER_SPLICE && kind != ORDER_OFFER)
            node->asked = kind + 1;
    }
    return effect;
}

void order_effect_fail(struct order *order, struct order_node *node,
                       const char *reason, const char *detail) {
    struct order_effect *effect =
        order_effect_add(order, node, ORDER_FAIL, reason);

    effect->detail = arena_span(order->arena, span_of(detail));
    node->failing = true;
    node->failure = reason;
    order_items_changed(order, node);
}

void order_propose(struct order *order, struct order_node *node,
                   enum order_effect_kind kind, const char *reason) {
    struct order_effect *effect;
    const struct span *ids;
    size_t count;

    if (node->asked == kind + 1)
        return;
    if (kind != ORDER_STAGE && kind != ORDER_SPLICE) {
        order_effect_add(order, node, kind, reason);
        return;
    }
    count = order_preds_ids(order, node, &ids);
    effect = order_effect_add(order, node, kind, reason);
    effect->precursors = ids;
    effect->precursor_count = count;
    node->splice = node->goes_back = false;
}
