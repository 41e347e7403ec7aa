/* The nodes that jobs run on: their places in the tree, and what is free of
 * each one's resources (doc/design/nodes.md). Pure.
 *
 * A node is a name on a level, with a row of amounts; a place is a node below
 * one parent. A node with several places is a replica: each place is a way to
 * run the same task. Level 0 has one node, the root; every other place has a
 * parent on a level above its own, not necessarily the next.
 *
 * Nodes and places are named by numbers, which are used again after they are
 * gone. The children of a place that are on one level have consecutive slots;
 * a slot may be empty. Users that keep something for each child use these
 * numbers as an index (node_job.h).
 *
 *     places of level 1      slots of level 2
 *     h1: base 0, room 4     | s1 | s2 | s3 | -- |
 *     h2: base 4, room 2     | s7 | s8 |                                     */
#ifndef POINTSMAN_CORE_NODE_TREE_H
#define POINTSMAN_CORE_NODE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/map.h"
#include "lib/text.h"
#include "core/node_limits.h"

#define NODE_NONE UINT32_MAX

enum { NODE_RESOURCES_MOST = 16 /* of one level */ };

struct node {
    char *name;
    uint32_t hash;   /* part of node_hash() */
    uint32_t row;    /* within its level */
    uint32_t places; /* the first; NODE_NONE: it is gone, but still used */
    uint32_t users;  /* tasks that hold amounts of it */
    uint32_t host;   /* number of its name among hosts; NODE_NONE: none */
    uint32_t order;  /* grows with each new node */
    uint8_t level, name_bytes;
    bool exists;
};

/* The children of a place on one level. */
struct node_kids {
    uint32_t base, room; /* slots base .. base + room - 1; room is a power of
                            two, or 0 */
    uint32_t empty;      /* first empty slot, as stored in slots; NODE_NONE:
                            none */
};

struct node_place {
    uint32_t node, parent; /* NODE_NONE: the root */
    uint32_t next;         /* next place of the node */
    uint32_t slot;         /* among those of its level; the root has 0 */
    uint32_t tags;
    uint8_t level;
    bool enabled, exists;
    struct node_kids *kids; /* by level, minus its own level and 1; NULL: has
                               none */
};

struct node_level {
    unsigned resource_count;
    int64_t limits[NODE_RESOURCES_MOST]; /* of each node, if it has no other */
};

struct node_rows { /* of one level */
    struct node_level defined;
    int64_t *limit, *left; /* row * resource_count + resource; left may be
                              negative */
    uint32_t *nodes;       /* of each row; NODE_NONE: unused */
    uint32_t row_count, row_room;
    uint32_t *unused_rows;
    uint32_t unused_count, unused_room;
    uint32_t *slots; /* places; of an empty slot the next empty one, or
                        NODE_NONE, with NODE_SLOT_EMPTY set */
    uint32_t slot_count, slot_room;
    uint32_t unused_ranges[32]; /* by log2 of their room: the base of the
                                   first; the next is in its first slot */
};

enum { NODE_PLACES_MOST = INT32_MAX };
#define NODE_SLOT_EMPTY (UINT32_C(1) << 31)

struct node_tree {
    struct node_rows levels[NODE_LEVELS_MOST];
    unsigned level_count;
    struct node *nodes;
    uint32_t node_count, node_room, unused_nodes; /* list in `row` */
    struct node_place *places;
    uint32_t place_count, place_room, unused_places; /* list in `next` */
    uint32_t *index;                                 /* of nodes, by name */
    uint32_t index_room, named, order;
    struct map tag_ids; /* tags -> their number + 1 */
    struct span *tags;  /* by number; 0 has none */
    uint32_t tag_count, tag_room;
};

/* The root is named `root`. */
void node_tree_init(struct node_tree *tree, struct span root,
                    const struct node_level *levels, unsigned level_count);
void node_tree_clear(struct node_tree *tree);

/* The node of that name, or NODE_NONE; nodes that are gone are found too. */
uint32_t node_tree_find(const struct node_tree *tree, struct span name);
struct span node_tree_name(const struct node_tree *tree, uint32_t node);
struct span node_tree_tags(const struct node_tree *tree, uint32_t place);
/* The place of the node below that place, or NODE_NONE. */
uint32_t node_tree_place_below(const struct node_tree *tree, uint32_t node,
                               uint32_t parent);

/* The children of the place on that level; NULL: it never had one. */
static inline const struct node_kids *
node_tree_kids(const struct node_tree *tree, const struct node_place *place,
               unsigned level) {
    (void)tree;
    if (place->kids == NULL || level <= place->level)
        return NULL;
    return &place->kids[level - place->level - 1];
}
/* The place in the slot, or NODE_NONE. */
static inline uint32_t node_tree_slot(const struct node_tree *tree,
                                      unsigned level, uint32_t slot) {
    uint32_t place = tree->levels[level].slots[slot];

    return place & NODE_SLOT_EMPTY ? NODE_NONE : place;
}

/* The slots of a place's children on one level were moved to another range. */
struct node_moved {
    bool moved;
    unsigned level;
    uint32_t from, from_room, to, to_room;
};

/* Adds the node, unless it exists, and a place for it. A name of 1 to
 * NODE_NAME_MOST bytes; it must not be on another level, nor below that parent
 * already, and the level of the parent is above. */
uint32_t node_tree_add(struct node_tree *tree, unsigned level, struct span name,
                       uint32_t parent, bool enabled, struct span tags,
                       struct node_moved *ret_moved);
/* Takes a place without children out of the tree, and its node if it has no
 * other place and nobody uses it. Never the root. */
void node_tree_remove(struct node_tree *tree, uint32_t place);
/* The number of a set of tags, words separated by blanks. */
uint32_t node_tree_tag_number(struct node_tree *tree, struct span tags);

/* A task holds amounts of the node, or no longer does; the last one lets go of
 * a node that is gone. */
void node_tree_use(struct node_tree *tree, uint32_t node);
void node_tree_unuse(struct node_tree *tree, uint32_t node);

static inline int64_t *node_tree_left(const struct node_tree *tree,
                                      uint32_t node) {
    const struct node *n = &tree->nodes[node];
    const struct node_rows *rows = &tree->levels[n->level];

    return &rows->left[(size_t)n->row * rows->defined.resource_count];
}
/* What is taken already stays taken: what is left may become negative. */
void node_tree_set_limit(struct node_tree *tree, uint32_t node,
                         unsigned resource, int64_t limit);

#endif
