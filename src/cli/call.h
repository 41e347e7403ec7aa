/* A command line, parsed by means of the table of commands. */
#ifndef POINTSMAN_CLI_CALL_H
#define POINTSMAN_CLI_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "cli/command.h"

/* A parsed command line. */
struct call {
    const struct command_table *table;
    const struct command *command;
    struct arena arena; /* for everything that lives as long as the call */
    int argc;           /* RAW: from the command's name on */
    char **argv;
    const char **words; /* operands, with NULL after the last */
    size_t word_count;
    bool has_dashes;      /* "--" ended the options: */
    size_t before_dashes; /* the number of operands before it */
    struct call_option {
        const struct option *option;
        const char *value;
    } * given;
    size_t given_count;
    const char *person; /* for whom `pointsman shell` acts; else NULL */
};

/* Reads argv (argv[0] is the program). Errors: ERR_USAGE with a suggestion
 * of what was perhaps meant, or if standard input is to be read twice, or
 * binary data to be written to a terminal. Without a command it is `help`. */
bool call_parse(const struct command_table *table, int argc, char **argv,
                struct call *ret_call, struct err *err);
void call_clear(struct call *call);

/* The option's value; NULL: not given. The name must be in the table. */
const char *call_value(const struct call *call, const char *name);
bool call_has(const struct call *call, const char *name);
/* Does this command have an option of that name at all? */
bool call_knows(const struct call *call, const char *name);
/* The values of a repeated option, one per call: *cursor starts at 0; NULL
 * at the end. */
const char *call_next(const struct call *call, const char *name,
                      size_t *cursor);
/* The files named by operands and options that read or write one, with the
 * flag that says which: *cursor starts at 0; NULL at the end. */
const char *call_next_file(const struct call *call, size_t *cursor,
                           unsigned *ret_flag);
/* The option's value as a number. False: not a number, or out of bounds
 * (ERR_USAGE). If it is not given, *ret_value stays unchanged. */
bool call_number(const struct call *call, const char *name, long long least,
                 long long most, long long *ret_value, struct err *err);
/* The option's value as a duration in ms, likewise. */
bool call_duration(const struct call *call, const char *name, long long *ret_ms,
                   struct err *err);

/* Opens an operand FILE for reading; "-" is standard input. */
bool call_open_input(const char *file, int *ret_fd, struct err *err);

#endif
