/* Checks a target that is a branch of a git repository: its newest commit can
 * be read with all its directories, its files are there, and the sets that
 * landed on it are still on it. Starts git; changes nothing. */
#ifndef POINTSMAN_MAINTENANCE_TARGET_CHECK_H
#define POINTSMAN_MAINTENANCE_TARGET_CHECK_H

#include <stdbool.h>

#include "lib/err.h"
#include "base/base.h"

/* Called with a sentence for each problem. */
typedef void target_problem(void *ctx, const char *sentence);

/* A repository that is missing is a problem only if a set has landed there.
 * `whole`: reads the files too, which takes time in proportion to them. False:
 * the registry cannot be read. */
bool target_check(struct base *base, const struct config_target *target,
                  bool whole, target_problem *problem, void *ctx,
                  struct err *err);

#endif
