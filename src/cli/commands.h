/* Every command: the table of commands.def, and the function of each row.
 * Only main.c hands the table on; a command finds it in its call. */
#ifndef POINTSMAN_CLI_COMMANDS_H
#define POINTSMAN_CLI_COMMANDS_H

#include "cli/command.h"

extern const struct command_table commands;

/* Runs the parsed command; returns its exit status. */
#define COMMAND(id, name, run, group, role, flags, args, line, help) \
    int run(struct call *call);
#include "cli/commands.def"

#endif
