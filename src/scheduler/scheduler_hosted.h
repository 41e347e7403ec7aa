/* What a `run` without a server hosts (doc/design/processes.md, P13): the jobs
 * that it asked for, and what these wait for. Other jobs are ordered, but not
 * started. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_HOSTED_H
#define POINTSMAN_SCHEDULER_SCHEDULER_HOSTED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/job.h"
#include "store/store.h"

struct scheduler;

/* True if the job may start here; then what it waits for may, too. */
bool scheduler_hosts(struct scheduler *scheduler, const struct job *job);
/* Whoever hosted before may have ended: finds what jobs wait for that have not
 * been ordered yet. ERR of the registry. */
bool scheduler_hosted_load(struct scheduler *scheduler, struct err *err);
/* A hosted job may wait for other jobs since this event. */
void scheduler_hosted_event(struct scheduler *scheduler,
                            const struct store_event *event);

#endif
