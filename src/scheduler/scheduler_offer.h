/* Offers to the picker. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_OFFER_H
#define POINTSMAN_SCHEDULER_SCHEDULER_OFFER_H

#include <stdint.h>

#include "core/job.h"

struct scheduler;

/* Offers a pending job to the picker, unless it is held or waits for other
 * members of its group. */
void scheduler_offer(struct scheduler *scheduler, const struct job *job);
/* Queues a rollback that waits in Q or P and is not held; other jobs are
 * ignored. */
void scheduler_offer_rollback(struct scheduler *scheduler,
                              const struct job *job);
/* Reads the row of the job and offers it if it is pending. An error of the
 * store is only logged. */
void scheduler_offer_num(struct scheduler *scheduler, uint64_t num);
/* Offers the present leader of the group of `num`, if any. */
void scheduler_offer_group(struct scheduler *scheduler, uint64_t num);

/* What a pending job of this number, or of its group, waits for has changed. */
void scheduler_offer_again(struct scheduler *scheduler, uint64_t num);

#endif
