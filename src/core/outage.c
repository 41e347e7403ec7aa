#include "core/outage.h"

#include "core/reason.h"
#include "core/retry.h"

bool outage_shows(const struct job *job) {
    return job_has(job, JOB_LANDS) && job->state == STATE_PENDING &&
           span_is(job->reason, REASON_UNAVAILABLE);
}

bool outage_extend(struct outage *outage, struct wall now,
                   struct random *random) {
    if (now.ns < outage->again.ns)
        return false;
    outage->again = wall_add_ms(now, retry_delay_ms(outage->tries++, random));
    return true;
}

void outage_set_back(struct outage *outage, int64_t ms) {
    outage->since = wall_set_back(outage->since, ms);
    outage->again = wall_set_back(outage->again, ms);
}

void outage_retry(struct outage *outage) {
    outage->again = (struct wall){0};
}
