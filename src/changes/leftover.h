/* Files in tmp/ and data/ that nothing needs: what a submission left that was
 * refused or whose process was killed, and work directories of attempts that
 * have ended. They are kept for a while, because their owner may be slow or may
 * still want them (see changes/prune.h). */
#ifndef POINTSMAN_CHANGES_LEFTOVER_H
#define POINTSMAN_CHANGES_LEFTOVER_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/time.h"
#include "base/base.h"

enum { LEFTOVER_HOURS = 36 };

struct leftover {
    enum base_dir dir; /* BASE_TMP or BASE_DATA */
    const char *name;
    bool is_due; /* it has been there for LEFTOVER_HOURS */
};

/* Called for each; the entry may be removed. */
typedef void leftover_found(void *ctx, const struct leftover *leftover);

/* In tmp/, files of processes that are running or not known are reported only
 * when they are due. */
bool leftovers_find(struct base *base, struct wall now, leftover_found *found,
                    void *ctx, struct err *err);

#endif
