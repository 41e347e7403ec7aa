#include "core/node_tree.h"

#include <assert.h>
#include <stdlib.h>

#include "core/node_filter.h"

enum { INDEX_ROOM = 64, ROOM = 16, KIDS_ROOM = 2 };

/* Grows by a quarter: a million nodes must not cost room for two. */
static uint32_t grown(uint32_t room, uint32_t needed) {
    uint32_t more = room + room / 4 + ROOM;

    return more > needed ? more : needed;
}

/* ---- names -------------------------------------------------------------- */

struct span node_tree_name(const struct node_tree *tree, uint32_t node) {
    const struct node *n = &tree->nodes[node];

    return span_make(n->name, n->name_bytes);
}

static uint32_t home(const struct node_tree *tree, struct span name) {
    return (uint32_t)map_hash_bytes(name.p, name.len) & (tree->index_room - 1);
}

uint32_t node_tree_find(const struct node_tree *tree, struct span name) {
    uint32_t mask = tree->index_room - 1;

    for (uint32_t i = home(tree, name); tree->index[i] != NODE_NONE;
         i = (i + 1) & mask)
        if (span_equal(node_tree_name(tree, tree->index[i]), name))
            return tree->index[i];
    return NODE_NONE;
}

static void index_put(struct node_tree *tree, uint32_t node) {
    uint32_t mask = tree->index_room - 1;
    uint32_t i = home(tree, node_tree_name(tree, node));

    while (tree->index[i] != NODE_NONE)
        i = (i + 1) & mask;
    tree->index[i] = node;
}

static void index_grow(struct node_tree *tree) {
    tree->index_room *= 2;
    tree->index = mem_grow(tree->index, tree->index_room, sizeof(uint32_t));
    memset(tree->index, 0xff, tree->index_room * sizeof(uint32_t));
    for (uint32_t i = 0; i < tree->node_count; i++)
        if (tree->nodes[i].exists)
            index_put(tree, i);
}

/* Those behind it that were put off by it move up. */
static void index_remove(struct node_tree *tree, uint32_t node) {
    uint32_t mask = tree->index_room - 1;
    uint32_t hole = home(tree, node_tree_name(tree, node));

    while (tree->index[hole] != node)
        hole = (hole + 1) & mask;
    for (uint32_t i = (hole + 1) & mask; tree->index[i] != NODE_NONE;
         i = (i + 1) & mask) {
        uint32_t at = home(tree, node_tree_name(tree, tree->index[i]));
        if (((i - at) & mask) < ((i - hole) & mask))
            continue;
        tree->index[hole] = tree->index[i];
        hole = i;
    }
    tree->index[hole] = NODE_NONE;
}

/* ---- tags --------------------------------------------------------------- */

uint32_t node_tree_tag_number(struct node_tree *tree, struct span tags) {
    void *known = tags.len > 0 ? map_get(&tree->tag_ids, tags) : NULL;

    if (tags.len == 0)
        return 0;
    if (known != NULL)
        return (uint32_t)((uintptr_t)known - 1);
    if (tree->tag_count == tree->tag_room) {
        tree->tag_room = grown(tree->tag_room, 0);
        tree->tags = mem_grow(tree->tags, tree->tag_room, sizeof(*tree->tags));
    }
    tree->tags[tree->tag_count] = span_of(span_string(tags));
    map_put(&tree->tag_ids, tags, (void *)(uintptr_t)(tree->tag_count + 1));
    return tree->tag_count++;
}

struct span node_tree_tags(const struct node_tree *tree, uint32_t place) {
    return tree->tags[tree->places[place].tags];
}

/* ---- rows --------------------------------------------------------------- */

