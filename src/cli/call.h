/* The table of commands.def as data, and a command line read by it. */
#ifndef POINTSMAN_CLI_CALL_H
#define POINTSMAN_CLI_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"

enum command_id {
#define COMMAND(id, name, run, group, flags, args, line, help) COMMAND_##id,
#include "cli/commands.def"
    COMMANDS,
    COMMAND_EVERY = COMMANDS /* options of every command */
};

enum command_group {
    GROUP_WORK,    /* run, submit */
    GROUP_SHOW,    /* list, why, logs, ... */
    GROUP_CONTROL, /* cancel, retry, ... */
    GROUP_CHANGE,  /* change ... */
    GROUP_CRON,    /* cron ... */
    GROUP_BASE,    /* init, serve, fsck, ... */
    GROUP_OTHER,
    GROUPS
};

enum command_flag {
    COMMAND_STOPS = 1,  /* options end at the first operand */
    COMMAND_HIDDEN = 2, /* not in help, manual and completion */
    COMMAND_RAW = 4     /* reads its arguments itself */
};

enum option_flag { OPTION_MANY = 1 };

struct call;

struct command {
    enum command_id id;
    const char *name; /* "change pack" */
    int (*run)(struct call *call);
    enum command_group group;
    unsigned flags;
    const char *arguments, *line, *help;
};

struct option {
    enum command_id command;
    const char *name;
    char letter;       /* 0: none */
    const char *value; /* NULL: a flag */
    unsigned flags;
    const char *help;
};

struct example {
    enum command_id command;
    const char *line, *meaning;
};

struct exit_code {
    enum command_id command;
    int code;
    const char *meaning;
};

extern const struct command commands[COMMANDS];
extern const struct option command_options[];
extern const size_t command_option_count;
extern const struct example examples[];
extern const size_t example_count;
extern const struct exit_code exit_codes[];
extern const size_t exit_code_count;
extern const char *const group_titles[GROUPS];

/* "change pack", "list"; NULL: none of that name. */
const struct command *call_find_command(const char *name);

/* A command line, read. */
struct call {
    const struct command *command;
    struct arena arena; /* for all that lives as long as the call */
    int argc;           /* RAW: from the command's name on */
    char **argv;
    const char **words; /* operands, NULL behind the last */
    size_t word_count;
    struct call_option {
        const struct option *option;
        const char *value;
    } * given;
    size_t given_count;
};

/* Reads argv (argv[0] is the program). Errors: ERR_USAGE with what was perhaps
 * meant. Without a command it is `help`. */
bool call_parse(int argc, char **argv, struct call *ret_call, struct err *err);
void call_clear(struct call *call);

/* The option's value; NULL: not given. The name must be in the table. */
const char *call_value(const struct call *call, const char *name);
bool call_has(const struct call *call, const char *name);
/* Has this command an option of that name at all? */
bool call_knows(const struct call *call, const char *name);
/* One value after the other: *cursor starts at 0; NULL at the end. */
const char *call_next(const struct call *call, const char *name,
                      size_t *cursor);
/* As a number. False: not one, or out of bounds (ERR_USAGE). Not given:
 * *ret_value stays as it is. */
bool call_number(const struct call *call, const char *name, long long least,
                 long long most, long long *ret_value, struct err *err);
/* As a duration in ms, likewise. */
bool call_duration(const struct call *call, const char *name, long long *ret_ms,
                   struct err *err);

/* Every command: its exit status. */
#define COMMAND(id, name, run, group, flags, args, line, help) \
    int run(struct call *call);
#include "cli/commands.def"

#endif
