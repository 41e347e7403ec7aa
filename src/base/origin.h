/* Who submitted a job, when and from where: the facts that a submission does
 * not state about itself. */
#ifndef POINTSMAN_BASE_ORIGIN_H
#define POINTSMAN_BASE_ORIGIN_H

#include <sys/types.h>

#include "lib/text.h"
#include "lib/time.h"

struct origin {
    struct wall now;
    uid_t uid;
    struct span actor; /* "uid:1000" */
    struct span cause; /* "person", "run", "schedule NAME" */
    struct span host;
    uint64_t seed; /* for a generated id; a new one for each submission */
};

#endif
