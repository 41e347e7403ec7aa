#include "core/node_filter.h"

#include <stdlib.h>

uint64_t node_hash_mix(uint64_t a, uint64_t b) {
    uint64_t x = a + UINT64_C(0x9e3779b97f4a7c15) * (b + 1);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9); /* splitmix64 */
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t node_hash(struct span name) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (unsigned char)name.p[i]) * UINT64_C(0x100000001b3);
    return node_hash_mix(hash, name.len);
}

bool node_filter_is_open(const struct node_filter *filter) {
    return filter->name_count == 0 && filter->refused_count == 0 &&
           filter->accepts == NULL && filter->refuses == NULL &&
           filter->tag_count == 0 &&
           (filter->fraction == 0 || filter->fraction >= NODE_FRACTION_WHOLE);
}

static int compare(const void *a, const void *b) {
    return span_compare(*(const struct span *)a, *(const struct span *)b);
}

static bool lists(const struct span *names, size_t count, struct span name) {
    return count > 0 &&
           bsearch(&name, names, count, sizeof(*names), compare) != NULL;
}

static bool has_tag(const struct node_filter *filter, struct span tags) {
    struct span tag;

    while (span_cut(&tags, ' ', &tag))
        if (lists(filter->tags, filter->tag_count, tag))
            return true;
    return false;
}

static bool is_in_fraction(const struct node_filter *filter, struct span name) {
    return filter->fraction == 0 ||
           node_hash_mix(filter->salt, node_hash(name)) % NODE_FRACTION_WHOLE <
               filter->fraction;
}

bool node_filter_accepts(const struct node_filter *filter, struct span name,
                         struct span tags) {
    return (filter->name_count == 0 ||
            lists(filter->names, filter->name_count, name)) &&
           !lists(filter->refused, filter->refused_count, name) &&
           (filter->tag_count == 0 || has_tag(filter, tags)) &&
           is_in_fraction(filter, name) &&
           (filter->accepts == NULL || pattern_finds(filter->accepts, name)) &&
           (filter->refuses == NULL || !pattern_finds(filter->refuses, name));
}
