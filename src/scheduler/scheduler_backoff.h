/* Back-offs that have ended. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_BACKOFF_H
#define POINTSMAN_SCHEDULER_SCHEDULER_BACKOFF_H

#include <stdbool.h>

#include "lib/time.h"

struct scheduler;

/* When the next back-off ends; WALL_NEVER: none that time alone ends. */
struct wall scheduler_backoff_next(const struct scheduler *scheduler);
/* Offers the first BACKOFF_MAX jobs whose time has come; stored in `due`. */
void scheduler_backoff_offer(struct scheduler *scheduler);
/* Plans that those of them that were not picked become ordinary ready jobs. */
void scheduler_backoff_clear(struct scheduler *scheduler);
/* The batch with that plan was written; not `ok`: it is planned again. */
void scheduler_backoff_committed(struct scheduler *scheduler, bool ok);

#endif
