/* THE OLD FORM. Programs before version 6 of the registry kept what they read
 * back in the sentence of an event. Registries, backups and logs of that time
 * are read here and nowhere else; nothing writes this form any more, so that
 * the sentences below must never be changed. */
#ifndef POINTSMAN_CHANGES_OLD_FACTS_H
#define POINTSMAN_CHANGES_OLD_FACTS_H

#include "store/store.h"

/* For an event without facts of its own; the result lives in the event. */
void old_facts_read(const struct store_event *event,
                    struct event_facts *ret_facts);

#endif
