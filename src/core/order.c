#include "core/order_inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/reason.h"

static struct order_node *node_find(const struct order *order, uint64_t num) {
    return map_get(&order->nodes, map_num_key(&num));
}

/* ---- life --------------------------------------------------------------- */

static int compare_deadlines(const void *a, const void *b) {
    const struct order_node *x = a, *y = b;

    if (x->admitted.ns != y->admitted.ns)
        return x->admitted.ns < y->admitted.ns ? -1 : 1;
    return (x->num > y->num) - (x->num < y->num);
}

struct order *order_new(const struct order_limits *limits) {
    struct order *order = mem_alloc(sizeof(*order));

    order->limits = *limits;
    list_init(&order->dirty);
    list_init(&order->fresh);
    list_init(&order->line);
    list_init(&order->to_ask);
    list_init(&order->rank_items);
    list_init(&order->rank_unrecorded);
    heap_init(&order->deadlines, offsetof(struct order_node, in_deadlines),
              compare_deadlines);
    heap_init(&order->ranks, offsetof(struct order_node, in_ranks),
              order_rank_compare);
    return order;
}

static void node_free(struct order_node *node) {
    order_key_unref(node->key);
    order_key_unref(node->rank);
    order_key_unref(node->recorded);
    free(node->aliases);
    free(node->edges);
    free(node->uses);
    free(node);
}

static void places_free(struct order *order) {
    size_t at = 0;
    void *value;

    while (map_next(&order->places, &at, NULL, &value)) {
        struct order_place *place = value;

        LIST_EACH (&place->groups, it) {
            free(LIST_OF(it, struct order_group, in_place));
        }
        free((void *)(uintptr_t)place->name.p);
        free(place);
    }
    map_clear(&order->places);
}

void order_free(struct order *order) {
    size_t at;
    void *value;

    if (order == NULL)
        return;
    for (at = 0; map_next(&order->nodes, &at, NULL, &value);)
        node_free(value);
    places_free(order);
    for (at = 0; map_next(&order->items, &at, NULL, &value);)
        order_item_free(value);
    map_clear(&order->nodes);
    map_clear(&order->items);
    heap_clear(&order->deadlines);
    heap_clear(&order->ranks);
    order_pointers_clear(&order->late);
    order_pointers_clear(&order->up);
    order_pointers_clear(&order->down);
    order_pointers_clear(&order->stack);
    order_pointers_clear(&order->tangles);
    order_pointers_clear(&order->items_found);
    free(order->preds.p);
    free(order->effects);
    text_clear(&order->scratch);
    free(order);
}

void order_set_limits(struct order *order, const struct order_limits *limits) {
    order->limits = *limits;
}

bool order_has(const struct order *order, uint64_t num) {
    return node_find(order, num) != NULL;
}

/* ---- admission ---------------------------------------------------------- */

static const struct {
    enum edge_kind kind;
    enum order_edge_use use;
} edge_uses[] = {
    /* The record comes last: it is dropped when the job is placed. */
    {EDGE_SUPERSEDES, USE_SUPERSEDES},  {EDGE_DEPENDENCY, USE_DEPENDENCY},
    {EDGE_AFTER_ANY, USE_DEPENDENCY},   {EDGE_AFTER_FAILED, USE_DEPENDENCY},
    {EDGE_AFTER_SHARE, USE_DEPENDENCY}, {EDGE_HINT, USE_HINT},
    {EDGE_PRECURSOR, USE_RECORD},
};

static void edges_open(struct order *order, struct order_node *node,
                       const struct order_entry *entry) {
    node->edges = mem_alloc((entry->edge_count + 1) * sizeof(*node->edges));
    for (size_t u = 0; u < COUNT(edge_uses); u++)
        for (size_t i = 0; i < entry->edge_count; i++) {
            struct order_edge *edge = &node->edges[node->edge_count];
            struct order_item *to;

            if (entry->edges[i].kind != edge_uses[u].kind)
                continue;
            node->edge_count++;
            to = order_item_ref(order, entry->edges[i].to);
            order_edge_open(order, edge, node, to, edge_uses[u].use,
                            &entry->edges[i]);
            if (edge->use == USE_SUPERSEDES)
                order_item_link(order, to, node->item);
        }
}

