/* A walk over jobs by their numbers, breadth first, each met once: the closure
 * of a relation at any depth (doc/design/rollback.md, R1). Whoever knows
 * the relation feeds it: takes the next number, and adds what it leads to.
 *
 * Costs O(numbers met): seen ones are bits in pages of the numbers' range, and
 * pages nobody met anything in take no memory. */
#ifndef POINTSMAN_CORE_WALK_H
#define POINTSMAN_CORE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct walk_page;

struct walk_step {
    uint64_t num;
    size_t from; /* place of the step that led here; WALK_START: a beginning */
    unsigned depth;
};

#define WALK_START SIZE_MAX

struct walk {
    struct walk_step *steps; /* in the order they were met */
    size_t count, cap, at;
    struct walk_page **pages;
    size_t page_count;
};

#define WALK_INIT ((struct walk){0})

void walk_clear(struct walk *walk);
/* Meets `num`, led to by the step at place `from` (or WALK_START). False: it
 * was met before, nothing changes. */
bool walk_add(struct walk *walk, uint64_t num, size_t from);
/* The place of the next step that was not handed out yet; false: none. */
bool walk_next(struct walk *walk, size_t *ret_at);
bool walk_met(const struct walk *walk, uint64_t num);

#endif
