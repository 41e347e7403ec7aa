/* Shared by parsing and searching a pattern: the expression as a graph, and the
 * cached sets of its steps. */
#ifndef POINTSMAN_LIB_PATTERN_INNER_H
#define POINTSMAN_LIB_PATTERN_INNER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/pattern.h"

enum {
    PATTERN_SETS_MAX = 512, /* cached at most; then the cache is emptied */
    PATTERN_END = 256,      /* the input after the last byte */
    PATTERN_INPUTS = 257
};

#define NONE UINT32_MAX

enum step_kind { STEP_BYTES, STEP_SPLIT, STEP_BEGIN, STEP_END, STEP_FOUND };

struct step_bytes {
    uint64_t bits[4];
};

/* A step of the expression, as a node of the graph. */
struct step {
    enum step_kind kind;
    struct step_bytes bytes;
    uint32_t next, other; /* other: only for SPLIT */
};

/* A set of steps that may be active; `to`: the next set for each input, -1
 * unknown. */
struct set {
    uint32_t *steps;
    uint32_t count;
    bool found;
    int32_t to[PATTERN_INPUTS];
};

struct pattern {
    struct step *steps;
    uint32_t count;
    uint32_t first;
    struct set *sets[PATTERN_SETS_MAX];
    int32_t set_count;
    int32_t start;  /* the set at the beginning of a line; -1 unknown */
    uint32_t *mark; /* for each step: the last closure that it was in */
    uint32_t stamp;
    uint32_t *list, *stack; /* used while a set is made */
    uint32_t list_count;
};

static inline bool step_takes(const struct step_bytes *bytes, unsigned c) {
    return (bytes->bits[c / 64] >> (c % 64) & 1) != 0;
}

#endif
