#include "core/order_inner.h"

#include <assert.h>
#include <stdlib.h>

/* O4. L is represented by numbers (node->seq) and by the rows of groups. Fresh
 * nodes are ranked: first those that already run, then those that had a place,
 * then newcomers by key. From that ranking the first node whose dependencies
 * are all placed is taken, again and again.
 *
 * Dependencies are binding. Records from before a restart and submitters' hints
 * are preferences: they are followed while possible. Nodes that remain in the
 * end are in, or behind, a cycle of dependencies.
 *
 * Among those that run or may run, only their records count: they name the
 * dependencies too (O3), and members of a group, which may depend on each other
 * in a ring, are not in the records of each other. */

/* ---- what a move changes --------------------------------------------------
 */

/* Equal sets of precursors give equal sums, in any order. A node that is not
 * placed yet is on no record either. */
static uint64_t preds_sum(struct order *order, const struct order_node *node) {
    uint64_t mark, sum = 0;

    order_preds_collect(order, node);
    mark = ++order->mark;
    for (size_t i = 0; i < order->preds.count; i++) {
        struct order_item *item = order->preds.p[i].item;

        if (item->set_mark == mark ||
            (item->node != NULL && item->node->seq == 0))
            continue;
        item->set_mark = mark;
        sum += map_hash_bytes(item->id.p, item->id.len) | 1;
    }
    return sum;
}

/* ---- moving behind newcomers -------------------------------------------- */

/* Adds to `moving` all placed nodes that depend on the item, directly or by
 * what it supersedes, and stand in front of `seq` (0: anywhere). */
static void moving_add(struct order *order, struct order_item *item,
                       uint64_t seq, struct order_pointers *moving) {
    order_chain_up(order, item);
    for (size_t i = 0; i < order->up.count; i++) {
        struct order_item *at = order->up.p[i];

        LIST_EACH (&at->edges, it) {
            struct order_edge *edge = LIST_OF(it, struct order_edge, in_item);
            struct order_node *node = edge->node;

            if (edge->use != USE_DEPENDENCY || !order_node_is_waiting(node) ||
                node->seq == 0 || node->moving || edge->verdict != VERDICT_WAIT)
                continue;
            if (seq != 0 && node->seq > seq)
                continue;
            node->moving = true;
            order_pointers_push(moving, node);
        }
    }
}

static void moving_collect(struct order *order, struct order_pointers *moving) {
    LIST_EACH (&order->fresh, it) {
        struct order_node *node = LIST_OF(it, struct order_node, fresh);
        for (size_t i = 0; i <= node->alias_count; i++)
            moving_add(order, order_node_item(node, i), 0, moving);
    }
    for (size_t i = 0; i < order->late.count; i++) {
        struct order_item *item = order->late.p[i];

        order_insert_late(order, item->node);
        if (item->node != NULL && item->node->seq != 0)
            moving_add(order, item, item->node->seq, moving);
        order_item_unref(order, item);
    }
    order->late.count = 0;
    /* A dependent of a node that moves has to stand behind it again. */
    for (size_t i = 0; i < moving->count; i++) {
        struct order_node *node = moving->p[i];
        for (size_t k = 0; k <= node->alias_count; k++)
            moving_add(order, order_node_item(node, k), 0, moving);
    }
}

static void affected_add(struct order *order, struct order_node *node,
                         struct order_pointers *affected) {
    if (node->walk_mark == UINT64_MAX)
        return;
    node->walk_mark = UINT64_MAX;
    node->sum = preds_sum(order, node);
    order_pointers_push(affected, node);
}

static void affected_add_group(struct order *order, struct order_group *group,
                               struct order_pointers *affected) {
    LIST_EACH (&group->uses, it) {
        affected_add(order, LIST_OF(it, struct order_use, in_group)->node,
                     affected);
    }
}

/* Adds the nodes right behind a use that goes; if these use a directory, also
 * those behind them, which may come to stand behind a larger group. */
static void affected_add_behind(struct order *order,
                                const struct order_use *use,
                                struct order_pointers *affected) {
    struct order_group *behind = order_path_group_behind(use);

    if (behind == NULL)
        return;
    affected_add_group(order, behind, affected);
    if (behind->file || behind->in_place.next == &behind->place->groups)
        return;
    affected_add_group(
        order, LIST_OF(behind->in_place.next, struct order_group, in_place),
        affected);
}

static void affected_add_hinting(struct order *order,
                                 const struct order_item *item,
                                 struct order_pointers *affected) {
    LIST_EACH (&item->edges, it) {
        struct order_edge *edge = LIST_OF(it, struct order_edge, in_item);

        if (edge->use == USE_HINT && edge->waits)
            affected_add(order, edge->node, affected);
    }
}

