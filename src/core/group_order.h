/* The order in which the sets of a group land. Pure. */
#ifndef POINTSMAN_CORE_GROUP_ORDER_H
#define POINTSMAN_CORE_GROUP_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/text.h"

struct group_set {
    uint64_t num;
    struct span id;
    struct span key;          /* its own order key */
    const struct span *needs; /* ids of its dependencies */
    size_t need_count;
    const struct span *replaces; /* ids of the sets it supersedes, at any
                                    depth */
    size_t replace_count;
};

/* Sorts the sets: dependencies first, otherwise by key. In a ring, the first by
 * key begins. */
void group_order_sort(struct group_set *sets, size_t count);

#endif
