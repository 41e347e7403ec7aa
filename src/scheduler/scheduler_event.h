/* What the registry says happened. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_EVENT_H
#define POINTSMAN_SCHEDULER_SCHEDULER_EVENT_H

#include "lib/err.h"
#include "store/store.h"

struct scheduler;

store_listener scheduler_on_event;
/* Tells the order all jobs that live. */
bool scheduler_load(struct scheduler *scheduler, struct err *err);

#endif
