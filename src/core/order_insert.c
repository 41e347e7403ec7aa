#include "core/order_inner.h"

#include <assert.h>

/* A set with an unknown dependency is placed anyway. When that dependency
 * arrives, order_line_place moves the set behind it, together with all that
 * depend on the set: for a chain of n sets that arrives last one first, that is
 * n moves for each arrival. Most of these moves change nothing visible, because
 * the moved sets keep their order and share no path with those they pass. In
 * that case the newcomer goes in front of the first of them instead, and only
 * its direct dependents get a new record.
 *
 * `tangled` is set when that is not known to hold: a job behind the node shares
 * a path with it without depending on it, or a hint is about the node, or one
 * of its dependents is tangled. It is set early and cleared only by a move. */

/* The distance between two labels, which leaves room for nodes in between. */
#define LABEL_STEP (UINT64_C(1) << 24)

/* ---- tangles ------------------------------------------------------------ */

static void tangle_push(struct order *order, struct order_node *node) {
    if (node == NULL || node->tangled)
        return;
    node->tangled = true;
    order_pointers_push(&order->tangles, node);
}

/* Marks the node and everything it depends on. */
static void tangle(struct order *order, struct order_node *node) {
    order->tangles.count = 0;
    tangle_push(order, node);
    while (order->tangles.count > 0) {
        const struct order_node *at = order->tangles.p[--order->tangles.count];

        for (size_t i = 0; i < at->edge_count; i++) {
            if (at->edges[i].use != USE_DEPENDENCY)
                continue;
            order_chain_down(order, at->edges[i].item);
            for (size_t k = 0; k < order->down.count; k++)
                tangle_push(order,
                            ((struct order_item *)order->down.p[k])->node);
        }
    }
}

static bool depends_on(const struct order_node *node,
                       const struct order_node *on) {
    for (size_t i = 0; i < node->edge_count; i++)
        if (node->edges[i].use == USE_DEPENDENCY &&
            node->edges[i].item == on->item)
            return true;
    return false;
}

static void tangle_before(struct order *order, const struct order_use *use) {
    struct order_group *before = order_path_group_before(use);

    if (before == NULL)
        return;
    LIST_EACH (&before->uses, it) {
        struct order_node *node = LIST_OF(it, struct order_use, in_group)->node;
        if (!node->tangled && !depends_on(use->node, node))
            tangle(order, node);
    }
}

static void tangle_hints(struct order *order, struct order_node *node) {
    for (size_t i = 0; i < node->edge_count; i++)
        if (node->edges[i].use == USE_HINT) {
            tangle(order, node);
            tangle(order, node->edges[i].item->node);
        }
    LIST_EACH (&node->item->edges, it) {
        const struct order_edge *edge = LIST_OF(it, struct order_edge, in_item);
        if (edge->use == USE_HINT) {
            tangle(order, node);
            tangle(order, edge->node);
        }
    }
}

void order_insert_placed(struct order *order, struct order_node *node) {
    for (size_t i = 0; i < node->use_count; i++)
        tangle_before(order, &node->uses[i]);
    tangle_hints(order, node);
    /* Other jobs may wait for it by its further ids. */
    if (node->alias_count > 0)
        tangle(order, node);
}

void order_insert_late(struct order *order, struct order_node *node) {
    if (node != NULL)
        tangle(order, node);
}

/* ---- labels ------------------------------------------------------------- */

static void labels_renew(struct order *order) {
    order->seq = 0;
    LIST_EACH (&order->line, it)
        LIST_OF(it, struct order_node, in_line)->seq = order->seq += LABEL_STEP;
}

void order_label_last(struct order *order, struct order_node *node) {
    if (order->seq > UINT64_MAX - LABEL_STEP)
        labels_renew(order);
    node->seq = order->seq += LABEL_STEP;
    list_push(&order->line, &node->in_line);
}

static uint64_t label_before(const struct order *order,
                             const struct order_node *node) {
    return node->in_line.prev == &order->line
               ? 0
               : LIST_OF(node->in_line.prev, struct order_node, in_line)->seq;
}

/* Chains grow at one end: the room is left on that side. */
static void label_in_front(struct order *order, struct order_node *node,
                           struct order_node *of) {
    uint64_t low = label_before(order, of);

    if (of->seq - low < 2) {
        labels_renew(order);
        low = label_before(order, of);
    }
    if (of == order->inserted)
        node->seq = of->seq - 1;
    else if (order->inserted != NULL && low == order->inserted->seq)
        node->seq = low + 1;
    else
        node->seq = low + (of->seq - low) / 2;
    list_insert_before(&of->in_line, &node->in_line);
    order->inserted = node;
}

void order_label_clear(struct order *order, struct order_node *node) {
    list_remove(&node->in_line);
    node->seq = 0;
    node->tangled = false;
    if (order->inserted == node)
        order->inserted = NULL;
}

