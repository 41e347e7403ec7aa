/* Starts a landing or a rollback: a process of this executable that reads its
 * instructions from standard input (landing/land_start.h). */
#ifndef POINTSMAN_CHANGES_CHANGE_START_H
#define POINTSMAN_CHANGES_CHANGE_START_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"

struct attempt_start;
struct run_start;
struct work_site;

/* See make_start of struct work_kind. Error: ERR_CONFIG (the target is no
 * longer configured). */
bool change_start_landing(const struct work_site *site,
                          const struct run_start *start, struct arena *arena,
                          struct attempt_start *ret_start, struct err *err);
bool change_start_rollback(const struct work_site *site,
                           const struct run_start *start, struct arena *arena,
                           struct attempt_start *ret_start, struct err *err);

#endif
