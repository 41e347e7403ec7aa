/* The scope of an open rollback. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_SCOPE_H
#define POINTSMAN_SCHEDULER_SCHEDULER_SCOPE_H

#include <stdint.h>

#include "lib/time.h"

struct scheduler;

/* Reads again which jobs the open rollback `num` covers. */
void scheduler_scope_open(struct scheduler *scheduler, uint64_t num);
/* The rollback is over, or was given up. */
void scheduler_scope_close(struct scheduler *scheduler, struct wall at);

#endif
