/* Which nodes of a level a job accepts: by name, by tag, or a fraction of them.
 * All conditions that are given have to hold. Pure. */
#ifndef POINTSMAN_CORE_NODE_FILTER_H
#define POINTSMAN_CORE_NODE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/pattern.h"
#include "lib/text.h"

enum { NODE_FRACTION_WHOLE = 1000000 };

/* Lists are sorted by span_compare; all memory belongs to the caller. */
struct node_filter {
    const struct span *names; /* accepted; none: all */
    size_t name_count;
    const struct span *refused;
    size_t refused_count;
    struct pattern *accepts, *refuses; /* searched in the name; NULL: not
                                          given */
    const struct span *tags;           /* has one of them; none: all */
    size_t tag_count;
    uint32_t fraction; /* in millionths; 0: all. Which nodes these are depends
                          on `salt`, and never changes */
    uint64_t salt;
};

/* True if the filter accepts every node. */
bool node_filter_is_open(const struct node_filter *filter);
/* `tags`: words separated by blanks. */
bool node_filter_accepts(const struct node_filter *filter, struct span name,
                         struct span tags);

/* A number that depends on the name and on nothing else: the same in every
 * process and on every machine. */
uint64_t node_hash(struct span name);
/* Two numbers mixed to one in which every bit depends on all bits of both. */
uint64_t node_hash_mix(uint64_t a, uint64_t b);

#endif
