/* What the scheduler knows of the workers, for GET /api/v1/workers. */
#ifndef POINTSMAN_SCHEDULER_WORKER_JSON_H
#define POINTSMAN_SCHEDULER_WORKER_JSON_H

#include <stdbool.h>

#include "lib/text.h"

struct scheduler;

/* Appends a line of JSON for the worker of this process, and one for each other
 * worker of which attempts are awaited. `fit`: the one here can start
 * attempts. */
void worker_json(const struct scheduler *scheduler, bool fit, struct text *out);

#endif
