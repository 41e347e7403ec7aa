/* Decides whether a set may be admitted, as far as neither the tarball alone
 * nor the order decides it: by its target, its time, the sets it supersedes,
 * and features that are not supported yet. */
#ifndef POINTSMAN_CHANGES_SET_RULES_H
#define POINTSMAN_CHANGES_SET_RULES_H

#include <stdbool.h>

#include "lib/err.h"
#include "base/base.h"
#include "wire/meta.h"
#include "wire/refusal.h"
#include "wire/set_name.h"

/* A set as it was found. */
struct approval_given; /* core/approval.h */
struct candidate {
    struct set_name name;
    struct meta meta;
    struct span sum;
    uint64_t size_bytes;
    bool has_symlinks;
    struct access_owner submitter;
    struct wall arrived;
    /* Valid approvals that came with it; or approvals that are not examined
     * yet, so that the set is not rejected for missing ones. */
    const struct approval_given *given;
    size_t given_count;
    bool unread_approvals;
};

enum ruling {
    RULING_ADMIT,
    RULING_AGAIN, /* the very same set was admitted after it arrived, or is
                     admitted and has not ended */
    RULING_WAIT,  /* not yet; reject it when it has waited long enough */
    RULING_REFUSE
};

/* The reason: the word for reject/NAME.why, and a sentence. */
struct ruling_why {
    const char *word;
    char text[ERR_TEXT_BYTES];
};
void set_ruling(struct ruling_why *why, const char *word, const char *format,
                ...) PRINTF_LIKE(3, 4);

/* The word for a set that would run as the owner (base_run_as_target). */
#define RULING_NO_ACCOUNT "no-account"

/* False: the registry could not be read. `why` is set for WAIT and REFUSE.
 * *ret_target is the target as configured; NULL for AGAIN, and if the set is
 * refused before its target was looked up or because there is none. */
bool set_rule(const struct base *base, const struct candidate *candidate,
              struct wall now, enum ruling *ret_ruling,
              const struct config_target **ret_target, struct ruling_why *why,
              struct err *err);
/* A target by its name, or by a branch that only one target has; an empty name
 * means the only target. NULL: there is none. */
const struct config_target *set_target(const struct config *config,
                                       struct span name);
/* True if its time is too far in the future; this needs no look inside. */
bool set_is_future(const struct set_name *name, struct wall now);
enum { FUTURE_MS = 300 * 1000 };

#endif
