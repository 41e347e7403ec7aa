/* Checks a target that is a branch of a git repository: its newest commit can
 * be read with all its directories, its files are there, and the sets that
 * landed on it, and the rollbacks, are still on it. Starts git; changes nothing. */
#ifndef POINTSMAN_MAINTENANCE_TARGET_CHECK_H
#define POINTSMAN_MAINTENANCE_TARGET_CHECK_H

#include <stdbool.h>

#include "lib/err.h"
#include "base/base.h"
#include "core/job.h"

/* Called with a sentence for each problem. */
typedef void target_problem(void *ctx, const char *sentence);

/* A repository that is missing is a problem only if a set has landed there.
 * `whole`: reads the files too, which takes time in proportion to them. False:
 * the registry cannot be read. */
bool target_check(struct base *base, const struct config_target *target,
                  bool whole, target_problem *problem, void *ctx,
                  struct err *err);

/* Like target_check, for one set that has landed: a sentence if the branch
 * cannot be read, or the set is not on it; else "". NULL for a set that has not
 * landed on a branch, and for a rollback without a commit. The result is in the arena. */
const char *target_check_set(struct base *base, const struct job *job,
                             struct arena *arena);

#endif
