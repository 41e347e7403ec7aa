/* Which approvals a change set needs before it may proceed
 * (doc/design/approval.md): policies that apply by class, target and path.
 * Pure. */
#ifndef POINTSMAN_CORE_APPROVAL_H
#define POINTSMAN_CORE_APPROVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/text.h"
#include "lib/time.h"
#include "core/job.h"

struct approval_list {
    const struct span *items;
    size_t count;
};

struct approval_policy {
    struct span name;
    unsigned classes;             /* bits of 1 << class; 0: all */
    struct approval_list targets; /* empty: all */
    struct approval_list paths;   /* patterns, one of which must match one of
                                     its paths; empty: all. `*` matches anything
                                     but slashes, `**` anything, `?` one byte
                                     except a slash. A directory that a pattern
                                     names matches too (approval_subject) */
    struct span ticket; /* a pattern one ticket must match; empty: none */
    struct approval_list roles; /* "operator", "uid:7", "user:bob@host",
                                   "person:bob", "@group"; empty: anybody but
                                   the submitter */
    unsigned count;             /* people required */
    bool late;          /* the approval may come after the set has landed */
    bool refuse;        /* reject the set at submission instead of holding it */
    bool is_signed;     /* only signed approvals count */
    int64_t expires_ms; /* how long an approval counts; 0: for ever */
    int64_t within_ms;  /* late: how long the approval may be owed */
    struct span because; /* why it applies, for people; empty: it is configured
                          */
};

/* All names of one person: "uid:7", "user:bob@host", "SHA256:...". */
struct approval_person {
    struct span name;
    struct approval_list names;
};

/* The set to be judged. */
struct approval_subject {
    enum job_class job_class;
    struct span target;
    struct span submitter;       /* "uid:1000", or "person:ann" */
    struct span submitter_alias; /* as in struct approval_given */
    struct span author; /* "user:bob@host", by ##author; empty: unknown */
    const struct approval_person *persons; /* those whose names are known */
    size_t person_count;
    /* Keys, by name, with the names under which each may sign; a key may occur
     * several times. These names may contain `**` and `?`. */
    const struct approval_person *keys;
    size_t key_count;
    /* Why no approval counts; NULL: approvals count. */
    const char *fault;
    /* A path that is a directory of a pattern, such as `prod` of prod/eu/x:
     * the set puts something else in its place, and so replaces what the policy
     * protects. */
    const struct job_touch *touches;
    size_t touch_count;
    /* Its target takes symbolic links, which replace a directory by another
     * one. Then this includes directories with wildcards in their names, of
     * patterns that cover everything below. */
    bool has_links;
    const struct span *tickets; /* lines of ##approval */
    size_t ticket_count;
};

struct approval_given {
    struct span who;       /* "uid:7", "person:bob"; for a signature
                              "user:bob@host" */
    struct span alias;     /* for a signature or a person: the account with that
                              name, "uid:7"; for a signature also the person,
                              "person:bob"; empty: there is none. Used only to tell
                              people apart, not for permissions */
    struct span key;       /* for a signature: likewise, since one key may sign
                              under several names; otherwise empty */
    struct span authority; /* for a signature by a certificate: the key of its
                              authority; otherwise empty */
    struct approval_list groups; /* "@group": those of its account */
    bool is_operator, is_signed;
    bool is_withdrawn;  /* who gave it could not give it any more */
    struct span ticket; /* may be empty */
    struct wall at;
    struct wall until; /* expiry given in the approval itself; 0: none */
};

enum approval_outcome {
    APPROVAL_FREE, /* no policy requires an approval */
    APPROVAL_ENOUGH,
    APPROVAL_LATE, /* the set may proceed, the approval is owed */
    APPROVAL_HOLD,
    APPROVAL_REFUSE
};

struct approval_verdict {
    enum approval_outcome outcome;
    const struct approval_policy *policy; /* the first policy that is not
                                             satisfied */
    unsigned have;                        /* approvals it has, out of its
                                             count */
    struct span withdrawn; /* who gave an approval that is withdrawn; empty:
                              nobody */
    bool lacks_ticket;
    bool is_for_self;  /* its only approver is the submitter or the author */
    const char *fault; /* of the subject */
    /* Among the unsatisfied policies that accept late approvals: the shortest
     * time, and the policy that sets it; NULL: nothing is owed. */
    const struct approval_policy *owed;
};

/* The strictest outcome of all policies that apply. Not counted: approvals by
 * the submitter, repeated approvals by the same person, expired approvals, and
 * approvals by someone without the role. */
struct approval_verdict approval_judge(const struct approval_policy *policies,
                                       size_t policy_count,
                                       const struct approval_subject *subject,
                                       const struct approval_given *given,
                                       size_t given_count, struct wall now);
/* True if a name of a key (see struct approval_subject) stands for `name`. */
bool approval_name_matches(struct span pattern, struct span name);
/* True if the approval comes from the submitter or the author, under any name
 * of that person, or by a key that may sign under such a name. */
bool approval_is_own(const struct approval_subject *subject,
                     const struct approval_given *given);
/* True if the same person has given the same approval before and it still
 * counts. */
bool approval_is_repeat(const struct approval_policy *policies,
                        size_t policy_count,
                        const struct approval_subject *subject,
                        const struct approval_given *given, size_t given_count,
                        const struct approval_given *more, struct wall now);
/* What keeps an approval by this person from counting for any policy that
 * applies: the least that is missing. It is not asked for the submitter's or
 * author's own. */
enum approval_lack {
    APPROVAL_LACKS_NOTHING,
    APPROVAL_LACKS_TIME,      /* it has expired */
    APPROVAL_LACKS_SIGNATURE, /* only signed ones count */
    APPROVAL_LACKS_ROLE
};

enum approval_lack approval_lacks(const struct approval_policy *policies,
                                  size_t policy_count,
                                  const struct approval_subject *subject,
                                  const struct approval_given *given,
                                  struct wall now);
/* True if it counts for a policy that applies. */
bool approval_counts(const struct approval_policy *policies,
                     size_t policy_count,
                     const struct approval_subject *subject,
                     const struct approval_given *given, struct wall now);
/* When the first of these approvals expires; WALL_NEVER: none does. */
struct wall approval_ends(const struct approval_policy *policies,
                          size_t policy_count,
                          const struct approval_given *given,
                          size_t given_count, struct wall now);
/* "approval 'prod': 1 of 2, by an operator, with a ticket like OPS-*" */
void approval_describe(const struct approval_verdict *verdict,
                       struct text *out);

#endif
