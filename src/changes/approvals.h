/* Approval of change sets: policies from the configuration, approvals given as
 * events of the registry (EVENT_APPROVED), judged by core/approval.h. */
#ifndef POINTSMAN_CHANGES_APPROVALS_H
#define POINTSMAN_CHANGES_APPROVALS_H

#include "core/approval.h"
#include "base/base.h"
#include "changes/set_record.h"
#include "changes/set_rules.h"
#include "store/store.h"
#include "wire/approval_text.h"

/* ---- admission ----------------------------------------------------------- */

/* Before there is a row: true if a policy rejects the set at submission, given
 * the approvals that came with it (candidate->given). `why` then has the
 * reason. */
bool approvals_refuse(const struct base *base,
                      const struct candidate *candidate, struct span target,
                      struct wall now, struct ruling_why *why);
/* True if approvals of this set have been dropped but not examined yet. The set
 * must then not be rejected for a missing approval. */
bool approvals_wait(const struct base *base, struct span csid);
/* For a set that is about to be admitted, submitter known: sets the hold
 * `approval` or the owed approval, and names what is missing in the row's
 * detail. A rollback needs an operator's approval unless an operator submits
 * it. */
void approvals_admit(const struct base *base, struct set_record *record,
                     struct wall now, struct arena *arena);

/* ---- sets in the registry ------------------------------------------------ */

/* An approval that may come late and is missing. */
struct approval_owed {
    struct approval_verdict verdict; /* of its policy alone */
    struct wall until;
};
struct approval_state {
    struct approval_verdict verdict; /* including `more`, if given */
    struct approval_owed *owed;
    size_t owed_count;
    enum approval_lack lack; /* of the approval `more` */
    bool own;         /* it comes from the submitter */
    bool said;        /* its giver has approved before */
    struct wall ends; /* when the first approval given expires */
};
/* `more`: an approval about to be given, or NULL. Everything lives in the
 * arena. Errors: those of the store. */
bool approvals_read(const struct base *base, struct store *store,
                    const struct job *job, const struct approval_given *more,
                    struct wall now, struct arena *arena,
                    struct approval_state *ret_state, struct err *err);
/* The actors whose approvals of this set count now, each once, in the order in
 * which they were given. They live in the arena. Errors: those of the store,
 * ERR_DATA if it has no meta of the set. */
bool approvals_counted(const struct base *base, struct store *store,
                       uint64_t num, struct wall now, struct arena *arena,
                       const struct span **ret_actors, size_t *ret_count,
                       struct err *err);
/* Why no approval counts at present; NULL: approvals count. */
const char *approvals_fault(const struct base *base, struct arena *arena);
/* True if this approval may be given. Otherwise ERR_REFUSED or ERR_DENIED with
 * a sentence. */
bool approvals_may(const struct job *job, const struct approval_given *word,
                   const struct approval_state *state, struct err *err);
/* Adds to the batch (whose actor gives the approval) the event and, depending
 * on the verdict, the end of the hold and of the owed approval. */
void approvals_give(struct store_batch *batch, const struct job *job,
                    const struct approval_given *word,
                    const struct approval_state *state, struct span because);

/* The text to be signed for this set (wire/approval_text.h), without by, made,
 * expires and ticket; and the same for a set that is not submitted yet. */
bool approvals_text(const struct base *base, const struct job *job,
                    struct arena *arena, struct approval_text *ret_text,
                    struct err *err);
bool approvals_text_of(const struct base *base,
                       const struct candidate *candidate, struct span target,
                       struct arena *arena, struct approval_text *ret_text,
                       struct err *err);
/* The first: true if the text is about this set. The second: true if it counts
 * now, regardless of the set. `why` has the reason if not. */
bool approvals_match(const struct approval_text *ours,
                     const struct approval_text *given, struct ruling_why *why);
bool approvals_in_time(const struct approval_text *given, struct wall now,
                       struct ruling_why *why);

/* ---- in the course of time ----------------------------------------------- */

/* Waiting sets whose approvals have expired are held again; held sets that
 * satisfy the present policies are released. An approval that is owed too
 * long raises an alarm, once; what is owed for a set that never landed is
 * dropped. */
struct approvals_review {
    bool new_approval; /* an approval was given since the last review */
    bool policies;  /* the configuration was read since; implies new_approval */
    uint64_t lists; /* version of the lists of signers */
    struct wall next; /* next expiry; nothing is read before that */
};
/* `actor` is the actor of its events. */
bool approvals_review(const struct base *base, struct wall now,
                      struct span actor, struct approvals_review *review,
                      struct err *err);

/* To whom the name in a signature ("bob", "bob@host"), or that of a person,
 * seems to belong: an account, as "uid:7", else a person of [access], as
 * "person:bob"; empty: nobody. */
struct span approvals_alias(const struct base *base, struct span name,
                            struct arena *arena);

#endif
