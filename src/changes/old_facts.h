/* THE OLD FORM. Programs before version 6 of the registry kept the facts of an
 * event in its sentence. Registries, backups and logs of that time are parsed
 * here and nowhere else; this form is no longer written, so the sentences below
 * must never be changed. */
#ifndef POINTSMAN_CHANGES_OLD_FACTS_H
#define POINTSMAN_CHANGES_OLD_FACTS_H

#include "store/store.h"

/* For an event without facts of its own; the result lives in the event. */
void old_facts_read(const struct store_event *event,
                    struct event_facts *ret_facts);

#endif
