/* Back-offs that are over. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_BACKOFF_H
#define POINTSMAN_SCHEDULER_SCHEDULER_BACKOFF_H

#include <stdbool.h>

#include "lib/time.h"

struct scheduler;

struct wall scheduler_backoff_next(const struct scheduler *scheduler);
/* Offers the first BACKOFF_MAX of those whose time has come; they are in `due`.
 */
void scheduler_backoff_offer(struct scheduler *scheduler);
/* Plans that those of them that were not picked are like all others. */
void scheduler_backoff_clear(struct scheduler *scheduler);
void scheduler_backoff_committed(struct scheduler *scheduler, bool ok);

#endif
