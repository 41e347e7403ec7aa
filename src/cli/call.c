#include "cli/call.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/time.h"

/* ---- which command ------------------------------------------------------- */

/* What people type who come from other programs. */
static const char *const elsewhere[][2] = {
    {"add", "submit"},        {"at", "cron add"},
    {"batch", "submit"},      {"cat", "logs"},
    {"crontab", "cron list"}, {"enqueue", "submit"},
    {"info", "status"},       {"jobs", "list"},
    {"kill", "cancel"},       {"land", "change pack --submit"},
    {"ls", "list"},           {"merge", "change pack --submit"},
    {"ps", "list"},           {"revert", "rollback"},
    {"rm", "cancel"},         {"sbatch", "submit"},
    {"scancel", "cancel"},    {"show", "status"},
    {"squeue", "list"},       {"start", "serve"},
    {"tail", "logs -f"},      {"top", "list"},
    {"tsp", "submit"},
};

static const char *word_here(const char *name) {
    for (size_t i = 0; i < COUNT(elsewhere); i++)
        if (strcmp(elsewhere[i][0], name) == 0)
            return elsewhere[i][1];
    return NULL;
}

static bool unknown_command(struct call *call, const char *name,
                            struct err *err) {
    const struct command_table *table = call->table;
    const char **names =
        arena_alloc(&call->arena, 2 * table->command_count * sizeof(*names));
    size_t count = 0;

    for (size_t i = 0; i < table->command_count; i++) {
        const char *shown = table->commands[i].name;
        if (!command_is_shown(&table->commands[i]))
            continue;
        names[count++] = shown;
        if (strchr(shown, ' ') != NULL)
            names[count++] = arena_string(
                &call->arena, span_make(shown, strcspn(shown, " ")));
    }
    const char *meant = word_here(name);
    if (meant == NULL)
        meant = text_nearest(name, names, count);
    if (meant != NULL)
        return err_set(err, ERR_USAGE, "no command '%s'; did you mean '%s'?",
                       name, meant);
    return err_set(err, ERR_USAGE,
                   "no command '%s'; try pointsman help, or to run a program: "
                   "pointsman run -- %s",
                   name, name);
}

/* Words that begin commands of two words ("change", "config"). */
static bool is_first_word(const struct command_table *table, const char *word) {
    for (size_t i = 0; i < table->command_count; i++)
        if (command_second_word(&table->commands[i], word) != NULL)
            return true;
    return false;
}

static bool second_word_missing(struct call *call, const char *first,
                                const char *second, struct err *err) {
    CLEANUP(text_clear) struct text choices = TEXT_INIT;

    if (second != NULL && second[0] != '-')
        return unknown_command(
            call, arena_printf(&call->arena, "%s %s", first, second), err);
    for (size_t i = 0; i < call->table->command_count; i++) {
        const char *word =
            command_second_word(&call->table->commands[i], first);
        if (word != NULL)
            text_addf(&choices, "%s%s", choices.len > 0 ? ", " : "", word);
    }
    return err_set(err, ERR_USAGE, "'%s' needs one more word: %s", first,
                   text_string(&choices));
}

/* ---- options ------------------------------------------------------------- */

static bool belongs_to(const struct option *option, const struct call *call) {
    return option->command == COMMAND_EVERY ||
           (call->command != NULL && option->command == call->command->id);
}

static const struct option *option_of(const struct call *call, const char *name,
                                      size_t len, char letter) {
    for (size_t i = 0; i < call->table->option_count; i++) {
        const struct option *option = &call->table->options[i];
        if (!belongs_to(option, call))
            continue;
        if (letter != '\0' ? option->letter == letter
                           : strncmp(option->name, name, len) == 0 &&
                                 option->name[len] == '\0')
            return option;
    }
    return NULL;
}

static bool unknown_option(struct call *call, const char *name,
                           struct err *err) {
    const struct command_table *table = call->table;
    const struct command *command = call->command;
    const char **names =
        arena_alloc(&call->arena, table->option_count * sizeof(*names));
    size_t count = 0;

    for (size_t i = 0; i < table->option_count; i++)
        if (belongs_to(&table->options[i], call))
            names[count++] = table->options[i].name;
    const char *meant = text_nearest(name, names, count);
    const char *whose = command == NULL ? "pointsman" : command->name;
    if (meant != NULL)
        return err_set(err, ERR_USAGE,
                       "'%s' has no option '--%s'; did you mean '--%s'?", whose,
                       name, meant);
    return err_set(err, ERR_USAGE,
                   "'%s' has no option '--%s'; try pointsman help%s%s", whose,
                   name, command == NULL ? "" : " ",
                   command == NULL ? "" : command->name);
}

