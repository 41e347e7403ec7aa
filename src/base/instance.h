/* Which installation this is: a name made with the base, so that what was
 * signed for one is of no use for another (wire/approval_text.h). */
#ifndef POINTSMAN_BASE_INSTANCE_H
#define POINTSMAN_BASE_INSTANCE_H

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "base/base.h"

#define INSTANCE_FILE "instance" /* in ctrl/ */

/* Writes ctrl/instance unless it is there; `ctrl` and `tmp` are directories of
 * one base. */
bool instance_make(int tmp, int ctrl, struct err *err);
/* Reads it, and makes it where an older program made the base. ERR_DATA: the
 * file is not as we write it. */
bool instance_read(const struct base *base, struct arena *arena,
                   struct span *ret_instance, struct err *err);

#endif