/* Collects the nodes whose records may differ when these move. */
static void affected_collect(struct order *order,
                             const struct order_pointers *moving,
                             struct order_pointers *affected) {
    for (size_t i = 0; i < moving->count; i++) {
        struct order_node *node = moving->p[i];

        affected_add(order, node, affected);
        for (size_t k = 0; k < node->use_count; k++)
            affected_add_behind(order, &node->uses[k], affected);
        for (size_t k = 0; k <= node->alias_count; k++)
            affected_add_hinting(order, order_node_item(node, k), affected);
    }
}

static void hints_update(struct order *order, struct order_node *node) {
    for (size_t i = 0; i < node->edge_count; i++)
        if (node->edges[i].use == USE_HINT)
            order_edge_hint_update(order, &node->edges[i]);
    for (size_t i = 0; i <= node->alias_count; i++) {
        LIST_EACH (&order_node_item(node, i)->edges, it) {
            struct order_edge *edge = LIST_OF(it, struct order_edge, in_item);

            if (edge->use == USE_HINT)
                order_edge_hint_update(order, edge);
        }
    }
}

static void line_take_out(struct order *order, struct order_node *node,
                          bool splice) {
    if (node->seq == 0)
        return;
    order_rank_leaving(order, node);
    for (size_t i = 0; i < node->use_count; i++)
        order_path_remove(order, &node->uses[i], splice);
    assert(node->blocked == 0);
    heap_remove(&order->ranks, node); /* the heap is sorted by seq */
    order_label_clear(order, node);
}

void order_line_leave(struct order *order, struct order_node *node) {
    line_take_out(order, node, true);
    list_remove(&node->fresh);
}

/* Takes the nodes that must move out of L; they become fresh. */
static void move_out(struct order *order, const struct order_pointers *moving) {
    for (size_t i = 0; i < moving->count; i++) {
        struct order_node *node = moving->p[i];

        node->old_seq = node->seq;
        line_take_out(order, node, false);
        hints_update(order, node);
        list_push(&order->fresh, &node->fresh);
    }
}

static void affected_judge(struct order *order,
                           const struct order_pointers *affected) {
    for (size_t i = 0; i < affected->count; i++) {
        struct order_node *node = affected->p[i];

        node->walk_mark = 0;
        /* A node that found no place is compared with nothing. */
        if (node->seq != 0 && preds_sum(order, node) == node->sum)
            continue;
        node->goes_back = true;
        order_node_touch(order, node);
    }
}

/* ---- placing ------------------------------------------------------------ */

static unsigned standing(const struct order_node *node) {
    enum job_state state = order_node_stands_as(node);

    if (!order_node_stands_waiting(node))
        return 0; /* running or about to: waits for no other */
    return state == STATE_STAGED || node->moving ? 1 : 2;
}

static int compare_standing(const void *a, const void *b) {
    const struct order_node *x = a, *y = b;
    unsigned p = standing(x), q = standing(y);
    int order;

    if (p != q)
        return p < q ? -1 : 1;
    if (x->old_seq != y->old_seq)
        return x->old_seq < y->old_seq ? -1 : 1;
    order = order_key_compare(x->key, y->key);
    return order != 0 ? order : (x->num > y->num) - (x->num < y->num);
}

struct placing {
    struct heap ready;  /* may be taken */
    struct heap wishes; /* only by ignoring a record or a hint */
    struct order_pointers all;
};

static bool binds(const struct order_item *item) {
    const struct order_node *node = item->node;

    return node != NULL && node->seq == 0 && !node->rb && !node->failing;
}

/* The edge between two jobs that run or may run is part of the record of one.
 */
static bool follows(const struct order_edge *edge) {
    const struct order_node *to = edge->item->node;

    return edge->use == USE_RECORD && to != NULL &&
           !order_node_stands_waiting(edge->node) &&
           !order_node_stands_waiting(to);
}

static void degrees_count(struct order *order, struct order_node *node) {
    bool waits = order_node_stands_waiting(node);

    node->hard = node->soft = 0;
    for (size_t i = 0; i < node->edge_count; i++) {
        struct order_edge *edge = &node->edges[i];

        if (!waits) {
            node->soft +=
                follows(edge) && edge->item->node != node && binds(edge->item);
        } else if (edge->use == USE_DEPENDENCY &&
                   edge->verdict == VERDICT_WAIT) {
            order_chain_down(order, edge->item);
            for (size_t k = 0; k < order->down.count; k++)
                node->hard += binds(order->down.p[k]);
        } else if ((edge->use == USE_HINT || edge->use == USE_RECORD) &&
                   edge->item->node != node) {
            node->soft += binds(edge->item);
        }
    }
}