static struct order_node *node_new(struct order *order, struct order_item *item,
                                   const struct order_entry *entry) {
    struct order_node *node = mem_alloc(sizeof(*node));

    node->num = entry->num;
    node->item = item;
    node->job_class = entry->job_class;
    node->state = entry->state;
    node->was = entry->was;
    node->holds = entry->holds;
    node->rb = entry->rb;
    node->was_recorded = true; /* even if the record is empty */
    node->splice = entry->inherits;
    node->admitted = entry->admitted;
    node->since = entry->since;
    node->key = order_key_new(entry->key);
    node->rank = order_key_ref(node->key);
    node->recorded = entry->rank.len > 0 ? order_key_new(entry->rank)
                                         : order_key_ref(node->key);
    list_init(&node->dirty);
    list_init(&node->fresh);
    list_init(&node->in_line);
    list_init(&node->rank_unrecorded);
    map_put(&order->nodes, map_num_key(&node->num), node);
    return node;
}

static bool may_live_here(enum job_state state) {
    return state < JOB_STATES &&
           ((STATES_LIVE | STATE_BIT(STATE_ABANDONED)) & STATE_BIT(state)) != 0;
}

static void node_take(struct order *order, struct order_node *node,
                      struct order_item *item) {
    item->node = node;
    list_remove(&item->to_ask);
    order_key_set(&item->key, NULL);
    order_key_set(&item->recorded, NULL);
    order_item_rank_again(order, item);
}

static void aliases_open(struct order *order, struct order_node *node,
                         const struct order_entry *entry) {
    if (entry->alias_count == 0)
        return;
    node->aliases = mem_alloc(entry->alias_count * sizeof(struct order_item *));
    for (size_t i = 0; i < entry->alias_count; i++) {
        struct order_item *item = order_item_ref(order, entry->aliases[i]);

        if (item->node != NULL) {
            order_item_unref(order, item);
            continue;
        }
        node_take(order, node, item);
        node->aliases[node->alias_count++] = item;
    }
}

void order_admit(struct order *order, const struct order_entry *entry) {
    struct order_item *item;
    struct order_node *node;

    if (order_has(order, entry->num) || !may_live_here(entry->state))
        return;
    item = order_item_ref(order, entry->id);
    if (item->node != NULL) {
        order_item_unref(order, item);
        return;
    }
    node = node_new(order, item, entry);
    node_take(order, node, item);
    aliases_open(order, node, entry);
    if (!node->rb) {
        edges_open(order, node, entry);
        order_path_uses_open(order, node, entry);
        list_push(&order->fresh, &node->fresh);
    }
    order_items_changed(order, node);
    order_node_touch(order, node);
}

/* ---- steps -------------------------------------------------------------- */

/* It is asked after, in case its job is not admitted again: another one may
 * have stood for it, and it may have ended long ago. */
static void item_ask(struct order *order, struct order_item *item) {
    item->asked = true;
    if (list_empty(&item->to_ask))
        list_push(&order->to_ask, &item->to_ask);
}

/* `forgotten`: it stays live. */
static void node_leave(struct order *order, struct order_node *node,
                       enum job_state to, struct wall since, bool forgotten) {
    uint64_t num = node->num;

    order_follow_leaves(order, node);
    if (!forgotten)
        order_record_pass_on(order, node);
    order_line_leave(order, node);
    for (size_t i = 0; i < node->edge_count; i++)
        order_edge_close(order, &node->edges[i]);
    for (size_t i = 0; i <= node->alias_count; i++) {
        struct order_item *item = order_node_item(node, i);

        item->node = NULL;
        item->known = true;
        item->state = to;
        item->rolled_back = false;
        item->since = since;
        order_item_changed(order, item);
        if (forgotten)
            item_ask(order, item);
    }
    order_path_uses_close(order, node);
    list_remove(&node->dirty);
    list_remove(&node->rank_unrecorded);
    heap_remove(&order->deadlines, node);
    heap_remove(&order->ranks, node);
    map_remove(&order->nodes, map_num_key(&num));
    for (size_t i = 0; i <= node->alias_count; i++)
        order_item_unref(order, order_node_item(node, i));
    node_free(node);
}

