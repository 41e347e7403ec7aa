/* The consequences of the end of a landing or a revert: the table of
 * doc/design/landing.md (L10, L11). The verdict that the process printed
 * counts; without one, the way it ended counts, as in core/retry.h. Pure. */
#ifndef POINTSMAN_CORE_RETRY_LANDING_H
#define POINTSMAN_CORE_RETRY_LANDING_H

#include <stdbool.h>
#include <stddef.h>

#include "core/land_verdict.h"
#include "core/retry.h"

struct retry_landing {
    struct land_verdict_line said;
    bool is_silent;   /* the process printed no verdict line */
    bool is_stopping; /* the scheduler is being stopped, and whoever stops it
                         may also have sent TERM to the process */
};

/* True if only the target knows whether the set landed: the attempt was found
 * executing at the start, or its process ended without a verdict. */
bool retry_landing_is_unclear(const struct retry_landing *landing,
                              const struct retry_end *end);
/* Total, like retry_after. */
struct retry_verdict retry_after_landing(const struct retry_landing *landing,
                                         const struct retry_end *end,
                                         const struct retry_counts *counts,
                                         const struct retry_limits *limits,
                                         struct wall now,
                                         struct random *random);

/* A set that an attempt carried. */
struct retry_carried {
    struct span id;
    enum retry_killer killer;
};

/* The verdict on sets[which] that follows from the verdict on the attempt. The
 * attempt belongs to the first set. `said` is the text that the landing
 * printed after its verdict: the commits, or the set that kept the others from
 * landing. */
struct retry_verdict retry_of_carried(const struct retry_carried *sets,
                                      size_t count, size_t which,
                                      const struct retry_verdict *whole,
                                      struct span said);

#endif
