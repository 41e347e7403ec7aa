/* Values of options that `land` and `revert` share: both are started by the
 * program itself, with what it knows as arguments. */
#ifndef POINTSMAN_LANDING_OPTION_VALUE_H
#define POINTSMAN_LANDING_OPTION_VALUE_H

#include "lib/err.h"
#include "lib/time.h"

/* Each parses `value` of the option --`name`. False: it is no such value, with
 * ERR_USAGE and a sentence that names both. */

/* Nanoseconds since 1970. */
bool option_instant(const char *name, const char *value, struct wall *ret_at,
                    struct err *err);
/* Seconds, none below 0. */
bool option_seconds(const char *name, const char *value, int64_t *ret_s,
                    struct err *err);
/* "allow" or "deny". */
bool option_allowed(const char *name, const char *value, bool *ret_allowed,
                    struct err *err);
/* Always false. */
bool option_wrong(const char *name, const char *value, struct err *err);

#endif
