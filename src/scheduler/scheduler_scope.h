/* The scope of an open rollback. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_SCOPE_H
#define POINTSMAN_SCHEDULER_SCHEDULER_SCOPE_H

#include <stdint.h>

#include "lib/time.h"

struct scheduler;

/* Reads again which jobs the open rollback `num` covers. */
void scheduler_scope_open(struct scheduler *scheduler, uint64_t num);
/* A job has ended while a rollback is open. In the order, all sets of a group
 * end with the last of them. */
void scheduler_scope_job_ended(struct scheduler *scheduler);
/* The rollback is over, or was given up. */
void scheduler_scope_close(struct scheduler *scheduler, struct wall at);

#endif
