/* Checks a target that is a branch of a git repository: its newest commit can
 * be read with all its directories and files, and the sets that landed on it
 * are still there. Starts git; changes nothing. */
#ifndef POINTSMAN_MAINTENANCE_TARGET_CHECK_H
#define POINTSMAN_MAINTENANCE_TARGET_CHECK_H

#include <stdbool.h>

#include "lib/err.h"
#include "base/base.h"

/* Called with a sentence for each problem. */
typedef void target_problem(void *ctx, const char *sentence);

/* A repository that is missing is a problem only if a set has landed there.
 * False: the registry cannot be read. */
bool target_check(struct base *base, const struct config_target *target,
                  target_problem *problem, void *ctx, struct err *err);

#endif