/* It stays live, whatever was proposed for it. */
static void node_stays(struct order *order, struct order_node *node) {
    node->asked = 0;
    if (node->failing) {
        node->failing = false;
        order_items_changed(order, node);
    }
    if (node->seq == 0 && !node->rb && list_empty(&node->fresh))
        list_push(&order->fresh, &node->fresh);
    order_node_touch(order, node);
}

/* If one of its dependencies arrived while it was undecided and stands behind
 * it, it has to move. */
static void move_behind_dependencies(struct order *order,
                                     struct order_node *node) {
    for (size_t i = 0; i < node->edge_count; i++) {
        const struct order_edge *edge = &node->edges[i];

        if (edge->use != USE_DEPENDENCY || edge->verdict != VERDICT_WAIT)
            continue;
        order_chain_down(order, edge->item);
        for (size_t k = 0; k < order->down.count; k++) {
            struct order_item *on = order->down.p[k];

            if (on->node == NULL || on->node->seq < node->seq)
                continue;
            on->refs++;
            order_pointers_push(&order->late, on);
        }
    }
}

bool order_move(struct order *order, uint64_t num, enum job_state to,
                struct wall since, bool rollback_open) {
    struct order_node *node = node_find(order, num);
    bool waits_again, passed_rank;

    if (node == NULL || to >= JOB_STATES)
        return false;
    if (job_state_is_final(to) && !(to == STATE_ABANDONED && rollback_open)) {
        node_leave(order, node, to, since, false);
        return true;
    }
    if (to == STATE_QUEUED)
        node->goes_back = node->splice = false;
    waits_again = !order_node_is_waiting(node);
    passed_rank = order_node_passes_rank(node);
    if (to == STATE_ABANDONED && node->state != STATE_ABANDONED)
        node->was = node->state;
    node->state = to;
    node->since = since;
    for (size_t i = 0; i < node->edge_count; i++)
        if (node->edges[i].use == USE_HINT)
            order_edge_hint_update(order, &node->edges[i]);
    if (!order_node_stands_waiting(node))
        order_edges_settle_served(order, node);
    if (passed_rank && !order_node_passes_rank(node))
        order_rank_leaving(order, node);
    if (!passed_rank && order_node_passes_rank(node))
        order_rank_waits_again(order, node);
    if (waits_again && order_node_is_waiting(node))
        move_behind_dependencies(order, node);
    node_stays(order, node);
    return true;
}

/* It stays live but no longer stands in front of the jobs right behind it: they
 * get a record without it. */
static void behind_splice(struct order *order, struct order_node *node) {
    for (size_t i = 0; node->seq != 0 && i < node->use_count; i++) {
        struct order_group *behind = order_path_group_behind(&node->uses[i]);

        if (behind != NULL)
            order_path_group_inherits(order, behind);
    }
    for (size_t i = 0; i <= node->alias_count; i++) {
        LIST_EACH (&order_node_item(node, i)->edges, it) {
            struct order_edge *edge = LIST_OF(it, struct order_edge, in_item);

            if (!edge->waits)
                continue;
            edge->node->splice = true;
            order_node_touch(order, edge->node);
        }
    }
}

bool order_forget(struct order *order, uint64_t num) {
    struct order_node *node = node_find(order, num);

    if (node == NULL)
        return false;
    behind_splice(order, node);
    node_leave(order, node, node->state, node->since, true);
    return true;
}

