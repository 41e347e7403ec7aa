#include "core/order_inner.h"

#include <assert.h>
#include <stdlib.h>

/* Per (target, path) a row of groups in the order of L. A member waits for
 * every member of the preceding group; a member of the first group is free.
 * Neighbouring groups never both hold directory uses. */

/* ---- places and uses ---------------------------------------------------- */

static struct order_place *place_ref(struct order *order, struct span name) {
    struct order_place *place = map_get(&order->places, name);

    if (place == NULL) {
        place = mem_alloc(sizeof(*place));
        place->name = span_make(mem_copy(name.p, name.len), name.len);
        list_init(&place->groups);
        map_put(&order->places, place->name, place);
    }
    return place;
}

static void place_unref(struct order *order, struct order_place *place) {
    if (--place->refs > 0)
        return;
    assert(list_empty(&place->groups));
    map_remove(&order->places, place->name);
    free((void *)(uintptr_t)place->name.p);
    free(place);
}

struct span order_place_path(const struct order_place *place) {
    const char *nul;

    if (place->name.p[0] == 'k')
        return span_make(place->name.p + 1, place->name.len - 1);
    nul = memchr(place->name.p, '\0', place->name.len);
    assert(nul != NULL);
    return span_make(nul + 1,
                     place->name.len - (size_t)(nul + 1 - place->name.p));
}

struct span order_path_target(const struct order_node *node) {
    struct span name, target;

    if (node->use_count == 0 || node->uses[0].place->name.p[0] == 'k')
        return (struct span){0};
    name = node->uses[0].place->name;
    name = span_make(name.p + 1, name.len - 1);
    return span_cut(&name, '\0', &target) ? target : (struct span){0};
}

static void use_add(struct order *order, struct order_node *node, size_t *cap,
                    struct span name, bool file) {
    struct order_place *place = place_ref(order, name);
    struct order_use *use;

    if (place->last_node == node) {
        use = &node->uses[place->last_use];
        use->file = use->file || file;
        return;
    }
    if (node->use_count == *cap) {
        *cap = *cap > 0 ? 2 * *cap : 4;
        node->uses = mem_grow(node->uses, *cap, sizeof(*node->uses));
    }
    place->last_node = node;
    place->last_use = node->use_count;
    place->refs++;
    use = &node->uses[node->use_count++];
    *use = (struct order_use){.node = node, .place = place, .file = file};
}

/* O2: the path itself is used as a file, each proper parent as a directory.
 * Keys of commands have no parents. */
static void touch_add(struct order *order, struct order_node *node, size_t *cap,
                      struct span target, struct span path) {
    struct text *name = &order->scratch;
    size_t begin;

    text_reset(name);
    if (target.len == 0) {
        text_addc(name, 'k');
        text_addspan(name, path);
        use_add(order, node, cap, text_span(name), true);
        return;
    }
    text_addc(name, 'p');
    text_addspan(name, target);
    text_addc(name, '\0');
    begin = name->len;
    text_addspan(name, path);
    use_add(order, node, cap, text_span(name), true);
    for (size_t i = begin + 1; i < name->len; i++)
        if (name->p[i] == '/')
            use_add(order, node, cap, span_make(name->p, i), false);
}

void order_path_uses_open(struct order *order, struct order_node *node,
                          const struct order_entry *entry) {
    size_t cap = 0;

    for (size_t i = 0; i < entry->touch_count; i++)
        touch_add(order, node, &cap, entry->target, entry->touches[i].path);
    for (size_t i = 0; i < node->use_count; i++) {
        node->uses[i].place->last_node = NULL;
        list_init(&node->uses[i].in_group);
    }
}

void order_path_uses_close(struct order *order, struct order_node *node) {
    for (size_t i = 0; i < node->use_count; i++) {
        assert(node->uses[i].group == NULL);
        place_unref(order, node->uses[i].place);
    }
    free(node->uses);
    node->uses = NULL;
    node->use_count = 0;
}

/* ---- rows of groups ----------------------------------------------------- */

static struct order_group *group_at(const struct order_place *place,
                                    struct list *link) {
    return link == &place->groups ? NULL
                                  : LIST_OF(link, struct order_group, in_place);
}

