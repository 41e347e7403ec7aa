/* When a set that waits may start, from how long others of its target took. */
#ifndef POINTSMAN_SCHEDULER_ESTIMATE_H
#define POINTSMAN_SCHEDULER_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "core/job.h"
#include "store/store.h"

struct estimate {
    size_t ahead;      /* sets of the target that come first, or run */
    bool more;         /* not all sets were looked at: `ahead` is at least so
                          many, and `start` is the earliest */
    int64_t each_ms;   /* median of the last ones that landed; -1: none did */
    struct wall start; /* now + ahead * each */
};

/* Looks at the first ESTIMATE_SETS_MAX sets that live, no more. Errors: of the
 * store. */
enum { ESTIMATE_SETS_MAX = 1000 };
bool estimate_make(struct store *store, const struct job *job, struct wall now,
                   struct estimate *ret_estimate, struct err *err);

#endif
