#include "core/order_inner.h"

#include <assert.h>
#include <stdlib.h>

/* Per (target, path) a row of groups in the order of L. A member waits for
 * every member of the group before its own; being in the first group is being
 * free. Neighbouring groups never both hold directory uses. */

/* ---- places and uses ---------------------------------------------------- */

static struct place *place_ref(struct order *order, struct span name) {
    struct place *place = map_get(&order->places, name);

    if (place == NULL) {
        place = mem_alloc(sizeof(*place));
        place->name = span_make(mem_copy(name.p, name.len), name.len);
        list_init(&place->groups);
        map_put(&order->places, place->name, place);
    }
    return place;
}

static void place_unref(struct order *order, struct place *place) {
    if (--place->refs > 0)
        return;
    assert(list_empty(&place->groups));
    map_remove(&order->places, place->name);
    free((void *)(uintptr_t)place->name.p);
    free(place);
}

struct span place_path(const struct place *place) {
    const char *nul;

    if (place->name.p[0] == 'k')
        return span_make(place->name.p + 1, place->name.len - 1);
    nul = memchr(place->name.p, '\0', place->name.len);
    assert(nul != NULL);
    return span_make(nul + 1,
                     place->name.len - (size_t)(nul + 1 - place->name.p));
}

static void use_add(struct order *order, struct node *node, size_t *cap,
                    struct span name, bool file) {
    struct place *place = place_ref(order, name);
    struct use *use;

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
    *use = (struct use){.node = node, .place = place, .file = file};
}

/* D22: the path itself as a file, each proper parent as a directory. Keys of
 * commands have no parents. */
static void touch_add(struct order *order, struct node *node, size_t *cap,
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

void path_uses_open(struct order *order, struct node *node,
                    const struct order_entry *entry) {
    size_t cap = 0;

    for (size_t i = 0; i < entry->touch_count; i++)
        touch_add(order, node, &cap, entry->target, entry->touches[i].path);
    for (size_t i = 0; i < node->use_count; i++) {
        node->uses[i].place->last_node = NULL;
        list_init(&node->uses[i].in_group);
    }
}

void path_uses_close(struct order *order, struct node *node) {
    for (size_t i = 0; i < node->use_count; i++) {
        assert(node->uses[i].group == NULL);
        place_unref(order, node->uses[i].place);
    }
    free(node->uses);
    node->uses = NULL;
    node->use_count = 0;
}

/* ---- rows of groups ----------------------------------------------------- */

static struct group *group_at(const struct place *place, struct list *link) {
    return link == &place->groups ? NULL
                                  : LIST_OF(link, struct group, in_place);
}

struct group *group_before(const struct use *use) {
    return group_at(use->place, use->group->in_place.prev);
}

struct group *group_behind(const struct use *use) {
    return group_at(use->place, use->group->in_place.next);
}

struct group *group_in_front(const struct group *group) {
    return group_at(group->place, group->in_place.prev);
}

struct group *group_last(const struct place *place) {
    return group_at(place, place->groups.prev);
}

/* A new one in front of what `behind` links. */
static struct group *group_new(struct place *place, bool file,
                               struct list *behind) {
    struct group *group = mem_alloc(sizeof(*group));

    group->place = place;
    group->file = file;
    list_init(&group->uses);
    list_insert_before(behind, &group->in_place);
    return group;
}

static void group_join(struct group *group, struct use *use) {
    use->group = group;
    list_push(&group->uses, &use->in_group);
    group->count++;
    if (group_before(use) != NULL)
        use->node->blocked++;
}

void path_append(struct order *order, struct use *use) {
    struct group *group = group_last(use->place);

    (void)order;
    assert(use->group == NULL);
    if (group == NULL || group->file || use->file)
        group = group_new(use->place, use->file, &use->place->groups);
    group_join(group, use);
}

void path_insert(struct order *order, struct use *use, struct group *before) {
    bool was_first = group_in_front(before) == NULL;

    (void)order;
    assert(use->group == NULL && use->file && before->file);
    group_join(group_new(use->place, true, &before->in_place), use);
    LIST_EACH (&before->uses, it) {
        LIST_OF(it, struct use, in_group)->node->blocked += was_first;
    }
}

static void group_is_first_now(struct order *order, struct group *group) {
    LIST_EACH (&group->uses, it) {
        struct node *node = LIST_OF(it, struct use, in_group)->node;

        if (--node->blocked == 0)
            node_touch(order, node);
    }
}

void group_inherits(struct order *order, struct group *group) {
    LIST_EACH (&group->uses, it) {
        struct node *node = LIST_OF(it, struct use, in_group)->node;

        node->splice = true;
        node_touch(order, node);
    }
}

static void group_free(struct group *group) {
    list_remove(&group->in_place);
    free(group);
}

/* Two groups of directory uses that became neighbours. The smaller one moves,
 * so that no use moves more than log n times. Returns what they became. */
static struct group *groups_merge(struct group *front, struct group *behind) {
    bool forward = behind->count <= front->count;
    struct group *from = forward ? behind : front,
                 *to = forward ? front : behind;

    while (!list_empty(&from->uses)) {
        /* From the far end, in front or behind: the row keeps its order. */
        struct list *link = forward ? from->uses.next : from->uses.prev;

        LIST_OF(link, struct use, in_group)->group = to;
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

void path_remove(struct order *order, struct use *use, bool splice) {
    struct group *group = use->group, *before = group_before(use),
                 *behind = group_behind(use);

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
            group_inherits(order, behind);
        /* Who stands behind them waits for more than before. */
        behind = groups_merge(before, behind);
        behind = group_at(behind->place, behind->in_place.next);
        if (splice && behind != NULL)
            group_inherits(order, behind);
    } else if (splice) {
        group_inherits(order, behind);
    }
}
