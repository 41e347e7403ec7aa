#include "support/order_check.h"

#include <assert.h>

#include "core/order_inner.h"

/* ---- ranks, computed from the waiting relations alone -------------------- */

static void take_better(struct order_key **best, const struct order_edge *edge,
                        const struct order_item *item) {
    const struct order_node *node = edge->node;

    if (node->seq != 0 && order_node_lends(node, item->node) &&
        order_key_compare(node->rank, *best) < 0)
        *best = node->rank;
}

/* The best rank among the entries that wait for the item by its id. */
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
                take_better(&best, edge, item);
            else if (edge->use == USE_HINT && edge->waits && at == item)
                take_better(&best, edge, item);
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

/* ---- rows and counts ----------------------------------------------------- */

static void check_row(const struct order_place *place) {
    const struct order_group *last = NULL;
    uint64_t last_seq = 0;

    LIST_EACH (&place->groups, g) {
        const struct order_group *group =
            LIST_OF(g, struct order_group, in_place);
        size_t count = 0;
        uint64_t most = last_seq;

        assert(last == NULL || last->file || group->file);
        LIST_EACH (&group->uses, it) {
            const struct order_use *use =
                LIST_OF(it, struct order_use, in_group);

            assert(use->group == group && use->place == place);
            assert(use->file == group->file);
            assert(use->node->seq > last_seq);
            if (use->node->seq > most)
                most = use->node->seq;
            count++;
        }
        assert(count == group->count && count > 0);
        assert(count == 1 || !group->file);
        last = group;
        last_seq = most;
    }
}

static void check_node(struct order *order, const struct order_node *node) {
    size_t blocked = 0, hints = 0, counts[VERDICTS] = {0};

    for (size_t i = 0; i < node->use_count; i++) {
        const struct order_use *use = &node->uses[i];

        assert((use->group != NULL) == (node->seq != 0));
        blocked += use->group != NULL && order_path_group_before(use) != NULL;
    }
    for (size_t i = 0; i < node->edge_count; i++) {
        const struct order_edge *edge = &node->edges[i];

        if (edge->use == USE_DEPENDENCY)
            counts[edge->verdict]++;
        hints += edge->waits;
    }
    assert(blocked == node->blocked && hints == node->hints);
    assert(memcmp(counts, node->counts, sizeof(counts)) == 0);
    if (node->seq == 0 || heap_has(&order->ranks, node) || node->rb)
        return;
    assert(order_key_compare(rank_of(order, node), node->rank) == 0);
    if (!order_node_is_waiting(node))
        return;
    /* A node comes after everything that it waits for. */
    order_preds_collect(order, node);
    for (size_t i = 0; i < order->preds.count; i++) {
        const struct order_node *pred = order->preds.p[i].item->node;
        if (pred != NULL && pred->seq != 0 && list_empty(&order->fresh) &&
            order->late.count == 0)
            assert(pred->seq < node->seq);
    }
}

void order_check(struct order *order) {
    size_t at;
    void *value;

    for (at = 0; map_next(&order->places, &at, NULL, &value);)
        check_row(value);
    for (at = 0; map_next(&order->nodes, &at, NULL, &value);)
        check_node(order, value);
}

size_t order_check_count(const struct order *order) {
    return map_count(&order->nodes);
}
