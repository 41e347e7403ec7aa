/* Approval of change sets: policies of the configuration, words given as events
 * of the registry (EVENT_APPROVED), judged by core/approval.h. */
#ifndef POINTSMAN_SERVE_APPROVALS_H
#define POINTSMAN_SERVE_APPROVALS_H

#include "core/approval.h"
#include "serve/base.h"
#include "serve/set_record.h"
#include "serve/set_rules.h"
#include "store/store.h"

/* Before there is a row: is the set refused for want of what a policy asks at
 * the door? Then `why` says so. */
bool approvals_refuse(const struct base *base,
                      const struct candidate *candidate, struct span target,
                      struct wall now, struct ruling_why *why);
/* About to be admitted, submitter known: sets the hold `approval` and says in
 * the row's detail what is lacking. A rollback that raises its limit
 * (##rb-limit) beyond queue.rollback-max needs an operator's word, unless he
 * hands it in himself. */
void approvals_admit(const struct base *base, struct set_record *record,
                     struct wall now, struct arena *arena);

struct approval_state {
    struct approval_verdict verdict; /* with `more`, when given */
    bool may;                        /* the word of `more` counts */
    bool said;                       /* he has said so before */
};
/* Of a set in the registry. `more`: a word about to be given, or NULL. All in
 * the arena. Errors: of the store. */
bool approvals_read(const struct base *base, struct store *store,
                    const struct job *job, const struct approval_given *more,
                    struct wall now, struct arena *arena,
                    struct approval_state *ret_state, struct err *err);
/* Sets that wait, and whose approvals have expired since, are held again. Looks
 * at nothing unless some policy lets approvals expire. */
bool approvals_expire(const struct base *base, struct wall now,
                      struct err *err);
/* The owner of the base, and root. */
bool approvals_is_operator(const struct base *base, uint32_t uid);

#endif