static uint32_t row_new(struct node_rows *rows, uint32_t node) {
    unsigned count = rows->defined.resource_count;
    uint32_t row;

    if (rows->unused_count > 0) {
        row = rows->unused_rows[--rows->unused_count];
    } else {
        if (rows->row_count == rows->row_room) {
            rows->row_room = grown(rows->row_room, 0);
            rows->nodes =
                mem_grow(rows->nodes, rows->row_room, sizeof(*rows->nodes));
            rows->limit = mem_grow(rows->limit, rows->row_room,
                                   count * sizeof(*rows->limit));
            rows->left = mem_grow(rows->left, rows->row_room,
                                  count * sizeof(*rows->left));
        }
        row = rows->row_count++;
    }
    rows->nodes[row] = node;
    for (unsigned r = 0; r < count; r++)
        rows->limit[(size_t)row * count + r] =
            rows->left[(size_t)row * count + r] = rows->defined.limits[r];
    return row;
}

static void row_free(struct node_rows *rows, uint32_t row) {
    rows->nodes[row] = NODE_NONE;
    if (rows->unused_count == rows->unused_room) {
        rows->unused_room = grown(rows->unused_room, 0);
        rows->unused_rows = mem_grow(rows->unused_rows, rows->unused_room,
                                     sizeof(*rows->unused_rows));
    }
    rows->unused_rows[rows->unused_count++] = row;
}

/* ---- slots -------------------------------------------------------------- */

static unsigned log2_of(uint32_t room) {
    return (unsigned)__builtin_ctz(room);
}

static uint32_t range_new(struct node_rows *rows, uint32_t room) {
    uint32_t *unused = &rows->unused_ranges[log2_of(room)];
    uint32_t base = *unused;

    if (base != NODE_NONE) {
        *unused = rows->slots[base];
        return base;
    }
    base = rows->slot_count;
    rows->slot_count += room;
    if (rows->slot_count > rows->slot_room) {
        rows->slot_room = grown(rows->slot_room, rows->slot_count);
        rows->slots =
            mem_grow(rows->slots, rows->slot_room, sizeof(*rows->slots));
    }
    return base;
}

static void range_free(struct node_rows *rows, const struct node_kids *kids) {
    uint32_t *unused = &rows->unused_ranges[log2_of(kids->room)];

    for (uint32_t i = 0; i < kids->room; i++)
        rows->slots[kids->base + i] = NODE_NONE; /* is empty */
    rows->slots[kids->base] = *unused;
    *unused = kids->base;
}

/* Twice the room; all slots were taken. */
static void kids_grow(struct node_tree *tree, struct node_rows *rows,
                      struct node_kids *kids, struct node_moved *ret_moved) {
    struct node_kids old = *kids;

    kids->room = old.room > 0 ? 2 * old.room : KIDS_ROOM;
    kids->base = range_new(rows, kids->room);
    for (uint32_t i = 0; i < old.room; i++) {
        uint32_t place = rows->slots[old.base + i];
        rows->slots[kids->base + i] = place;
        tree->places[place].slot = kids->base + i;
    }
    kids->empty = NODE_NONE;
    for (uint32_t i = kids->room; i-- > old.room;) {
        rows->slots[kids->base + i] = kids->empty | NODE_SLOT_EMPTY;
        kids->empty = kids->base + i;
    }
    if (old.room > 0)
        range_free(rows, &old);
    *ret_moved = (struct node_moved){.moved = true,
                                     .from = old.base,
                                     .from_room = old.room,
                                     .to = kids->base,
                                     .to_room = kids->room};
}

static uint32_t slot_take(struct node_tree *tree, uint32_t parent,
                          unsigned level, uint32_t place,
                          struct node_moved *ret_moved) {
    struct node_place *p = &tree->places[parent];
    struct node_rows *rows = &tree->levels[level];
    unsigned below = tree->level_count - p->level - 1;
    struct node_kids *kids;
    uint32_t slot;

    assert(level > p->level);
    if (p->kids == NULL) {
        p->kids = mem_alloc(below * sizeof(*p->kids));
        for (unsigned i = 0; i < below; i++)
            p->kids[i].empty = NODE_NONE;
    }
    kids = &p->kids[level - p->level - 1];
    if (kids->empty == NODE_NONE)
        kids_grow(tree, rows, kids, ret_moved);
    ret_moved->level = level;
    slot = kids->empty;
    kids->empty = rows->slots[slot] == NODE_NONE
                      ? NODE_NONE
                      : rows->slots[slot] & ~NODE_SLOT_EMPTY;
    rows->slots[slot] = place;
    return slot;
}

