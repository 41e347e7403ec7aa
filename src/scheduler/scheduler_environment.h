/* The command `environment` of a target with a merge train: what it prints is
 * part of the key of results (doc/design/train.md, M13). It runs before the
 * first check after a start, when the configuration is read again, and every
 * hour while sets are on the train. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_ENVIRONMENT_H
#define POINTSMAN_SCHEDULER_SCHEDULER_ENVIRONMENT_H

#include <stdbool.h>

#include "lib/time.h"
#include "scheduler/runner.h"
#include "scheduler/target_train.h"
#include "scheduler/why.h"

/* Takes the output of the command if it has ended. */
void scheduler_environment_take(struct scheduler *scheduler,
                                struct target_train *target);
/* Starts the command if that is due; call it while sets are on the train. */
void scheduler_environment_plan(struct scheduler *scheduler,
                                struct target_train *target);
/* False: the process is not one of these commands. */
bool scheduler_environment_ended(struct scheduler *scheduler,
                                 const struct run_end *end);
/* The command runs again as soon as possible. `command`: what the configuration
 * says now; if it is another one, nothing starts before. */
void scheduler_environment_renew(struct target_train *target,
                                 struct span command);
/* True if nothing may start before the command has ended. */
bool scheduler_environment_is_awaited(const struct target_train *target);
/* When the command runs next; WALL_NEVER: the target has none. */
struct wall scheduler_environment_next(const struct target_train *target);
/* Adds that checks wait for the command, or that it failed. */
void scheduler_environment_why(const struct target_train *target,
                               struct why *why);

#endif
