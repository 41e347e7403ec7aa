/* Why tasks of a standing job do not run: asks what decides. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_NODE_WHY_H
#define POINTSMAN_SCHEDULER_SCHEDULER_NODE_WHY_H

#include "scheduler/why.h"

/* How the tasks of the job stand. */
void scheduler_node_why(struct scheduler *scheduler, const struct job *job,
                        struct why *why);

#endif
