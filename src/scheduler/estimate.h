/* When a set that waits may start, from how long others of its target took. */
#ifndef POINTSMAN_SCHEDULER_ESTIMATE_H
#define POINTSMAN_SCHEDULER_ESTIMATE_H

#include "lib/err.h"
#include "core/job.h"
#include "store/store.h"

struct estimate {
    size_t ahead;      /* sets of the target that come first, or run */
    int64_t each_ms;   /* median of the last ones that landed; -1: none did */
    struct wall start; /* now + ahead * each */
};

/* Errors: of the store. */
bool estimate_make(struct store *store, const struct job *job, struct wall now,
                   struct estimate *ret_estimate, struct err *err);

#endif
