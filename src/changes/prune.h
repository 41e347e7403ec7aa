/* What is old goes: job files and tarballs of sets final for keep-days to
 * archive/, files in tmp/ after 36 hours; tarballs that nobody put a marker for
 * to reject/. */
#ifndef POINTSMAN_CHANGES_PRUNE_H
#define POINTSMAN_CHANGES_PRUNE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/time.h"
#include "base/base.h"

struct prune_report {
    uint64_t archived, removed;
};

bool prune(struct base *base, struct wall now, struct prune_report *ret_report,
           struct err *err);

/* Is the job file of that name in archive/? */
bool prune_has(const struct base *base, const char *name);

#endif
