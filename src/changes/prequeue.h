/* From prequeue/ into the registry and queue/, and the role that does it. */
#ifndef POINTSMAN_CHANGES_PREQUEUE_H
#define POINTSMAN_CHANGES_PREQUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/time.h"
#include "base/base.h"
#include "base/role.h"
#include "changes/checker.h"

struct prequeue;
struct projection;

extern const struct role prequeue_role;

/* The caller holds the role. */
struct prequeue *prequeue_new(struct base *base, struct checker *checker,
                              struct projection *projection);
void prequeue_free(struct prequeue *prequeue); /* NULL is fine */
/* The base has read its configuration again. */
void prequeue_configure(struct prequeue *prequeue);

/* One pass over prequeue/ in name order: starts checks, admits what passed,
 * refuses what did not. *ret_next: when time alone gives it work (WALL_NEVER:
 * never). Only a registry or disk that does not work is an error, and may be
 * tried again; no entry ever is. */
bool prequeue_scan(struct prequeue *prequeue, struct wall now,
                   struct wall *ret_next, struct err *err);
/* Checks came back: scan again soon. Reset by a scan. */
bool prequeue_is_due(const struct prequeue *prequeue);
/* No check runs and only time or new entries can change anything. */
bool prequeue_is_idle(const struct prequeue *prequeue);
/* If no process has the role, takes it for one pass, so that what was just
 * handed in is known at once. If another process has it, it was triggered and
 * nothing is done here. `lent` is a checker without a guard; NULL: the pass
 * makes one. */
bool prequeue_pass_alone(struct base *base, struct checker *lent,
                         struct wall now, struct err *err);

/* What became of entries since it was made. */
struct prequeue_tally {
    uint64_t admitted, rejected, again, waiting;
};
struct prequeue_tally prequeue_tally(const struct prequeue *prequeue);

#endif
