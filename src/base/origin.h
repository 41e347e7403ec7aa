/* Who hands a job in, when and from where: what a submission does not say
 * about itself. */
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
    uint64_t seed; /* of a generated id; a new one for each submission */
};

#endif
