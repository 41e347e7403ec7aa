/* Names each place where the work of others runs as the owner of the base, and
 * the work of others that may not run at all. */
#ifndef POINTSMAN_CLI_RUN_AS_REPORT_H
#define POINTSMAN_CLI_RUN_AS_REPORT_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "base/base.h"

struct run_as_finding {
    bool is_problem;  /* something waits until somebody acts */
    const char *tag;  /* as in `doctor`: "ok", "off" or "warn" */
    const char *what; /* "target 'main'" */
    const char *meaning;
};
typedef void run_as_found(void *ctx, const struct run_as_finding *finding);

/* Calls `found` for each finding; the strings live in the arena. False: the
 * registry cannot be read. */
bool run_as_report(const struct base *base, struct arena *arena,
                   run_as_found *found, void *ctx, struct err *err);

#endif
