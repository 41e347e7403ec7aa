/* What reading and searching of a pattern share: the expression as a graph, and
 * the sets of its steps that were met so far. */
#ifndef POINTSMAN_LIB_PATTERN_INNER_H
#define POINTSMAN_LIB_PATTERN_INNER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/pattern.h"

enum {
    PATTERN_SETS_MAX = 512, /* remembered at once, then all are forgotten */
    PATTERN_END = 256,      /* what comes behind the last byte */
    PATTERN_INPUTS = 257
};

#define NONE UINT32_MAX

enum step_kind { STEP_BYTES, STEP_SPLIT, STEP_BEGIN, STEP_END, STEP_FOUND };

struct step_bytes {
    uint64_t bits[4];
};

/* One step of the expression, made into a graph. */
struct step {
    enum step_kind kind;
    struct step_bytes bytes;
    uint32_t next, other; /* other: of SPLIT */
};

/* A set of steps we may be at; `to`: the set after an input, -1 unknown. */
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
    int32_t start;  /* number of the set a line begins with; -1 unknown */
    uint32_t *mark; /* of each step: in which closure it was last */
    uint32_t stamp;
    uint32_t *list, *stack; /* while a set is made */
    uint32_t list_count;
};

static inline bool step_takes(const struct step_bytes *bytes, unsigned c) {
    return (bytes->bits[c / 64] >> (c % 64) & 1) != 0;
}

#endif
