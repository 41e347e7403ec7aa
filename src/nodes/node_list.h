/* What all sources say together: every place of every node, parents before
 * their children, and each name on one level only. */
#ifndef POINTSMAN_NODES_NODE_LIST_H
#define POINTSMAN_NODES_NODE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/map.h"
#include "nodes/node_row.h"

struct node_list {
    struct arena arena; /* of the spans of the rows */
    struct node_row *rows;
    size_t count, room, most;
    struct map places; /* name, a NUL and parent -> index + 1 */
    struct map levels; /* name -> index of its first row + 1 */
};

void node_list_init(struct node_list *list, size_t most);
void node_list_clear(struct node_list *list);

/* Copies the row. `level_of` gives the order of levels: that of the parent must
 * be above. ERR_DATA: the parent is unknown, the name is on another level or
 * below that parent already, or there are too many. */
bool node_list_add(struct node_list *list, const struct node_row *row,
                   unsigned level, struct err *err);
/* Forgets all rows from index `count` on. */
void node_list_cut(struct node_list *list, size_t count);
/* NULL: there is no such place. */
struct node_row *node_list_find(const struct node_list *list, struct span name,
                                struct span parent);

/* True if the row is the first place of its node. */
bool node_list_is_first(const struct node_list *list, size_t index);

#endif
