/* What a landing or a rollback is started with. `pointsman land` and
 * `pointsman revert` are processes of their own; their parameters are one JSON
 * object on standard input, in a sealed file in memory. So neither the number
 * of sets nor the length of a message meets the kernel's limit for arguments.
 *
 * Paths may be relative: to the base, which is the child's working directory.
 * Only what differs from the default is written. */
#ifndef POINTSMAN_LANDING_LAND_START_H
#define POINTSMAN_LANDING_LAND_START_H

#include <limits.h>
#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "landing/land.h"
#include "landing/revert.h"

void land_start_format(const struct land_start *order, struct text *out);
void land_start_format_revert(const struct revert_start *order,
                              struct text *out);

/* What they return lives in the arena. Relative paths start at `dir`. Error:
 * ERR_DATA; unknown keys, values of another type and missing ones are refused.
 */
bool land_start_parse(struct span text, const char *dir, struct arena *arena,
                      struct land_start *ret_order, struct err *err);
bool land_start_parse_revert(struct span text, const char *dir,
                             struct arena *arena,
                             struct revert_start *ret_order, struct err *err);

/* The child's end. */
struct land_input {
    struct text text;   /* the object */
    struct arena arena; /* for what is parsed from it */
    char dir[PATH_MAX]; /* the working directory */
};

/* Reads standard input to its end. Error: ERR_USAGE if that is not a file, as
 * when somebody types the command. Clear it in any case. */
bool land_input_read(struct land_input *ret_input, struct err *err);
void land_input_clear(struct land_input *input);

enum land_verb { LAND_SETS, LAND_REVERT };

/* The whole child: reads its start, makes one attempt, reports how it ended.
 * Returns the exit status. */
int land_main(enum land_verb verb);

#endif
