#include "core/order_inner.h"

/* O20. A set may become pending although sets in front of it are still live, if
 * all of these are on the merge train of its target: it follows them there. If
 * one of them leaves the train alive, the follower leaves it too, stays
 * pending, and waits like a set in S. */

/* ---- on the train or not ------------------------------------------------- */

static void touch_edges(struct order *order, struct order_item *item) {
    order_chain_up(order, item);
    for (size_t i = 0; i < order->up.count; i++) {
        const struct order_item *at = order->up.p[i];

        LIST_EACH (&at->edges, it)
            order_node_touch(order,
                             LIST_OF(it, struct order_edge, in_item)->node);
    }
}

static void touch_behind(struct order *order, struct order_node *node) {
    for (size_t i = 0; node->seq != 0 && i < node->use_count; i++) {
        struct order_group *behind = order_path_group_behind(&node->uses[i]);

        if (behind == NULL)
            continue;
        LIST_EACH (&behind->uses, it)
            order_node_touch(order,
                             LIST_OF(it, struct order_use, in_group)->node);
    }
    for (size_t i = 0; i <= node->alias_count; i++)
        touch_edges(order, order_node_item(node, i));
}

/* A set that waits for two others in P, of which one leaves, is not unblocked:
 * but it is right behind the one that leaves, and asks again. */
void order_follow_leaves(struct order *order, struct order_node *node) {
    for (size_t i = 0; node->seq != 0 && i < node->use_count; i++) {
        struct order_group *behind = order_path_group_behind(&node->uses[i]);

        if (behind == NULL)
            continue;
        LIST_EACH (&behind->uses, it) {
            struct order_node *other =
                LIST_OF(it, struct order_use, in_group)->node;

            if (other->parked)
                order_node_touch(order, other);
        }
    }
}

bool order_ride(struct order *order, uint64_t num, bool rides) {
    struct order_node *node = map_get(&order->nodes, map_num_key(&num));

    if (node == NULL)
        return false;
    if (node->rides == rides)
        return true;
    node->rides = rides;
    node->parked = node->parked && !rides;
    order_node_touch(order, node);
    touch_behind(order, node);
    return true;
}

/* ---- what a pending set waits for ---------------------------------------- */

/* A set in P waits for no set in Q or S, unless it depends on it: where one
 * process stages and another one starts, their lines may differ in that. */
static bool is_followed(const struct order_node *node,
                        const struct order_pred *pred, bool dependency) {
    const struct order_node *other = pred->item->node;

    return other != node &&
           (dependency || other == NULL || !order_node_is_waiting(other));
}

static size_t follows_collect(struct order *order,
                              const struct order_node *node,
                              struct order_follow *follows) {
    uint64_t mark;
    size_t count = 0;

    order_preds_collect(order, node);
    mark = ++order->mark;
    /* Dependencies come first, so that a set is listed as what binds more. */
    for (size_t i = 0; i < order->preds.count; i++) {
        const struct order_pred *pred = &order->preds.p[i];
        struct order_node *other = pred->item->node;
        struct order_item *item = other != NULL ? other->item : pred->item;
        bool dependency = !pred->hint && pred->place == NULL;

        if (item->set_mark == mark || !is_followed(node, pred, dependency))
            continue;
        item->set_mark = mark;
        follows[count++] = (struct order_follow){
            other != NULL ? other->num : item->num, dependency};
    }
    return count;
}

bool order_follows(struct order *order, uint64_t num, struct arena *arena,
                   struct order_follow **ret_follows, size_t *ret_count) {
    struct order_node *node = map_get(&order->nodes, map_num_key(&num));
    bool known;

    *ret_follows = NULL;
    *ret_count = 0;
    if (node == NULL || node->rb)
        return true;
    /* If a dependency fails, so will it, once that is recorded. */
    known = node->seq != 0 && node->counts[VERDICT_ASKED] == 0 &&
            node->counts[VERDICT_UNKNOWN] == 0 &&
            (node->rides || node->counts[VERDICT_FAILED] == 0);
    if (known && order_node_is_behind(node)) {
        order_preds_collect(order, node);
        *ret_follows = arena_alloc(arena, (order->preds.count + 1) *
                                              sizeof(**ret_follows));
        *ret_count = follows_collect(order, node, *ret_follows);
    }
    node->parked = (!known || *ret_count > 0) && !node->rides;
    return known;
}

/* ---- judging ------------------------------------------------------------- */

/* Ended without success or is about to, and so has everything that superseded
 * it, unless the set stands behind that. What a rollback takes back later is
 * the business of the rollback. */
static bool was_never_done(struct order *order, const struct order_node *node,
                           struct order_item *item) {
    bool fails = item->node != NULL && item->node->failing;

    if (!fails &&
        (item->node != NULL || !item->known || item->state == STATE_DONE ||
         !job_state_is_final(item->state)))
        return false;
    order_chain_down(order, item);
    for (size_t i = 1; i < order->down.count; i++) {
        const struct order_item *successor = order->down.p[i];
        const struct order_node *other = successor->node;

        if (order_item_state(successor) == STATE_DONE ||
            (other != NULL && other->seq != 0 && other->seq < node->seq))
            return false;
    }
    return true;
}

/* A set in P cannot move behind a later successor of its dependency any more,
 * so it fails even if one lives. */
const struct order_item *order_follow_ended(struct order *order,
                                            const struct order_node *node) {
    if (node->rides || order_path_target(node).len == 0 ||
        node->counts[VERDICT_FAILED] + node->counts[VERDICT_WAIT] == 0)
        return NULL;
    for (size_t i = 0; i < node->edge_count; i++)
        if (node->edges[i].use == USE_DEPENDENCY &&
            was_never_done(order, node, node->edges[i].item))
            return node->edges[i].item;
    return NULL;
}

void order_follow_judge(struct order *order, struct order_node *node) {
    if (node->failing)
        return;
    if (node->splice && order_node_is_behind(node))
        order_propose(order, node, ORDER_SPLICE, "");
    if (node->parked && node->state == STATE_PENDING) {
        node->parked = false;
        order_effect_add(order, node, ORDER_OFFER, "");
    }
    order_rank_record(order, node);
}
