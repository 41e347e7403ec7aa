/* Runs the command lines of a target's configuration on a change set: checks of
 * the merged tree, and the command of a target that is not a git branch. They
 * run in our process group with a clean environment and a time limit; processes
 * that they leave behind are killed. */
#ifndef POINTSMAN_LANDING_TARGET_COMMAND_H
#define POINTSMAN_LANDING_TARGET_COMMAND_H

#include <stdbool.h>

#include "lib/err.h"
#include "landing/git.h"
#include "landing/land.h"

/* Checks `tree` out below order->work and runs every check there, in order, in
 * the same directory. *ret_pass false: ret_status says why. ERR_UNAVAILABLE:
 * the branch itself cannot be checked out either; ERR_CONFIG: this machine
 * cannot start a check. */
bool target_checks_run(const struct land_start *start, struct git *git,
                       const char *tree, struct child_stop *stop,
                       bool *ret_pass, struct land_status *ret_status,
                       struct err *err);

/* Runs order->environment in an empty directory below order->work, without the
 * variables about an attempt or set. If it succeeds, ret_status is `passed`
 * with the SHA-256 of what it printed, at most 64 KiB. ERR_CONFIG: it cannot be
 * started. */
bool target_environment_run(const struct land_start *start,
                            struct child_stop *stop,
                            struct land_status *ret_status, struct err *err);

/* Unpacks the set (`meta`, lroot/) below order->work and runs the target's
 * command there; ret_status is its result, from exit status or status line
 * (doc/design/processes.md). ERR_CONFIG: this machine cannot start it. */
bool target_command_run(const struct land_start *start, int tarball_fd,
                        struct child_stop *stop, struct land_status *ret_status,
                        struct err *err);

#endif
