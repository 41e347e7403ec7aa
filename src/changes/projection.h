/* Job files follow the registry (C11 in doc/design/): whenever the program is
 * idle, the job file of every admitted set is in exactly the directory of its
 * state, and log/CSID has a line for each of its events.
 *
 * A pass is made under a lock of its own, so that any number of processes may
 * make one. It is idempotent, and everything it did before a crash is checked
 * again afterwards: events beyond the number in ctrl/projected are not yet
 * safely in the files. */
#ifndef POINTSMAN_CHANGES_PROJECTION_H
#define POINTSMAN_CHANGES_PROJECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/time.h"
#include "base/base.h"

struct projection;

/* Subscribes to the events of base->store. */
bool projection_open(struct base *base, struct projection **ret_projection,
                     struct err *err);
void projection_close(struct projection *projection); /* NULL is fine */

/* At the start of a role, or of a one-shot command that changes sets: does what
 * a crash or another process left undone, then reconciles. */
bool projection_recover(struct projection *projection, struct wall now,
                        struct err *err);

/* Rebuilds the job files and logs of all sets from the registry, after only the
 * registry was restored. */
bool projection_remake(struct projection *projection, struct wall now,
                       struct err *err);

/* For a one-shot command that changed sets, whether roles run or not: moves the
 * files that are in the wrong place, and does nothing else. */
bool projection_catch_up(struct base *base, struct wall now, struct err *err);

/* True if there is anything to do. */
bool projection_is_due(const struct projection *projection);
/* Moves and writes everything that events have asked for since. Afterwards the
 * files of all changes are in the directories of their states: call it between
 * the commit of P -> X and the start that locks run/NAME. A later pass has to
 * sync them and record that in the registry; it does so once for any number of
 * calls. */
bool projection_place(struct projection *projection, struct wall now,
                      struct err *err);
/* A whole pass: the same, then one syncfs and the record. */
bool projection_pass(struct projection *projection, struct wall now,
                     struct err *err);

/* Makes passes until nothing is left to do and the registry has recorded it:
 * for one-shot commands, which have no loop. */
bool projection_finish(struct projection *projection, struct wall now,
                       struct err *err);

/* Looks for job files moved by hand: a move from queue, staging or pending to
 * term is a cancel (actor fs:UID), any other move is undone and noted. Cheap if
 * no directory has changed. */
bool projection_reconcile(struct projection *projection, struct wall now,
                          struct err *err);

#endif
