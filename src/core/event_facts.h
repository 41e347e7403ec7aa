/* What the program reads back from an event: a small JSON object beside the
 * sentence, which is for people alone and may be worded in any way.
 *
 *     {"holds":"approval"}                 put on, lifted, or set at admission
 *     {"owed":"2026-11-21T19:20:21.123Z"}  an approval, until then
 *     {"settled":true}                     no approval is owed any more
 *     {"overdue":true}                     the one that is owed was reported
 *     {"rollback":"ID","because":"ID"}     out of effect by that rollback, due
 *                                          to that one; without "rollback" in
 *                                          effect again; on the way to A the
 *                                          rollback that took the job
 *     {"way":"signature","key":"SHA256:...","made":TIME,"until":TIME,
 *      "alias":"uid:7","ticket":"..."}     an approval (core/approval.h)
 *
 * Only what applies is there; keys that this program does not know are
 * skipped. An event without facts has no object. */
#ifndef POINTSMAN_CORE_EVENT_FACTS_H
#define POINTSMAN_CORE_EVENT_FACTS_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/text.h"
#include "lib/time.h"

/* The members, each with its key. */
#define EVENT_FACT_TEXTS(X) \
    X(rollback) X(because) X(way) X(key) X(alias) X(ticket)
#define EVENT_FACT_TIMES(X) X(owed) X(made) X(until)
#define EVENT_FACT_FLAGS(X) X(settled) X(overdue)

enum { EVENT_FACTS_BYTES = 2000 }; /* of the object at most */

struct event_facts {
    unsigned holds;               /* of enum job_hold; words in the object */
#define X(name) struct span name; /* empty: not there */
    EVENT_FACT_TEXTS(X)
#undef X
#define X(name) struct wall name; /* 0: not there */
    EVENT_FACT_TIMES(X)
#undef X
#define X(name) bool name;
    EVENT_FACT_FLAGS(X)
#undef X
};

/* The object as text in the arena; empty if there are no facts. */
struct span event_facts_format(const struct event_facts *facts,
                               struct arena *arena);
/* What is there lives in the arena. False: not such an object. */
bool event_facts_parse(struct span text, struct arena *arena,
                       struct event_facts *ret_facts);

#endif
