/* Passes the jobs of the registry to the order. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_LOAD_H
#define POINTSMAN_SCHEDULER_SCHEDULER_LOAD_H

#include <stdbool.h>

#include "lib/err.h"
#include "core/job.h"

struct scheduler;

/* All live jobs with relations. */
bool scheduler_load(struct scheduler *scheduler, struct err *err);
/* As many of them as explain why one job waits: what executes, and the jobs
 * that it waits for, directly or not. All of them if precursors are not
 * recorded yet, if a rollback is open, or if those jobs are very many. */
bool scheduler_load_for(struct scheduler *scheduler, const struct job *job,
                        struct err *err);

#endif
