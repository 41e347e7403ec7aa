/* Job files follow the registry (C11 in doc/design/): whenever the program
 * is at rest, the job file of every admitted set lies in exactly the directory
 * of its state, and log/CSID has a line for each of its events.
 *
 * A pass is made under a lock of its own, so that any number of processes may
 * make one; it is idempotent, and whatever it did before a crash is looked at
 * again after it: events beyond the number in ctrl/projected are not yet
 * safely in the files. */
#ifndef POINTSMAN_CHANGES_PROJECTION_H
#define POINTSMAN_CHANGES_PROJECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/time.h"
#include "base/base.h"

struct projection;

/* Listens to the events of base->store. */
bool projection_open(struct base *base, struct projection **ret_projection,
                     struct err *err);
void projection_close(struct projection *projection); /* NULL is fine */

/* At the start of a role, or of a one-shot verb that changes changes: whatever
 * a crash or another process left undone, then a reconciliation. */
bool projection_recover(struct projection *projection, struct wall now,
                        struct err *err);

/* Job files and logs of all sets, made anew from the registry: where it alone
 * was brought back. */
bool projection_remake(struct projection *projection, struct wall now,
                       struct err *err);

/* For a one-shot verb that changed sets, whether roles run or not: moves what
 * is not where it should be, and nothing else. */
bool projection_catch_up(struct base *base, struct wall now, struct err *err);

/* Is there anything to do? */
bool projection_is_due(const struct projection *projection);
/* Moves and writes all that events since asked for; one syncfs. After it the
 * files of all changes are where their states say: call it between the commit
 * of P -> X and the start that locks run/NAME. */
bool projection_pass(struct projection *projection, struct wall now,
                     struct err *err);

/* Passes until nothing is left to do and the registry knows it: for one-shot
 * verbs, which have no loop. */
bool projection_finish(struct projection *projection, struct wall now,
                       struct err *err);

/* Looks for job files moved by hand: queue, staging, pending -> term is a
 * cancel (actor fs:UID), anything else is undone and noted. Cheap when no
 * directory changed under us. */
bool projection_reconcile(struct projection *projection, struct wall now,
                          struct err *err);

#endif
