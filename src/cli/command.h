/* The command line as data: the rows of commands.def. commands.c expands
 * them; code that parses a command line or describes commands is given the
 * table. */
#ifndef POINTSMAN_CLI_COMMAND_H
#define POINTSMAN_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/role.h"
#include "core/access.h"

enum command_flag {
    COMMAND_STOPS = 1,  /* options end at the first operand */
    COMMAND_HIDDEN = 2, /* not in help, manual and completion */
    COMMAND_RAW = 4,    /* reads its arguments itself */
    COMMAND_ROLES = 8,  /* its help lists the roles of a base */
    COMMAND_SHELL = 16, /* `pointsman shell` offers it */
    COMMAND_READS = 32, /* its operands are files; - is standard input */
    COMMAND_WRITES = 64 /* its operand is a file; - is standard output */
};

enum option_flag {
    OPTION_MANY = 1,
    OPTION_LOCAL = 2, /* not for `pointsman shell` */
    OPTION_READS = COMMAND_READS,
    OPTION_WRITES = COMMAND_WRITES
};

/* The command that owns an option, an example or an exit code. */
enum { COMMAND_EVERY = 0 };

struct call;

struct command {
    unsigned id;      /* from 1 on */
    const char *name; /* "change pack" */
    int (*run)(struct call *call);
    unsigned group; /* index of its title */
    struct access_need need;
    unsigned flags;
    const char *arguments, *line, *help;
};

struct option {
    unsigned command;
    const char *name;
    char letter;       /* 0: none */
    const char *value; /* NULL: a flag */
    unsigned flags;
    const char *help;
};

struct example {
    unsigned command;
    const char *line, *meaning;
};

struct exit_code {
    unsigned command;
    int code;
    const char *meaning;
};

/* Commands with the same first word, which share a manual page besides their
 * own. */
struct family {
    const char *name, *line, *help;
    const char *see_also; /* "pointsman(1), ..." */
};

struct command_table {
    const struct command *commands;
    size_t command_count;
    const struct option *options;
    size_t option_count;
    const struct example *examples;
    size_t example_count;
    const struct exit_code *exit_codes;
    size_t exit_code_count;
    const struct family *families;
    size_t family_count;
    const char *const *groups; /* titles, in the order of help */
    size_t group_count;
    const struct role *const *roles; /* base/role.h; NULL at the end */
};

/* "change pack", "list"; NULL: no such command. */
const struct command *command_find(const struct command_table *table,
                                   const char *name);
/* "pack" if the command is "change pack" and `first` is "change"; else NULL. */
const char *command_second_word(const struct command *command,
                                const char *first);
/* True unless the command is hidden. */
bool command_is_shown(const struct command *command);

#endif
