/* A restored base is a copy, and its original may still run: everything that
 * was to be done in it is held, and its schedules do not fire, until somebody
 * says that the original does nothing any more. */
#ifndef POINTSMAN_MAINTENANCE_RESTORED_H
#define POINTSMAN_MAINTENANCE_RESTORED_H

#include "base/base.h"

/* Holds all live jobs; what was executing is pending then. No role may run. */
bool restored_hold(struct base *base, struct wall now, struct err *err);
/* Releases what is still held by that, and lets the schedules fire. *ret_count:
 * jobs. ERR_REFUSED: the base was not restored, or was resumed before. */
bool restored_resume(struct base *base, struct wall now, uint64_t *ret_count,
                     struct err *err);

#endif
