/* A job that executes according to the registry, and of which nothing runs. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_RECOVER_H
#define POINTSMAN_SCHEDULER_SCHEDULER_RECOVER_H

#include "store/store.h"

/* Ends an attempt that was cut short: nothing of it runs any more. */
void scheduler_recover_attempt(struct store_attempt *row, struct wall now,
                               struct store_batch *batch);
/* Adds to the batch: its attempts that have not ended are lost, and it is
 * pending (terminated, if its cancellation was asked for). Tasks of an array
 * that are done stay done. `once`: it fails instead, because it may have been
 * started, or, of an array, each such task does. Errors of the store. */
bool scheduler_recover_job(struct store *store, const struct job *job,
                           bool once, struct wall now,
                           struct store_batch *batch, struct err *err);

#endif
