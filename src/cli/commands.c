/* The one place that knows every command: commands.def becomes a table. */
#include "cli/commands.h"

#include "lib/text.h"
#include "serve/tables.h"

enum {
    STOPS = COMMAND_STOPS,
    ROLES = COMMAND_ROLES,
    HIDDEN = COMMAND_HIDDEN,
    RAW = COMMAND_RAW,
    SHELL = COMMAND_SHELL,
    READS = COMMAND_READS,
    WRITES = COMMAND_WRITES,
    MANY = OPTION_MANY,
    LOCAL = OPTION_LOCAL
};

enum {
    ID_EVERY = COMMAND_EVERY,
#define COMMAND(id, name, run, group, role, flags, args, line, help) ID_##id,
#include "cli/commands.def"
};

enum {
#define GROUP(id, title) GROUP_##id,
#include "cli/commands.def"
};

static const char *const groups[] = {
#define GROUP(id, title) title,
#include "cli/commands.def"
};

static const struct command rows[] = {
#define COMMAND(id, name, run, group, role, flags, args, line, help) \
    {ID_##id, name, run,  GROUP_##group, ACCESS_NEED_##role,         \
     flags,   args, line, help},
#include "cli/commands.def"
};

static const struct option options[] = {
#define OPTION(id, name, letter, value, flags, help) \
    {ID_##id, name, letter, value, flags, help},
#include "cli/commands.def"
};

static const struct example examples[] = {
#define EXAMPLE(id, line, meaning) {ID_##id, line, meaning},
#include "cli/commands.def"
};

static const struct exit_code exit_codes[] = {
#define EXIT_CODE(id, code, meaning) {ID_##id, code, meaning},
#include "cli/commands.def"
};

static const struct family families[] = {
#define FAMILY(name, line, help, see_also) {name, line, help, see_also},
#include "cli/commands.def"
};

const struct command_table commands = {
    .commands = rows,
    .command_count = COUNT(rows),
    .options = options,
    .option_count = COUNT(options),
    .examples = examples,
    .example_count = COUNT(examples),
    .exit_codes = exit_codes,
    .exit_code_count = COUNT(exit_codes),
    .families = families,
    .family_count = COUNT(families),
    .groups = groups,
    .group_count = COUNT(groups),
    .roles = serve_roles,
};
