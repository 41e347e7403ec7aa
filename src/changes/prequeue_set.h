/* Change sets in prequeue/, and the approvals beside them. */
#ifndef POINTSMAN_CHANGES_PREQUEUE_SET_H
#define POINTSMAN_CHANGES_PREQUEUE_SET_H

#include "changes/prequeue_entry.h"
#include "changes/set_record.h"
#include "changes/set_rules.h"

/* The last row: it takes every name that no other kind recognises. */
extern const struct entry_kind prequeue_set_kind;
/* Before it: when a set is examined, the approvals beside it have been
 * examined. */
extern const struct entry_kind prequeue_approval_kind;

/* What is known about an entry that is a set. */
struct prequeue_set {
    struct refusal refusal;
    struct candidate candidate;
    struct span said_sum; /* from a job file; empty for markers */
    bool names_submitter; /* a marker of the service that says who it was */
    struct set_record record;
    bool awaited;  /* approvals are beside it, ... */
    bool hindered; /* ... which cannot be checked now */
};

/* Gives the set the valid approvals beside it; they live in the arena. False:
 * some are not examined yet, and the set has to wait for them. */
bool prequeue_approval_entries_of(struct prequeue *prequeue,
                                  struct prequeue_set *set,
                                  struct arena *arena);

#endif
