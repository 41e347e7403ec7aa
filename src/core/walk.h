/* A breadth-first walk over jobs by their numbers, each visited once: the
 * closure of a relation at any depth (doc/design/rollback.md, R1). The caller,
 * which knows the relation, takes the next number and adds the numbers that it
 * leads to.
 *
 * Costs O(numbers visited): visited ones are bits in pages of the number range,
 * and pages without visited numbers take no memory. */
#ifndef POINTSMAN_CORE_WALK_H
#define POINTSMAN_CORE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct walk_page;

struct walk_step {
    uint64_t num;
    size_t from; /* index of the step that led here; WALK_START: a start */
    unsigned depth;
};

#define WALK_START SIZE_MAX

struct walk {
    struct walk_step *steps; /* in order of discovery */
    size_t count, cap, at;
    struct walk_page **pages;
    size_t page_count;
};

#define WALK_INIT ((struct walk){0})

void walk_clear(struct walk *walk);
/* Adds `num`, reached from the step at index `from` (or WALK_START). False: it
 * was added before, nothing changes. */
bool walk_add(struct walk *walk, uint64_t num, size_t from);
/* The index of the next step that was not returned yet; false: none. */
bool walk_next(struct walk *walk, size_t *ret_at);
/* True if `num` was added, returned yet or not. */
bool walk_met(const struct walk *walk, uint64_t num);

#endif