struct order_group *order_path_group_before(const struct order_use *use) {
    return group_at(use->place, use->group->in_place.prev);
}

struct order_group *order_path_group_behind(const struct order_use *use) {
    return group_at(use->place, use->group->in_place.next);
}

struct order_group *order_path_group_in_front(const struct order_group *group) {
    return group_at(group->place, group->in_place.prev);
}

struct order_group *order_path_group_last(const struct order_place *place) {
    return group_at(place, place->groups.prev);
}

/* A new group in front of the link `behind`. */
static struct order_group *group_new(struct order_place *place, bool file,
                                     struct list *behind) {
    struct order_group *group = mem_alloc(sizeof(*group));

    group->place = place;
    group->file = file;
    list_init(&group->uses);
    list_insert_before(behind, &group->in_place);
    return group;
}

static void group_join(struct order_group *group, struct order_use *use) {
    use->group = group;
    list_push(&group->uses, &use->in_group);
    group->count++;
    if (order_path_group_before(use) != NULL)
        use->node->blocked++;
}

void order_path_append(struct order *order, struct order_use *use) {
    struct order_group *group = order_path_group_last(use->place);

    (void)order;
    assert(use->group == NULL);
    if (group == NULL || group->file || use->file)
        group = group_new(use->place, use->file, &use->place->groups);
    group_join(group, use);
}

void order_path_insert(struct order *order, struct order_use *use,
                       struct order_group *before) {
    bool was_first = order_path_group_in_front(before) == NULL;

    (void)order;
    assert(use->group == NULL && use->file && before->file);
    group_join(group_new(use->place, true, &before->in_place), use);
    LIST_EACH (&before->uses, it) {
        LIST_OF(it, struct order_use, in_group)->node->blocked += was_first;
    }
}

static void group_is_first_now(struct order *order, struct order_group *group) {
    LIST_EACH (&group->uses, it) {
        struct order_node *node = LIST_OF(it, struct order_use, in_group)->node;

        if (--node->blocked == 0)
            order_node_touch(order, node);
    }
}

void order_path_group_inherits(struct order *order, struct order_group *group) {
    LIST_EACH (&group->uses, it) {
        struct order_node *node = LIST_OF(it, struct order_use, in_group)->node;

        node->splice = true;
        order_node_touch(order, node);
    }
}

static void group_free(struct order_group *group) {
    list_remove(&group->in_place);
    free(group);
}

/* Merges two groups of directory uses that became neighbours. The smaller one
 * moves, so that no use moves more than log n times. Returns the merged
 * group. */
static struct order_group *groups_merge(struct order_group *front,
                                        struct order_group *behind) {
    bool forward = behind->count <= front->count;
    struct order_group *from = forward ? behind : front,
                       *to = forward ? front : behind;

    while (!list_empty(&from->uses)) {
        /* Starts at the far end, in front or behind: the row keeps its
         * order. */
        struct list *link = forward ? from->uses.next : from->uses.prev;

        LIST_OF(link, struct order_use, in_group)->group = to;
        list_remove(link);
        if (forward)
            list_push(&to->uses, link);
        else
            list_insert_before(to->uses.next, link);
    }
    to->count += from->count;
    group_free(from);
    return to;
}

void order_path_remove(struct order *order, struct order_use *use,
                       bool splice) {
    struct order_group *group = use->group,
                       *before = order_path_group_before(use),
                       *behind = order_path_group_behind(use);

    if (before != NULL)
        use->node->blocked--;
    use->group = NULL;
    list_remove(&use->in_group);
    if (--group->count > 0)
        return;
    group_free(group);
    if (behind == NULL)
        return;
    if (before == NULL) {
        group_is_first_now(order, behind);
    } else if (!before->file && !behind->file) {
        if (group_at(before->place, before->in_place.prev) == NULL)
            group_is_first_now(order, behind);
        else if (splice)
            order_path_group_inherits(order, behind);
        /* The uses behind them now wait for more than before. */
        behind = groups_merge(before, behind);
        behind = group_at(behind->place, behind->in_place.next);
        if (splice && behind != NULL)
            order_path_group_inherits(order, behind);
    } else if (splice) {
        order_path_group_inherits(order, behind);
    }
}
