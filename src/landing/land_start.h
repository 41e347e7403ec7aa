/* The parameters of a landing or a rollback. `pointsman land` and `pointsman
 * revert` are separate processes; their parameters are one JSON object on
 * standard input, in a sealed file in memory. So neither the number of sets nor
 * the length of a message runs into the kernel's limit for arguments.
 *
 * Paths may be relative to the base, which is the child's working directory.
 * Only values that differ from the default are written. */
#ifndef POINTSMAN_LANDING_LAND_START_H
#define POINTSMAN_LANDING_LAND_START_H

#include <limits.h>
#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "landing/land.h"
#include "landing/revert.h"

/* Appends the object to `out`. */
void land_start_format(const struct land_start *start, struct text *out);
void land_start_format_revert(const struct revert_start *start,
                              struct text *out);

/* The result lives in the arena. Relative paths start at `dir`. Error:
 * ERR_DATA; unknown keys, values of a wrong type and missing keys are refused.
 */
bool land_start_parse(struct span text, const char *dir, struct arena *arena,
                      struct land_start *ret_start, struct err *err);
bool land_start_parse_revert(struct span text, const char *dir,
                             struct arena *arena,
                             struct revert_start *ret_start, struct err *err);

/* The child's side. */
struct land_input {
    struct text text;   /* the object */
    struct arena arena; /* holds the parsed values */
    char dir[PATH_MAX]; /* the working directory */
};

/* Reads the file to its end. Error: ERR_USAGE if it is no file, for example if
 * a user typed the command. Clear it even after an error. */
bool land_input_read(int fd, struct land_input *ret_input, struct err *err);
void land_input_clear(struct land_input *input);

enum land_verb { LAND_SETS, LAND_REVERT };

/* The main function of the child: reads its parameters, makes one attempt and
 * reports how it ended. Returns the exit status. If standard input is a socket,
 * it makes one landing after the other (landing/land_serve.h), in the work
 * directory `work`. */
int land_main(enum land_verb verb, const char *work);

#endif