static void placing_offer(struct placing *placing, struct order_node *node) {
    if (node->hard > 0)
        return;
    if (node->soft > 0)
        heap_push(&placing->wishes, node);
    else
        heap_push(&placing->ready, node);
}

static bool is_unplaced(const struct order_node *node) {
    return node->seq == 0 && !node->failing && !list_empty(&node->fresh);
}

static void release_softly(struct placing *placing, struct order_node *node) {
    node->soft--;
    if (node->hard == 0 && node->soft == 0) {
        heap_remove(&placing->wishes, node);
        heap_push(&placing->ready, node);
    }
}

static void release_edge(struct placing *placing, struct order_edge *edge,
                         bool own) {
    struct order_node *node = edge->node;

    if (!is_unplaced(node))
        return;
    if (!order_node_stands_waiting(node)) {
        if (own && follows(edge))
            release_softly(placing, node);
    } else if (edge->use == USE_DEPENDENCY && edge->verdict == VERDICT_WAIT) {
        if (--node->hard == 0)
            placing_offer(placing, node);
    } else if (own && (edge->use == USE_HINT || edge->use == USE_RECORD)) {
        release_softly(placing, node);
    }
}

/* The set that others depend on has been given its place in the line, or it was
 * refused and will never get one. */
static void release(struct order *order, struct placing *placing,
                    struct order_item *item) {
    order_chain_up(order, item);
    for (size_t i = 0; i < order->up.count; i++) {
        struct order_item *at = order->up.p[i];

        LIST_EACH (&at->edges, it) {
            struct order_edge *edge = LIST_OF(it, struct order_edge, in_item);

            if (edge->node != item->node)
                release_edge(placing, edge, at == item);
        }
    }
}

static void place(struct order *order, struct placing *placing,
                  struct order_node *node) {
    heap_remove(&order->ranks, node);
    order_label_last(order, node);
    list_remove(&node->fresh);
    node->moving = false;
    for (size_t i = 0; i < node->use_count; i++)
        order_path_append(order, &node->uses[i]);
    order_insert_placed(order, node);
    hints_update(order, node);
    order_rank_joined(order, node);
    order_node_touch(order, node);
    for (size_t i = 0; i <= node->alias_count; i++)
        release(order, placing, order_node_item(node, i));
}

/* ---- cycles ------------------------------------------------------------- */

/* The first of its dependencies that is not placed either. */
static struct order_node *next_unplaced(struct order *order,
                                        const struct order_node *node) {
    for (size_t i = 0; i < node->edge_count; i++) {
        struct order_edge *edge = &node->edges[i];

        if (edge->use != USE_DEPENDENCY || edge->verdict != VERDICT_WAIT)
            continue;
        order_chain_down(order, edge->item);
        for (size_t k = 0; k < order->down.count; k++) {
            struct order_item *item = order->down.p[k];
            if (binds(item))
                return item->node;
        }
    }
    return NULL;
}

/* Finds the cycle that `from` is in or leads to; stores it in order->stack. */
static void cycle_find(struct order *order, struct order_node *from) {
    struct order_pointers *path = &order->stack;
    uint64_t mark = ++order->mark;
    struct order_node *at = from;
    size_t begin = 0;

    path->count = 0;
    while (at != NULL && at->walk_mark != mark) {
        at->walk_mark = mark;
        order_pointers_push(path, at);
        at = next_unplaced(order, at);
    }
    while (at != NULL && path->p[begin] != at)
        begin++;
    path->count -= begin;
    memmove(path->p, path->p + begin, path->count * sizeof(*path->p));
}

/* O9: the member that closed it: the last to arrive of those still in Q, or
 * else of those in S. */
static size_t cycle_closer(const struct order_pointers *path) {
    size_t closer = 0;

    for (size_t i = 1; i < path->count; i++) {
        const struct order_node *node = path->p[i], *best = path->p[closer];

        if (node->state != best->state ? node->state < best->state
                                       : node->num > best->num)
            closer = i;
    }
    return closer;
}

static const char *cycle_text(struct order *order, size_t closer) {
    enum { SHOWN = 20 };
    const struct order_pointers *path = &order->stack;
    struct text *text = &order->scratch;

    text_reset(text);
    for (size_t i = 0; i <= path->count; i++) {
        const struct order_node *node = path->p[(closer + i) % path->count];

        if (i >= SHOWN && i < path->count) {
            text_addf(text, " → (%zu more)", path->count - i);
            i = path->count - 1;
            continue;
        }
        text_adds(text, i > 0 ? " → " : "");
        text_addspan(text, node->item->id);
    }
    return text_string(text);
}

/* Breaks the cycle. False: its last member is not in Q, which only a damaged
 * registry can cause; it goes back there first. An undecided member may leave
 * from any state. */
