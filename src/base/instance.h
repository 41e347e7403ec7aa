/* The identity of an installation: a name made with the base, so that a
 * signature for one installation is not valid for another
 * (wire/approval_text.h). */
#ifndef POINTSMAN_BASE_INSTANCE_H
#define POINTSMAN_BASE_INSTANCE_H

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "base/base.h"

#define INSTANCE_FILE "instance" /* in ctrl/ */

/* Writes ctrl/instance unless it exists; `ctrl` and `tmp` are directories of
 * the same base. */
bool instance_make(int tmp, int ctrl, struct err *err);
/* Reads it; creates it if the base was made by an older program. ERR_DATA: the
 * file does not have our format. */
bool instance_read(const struct base *base, struct arena *arena,
                   struct span *ret_instance, struct err *err);

#endif
