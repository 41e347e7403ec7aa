/* Approval of change sets: policies of the configuration, words given as events
 * of the registry (EVENT_APPROVED), judged by core/approval.h. */
#ifndef POINTSMAN_CHANGES_APPROVALS_H
#define POINTSMAN_CHANGES_APPROVALS_H

#include "core/approval.h"
#include "base/base.h"
#include "changes/set_record.h"
#include "changes/set_rules.h"
#include "store/store.h"
#include "wire/approval_text.h"

/* ---- coming in ----------------------------------------------------------- */

/* Before there is a row: is the set refused for want of what a policy asks at
 * the door, with the words that came with it (candidate->given)? Then `why`
 * says so. */
bool approvals_refuse(const struct base *base,
                      const struct candidate *candidate, struct span target,
                      struct wall now, struct ruling_why *why);
/* Have approvals of this set been dropped that nobody has looked at yet? Then
 * it is not for the door to say what it lacks. */
bool approvals_wait(const struct base *base, struct span csid);
/* About to be admitted, submitter known: sets the hold `approval` or what is
 * owed, and says in the row's detail what is lacking. A rollback needs an
 * operator's word, unless he hands it in himself. */
void approvals_admit(const struct base *base, struct set_record *record,
                     struct wall now, struct arena *arena);

/* ---- of a set in the registry -------------------------------------------- */

struct approval_state {
    struct approval_verdict verdict; /* with `more`, when given */
    bool may;                        /* the word of `more` counts */
    bool own;                        /* it is the submitter's */
    bool said;                       /* he has said so before */
    struct wall ends; /* when the first word given stops to count */
};
/* `more`: a word about to be given, or NULL. All in the arena. Errors: of the
 * store. */
bool approvals_read(const struct base *base, struct store *store,
                    const struct job *job, const struct approval_given *more,
                    struct wall now, struct arena *arena,
                    struct approval_state *ret_state, struct err *err);
/* May this word be given? ERR_REFUSED, ERR_DENIED with a sentence. */
bool approvals_may(const struct job *job, const struct approval_given *word,
                   const struct approval_state *state, struct err *err);
/* Adds to the batch (its actor is who gives it): the event, the end of the hold
 * and of what is owed, as the verdict says. */
void approvals_give(struct store_batch *batch, const struct job *job,
                    const struct approval_given *word,
                    const struct approval_state *state, struct span because);

/* What is to be signed about this set (wire/approval_text.h), but for by, made,
 * expires and ticket; and about one that was not handed in yet. */
bool approvals_text(const struct base *base, const struct job *job,
                    struct arena *arena, struct approval_text *ret_text,
                    struct err *err);
bool approvals_text_of(const struct base *base,
                       const struct candidate *candidate, struct span target,
                       struct arena *arena, struct approval_text *ret_text,
                       struct err *err);
/* Is the text about that set of ours? Does it count now, whatever it is about?
 * `why` says why not. */
bool approvals_match(const struct approval_text *ours,
                     const struct approval_text *given, struct ruling_why *why);
bool approvals_in_time(const struct approval_text *given, struct wall now,
                       struct ruling_why *why);

/* ---- as time goes by ----------------------------------------------------- */

/* Sets that wait, and whose approvals have expired since, are held again; those
 * held that lack nothing by the policies of now are let go. What is owed too
 * long becomes an alarm, once; what is owed for a set that never landed is owed
 * no more. */
struct approvals_review {
    bool anew;        /* an approval was given since the last time */
    bool policies;    /* the configuration was read since; anew too */
    struct wall next; /* when one ends; before that nothing is read */
};
/* `actor` is that of its events. */
bool approvals_review(const struct base *base, struct wall now,
                      struct span actor, struct approvals_review *review,
                      struct err *err);

/* The account a name of a signature seems to be of ("bob", "bob@host"), as
 * "uid:7"; empty: there is none. */
struct span approvals_alias(struct span name, struct arena *arena);

#endif
