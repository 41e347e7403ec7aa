/* Which configuration the server has read last, so that each change of a file
 * becomes an event, whoever edited it and whether or not a server was running.
 * ctrl/config.seen has a line for each key that a file sets. */
#ifndef POINTSMAN_BASE_CONFIG_RECORD_H
#define POINTSMAN_BASE_CONFIG_RECORD_H

#include "base/base.h"

/* Records an EVENT_CONFIG for each key whose value in the files has changed
 * since the last call. The first call for a base records nothing. */
bool config_record_update(const struct base *base, struct wall now,
                          struct err *err);

#endif