static bool give(struct call *call, const struct option *option,
                 const char *value, struct err *err) {
    if ((option->flags & OPTION_MANY) == 0 && option->value != NULL &&
        call_value(call, option->name) != NULL)
        return err_set(err, ERR_USAGE, "'--%s' is given twice", option->name);
    call->given =
        mem_grow(call->given, call->given_count + 1, sizeof *call->given);
    call->given[call->given_count++] =
        (struct call_option){option, value == NULL ? "" : value};
    return true;
}

/* --name, --name=VALUE, --name VALUE. */
static bool take_long(struct call *call, const char *word, const char *next,
                      bool *ret_used_next, struct err *err) {
    const char *name = word + 2, *equals = strchr(name, '=');
    size_t len = equals == NULL ? strlen(name) : (size_t)(equals - name);
    const struct option *option = option_of(call, name, len, '\0');

    *ret_used_next = false;
    if (option == NULL)
        return unknown_option(
            call, arena_string(&call->arena, span_make(name, len)), err);
    if (option->value == NULL) {
        if (equals != NULL)
            return err_set(err, ERR_USAGE, "'--%s' takes no value",
                           option->name);
        return give(call, option, NULL, err);
    }
    if (equals != NULL)
        return give(call, option, equals + 1, err);
    if (next == NULL)
        return err_set(err, ERR_USAGE, "'--%s' needs a value: %s", option->name,
                       option->value);
    *ret_used_next = true;
    return give(call, option, next, err);
}

/* -x, -xVALUE, -x VALUE, -xy. */
static bool take_short(struct call *call, const char *word, const char *next,
                       bool *ret_used_next, struct err *err) {
    *ret_used_next = false;
    for (const char *c = word + 1; *c != '\0'; c++) {
        const struct option *option = option_of(call, NULL, 0, *c);
        if (option == NULL && call->command != NULL &&
            strstr(call->command->arguments, "FILTER") != NULL &&
            c == word + 1 && word[2] != '\0')
            return err_set(err, ERR_USAGE,
                           "'%s' has no option '-%c'; to exclude what a filter "
                           "matches, write -- before it: pointsman %s -- %s",
                           call->command->name, *c, call->command->name, word);
        if (option == NULL)
            return err_set(err, ERR_USAGE,
                           "'%s' has no option '-%c'; try pointsman help%s%s",
                           call->command == NULL ? "pointsman"
                                                 : call->command->name,
                           *c, call->command == NULL ? "" : " ",
                           call->command == NULL ? "" : call->command->name);
        if (option->value == NULL) {
            if (!give(call, option, NULL, err))
                return false;
            continue;
        }
        if (c[1] != '\0')
            return give(call, option, c + 1, err);
        if (next == NULL)
            return err_set(err, ERR_USAGE, "'-%c' needs a value: %s", *c,
                           option->value);
        *ret_used_next = true;
        return give(call, option, next, err);
    }
    return true;
}

/* ---- the whole line ------------------------------------------------------ */

static bool is_option(const char *word) {
    return word[0] == '-' && word[1] != '\0';
}

/* Finds the command's words; *at is moved past them. */
static bool take_command(struct call *call, int argc, char **argv, int *at,
                         struct err *err) {
    const char *first = argv[*at];
    const char *second = *at + 1 < argc ? argv[*at + 1] : NULL;

    if (is_first_word(call->table, first)) {
        const char *both =
            second == NULL ? NULL
                           : arena_printf(&call->arena, "%s %s", first, second);
        call->command = both == NULL ? NULL : command_find(call->table, both);
        /* A command of one word may begin others: "train", "train recheck". */
        if (call->command == NULL) {
            call->command = command_find(call->table, first);
            if (call->command != NULL) {
                *at += 1;
                return true;
            }
            if (second != NULL &&
                (strcmp(second, "--help") == 0 || strcmp(second, "-h") == 0)) {
                call->command = command_find(call->table, "help");
                call->words[call->word_count++] = first;
                *at = argc;
                return true;
            }
            return second_word_missing(call, first, second, err);
        }
        *at += 2;
        return true;
    }
    call->command = command_find(call->table, first);
    if (call->command == NULL)
        return unknown_command(call, first, err);
    *at += 1;
    return true;
}

