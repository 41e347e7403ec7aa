/* The facts of an event that the program reads back: a small JSON object beside
 * the sentence, which is for people only and may be worded freely.
 *
 *     {"holds":"approval"}      put on, lifted, or set at admission
 *     {"owed":"2026-11-21T19:20:21.123Z"}
 *     {"rollback":"ID","because":"ID"}
 *     {"overdue":true}
 *     {"source":"hosts","added":12}
 *
 * event_facts.def lists the members besides "holds". Only the members that
 * apply are present; unknown members are skipped. An event without facts has no
 * object. */
#ifndef POINTSMAN_CORE_EVENT_FACTS_H
#define POINTSMAN_CORE_EVENT_FACTS_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/text.h"
#include "lib/time.h"

enum { EVENT_FACTS_BYTES = 2000 }; /* maximum size of the object */

/* The types: absent are empty text, time 0, number 0 and false. */
#define EVENT_FACT_TEXT struct span
#define EVENT_FACT_TIME struct wall
#define EVENT_FACT_NUMBER int64_t
#define EVENT_FACT_FLAG bool

struct event_facts {
    unsigned holds; /* bits of enum job_hold; words in the object */
#define EVENT_FACT(type, name) EVENT_FACT_##type name;
#include "core/event_facts.def"
};

/* The object as text in the arena; empty if there are no facts. */
struct span event_facts_format(const struct event_facts *facts,
                               struct arena *arena);
/* `text`, the object of an event, with the fact `from` added. */
struct span event_facts_add_from(struct span text, struct span from,
                                 struct arena *arena);
/* The facts live in the arena. False: the text is not such an object. */
bool event_facts_parse(struct span text, struct arena *arena,
                       struct event_facts *ret_facts);

#endif
