/* The role of schedules: runs the schedule driver in a loop. It passes the
 * times of this machine, and a timer of the wall clock gives the driver a turn
 * when something is due or the clock is set.
 *
 * When it opens, it brings the schedules of the configuration into the registry
 * (ERR_CONFIG for an invalid one), then loads all. If a later configuration is
 * invalid, an error is logged and all schedules stay as they were. */
#ifndef POINTSMAN_SCHEDULES_CLOCK_ROLE_H
#define POINTSMAN_SCHEDULES_CLOCK_ROLE_H

#include "base/role.h"

extern const struct role clock_role;

#endif
