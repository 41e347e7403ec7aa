/* Who must agree before a change set goes on (doc/design/approval.md): rows
 * of policy by class, target and path. Pure. */
#ifndef POINTSMAN_CORE_APPROVAL_H
#define POINTSMAN_CORE_APPROVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/text.h"
#include "lib/time.h"
#include "core/job.h"

struct approval_policy {
    struct span name;
    unsigned classes;   /* bits of 1 << class; 0: all */
    struct span target; /* empty: all */
    struct span path;   /* a pattern one of its paths matches; empty: all. `*`
                           is anything but slashes, `**` anything, `?` one byte
                           but a slash */
    struct span ticket; /* a pattern one ticket must match; empty: none */
    struct span role;   /* "operator", "uid:7", "user:bob@host", with commas;
                           empty: anybody but the submitter */
    unsigned count;     /* of people */
    bool late;          /* may come after the fact */
    bool refuse;        /* at the door, instead of holding it */
    bool is_signed;     /* only signed approvals count */
    int64_t expires_ms; /* an approval counts so long; 0: for ever */
    int64_t within_ms;  /* late: how long it may be owed */
};

/* The set in question. */
struct approval_subject {
    enum job_class job_class;
    struct span target;
    struct span submitter; /* "uid:1000" */
    const struct job_touch *touches;
    size_t touch_count;
    const struct span *tickets; /* lines of ##approval */
    size_t ticket_count;
};

struct approval_given {
    struct span who;   /* "uid:7"; of a signature "user:bob@host" */
    struct span alias; /* of a signature: the account of that name, "uid:7";
                          empty: there is none. For telling people apart, not
                          for what they may */
    struct span key;   /* of a signature: likewise, since one key may sign under
                          several names; else empty */
    bool is_operator, is_signed;
    struct span ticket; /* may be empty */
    struct wall at;
    struct wall until; /* it says so itself; 0: no end */
};

enum approval_outcome {
    APPROVAL_FREE, /* no policy asks for any */
    APPROVAL_ENOUGH,
    APPROVAL_LATE, /* it may go on, the approval is owed */
    APPROVAL_HOLD,
    APPROVAL_REFUSE
};

struct approval_verdict {
    enum approval_outcome outcome;
    const struct approval_policy *policy; /* the first that lacks something */
    unsigned have;                        /* of its count */
    bool lacks_ticket;
    /* Policies that let approvals come late and lack some: the shortest time
     * of theirs, and its policy; NULL: nothing is owed. */
    const struct approval_policy *owed;
};

/* The hardest outcome of all that apply. The submitter's own word, a second
 * word of the same person, expired ones and those of a wrong role do not
 * count. */
struct approval_verdict approval_judge(const struct approval_policy *policies,
                                       size_t policy_count,
                                       const struct approval_subject *subject,
                                       const struct approval_given *given,
                                       size_t given_count, struct wall now);
/* Is it the submitter's own word, by whatever name? */
bool approval_is_own(const struct approval_subject *subject,
                     const struct approval_given *given);
/* Did the same person say the same before, so that it counts still? */
bool approval_is_repeat(const struct approval_policy *policies,
                        size_t policy_count,
                        const struct approval_subject *subject,
                        const struct approval_given *given, size_t given_count,
                        const struct approval_given *more, struct wall now);
/* Would this person's word count for any policy that applies? */
bool approval_may(const struct approval_policy *policies, size_t policy_count,
                  const struct approval_subject *subject,
                  const struct approval_given *given, struct wall now);
/* When the first of these words will stop to count; WALL_NEVER. */
struct wall approval_ends(const struct approval_policy *policies,
                          size_t policy_count,
                          const struct approval_given *given,
                          size_t given_count, struct wall now);
/* "approval 'prod': 1 of 2, by an operator, with a ticket like OPS-*" */
void approval_describe(const struct approval_verdict *verdict,
                       struct text *out);

#endif
