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
 *     since
 *
 * Filters of the tasks of an array have the fields state and node. A bare word
 * is a part of the node there, and may be several with commas between them. As
 * nodes may be any text, only `state:`, `node:` and `node~` begin with a field,
 * another word before `:` is an error, and the rest is a bare word. */
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

enum filter_of { FILTER_JOBS, FILTER_TASKS };

enum filter_op { FILTER_IS, FILTER_HAS, FILTER_MORE, FILTER_LESS };

struct filter_term {
    enum filter_field field;
    enum filter_op op;
    bool negate;
    struct span *values; /* any of them matches; states as their letters, those
                            of tasks as filter_task_state */
    size_t value_count;
    int64_t ms; /* age, since */
    bool flag;  /* held, owed, overdue */
};

struct filter {
    struct filter_term *terms; /* none: everything matches */
    size_t count;
};

/* The facts about a job that a filter may test. Of a task: its state, and the
 * node as `id`, `node` and `arg`. */
struct filter_facts {
    char state; /* one of QSPXDFTA; of a task: filter_task_state */
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
bool filter_parse(struct span text, enum filter_of of, struct arena *arena,
                  struct filter *ret_filter, struct err *err);
char filter_task_state(enum task_status status);
bool filter_match(const struct filter *filter, const struct filter_facts *facts,
                  struct wall now);
/* Letters of the states of jobs that can match at all, so that only these are
 * searched. */
void filter_states(const struct filter *filter,
                   char ret_states[JOB_STATES + 1]);

#endif
