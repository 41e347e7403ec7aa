/* What the syntax of the configuration does not show of its targets: whether two
 * of them are one branch, whether their accounts exist, and whether sets can
 * land there. */
#ifndef POINTSMAN_MAINTENANCE_TARGET_CONFIG_H
#define POINTSMAN_MAINTENANCE_TARGET_CONFIG_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "base/base.h"

/* False, ERR_CONFIG: two targets are the same branch of the same repository, by
 * whatever paths or symbolic refs; the same path and name have been refused by
 * config_finish. A repository that is not there now cannot be compared. */
bool target_config_is_apart(const struct config *config, const char *base_path,
                            struct err *err);
/* False, ERR_CONFIG: the `user` of a target is no account of this machine. */
bool target_config_has_users(const struct config *config, struct err *err);
/* A sentence in the arena if no set can land on the branch at present because a
 * work tree has it checked out; NULL: nothing is known to be in the way. Starts
 * git. `path`: of the repository. */
const char *target_config_obstacle(const char *path, struct span branch,
                                   struct arena *arena);

/* The first branches of the repository, "master, topic and 3 more", if `branch`
 * is not among them. NULL: it is, or there is none at all (then the first set
 * creates it), or git does not say. */
const char *target_config_branches(const char *path, struct span branch,
                                   struct arena *arena);

/* A sentence in the arena if the file system of the repository is read-only or
 * full; NULL: neither, or there is no repository. */
const char *target_config_space_fault(const char *repository,
                                      struct arena *arena);

/* For a target that a set has found unavailable: a sentence in the arena on
 * what is in the way of a set now. It looks for a missing branch, directories
 * that the caller cannot write, locks, and programs of checks and commands that
 * cannot be started. NULL: nothing of that. `path`: of the repository. A landing
 * holds the lock of its branch for a moment, so this is not for a target without
 * such a record. */
const char *target_config_fault(const struct config_target *target,
                                const char *path, struct arena *arena);

#endif
