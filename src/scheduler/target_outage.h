/* Targets that are unavailable, as the registry shows them. */
#ifndef POINTSMAN_SCHEDULER_TARGET_OUTAGE_H
#define POINTSMAN_SCHEDULER_TARGET_OUTAGE_H

#include "store/store.h"

struct target_outage {
    struct span target, why; /* what the newest set that waits has found */
    struct wall since;       /* when it found that */
};

/* Those for which a set waits that will try again by itself. Nobody has asked
 * the target lately for a set that is held, or whose group is. In the arena. */
bool target_outages_read(struct store *store, struct arena *arena,
                         struct target_outage **ret_outages, size_t *ret_count,
                         struct err *err);

#endif