static bool read_line(struct call *call, int argc, char **argv,
                      struct err *err) {
    bool words_only = false;

    for (int at = 1; at < argc;) {
        const char *word = argv[at];
        const char *next = at + 1 < argc ? argv[at + 1] : NULL;
        bool used_next = false;
        if (!words_only && strcmp(word, "--") == 0 && call->command != NULL) {
            words_only = call->has_dashes = true;
            call->before_dashes = call->word_count;
            at++;
            continue;
        }
        if (!words_only && is_option(word)) {
            if (call->command == NULL && strcmp(word, "--version") == 0) {
                call->command = command_find(call->table, "version");
                at++;
                continue;
            }
            bool ok = word[1] == '-'
                          ? take_long(call, word, next, &used_next, err)
                          : take_short(call, word, next, &used_next, err);
            if (!ok)
                return false;
            at += used_next ? 2 : 1;
            continue;
        }
        if (call->command == NULL) {
            if (!take_command(call, argc, argv, &at, err))
                return false;
            if ((call->command->flags & COMMAND_RAW) != 0) {
                call->argc = argc - at + 1;
                call->argv = argv + at - 1;
                return true;
            }
            continue;
        }
        words_only |= (call->command->flags & COMMAND_STOPS) != 0;
        call->words[call->word_count++] = word;
        at++;
    }
    return true;
}

/* ---- files --------------------------------------------------------------- */

const char *call_next_file(const struct call *call, size_t *cursor,
                           unsigned *ret_flag) {
    const unsigned files = COMMAND_READS | COMMAND_WRITES;
    while (*cursor < call->given_count) {
        const struct call_option *given = &call->given[(*cursor)++];
        *ret_flag = given->option->flags & files;
        if (*ret_flag != 0)
            return given->value;
    }
    size_t word = *cursor - call->given_count;
    *ret_flag = call->command->flags & files;
    if (*ret_flag == 0 || word >= call->word_count)
        return NULL;
    ++*cursor;
    return call->words[word];
}

/* All files that are written are archives. */
static bool check_standard(const struct call *call, struct err *err) {
    size_t cursor = 0, inputs = 0;
    unsigned flag;
    const char *file;
    while ((file = call_next_file(call, &cursor, &flag)) != NULL) {
        if (strcmp(file, "-") != 0)
            continue;
        if (flag == COMMAND_WRITES && isatty(STDOUT_FILENO) == 1)
            return err_set(err, ERR_USAGE,
                           "standard output is a terminal; redirect it to a "
                           "file or a pipe");
        if (flag == COMMAND_READS && ++inputs > 1)
            return err_set(err, ERR_USAGE,
                           "'-' is given twice, but standard input can be "
                           "read only once");
    }
    return true;
}

bool call_parse(const struct command_table *table, int argc, char **argv,
                struct call *ret_call, struct err *err) {
    *ret_call = (struct call){.table = table, .arena = ARENA_INIT};
    ret_call->words = mem_alloc(((size_t)argc + 2) * sizeof *ret_call->words);
    if (!read_line(ret_call, argc, argv, err))
        return false;
    if (ret_call->command == NULL)
        ret_call->command = command_find(table, "help");
    return check_standard(ret_call, err);
}

void call_clear(struct call *call) {
    arena_clear(&call->arena);
    free(call->words);
    free(call->given);
    *call = (struct call){0};
}

/* ---- what was given ------------------------------------------------------ */

bool call_knows(const struct call *call, const char *name) {
    return option_of(call, name, strlen(name), '\0') != NULL;
}

static void option_must_exist(const struct call *call, const char *name) {
    assert(call->command == NULL || call_knows(call, name));
}

const char *call_value(const struct call *call, const char *name) {
    size_t cursor = 0;
    return call_next(call, name, &cursor);
}

bool call_has(const struct call *call, const char *name) {
    return call_value(call, name) != NULL;
}

const char *call_next(const struct call *call, const char *name,
                      size_t *cursor) {
    option_must_exist(call, name);
    while (*cursor < call->given_count) {
        const struct call_option *given = &call->given[(*cursor)++];
        if (strcmp(given->option->name, name) == 0)
            return given->value;
    }
    return NULL;
}

bool call_number(const struct call *call, const char *name, long long least,
                 long long most, long long *ret_value, struct err *err) {
    const char *value = call_value(call, name);
    int64_t number;

    if (value == NULL)
        return true;
    if (!span_i64(span_of(value), &number) || number < least || number > most)
        return err_set(err, ERR_USAGE,
                       "'--%s' must be a number from %lld to %lld, not '%s'",
                       name, least, most, value);
    *ret_value = number;
    return true;
}

bool call_duration(const struct call *call, const char *name, long long *ret_ms,
                   struct err *err) {
    const char *value = call_value(call, name);
    int64_t ms;

    if (value == NULL)
        return true;
    if (!duration_parse(span_of(value), &ms) || ms < 0)
        return err_set(
            err, ERR_USAGE,
            "'--%s' must be a duration such as 90, 90s, 15m or 2h, not "
            "'%s'",
            name, value);
    *ret_ms = ms;
    return true;
}

bool call_open_input(const char *file, int *ret_fd, struct err *err) {
    *ret_fd = strcmp(file, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                     : open(file, O_RDONLY | O_CLOEXEC);
    return *ret_fd >= 0 || err_errno(err, errno, "cannot open '%s'", file);
}
