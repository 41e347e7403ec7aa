/* Which job may have written a file that was dropped: the file shows its
 * account, not the process. */
#ifndef POINTSMAN_CHANGES_DROP_JOB_H
#define POINTSMAN_CHANGES_DROP_JOB_H

#include <sys/stat.h>

#include "base/base.h"

/* Finds a job that was running under the account of the file when the file was
 * last changed or renamed, or that may have run under it. `sets_only`: only
 * change sets count, whose checks run the code of others. *ret_id: its id, or
 * empty if there is none. */
bool drop_job_find(const struct base *base, const struct stat *file,
                   bool sets_only, struct arena *arena, struct span *ret_id,
                   struct err *err);

#endif
