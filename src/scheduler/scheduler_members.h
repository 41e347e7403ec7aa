/* The sets that the process of a rollback must revert. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_MEMBERS_H
#define POINTSMAN_SCHEDULER_SCHEDULER_MEMBERS_H

#include <stdbool.h>

#include "core/job.h"
#include "core/rollback.h"

struct scheduler;

/* Fills rollback_run->reverts. False: the registry cannot be
 * read; that is logged. */
bool scheduler_rollback_members(struct scheduler *scheduler,
                                const struct job *rb,
                                const struct rollback_decision *decision);

#endif
