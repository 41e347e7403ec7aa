/* The back-off of a target that cannot be used. Its sets wait, and one of them
 * tries again each time the back-off ends. */
#ifndef POINTSMAN_CORE_OUTAGE_H
#define POINTSMAN_CORE_OUTAGE_H

#include <stdbool.h>

#include "lib/random.h"
#include "lib/time.h"
#include "core/job.h"

struct outage {
    struct wall since;
    struct wall again; /* when a set may try again; 0: at once */
    unsigned tries;    /* that found it unavailable, without those that ended
                          during a back-off */
};

/* True if the last step of a job shows that its target was unavailable. */
bool outage_shows(const struct job *job);
/* A set found the target unavailable. False: the back-off has not ended, as
 * another set of those that were executing was first. */
bool outage_extend(struct outage *outage, struct wall now,
                   struct random *random);
/* The clock was set back by so much. */
void outage_set_back(struct outage *outage, int64_t ms);
/* The cause may have been repaired: a set may try at once. */
void outage_retry(struct outage *outage);

#endif
