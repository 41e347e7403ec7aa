/* Checks registry and files against each other, and rebuilds a lost registry.
 */
#ifndef POINTSMAN_MAINTENANCE_FSCK_H
#define POINTSMAN_MAINTENANCE_FSCK_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/time.h"
#include "base/base.h"

struct fsck_report {
    uint64_t problems, sets, events; /* events of the log/ of sets */
    /* Called with a sentence for each problem; may be NULL. */
    void (*problem)(void *ctx, const char *sentence);
    /* The same for what will be put right by itself. */
    void (*remark)(void *ctx, const char *sentence);
    void *ctx;
};

/* Checks registry (hash chain, tally, integrity), job files, data, log and the
 * branches of targets.
 * Changes nothing. False only if the check itself failed. */
bool fsck_check(struct base *base, struct fsck_report *report, struct err *err);
/* Builds a new registry from directories, job files and log/; an existing one
 * is kept as ctrl/registry.db.before-rebuild-TIME. Takes base.lock: ERR_RUNNING
 * while another process has the base open. ERR_REFUSED: the existing registry
 * is intact and holds data that exists nowhere else (commands, settings,
 * schedules). */
bool rebuild_registry(const char *path, struct wall now,
                      struct fsck_report *report, struct err *err);

#endif
