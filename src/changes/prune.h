/* Removes old files: job files and tarballs of sets that have been final for
 * keep-days go to archive/; of what nothing needs any more
 * (changes/leftover.h), tarballs go to reject/ after 36 hours, and files in
 * tmp/ are deleted. */
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

/* One pass. Stops at the first error; the report has what was done until
 * then. */
bool prune(struct base *base, struct wall now, struct prune_report *ret_report,
           struct err *err);

/* True if the job file of that name is in archive/. */
bool prune_has(const struct base *base, const char *name);

#endif
