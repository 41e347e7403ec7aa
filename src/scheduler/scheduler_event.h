/* Handles the registry's events. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_EVENT_H
#define POINTSMAN_SCHEDULER_SCHEDULER_EVENT_H

#include "lib/err.h"
#include "store/store.h"

struct scheduler;

store_listener scheduler_on_event;
/* Passes all live jobs to the order. */
bool scheduler_load(struct scheduler *scheduler, struct err *err);

#endif