bool order_hold(struct order *order, uint64_t num, unsigned holds) {
    struct order_node *node = node_find(order, num);

    if (node == NULL)
        return false;
    node->holds = holds;
    order_node_touch(order, node);
    return true;
}

/* Finds a plain command whose rank was not committed. Rare, so it is a
 * search. */
static bool mark_outside(struct order *order, uint64_t num) {
    size_t at = 0;
    void *value;

    while (map_next(&order->items, &at, NULL, &value)) {
        struct order_item *item = value;

        if (item->node != NULL || item->key == NULL || item->num != num)
            continue;
        order_key_set(&item->recorded, NULL);
        order_item_rank_again(order, item);
        return true;
    }
    return false;
}

bool order_again(struct order *order, uint64_t num) {
    struct order_node *node = node_find(order, num);

    if (node == NULL)
        return mark_outside(order, num);
    node->splice =
        node->splice || node->state == STATE_STAGED || order_node_follows(node);
    order_key_set(&node->recorded, NULL);
    node_stays(order, node);
    return true;
}

/* ---- ids outside -------------------------------------------------------- */

void order_outside(struct order *order, const struct order_other *other) {
    struct order_item *item = order_item_find(order, other->id);

    if (item == NULL)
        return;
    item->refs++; /* keeps it beyond the calls below */
    list_remove(&item->to_ask);
    if (item->node == NULL) {
        item->known = true;
        item->state = other->state;
        item->rolled_back = other->rolled_back;
        item->since = other->since;
        item->num = other->num;
        if (!order_item_is_live(item) || other->key.len == 0) {
            order_key_set(&item->key, NULL);
            order_key_set(&item->recorded, NULL);
        } else if (item->key == NULL) {
            item->key = order_key_new(other->key);
            item->recorded = other->rank.len > 0 ? order_key_new(other->rank)
                                                 : order_key_ref(item->key);
        }
    }
    for (size_t i = 0; i < other->successor_count; i++) {
        struct order_item *successor =
            order_item_ref(order, other->successors[i]);

        order_item_link(order, item, successor);
        order_item_unref(order, successor);
    }
    order_item_changed(order, item);
    order_item_rank_again(order, item);
    order_item_unref(order, item);
}

bool order_next_unknown(struct order *order, struct span *ret_id) {
    struct list *link = list_pop(&order->to_ask);

    if (link == NULL)
        return false;
    *ret_id = LIST_OF(link, struct order_item, to_ask)->id;
    return true;
}

struct span order_rank(const struct order *order, struct span id) {
    const struct order_item *item = order_item_find(order, id);
    const struct order_key *key = NULL;

    if (item != NULL)
        key = item->node != NULL ? item->node->rank : item->recorded;
    return key != NULL ? span_make(key->p, key->bytes) : (struct span){0};
}

bool order_watches(const struct order *order, struct span id) {
    const struct order_item *item = order_item_find(order, id);

    /* This holds even when no job depends on it at the moment: what is
     * remembered must not become stale; and while its job is here, for its
     * successors. */
    return item != NULL && (item->node != NULL || item->asked || item->known);
}

/* ---- judging ------------------------------------------------------------ */

struct wall order_next_time(const struct order *order) {
    const struct order_node *node = heap_first(&order->deadlines);

    return node != NULL ? order_node_deadline(order, node) : WALL_NEVER;
}

/* All move by the same time, so the heap stays sorted. */
void order_set_back(struct order *order, int64_t ms) {
    size_t at = 0;
    void *value;

    while (map_next(&order->nodes, &at, NULL, &value)) {
        struct order_node *node = value;

        node->admitted = wall_set_back(node->admitted, ms);
    }
}

static const struct order_edge *first_of(const struct order_node *node,
                                         enum order_verdict verdict) {
    for (size_t i = 0; i < node->edge_count; i++) {
        const struct order_edge *edge = &node->edges[i];

        if (edge->use == USE_DEPENDENCY && edge->verdict == verdict)
            return edge;
    }
    return NULL;
}

