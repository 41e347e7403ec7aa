/* The facts of an event (core/event_facts.h), whichever version of the program
 * wrote it. */
#ifndef POINTSMAN_CHANGES_FACTS_H
#define POINTSMAN_CHANGES_FACTS_H

#include "store/store.h"

/* The result lives in the arena and in the event. An event of the registry or
 * of a log whose facts are damaged has none. */
struct event_facts facts_of(const struct store_event *event,
                            struct arena *arena);

#endif
