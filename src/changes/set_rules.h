/* May this set be admitted? What neither the tarball alone nor the order
 * decides: its target, its time, what it supersedes, what cannot be done yet.
 */
#ifndef POINTSMAN_CHANGES_SET_RULES_H
#define POINTSMAN_CHANGES_SET_RULES_H

#include <stdbool.h>

#include "lib/err.h"
#include "base/base.h"
#include "wire/meta.h"
#include "wire/refusal.h"
#include "wire/set_name.h"

/* A set as it was found to be. */
struct approval_given; /* core/approval.h */
struct candidate {
    struct set_name name;
    struct meta meta;
    struct span sum;
    uint64_t size_bytes;
    bool has_symlinks;
    /* Approvals that came with it and are good; or some nobody looked at yet,
     * so that what is lacking is not said at the door. */
    const struct approval_given *given;
    size_t given_count;
    bool unread_approvals;
};

enum ruling {
    RULING_ADMIT,
    RULING_AGAIN, /* it is admitted already, the very same */
    RULING_WAIT,  /* not yet; refuse it when it has waited long enough */
    RULING_REFUSE
};

/* Why: the word that stands in reject/NAME.why, and a sentence. */
struct ruling_why {
    const char *word;
    char text[ERR_TEXT_BYTES];
};
void set_ruling(struct ruling_why *why, const char *word, const char *format,
                ...) PRINTF_LIKE(3, 4);

/* False: the registry could not be asked. */
bool set_rule(const struct base *base, const struct candidate *candidate,
              struct wall now, enum ruling *ret_ruling,
              const struct config_target **ret_target, struct ruling_why *why,
              struct err *err);
/* A target by its name; a branch that only one target has will do. NULL: none
 * is meant. */
const struct config_target *set_target(const struct config *config,
                                       struct span name);
/* The part that needs no look inside: is its time believable? */
bool set_is_future(const struct set_name *name, struct wall now);
enum { FUTURE_MS = 300 * 1000 };

#endif