static const char *ended(const struct order_item *item) {
    switch (order_item_state(item)) {
    case STATE_TERMINATED:
        return "was terminated";
    case STATE_ABANDONED:
        return "was abandoned";
    case STATE_QUEUED:
    case STATE_STAGED:
    case STATE_PENDING:
    case STATE_EXECUTING:
    case STATE_DONE:
    case STATE_FAILED:
    case JOB_STATES:
        break;
    }
    return "failed";
}

/* For the failure proposed last. */
static void set_failure_cause(struct order *order,
                              const struct order_item *item) {
    order->effects[order->effect_count - 1].about =
        arena_span(order->arena, item->id);
}

static void fail_after_failure(struct order *order, struct order_node *node,
                               const struct order_item *item) {
    text_reset(&order->scratch);
    text_adds(&order->scratch, "dependency ");
    text_addspan(&order->scratch, item->id);
    text_addf(&order->scratch, " %s", ended(item));
    if (item->successor_count > 0)
        text_adds(&order->scratch, ", and what superseded it");
    order_effect_fail(order, node, "dep-failed", text_string(&order->scratch));
    set_failure_cause(order, item);
}

/* The condition of the edge can no longer be met. */
static void fail_in_vain(struct order *order, struct order_node *node,
                         const struct order_edge *edge) {
    const struct order_tasks *tasks = &edge->item->tasks;

    if (edge->kind != EDGE_AFTER_FAILED && edge->kind != EDGE_AFTER_SHARE) {
        fail_after_failure(order, node, edge->item);
        return;
    }
    text_reset(&order->scratch);
    text_adds(&order->scratch, "dependency ");
    text_addspan(&order->scratch, edge->item->id);
    if (edge->kind == EDGE_AFTER_FAILED)
        text_adds(&order->scratch,
                  " did not fail, and this job runs only after its failure");
    else if (edge->item->verdict == VERDICT_FAILED)
        text_addf(&order->scratch, " %s with %zu of %zu tasks done, not %u%%",
                  ended(edge->item), tasks->done, tasks->count, edge->share);
    else
        text_addf(&order->scratch,
                  " can no longer have %u%% of its tasks done: %zu of %zu "
                  "failed",
                  edge->share, tasks->failed, tasks->count);
    order_effect_fail(order, node, "dep-failed", text_string(&order->scratch));
    set_failure_cause(order, edge->item);
}

static void fail_after_rollback(struct order *order, struct order_node *node) {
    const struct order_item *item = first_of(node, VERDICT_ROLLED_BACK)->item;

    text_reset(&order->scratch);
    text_adds(&order->scratch, "dependency ");
    text_addspan(&order->scratch, item->id);
    text_adds(&order->scratch, " was rolled back");
    order_effect_fail(order, node, "dep-rolled-back",
                      text_string(&order->scratch));
    set_failure_cause(order, item);
}

static void fail_unknown(struct order *order, struct order_node *node) {
    const struct order_item *item = first_of(node, VERDICT_UNKNOWN)->item;

    text_reset(&order->scratch);
    text_adds(&order->scratch, "dependency ");
    text_addspan(&order->scratch, item->id);
    text_addf(&order->scratch, " did not arrive within %lld s",
              (long long)(order->limits.wait_for_dep_ms / 1000));
    order_effect_fail(order, node, "dep-unknown", text_string(&order->scratch));
    set_failure_cause(order, item);
}

/* True if it can never run; its failure is then proposed. */
static bool must_fail(struct order *order, struct order_node *node) {
    if (node->failing)
        return true;
    /* It is judged again once it is back in Q. */
    if (node->holds != 0 || node->asked == ORDER_RECOMPUTE + 1)
        return false;
    if (node->counts[VERDICT_FAILED] > 0)
        fail_in_vain(order, node, first_of(node, VERDICT_FAILED));
    else if (node->counts[VERDICT_ROLLED_BACK] > 0)
        fail_after_rollback(order, node);
    else if (node->counts[VERDICT_UNKNOWN] > 0 &&
             order_node_deadline(order, node).ns <= order->now.ns)
        fail_unknown(order, node);
    return node->failing;
}

