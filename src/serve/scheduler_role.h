/* The two roles of the scheduler: one orders admitted work, the other runs
 * it. A process that has both has one scheduler. */
#ifndef POINTSMAN_SERVE_SCHEDULER_ROLE_H
#define POINTSMAN_SERVE_SCHEDULER_ROLE_H

#include "base/role.h"

extern const struct role queue_role, exec_role;

#endif
