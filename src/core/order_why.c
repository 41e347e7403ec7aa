#include "core/order_inner.h"

/* Explanations. They read the same rows that decide, so they cannot disagree
 * with the decisions; marks and collected precursors are scratch, not facts,
 * hence the casts that remove const. */

static struct order *scratch_of(const struct order *order) {
    return (struct order *)(uintptr_t)order;
}

static struct order_node *node_of(const struct order *order, uint64_t num) {
    return map_get(&order->nodes, map_num_key(&num));
}

/* A row of sets may be as long as the queue; one answer takes at most this many
 * steps in all its rows together. */
enum { ROOT_STEPS_MAX = 5000 };

struct reasons {
    struct order *order;
    struct arena *arena;
    struct order_reason *p;
    size_t count, limit;
    struct order_reason
        spare;    /* for reasons beyond the limit, which are only counted */
    size_t steps; /* steps taken to the front of rows */
};

static struct order_reason *reason_add(struct reasons *reasons,
                                       enum order_reason_kind kind,
                                       const struct order_item *item) {
    struct order_reason *reason = reasons->count < reasons->limit
                                      ? &reasons->p[reasons->count]
                                      : &reasons->spare;

    reasons->count++;
    *reason = (struct order_reason){
        .kind = kind, .state = STATE_NONE, .root_state = STATE_NONE};
    if (item != NULL && reason != &reasons->spare) {
        reason->id = arena_span(reasons->arena, item->id);
        reason->state = order_item_state(item);
        reason->since = item->node != NULL ? item->node->since : item->since;
        reason->holds = item->node != NULL ? item->node->holds : 0;
    }
    return reason;
}

/* Follows the waits from `item` to the job that waits for no other. L has no
 * cycles; unplaced nodes may be in one, so no step is taken from them. If the
 * front is too far away, no root is named. */
static void root_find(struct reasons *reasons, struct order_reason *reason,
                      struct order_item *item) {
    struct order_node *node = item->node, *next;

    if (reasons->steps > ROOT_STEPS_MAX)
        return;
    reason->root = reason->id;
    reason->root_state = reason->state;
    reason->root_since = reason->since;
    reason->root_holds = reason->holds;
    while (node != NULL && node->seq != 0 && order_node_passes_rank(node) &&
           (next = order_preds_first(reasons->order, node)) != NULL) {
        if (reasons->steps++ == ROOT_STEPS_MAX) {
            reason->root = (struct span){0};
            return;
        }
        node = next;
        reason->steps++;
    }
    if (node != NULL && reason->steps > 0) {
        reason->root = arena_span(reasons->arena, node->item->id);
        reason->root_state = node->state;
        reason->root_since = node->since;
        reason->root_holds = node->holds;
    }
}

/* ---- kinds of reasons --------------------------------------------------- */

static void why_path(struct reasons *reasons, const struct order_use *use) {
    struct order_group *before = order_path_group_before(use);

    if (before == NULL)
        return;
    LIST_EACH (&before->uses, it) {
        struct order_item *item =
            LIST_OF(it, struct order_use, in_group)->node->item;
        struct order_reason *reason;

        if (item->set_mark == reasons->order->mark)
            continue;
        item->set_mark = reasons->order->mark;
        reason = reason_add(reasons, ORDER_WHY_PRECURSOR, item);
        if (reason != &reasons->spare)
            reason->path =
                arena_span(reasons->arena, order_place_path(use->place));
    }
}

/* The successor that is waited for: the last live one in the chain. */
static struct order_item *living_successor(struct order *order,
                                           struct order_item *item) {
    order_chain_down(order, item);
    for (size_t i = order->down.count; i-- > 1;) {
        struct order_item *successor = order->down.p[i];
        if (order_item_is_live(successor) || !successor->known)
            return successor;
    }
    return NULL;
}