/* The same for a job in P. */
static bool must_fail_pending(struct order *order, struct order_node *node) {
    const struct order_item *item;

    if (node->failing)
        return true;
    item = node->holds == 0 ? order_follow_ended(order, node) : NULL;
    if (item != NULL)
        fail_after_failure(order, node, item);
    return node->failing;
}

static bool judge_failure(struct order *order, struct order_node *node) {
    return node->state == STATE_STAGED    ? must_fail(order, node)
           : node->state == STATE_PENDING ? must_fail_pending(order, node)
                                          : false;
}

static bool is_decided(const struct order_node *node) {
    return node->seq != 0 && node->counts[VERDICT_ASKED] == 0 &&
           node->counts[VERDICT_UNKNOWN] == 0;
}

static void judge_queued(struct order *order, struct order_node *node) {
    if (node->failing || node->holds != 0)
        return;
    if (node->rb) {
        order_propose(order, node, ORDER_TO_PENDING_RB, REASON_RB);
        order_node_rank_again(order, node);
    } else if (node->seq != 0) {
        order_propose(order, node, ORDER_STAGE, "staged");
    }
}

static void judge_staged(struct order *order, struct order_node *node) {
    bool held = node->holds != 0;

    if (node->failing || node->seq == 0)
        return;
    if (!held && node->goes_back) {
        order_propose(order, node, ORDER_RECOMPUTE, "recompute");
        return;
    }
    /* Once it is pending, its record tells whom it follows (O20). */
    if (node->splice)
        order_propose(order, node, ORDER_SPLICE, "");
    if (held || !is_decided(node))
        return;
    if (!order_node_is_behind(node)) {
        order_propose(order, node, ORDER_READY, "ready");
        order_rank_record(order, node);
    } else if (order_preds_ride(order, node)) {
        order_propose(order, node, ORDER_FOLLOW, "follows");
        order_rank_record(order, node);
    }
}

static void judge(struct order *order, struct order_node *node) {
    if (node->state == STATE_QUEUED) {
        judge_queued(order, node);
    } else if (node->state == STATE_STAGED) {
        judge_staged(order, node);
    } else if (node->state == STATE_PENDING || node->state == STATE_EXECUTING) {
        order_follow_judge(order, node);
    }
}

static void deadlines_touch(struct order *order) {
    struct order_node *node;

    while ((node = heap_first(&order->deadlines)) != NULL &&
           order_node_deadline(order, node).ns <= order->now.ns) {
        heap_pop(&order->deadlines);
        order_node_touch(order, node);
    }
}

size_t order_scan(struct order *order, struct wall now, struct arena *arena,
                  struct order_effect **ret_effects) {
    struct list *link, rest;

    order->now = now;
    order->arena = arena;
    order->effect_count = 0;
    deadlines_touch(order);
    order_line_place(order);
    /* First the jobs that fail, and their dependents; then the others. */
    list_init(&rest);
    while ((link = list_pop(&order->dirty)) != NULL) {
        struct order_node *node = LIST_OF(link, struct order_node, dirty);
        if (!judge_failure(order, node))
            list_push(&rest, link);
    }
    while ((link = list_pop(&rest)) != NULL)
        judge(order, LIST_OF(link, struct order_node, dirty));
    order_rank_finish(order);
    order->arena = NULL;
    *ret_effects =
        arena_alloc(arena, (order->effect_count + 1) * sizeof(*order->effects));
    if (order->effect_count > 0)
        memcpy(*ret_effects, order->effects,
               order->effect_count * sizeof(*order->effects));
    return order->effect_count;
}
