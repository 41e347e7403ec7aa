/* The role of schedules: the schedule driver in a loop. The times it is given
 * are those of this machine, and a timer of the wall clock gives it a turn when
 * something is due, or when somebody sets that clock.
 *
 * When it opens, it brings the schedules of the configuration into the
 * registry (ERR_CONFIG for a wrong one), then loads all. If a later
 * configuration is wrong, an error is logged and all schedules stay as they
 * were. */
#ifndef POINTSMAN_SCHEDULES_CLOCK_ROLE_H
#define POINTSMAN_SCHEDULES_CLOCK_ROLE_H

#include "base/role.h"

extern const struct role clock_role;

#endif
