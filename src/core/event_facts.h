/* The facts of an event that the program reads back: a small JSON object beside
 * the sentence, which is for people only and may be worded freely.
 *
 *     {"holds":"approval"}                 put on, lifted, or set at admission
 *     {"owed":"2026-11-21T19:20:21.123Z"}  an approval is owed until then
 *     {"settled":true}                     no approval is owed any more
 *     {"overdue":true}                     the overdue approval was reported
 *     {"rollback":"ID","because":"ID"}     rolled back by `rollback` because of
 *                                          `because`; without "rollback": in
 *                                          effect again; in a step to A: the
 *                                          rollback that took the job
 *     {"way":"signature","key":"SHA256:...","made":TIME,"until":TIME,
 *      "alias":"uid:7","ticket":"..."}     an approval (core/approval.h)
 *
 * Only the members that apply are present; unknown members are skipped. An
 * event without facts has no object. */
#ifndef POINTSMAN_CORE_EVENT_FACTS_H
#define POINTSMAN_CORE_EVENT_FACTS_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/text.h"
#include "lib/time.h"

/* The text members, each named like its key. */
#define EVENT_FACT_TEXTS(X) \
    X(rollback) X(because) X(way) X(key) X(alias) X(ticket)
#define EVENT_FACT_TIMES(X) X(owed) X(made) X(until)
#define EVENT_FACT_FLAGS(X) X(settled) X(overdue)

enum { EVENT_FACTS_BYTES = 2000 }; /* maximum size of the object */

struct event_facts {
    unsigned holds;               /* bits of enum job_hold; words in the
                                     object */
#define X(name) struct span name; /* empty: absent */
    EVENT_FACT_TEXTS(X)
#undef X
#define X(name) struct wall name; /* 0: absent */
    EVENT_FACT_TIMES(X)
#undef X
#define X(name) bool name;
    EVENT_FACT_FLAGS(X)
#undef X
};

/* The object as text in the arena; empty if there are no facts. */
struct span event_facts_format(const struct event_facts *facts,
                               struct arena *arena);
/* The facts live in the arena. False: the text is not such an object. */
bool event_facts_parse(struct span text, struct arena *arena,
                       struct event_facts *ret_facts);

#endif
