/* The value of --begin: when a job is to begin. */
#ifndef POINTSMAN_CLI_BEGIN_TIME_H
#define POINTSMAN_CLI_BEGIN_TIME_H

#include "lib/err.h"
#include "lib/time.h"
#include "cli/call.h"

/* Reads RFC 3339; +TIME or now+TIME, with TIME as in --timeout; or HH:MM[:SS]
 * in the zone of this process, after today, tomorrow or YYYY-MM-DD if it is not
 * the next such time. For a time that the clock skips, the second before the
 * gap counts; if a time comes twice, its next occurrence counts. 0 if
 * the command does not have the option or it is not given. ERR_USAGE, also for
 * a time that the registry cannot hold. */
bool begin_time_given(struct call *call, struct wall *ret_begin,
                      struct err *err);

#endif