static void slot_free(struct node_tree *tree, const struct node_place *place) {
    struct node_place *parent = &tree->places[place->parent];
    struct node_kids *kids = &parent->kids[place->level - parent->level - 1];

    tree->levels[place->level].slots[place->slot] =
        kids->empty | NODE_SLOT_EMPTY;
    kids->empty = place->slot;
}

/* ---- nodes and places --------------------------------------------------- */

static uint32_t node_new(struct node_tree *tree, unsigned level,
                         struct span name) {
    uint32_t node = tree->unused_nodes;

    assert(name.len > 0 && name.len <= NODE_NAME_MOST);
    if (node != NODE_NONE) {
        tree->unused_nodes = tree->nodes[node].row;
    } else {
        if (tree->node_count == tree->node_room) {
            tree->node_room = grown(tree->node_room, 0);
            tree->nodes =
                mem_grow(tree->nodes, tree->node_room, sizeof(*tree->nodes));
        }
        node = tree->node_count++;
    }
    tree->nodes[node] =
        (struct node){.name = mem_copy(name.p, name.len),
                      .name_bytes = (uint8_t)name.len,
                      .hash = (uint32_t)node_hash(name),
                      .row = row_new(&tree->levels[level], node),
                      .places = NODE_NONE,
                      .host = NODE_NONE,
                      .order = tree->order++,
                      .level = (uint8_t)level,
                      .exists = true};
    if (++tree->named > tree->index_room / 4 * 3)
        index_grow(tree);
    else
        index_put(tree, node);
    return node;
}

static void node_free(struct node_tree *tree, uint32_t node) {
    struct node *n = &tree->nodes[node];

    index_remove(tree, node);
    tree->named--;
    row_free(&tree->levels[n->level], n->row);
    free(n->name);
    *n = (struct node){.row = tree->unused_nodes};
    tree->unused_nodes = node;
}

static uint32_t place_new(struct node_tree *tree) {
    uint32_t place = tree->unused_places;

    if (place != NODE_NONE) {
        tree->unused_places = tree->places[place].next;
        return place;
    }
    if (tree->place_count == tree->place_room) {
        tree->place_room = grown(tree->place_room, 0);
        tree->places =
            mem_grow(tree->places, tree->place_room, sizeof(*tree->places));
    }
    assert(tree->place_count < NODE_PLACES_MOST);
    return tree->place_count++;
}

/* Behind the node's other places. */
static void place_link(struct node_tree *tree, uint32_t place) {
    uint32_t *at = &tree->nodes[tree->places[place].node].places;

    while (*at != NODE_NONE)
        at = &tree->places[*at].next;
    *at = place;
}

static void place_unlink(struct node_tree *tree, uint32_t place) {
    uint32_t *at = &tree->nodes[tree->places[place].node].places;

    while (*at != place)
        at = &tree->places[*at].next;
    *at = tree->places[place].next;
}

uint32_t node_tree_place_below(const struct node_tree *tree, uint32_t node,
                               uint32_t parent) {
    uint32_t place = tree->nodes[node].places;

    while (place != NODE_NONE && tree->places[place].parent != parent)
        place = tree->places[place].next;
    return place;
}

uint32_t node_tree_add(struct node_tree *tree, unsigned level, struct span name,
                       uint32_t parent, bool enabled, struct span tags,
                       struct node_moved *ret_moved) {
    uint32_t node = node_tree_find(tree, name);
    uint32_t place = place_new(tree);

    *ret_moved = (struct node_moved){0};
    if (node == NODE_NONE)
        node = node_new(tree, level, name);
    assert(tree->nodes[node].level == level);
    tree->places[place] =
        (struct node_place){.node = node,
                            .parent = parent,
                            .next = NODE_NONE,
                            .tags = node_tree_tag_number(tree, tags),
                            .level = (uint8_t)level,
                            .enabled = enabled,
                            .exists = true};
    if (parent != NODE_NONE) {
        uint32_t slot = slot_take(tree, parent, level, place, ret_moved);
        tree->places[place].slot = slot;
    }
    place_link(tree, place);
    return place;
}

