/* Looks at both sides, registry and files, and makes a lost registry anew. */
#ifndef POINTSMAN_MAINTENANCE_FSCK_H
#define POINTSMAN_MAINTENANCE_FSCK_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/time.h"
#include "base/base.h"

struct fsck_report {
    uint64_t problems, sets, events;
    /* Called for each problem with a sentence; may be NULL. */
    void (*problem)(void *ctx, const char *sentence);
    void *ctx;
};

/* Registry (hash chain, tally, integrity), job files, data, log. Changes
 * nothing. False only when it could not look. */
bool fsck_check(struct base *base, struct fsck_report *report, struct err *err);
/* A new registry out of directories, job files and log/; the old one, if there
 * is one, is kept as ctrl/registry.db.before-rebuild-TIME. Takes base.lock:
 * ERR_RUNNING while anybody has the base open. ERR_REFUSED: the old one is
 * whole and holds what only it can tell (commands, settings, schedules). */
bool rebuild_registry(const char *path, struct wall now,
                      struct fsck_report *report, struct err *err);

#endif
