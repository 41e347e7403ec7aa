/* Handles the registry's events. */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_EVENT_H
#define POINTSMAN_SCHEDULER_SCHEDULER_EVENT_H

#include "store/store.h"

struct scheduler;

store_listener scheduler_on_event;

#endif
