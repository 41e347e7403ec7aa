/* Starts a command: makes its argument vector and its environment from its
 * submission. The environment is that of the submission (`submit` adds PATH,
 * HOME, LANG and TZ unless --clean), followed by that of every attempt. */
#ifndef POINTSMAN_COMMANDS_COMMAND_START_H
#define POINTSMAN_COMMANDS_COMMAND_START_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"

struct attempt_start;
struct run_start;
struct work_site;

/* See make_start of struct work_kind. Errors: ERR_DATA (the submission cannot
 * be read), ERR_CONFIG (there is no such user), ERR_DENIED (the program may not
 * run as this user). */
bool command_start_make(const struct work_site *site,
                        const struct run_start *start, struct arena *arena,
                        struct attempt_start *ret_start, struct err *err);

#endif