static bool cycle_break(struct order *order, struct placing *placing,
                        struct order_node *from) {
    size_t closer;
    struct order_node *node;

    cycle_find(order, from);
    assert(order->stack.count > 0);
    closer = cycle_closer(&order->stack);
    node = order->stack.p[closer];
    if (node->state != STATE_QUEUED) {
        if (node->state == STATE_STAGED && node->asked != ORDER_RECOMPUTE + 1)
            order_effect_add(order, node, ORDER_RECOMPUTE, "recompute");
        return false;
    }
    list_remove(&node->fresh);
    node->moving = false;
    for (size_t i = 0; i <= node->alias_count; i++)
        release(order, placing, order_node_item(node, i));
    order_effect_fail(order, node, "dep-cycle", cycle_text(order, closer));
    return true;
}

/* ---- records of a former life ------------------------------------------- */

/* After a start: compares the recorded precursors with L. They differ if the
 * scheduler died between a step and the splicing that followed from it. */
static void record_judge(struct order *order, struct order_node *node) {
    uint64_t recorded = ++order->mark, waited = ++order->mark;
    const struct order_pointers *items;

    items = order_preds_items(order, node, ++order->mark);
    for (size_t i = 0; i < node->edge_count; i++)
        if (node->edges[i].use == USE_RECORD)
            node->edges[i].item->set_mark = recorded;
    for (size_t i = 0; i < items->count; i++) {
        struct order_item *item = items->p[i];

        if (item->set_mark != recorded)
            node->splice = true;
        item->set_mark = waited;
    }
    for (size_t i = 0; i < node->edge_count; i++) {
        const struct order_item *item = node->edges[i].item;

        if (node->edges[i].use == USE_RECORD && order_item_is_live(item) &&
            item->set_mark != waited)
            node->splice = true;
    }
}

/* ---- all together ------------------------------------------------------- */

static void placing_open(struct order *order, struct placing *placing) {
    heap_init(&placing->ready, offsetof(struct order_node, in_heap),
              compare_standing);
    heap_init(&placing->wishes, offsetof(struct order_node, in_heap),
              compare_standing);
    placing->all = (struct order_pointers){0};
    LIST_EACH (&order->fresh, it) {
        order_pointers_push(&placing->all,
                            LIST_OF(it, struct order_node, fresh));
    }
    for (size_t i = 0; i < placing->all.count; i++) {
        struct order_node *node = placing->all.p[i];

        if (node->was_recorded && !order_node_stands_waiting(node))
            order_edges_settle(order, node);
    }
    for (size_t i = 0; i < placing->all.count; i++)
        degrees_count(order, placing->all.p[i]);
    for (size_t i = 0; i < placing->all.count; i++)
        placing_offer(placing, placing->all.p[i]);
}

/* Those that run or may run come first, whatever a damaged record says. */
static struct order_node *placing_next(struct placing *placing) {
    const struct order_node *ready = heap_first(&placing->ready),
                            *wish = heap_first(&placing->wishes);

    if (ready != NULL &&
        (wish == NULL || standing(wish) > 0 || standing(ready) == 0))
        return heap_pop(&placing->ready);
    return heap_pop(&placing->wishes);
}

static void placing_run(struct order *order, struct placing *placing) {
    size_t at = 0;

    for (;;) {
        struct order_node *node = placing_next(placing);

        if (node != NULL) {
            place(order, placing, node);
            continue;
        }
        while (at < placing->all.count && !is_unplaced(placing->all.p[at]))
            at++;
        if (at == placing->all.count ||
            !cycle_break(order, placing, placing->all.p[at]))
            return;
    }
}

static void placing_close(struct order *order, struct placing *placing) {
    for (size_t i = 0; i < placing->all.count; i++) {
        struct order_node *node = placing->all.p[i];

        if (node->seq == 0 || !node->was_recorded)
            continue;
        node->was_recorded = false;
        if (order_node_stands_as(node) == STATE_STAGED ||
            order_node_follows(node))
            record_judge(order, node);
        order_record_close(order, node);
    }
    order_pointers_clear(&placing->all);
    heap_clear(&placing->ready);
    heap_clear(&placing->wishes);
}

void order_line_place(struct order *order) {
    struct order_pointers moving = {0}, affected = {0};
    struct placing placing;

    if (list_empty(&order->fresh) && order->late.count == 0)
        return;
    if (order_insert_alone(order))
        return;
    moving_collect(order, &moving);
    affected_collect(order, &moving, &affected);
    move_out(order, &moving);
    placing_open(order, &placing);
    placing_run(order, &placing);
    placing_close(order, &placing);
    affected_judge(order, &affected);
    order_pointers_clear(&moving);
    order_pointers_clear(&affected);
}