static void why_waited(struct reasons *reasons, const struct order_edge *edge) {
    struct order_item *item = edge->item;
    struct order_item *successor = order_item_is_live(item)
                                       ? NULL
                                       : living_successor(reasons->order, item);
    struct order_reason *reason;

    if (successor == NULL) {
        reason = reason_add(reasons, ORDER_WHY_DEPENDENCY, item);
        reason->relation = edge->kind;
        reason->share = edge->share;
        reason->tasks = item->tasks;
        return;
    }
    reason = reason_add(reasons, ORDER_WHY_SUCCESSOR, item);
    reason->other = arena_span(reasons->arena, successor->id);
}

static void why_dependency(struct reasons *reasons,
                           const struct order_node *node,
                           const struct order_edge *edge) {
    struct order_reason *reason;

    switch (edge->verdict) {
    case VERDICT_SERVED:
    case VERDICTS:
        return;
    case VERDICT_ASKED:
        reason_add(reasons, ORDER_WHY_ASKED, edge->item);
        return;
    case VERDICT_UNKNOWN:
        reason = reason_add(reasons, ORDER_WHY_UNKNOWN, edge->item);
        reason->until = order_node_deadline(reasons->order, node);
        return;
    case VERDICT_WAIT:
        why_waited(reasons, edge);
        return;
    case VERDICT_FAILED:
    case VERDICT_ROLLED_BACK:
        reason = reason_add(reasons, ORDER_WHY_FAILING, edge->item);
        reason->detail = SPAN("a dependency can no longer succeed");
        return;
    }
}

static void why_edges(struct reasons *reasons, const struct order_node *node) {
    for (size_t i = 0; i < node->edge_count; i++) {
        const struct order_edge *edge = &node->edges[i];

        if (edge->use == USE_DEPENDENCY)
            why_dependency(reasons, node, edge);
        else if (edge->use == USE_HINT && edge->waits)
            reason_add(reasons, ORDER_WHY_HINT, edge->item);
    }
}

static void why_waiting(struct reasons *reasons,
                        const struct order_node *node) {
    why_edges(reasons, node);
    if (node->seq == 0)
        return;
    ++reasons->order->mark;
    for (size_t i = 0; i < node->use_count; i++)
        why_path(reasons, &node->uses[i]);
}

static void roots_find(struct reasons *reasons) {
    size_t count =
        reasons->count < reasons->limit ? reasons->count : reasons->limit;

    for (size_t i = 0; i < count; i++) {
        struct order_reason *reason = &reasons->p[i];
        struct order_item *item =
            reason->other.len > 0
                ? order_item_find(reasons->order, reason->other)
                : order_item_find(reasons->order, reason->id);

        if (item != NULL)
            root_find(reasons, reason, item);
    }
}

size_t order_why(const struct order *order, uint64_t num, struct wall now,
                 size_t limit, struct arena *arena,
                 struct order_reason **ret_reasons, size_t *ret_count) {
    const struct order_node *node = node_of(order, num);
    struct reasons reasons = {
        .order = scratch_of(order), .arena = arena, .limit = limit};

    (void)now;
    *ret_count = 0;
    if (node == NULL)
        return 0;
    reasons.p = arena_alloc(arena, (limit + 1) * sizeof(*reasons.p));
    if (node->holds != 0)
        reason_add(&reasons, ORDER_WHY_HOLD, NULL)->holds = node->holds;
    if (node->failing)
        reason_add(&reasons, ORDER_WHY_FAILING, NULL)->detail =
            span_of(node->failure);
    else if (order_node_passes_rank(node) && !node->rb)
        why_waiting(&reasons, node);
    if (node->state == STATE_QUEUED && node->seq == 0 && !node->failing &&
        !node->rb)
        reason_add(&reasons, ORDER_WHY_UNSTAGED, NULL);
    if (reasons.count == 0)
        reason_add(&reasons, ORDER_WHY_READY, NULL);
    roots_find(&reasons);
    *ret_reasons = reasons.p;
    *ret_count = reasons.count;
    return reasons.count < limit ? reasons.count : limit;
}