static void node_let_go(struct node_tree *tree, uint32_t node) {
    if (tree->nodes[node].places == NODE_NONE && tree->nodes[node].users == 0)
        node_free(tree, node);
}

void node_tree_remove(struct node_tree *tree, uint32_t place) {
    struct node_place *p = &tree->places[place];
    uint32_t node = p->node;

    assert(p->parent != NODE_NONE);
    for (unsigned l = p->level + 1; l < tree->level_count; l++) {
        const struct node_kids *kids = node_tree_kids(tree, p, l);
        if (kids != NULL && kids->room > 0)
            range_free(&tree->levels[l], kids);
    }
    slot_free(tree, p);
    place_unlink(tree, place);
    free(p->kids);
    *p = (struct node_place){.next = tree->unused_places};
    tree->unused_places = place;
    node_let_go(tree, node);
}

void node_tree_use(struct node_tree *tree, uint32_t node) {
    tree->nodes[node].users++;
}

void node_tree_unuse(struct node_tree *tree, uint32_t node) {
    assert(tree->nodes[node].users > 0);
    tree->nodes[node].users--;
    node_let_go(tree, node);
}

/* ---- amounts ------------------------------------------------------------ */

void node_tree_set_limit(struct node_tree *tree, uint32_t node,
                         unsigned resource, int64_t limit) {
    const struct node *n = &tree->nodes[node];
    const struct node_rows *rows = &tree->levels[n->level];
    unsigned count = rows->defined.resource_count;
    int64_t *was = &rows->limit[(size_t)n->row * count + resource];

    assert(resource < count);
    node_tree_left(tree, node)[resource] += limit - *was;
    *was = limit;
}

/* ---- life --------------------------------------------------------------- */

void node_tree_init(struct node_tree *tree, struct span root,
                    const struct node_level *levels, unsigned level_count) {
    struct node_moved moved;

    assert(level_count > 0 && level_count <= NODE_LEVELS_MOST);
    *tree = (struct node_tree){.level_count = level_count,
                               .unused_nodes = NODE_NONE,
                               .unused_places = NODE_NONE,
                               .index_room = INDEX_ROOM,
                               .tag_count = 1,
                               .tag_room = ROOM};
    for (unsigned l = 0; l < level_count; l++) {
        tree->levels[l].defined = levels[l];
        memset(tree->levels[l].unused_ranges, 0xff,
               sizeof(tree->levels[l].unused_ranges));
    }
    tree->tags = mem_alloc(ROOM * sizeof(*tree->tags));
    tree->index = mem_grow(NULL, INDEX_ROOM, sizeof(uint32_t));
    memset(tree->index, 0xff, INDEX_ROOM * sizeof(uint32_t));
    node_tree_add(tree, 0, root, NODE_NONE, true, SPAN(""), &moved);
}

void node_tree_clear(struct node_tree *tree) {
    for (uint32_t i = 0; i < tree->node_count; i++)
        free(tree->nodes[i].name);
    for (uint32_t i = 0; i < tree->place_count; i++)
        free(tree->places[i].kids);
    for (uint32_t i = 1; i < tree->tag_count; i++)
        free((void *)(uintptr_t)tree->tags[i].p);
    for (unsigned l = 0; l < tree->level_count; l++) {
        struct node_rows *rows = &tree->levels[l];
        free(rows->limit);
        free(rows->left);
        free(rows->nodes);
        free(rows->unused_rows);
        free(rows->slots);
    }
    map_clear(&tree->tag_ids);
    free(tree->tags);
    free(tree->index);
    free(tree->nodes);
    free(tree->places);
    *tree = (struct node_tree){0};
}
