/* Admits sets from prequeue/ to the registry and queue/, and the role that does
 * so. */
#ifndef POINTSMAN_CHANGES_PREQUEUE_H
#define POINTSMAN_CHANGES_PREQUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/time.h"
#include "base/base.h"
#include "base/role.h"
#include "changes/checker.h"

struct entry_kind; /* changes/prequeue_entry.h */
struct prequeue;
struct projection;

extern const struct role prequeue_role;

/* Sets the kinds of entries, in the order in which they are examined. Call it
 * once, before a prequeue is created; the array stays the caller's. */
void prequeue_kinds_use(const struct entry_kind *const *rows, size_t count);

/* The caller holds the role. */
struct prequeue *prequeue_new(struct base *base, struct checker *checker,
                              struct projection *projection);
void prequeue_free(struct prequeue *prequeue); /* NULL is fine */
/* Call after the base has read its configuration again. */
void prequeue_configure(struct prequeue *prequeue);

/* The clock was set back by so much: nothing waits longer for that. */
void prequeue_set_back(struct prequeue *prequeue, int64_t ms);
/* One pass over prequeue/ in name order: starts checks, admits entries that
 * passed, rejects those that did not. *ret_next: when the passing of time alone
 * gives it work (WALL_NEVER: never). Only a failing registry or disk is an
 * error, and may be tried again; a bad entry is not. */
bool prequeue_scan(struct prequeue *prequeue, struct wall now,
                   struct wall *ret_next, struct err *err);
/* True if checks have ended: scan again soon. Reset by a scan. */
bool prequeue_is_due(const struct prequeue *prequeue);
/* True if no check is running and only time or new entries can change
 * anything. */
bool prequeue_is_idle(const struct prequeue *prequeue);
/* True if an entry named as a rollback is being examined. */
bool prequeue_has_rollback(const struct prequeue *prequeue);
/* If no process has the role, takes it for one pass, so that a set that was
 * just submitted is known at once. If another process has it, that process was
 * triggered and nothing is done here. `given` is a checker without a guard;
 * NULL: the pass creates one. */
bool prequeue_pass_alone(struct base *base, struct checker *given,
                         struct wall now, struct err *err);

/* Counts of what happened to entries since the prequeue was created. */
struct prequeue_tally {
    uint64_t admitted, rejected, again, waiting;
};
struct prequeue_tally prequeue_tally(const struct prequeue *prequeue);

#endif
