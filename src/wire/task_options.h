/* The options of a submission for the processes of its task: task_options.def.
 * The same functions read values for the JSON of submissions and the command
 * line. */
#ifndef POINTSMAN_WIRE_TASK_OPTIONS_H
#define POINTSMAN_WIRE_TASK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/json.h"
#include "lib/text.h"

/* Numbers of the choices, in the order of task_options.def. */
enum task_kill_method { TASK_TERM_WAIT_KILL, TASK_TERM, TASK_KILL };
enum task_kill_to { TASK_TO_GROUP, TASK_TO_CHILD, TASK_TO_CGROUP };
enum task_death { TASK_DEATH_KILL, TASK_DEATH_TERM, TASK_DEATH_NONE };
enum task_yes { TASK_YES, TASK_NO };
enum task_sandbox { TASK_OPEN, TASK_SANDBOXED };
enum task_argv { TASK_ARGV_PLAIN, TASK_ARGV_BISTRO };

/* The limits of getrlimit(2), for each process. */
enum task_limit {
    TASK_LIMIT_AS,
    TASK_LIMIT_CORE,
    TASK_LIMIT_CPU,
    TASK_LIMIT_DATA,
    TASK_LIMIT_FSIZE,
    TASK_LIMIT_MEMLOCK,
    TASK_LIMIT_NOFILE,
    TASK_LIMIT_NPROC,
    TASK_LIMIT_STACK,
    TASK_LIMITS
};

enum {
    TASK_UNSAID = -1, /* numbers that were not given */
    TASK_UNLIMITED = -2,
    TASK_KEYS_MAX = 32
};

#define TASK_C_CHOICE int64_t
#define TASK_C_MS int64_t
#define TASK_C_AMOUNT int64_t
#define TASK_C_TEXT struct span
#define TASK_C_LIMITS struct task_limits

struct task_limits {
    int64_t value[TASK_LIMITS];
};

struct task_options {
#define TASK_OPTION(key, kind, field, ...) TASK_C_##kind field;
#include "wire/task_options.def"
#undef TASK_OPTION
};

/* Sets all options to "not given". */
void task_options_init(struct task_options *options);

/* A row of the table. */
struct task_option {
    const char *key, *usual, *meaning;
    bool many; /* may be given several times */
};
/* NULL: there are no more. */
const struct task_option *task_option_at(size_t index);

bool task_option_is_known(struct span key);

/* The key must be known. ERR_DATA: not a valid value. Spans are kept, not
 * copied. A limit is NAME=VALUE, one at a time. */
bool task_option_set(struct task_options *options, struct span key,
                     struct span value, struct err *err);
/* Reads JSON: strings, numbers, true and false; limits as an object. */
bool task_option_read(struct task_options *options, struct span key,
                      struct json_value value, struct arena *arena,
                      struct err *err);
/* Checks rules that involve several options. */
bool task_options_check(const struct task_options *options, struct err *err);
/* Writes the options that were given as members of the open object. */
void task_options_format(const struct task_options *options, struct json *json);

#endif
