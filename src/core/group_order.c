#include "core/group_order.h"

#include <stdlib.h>
#include <string.h>

/* True if it depends on the other, or on a set that the other replaces. */
static bool needs(const struct group_set *set, const struct group_set *other) {
    for (size_t i = 0; i < set->need_count; i++) {
        if (span_equal(set->needs[i], other->id))
            return true;
        for (size_t k = 0; k < other->replace_count; k++)
            if (span_equal(set->needs[i], other->replaces[k]))
                return true;
    }
    return false;
}

static int compare_keys(const void *a, const void *b) {
    const struct group_set *x = a, *y = b;
    int order = span_compare(x->key, y->key);

    return order != 0 ? order : (x->num > y->num) - (x->num < y->num);
}

/* The first of the remaining sets whose needs are all placed; in a ring the
 * first. */
static size_t next_to_land(const struct group_set *sets, size_t placed,
                           size_t count) {
    for (size_t i = placed; i < count; i++) {
        bool waits = false;

        for (size_t k = placed; k < count; k++)
            waits = waits || (k != i && needs(&sets[i], &sets[k]));
        if (!waits)
            return i;
    }
    return placed;
}

void group_order_sort(struct group_set *sets, size_t count) {
    qsort(sets, count, sizeof(*sets), compare_keys);
    for (size_t i = 0; i < count; i++) {
        size_t at = next_to_land(sets, i, count);
        struct group_set next = sets[at];

        memmove(sets + i + 1, sets + i, (at - i) * sizeof(*sets));
        sets[i] = next;
    }
}