/* ---- may it? ------------------------------------------------------------ */

static bool is_waiter(const struct order_edge *edge) {
    return edge->use == USE_DEPENDENCY && order_node_is_waiting(edge->node) &&
           edge->node->seq != 0;
}

/* The first of its dependents in L; NULL: none, or it is tangled. */
static struct order_node *first_waiter(const struct order_node *node) {
    struct order_node *first = NULL;

    LIST_EACH (&node->item->edges, it) {
        const struct order_edge *edge = LIST_OF(it, struct order_edge, in_item);

        if (edge->use == USE_HINT)
            return NULL;
        if (!is_waiter(edge))
            continue;
        if (edge->node->tangled)
            return NULL;
        if (first == NULL || edge->node->seq < first->seq)
            first = edge->node;
    }
    return first;
}

/* True if everything it needs already stands in front of `first`. */
static bool dependencies_fit(struct order *order, const struct order_node *node,
                             const struct order_node *first) {
    for (size_t i = 0; i < node->edge_count; i++) {
        const struct order_edge *edge = &node->edges[i];

        if (edge->use == USE_HINT)
            return false;
        if (edge->use != USE_DEPENDENCY || edge->verdict != VERDICT_WAIT)
            continue;
        order_chain_down(order, edge->item);
        for (size_t k = 0; k < order->down.count; k++) {
            const struct order_node *on =
                ((struct order_item *)order->down.p[k])->node;
            if (on != NULL && !on->rb &&
                (on->seq == 0 || on->seq >= first->seq))
                return false;
        }
    }
    return true;
}

static bool group_is_in_front(const struct order_group *group,
                              const struct order_node *of) {
    LIST_EACH (&group->uses, it) {
        if (LIST_OF(it, struct order_use, in_group)->node->seq >= of->seq)
            return false;
    }
    return true;
}

/* Directory uses do not meet each other: only the file in front of them
 * matters. */
static const struct order_group *meets(const struct order_use *use) {
    const struct order_group *last = order_path_group_last(use->place);

    return last != NULL && !last->file && !use->file
               ? order_path_group_in_front(last)
               : last;
}

/* The use of the same file by `node`, or NULL. */
static struct order_use *use_of(const struct order_node *node,
                                const struct order_place *place) {
    for (size_t i = 0; i < node->use_count; i++)
        if (node->uses[i].place == place && node->uses[i].file)
            return &node->uses[i];
    return NULL;
}

static bool fits_before(const struct order_node *node,
                        const struct order_node *first) {
    enum { LOOKS = 4096 };

    if (node->use_count * first->use_count > LOOKS)
        return false;
    for (size_t i = 0; i < node->use_count; i++) {
        const struct order_use *use = &node->uses[i];
        const struct order_group *last = meets(use);

        if (last != NULL &&
            !(last->count <= LOOKS && group_is_in_front(last, first)) &&
            !(use->file && use_of(first, use->place) != NULL))
            return false;
    }
    return true;
}

/* ---- doing it ----------------------------------------------------------- */

static void rewrite_waiters(struct order *order,
                            const struct order_node *node) {
    LIST_EACH (&node->item->edges, it) {
        const struct order_edge *edge = LIST_OF(it, struct order_edge, in_item);

        if (!is_waiter(edge))
            continue;
        edge->node->goes_back = true;
        order_node_touch(order, edge->node);
    }
}

static void insert(struct order *order, struct order_node *node,
                   struct order_node *first) {
    heap_remove(&order->ranks, node);
    list_remove(&node->fresh);
    label_in_front(order, node, first);
    for (size_t i = 0; i < node->use_count; i++) {
        struct order_use *use = &node->uses[i];
        struct order_use *at = use->file ? use_of(first, use->place) : NULL;

        if (at != NULL)
            order_path_insert(order, use, at->group);
        else
            order_path_append(order, use);
    }
    order_insert_placed(order, node);
    order_rank_joined(order, node);
    order_node_rank_again(order, node);
    order_node_touch(order, node);
    rewrite_waiters(order, node);
}

bool order_insert_alone(struct order *order) {
    struct order_node *node, *first;

    if (list_empty(&order->fresh) || order->late.count > 0 ||
        order->fresh.next != order->fresh.prev)
        return false;
    node = LIST_OF(order->fresh.next, struct order_node, fresh);
    if (node->state != STATE_QUEUED || node->rb || node->failing ||
        node->item->old_count > 0 || node->alias_count > 0)
        return false;
    first = first_waiter(node);
    if (first == NULL || !dependencies_fit(order, node, first) ||
        !fits_before(node, first))
        return false;
    insert(order, node, first);
    node->was_recorded = false;
    order_record_close(order, node);
    return true;
}
