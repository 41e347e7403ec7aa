/* The verdict that a landing or a revert printed (wire/land_verdict.h parses
 * it). */
#ifndef POINTSMAN_CORE_LAND_VERDICT_H
#define POINTSMAN_CORE_LAND_VERDICT_H

#include "lib/text.h"

enum {
    LAND_STATUS_BYTES = 128 << 10, /* what follows the verdict, and NUL: the
                                      commits of the largest group */
    LAND_SENTENCE_BYTES = 8000,    /* the same for a sentence; what is longer is
                                      cut */
    LAND_COMMIT_BYTES = 64         /* longest id of a commit */
};

enum land_verdict {
    LAND_NONE, /* no such line: the process died, or printed something else */
#define LAND_VERDICT(name, word) LAND_##name,
#include "core/land_verdict.def"
#undef LAND_VERDICT
};

struct land_verdict_line {
    enum land_verdict verdict;
    struct span rest;   /* everything after the verdict word */
    struct span reason; /* LAND_FAILED: the first word of `rest` */
    struct span text;   /* `rest`; for LAND_FAILED, without the reason */
};

#endif
