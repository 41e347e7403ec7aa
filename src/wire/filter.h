/* The filter grammar of all lists, pages and bulk commands:
 *
 *     state:failed,pending class:EM -target:main age>1h arg~"foo bar" abc
 *
 * Terms are separated by blanks and all must match; `-` in front negates a
 * term; a comma means "any of these". After `:` (or `=`) the whole value is
 * compared, with `*` as a wildcard; after `~` it is searched for, ignoring
 * case. A bare word matches the beginning of the id, or any part of the
 * command. Blanks, commas and quotes inside a value are written within "...",
 * with \" and \\.
 *
 *     state kind class target id node reason arg touches held owed overdue age
 *     since */
#ifndef POINTSMAN_WIRE_FILTER_H
#define POINTSMAN_WIRE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "lib/time.h"
#include "core/job.h"

enum filter_field {
#define FILTER_FIELD(name, word, kind, meaning) FILTER_##name,
#include "wire/filter.def"
#undef FILTER_FIELD
    FILTER_FIELDS
};

enum filter_op { FILTER_IS, FILTER_HAS, FILTER_MORE, FILTER_LESS };

struct filter_term {
    enum filter_field field;
    enum filter_op op;
    bool negate;
    struct span *values; /* any of them matches; states as their letters */
    size_t value_count;
    int64_t ms; /* age, since */
    bool flag;  /* held, owed, overdue */
};

struct filter {
    struct filter_term *terms; /* none: everything matches */
    size_t count;
};

/* The facts about a job that a filter may test. */
struct filter_facts {
    char state; /* one of QSPXDFTA */
    bool held, owed, overdue;
    struct span kind, class, target, id, node, reason;
    struct span arg; /* command line or message, for ~ and bare words */
    const struct span *touches;
    size_t touch_count;
    struct wall admitted; /* for age */
    struct wall since;    /* when it entered this state */
};

/* Results live in the arena. Error ERR_USAGE: what is wrong, at which byte, and
 * a suggestion. */
bool filter_parse(struct span text, struct arena *arena,
                  struct filter *ret_filter, struct err *err);
bool filter_match(const struct filter *filter, const struct filter_facts *facts,
                  struct wall now);
/* Letters of the states that can match at all, so that only these are searched.
 */
void filter_states(const struct filter *filter,
                   char ret_states[JOB_STATES + 1]);

#endif
