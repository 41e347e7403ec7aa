/* Estimates when a waiting set may start, from the durations of earlier sets on
 * its target. */
#ifndef POINTSMAN_SCHEDULER_ESTIMATE_H
#define POINTSMAN_SCHEDULER_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "core/job.h"
#include "store/store.h"

struct estimate {
    size_t ahead;      /* sets of the target that come first or are running */
    bool more;         /* not all sets were examined: `ahead` is a minimum, and
                          `start` is the earliest time */
    int64_t each_ms;   /* median of the last ones that landed; -1: none has */
    struct wall start; /* now + ahead * each */
};

/* Examines at most the first ESTIMATE_SETS_MAX live sets. Errors: those of the
 * store. */
enum { ESTIMATE_SETS_MAX = 1000 };
bool estimate_make(struct store *store, const struct job *job, struct wall now,
                   struct estimate *ret_estimate, struct err *err);

#endif
