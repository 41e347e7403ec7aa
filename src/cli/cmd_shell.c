/* shell: the forced command of an ssh key. It does what one command line of the
 * person who owns the key says, and only what the server can do for that
 * person: nothing of this machine can be reached through it. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/console.h"
#include "cli/help.h"

#include <stdlib.h>

#include "wire/words.h"

static const char command_variable[] = "SSH_ORIGINAL_COMMAND";

/* sshd lets clients set some variables (AcceptEnv), and none of them may change
 * what a command does here. */
static bool forget_environment(struct err *err) {
    return (clearenv() == 0 && setenv("PATH", "/usr/bin:/bin", 1) == 0) ||
           err_set(err, ERR_CANNOT, "cannot clear the environment");
}

/* ---- which commands ------------------------------------------------------ */

static void add_names(const struct command_table *table, enum access_role role,
                      struct text *out) {
    for (size_t i = 0; i < table->command_count; i++) {
        const struct command *command = &table->commands[i];
        if ((command->flags & COMMAND_SHELL) != 0 && command->need.role <= role)
            text_addf(out, "%s%s", out->len > 0 ? ", " : "", command->name);
    }
}

static enum access_role role_of(const char *word) {
    for (unsigned role = 0; role < ACCESS_ROLES; role++)
        if (strcmp(access_role_word((enum access_role)role), word) == 0)
            return (enum access_role)role;
    return ACCESS_NOBODY;
}

/* Asks the server for the caller's role. */
static bool role_read(struct call *call, enum access_role *ret_role,
                      struct err *err) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    struct client *client = NULL;
    bool ok = call_client(call, &client, err) &&
              client_get(client, &reply, err, "/api/v1/caller");
    client_close(client);
    if (ok)
        *ret_role =
            role_of(call_line_text(text_span(&reply), "role", &call->arena));
    return ok;
}

/* Without an answer of the server, lists the commands of every role. */
static bool not_offered(struct call *call, struct err *err) {
    CLEANUP(text_clear) struct text names = TEXT_INIT;
    enum access_role role = ACCESS_ADMIN;
    (void)role_read(call, &role, &(struct err){0});
    add_names(call->table, role, &names);
    return err_set(err, ERR_DENIED, "'%s' is not offered over ssh; %s%s",
                   call->command->name,
                   names.len > 0 ? "you may use: " : "your key has no role",
                   text_string(&names));
}

/* The first option is the --base of the key. */
static bool check_options(const struct call *call, struct err *err) {
    for (size_t i = 1; i < call->given_count; i++)
        if ((call->given[i].option->flags & OPTION_LOCAL) != 0)
            return err_set(err, ERR_DENIED,
                           "'--%s' cannot be used over ssh: it concerns the "
                           "machine of the server",
                           call->given[i].option->name);
    return true;
}

static bool check_files(const struct call *call, struct err *err) {
    size_t cursor = 0;
    unsigned flag;
    const char *file;
    while ((file = call_next_file(call, &cursor, &flag)) != NULL)
        if (strcmp(file, "-") != 0)
            return err_set(err, ERR_DENIED,
                           "'%s' would be a file of the server; over ssh only "
                           "- is possible, which is standard input",
                           file);
    return true;
}

static bool check(struct call *call, struct err *err) {
    if ((call->command->flags & COMMAND_SHELL) == 0)
        return not_offered(call, err);
    return check_options(call, err) && check_files(call, err);
}

/* ---- one command --------------------------------------------------------- */

static int run_checked(struct call *call) {
    CLEANUP(text_clear) struct text help = TEXT_INIT;
    if (!call_has(call, "help"))
        return call->command->run(call);
    help_command(call->table, call->command, &help);
    (void)console_write(text_span(&help));
    return console_finish(0);
}

static int run_words(const struct call *shell, const char *person, char **words,
                     size_t count) {
    struct call call = {0};
    struct err err = {0};
    CLEANUP(arena_clear) struct arena kept = ARENA_INIT;
    char **argv = arena_alloc(&kept, (count + 4) * sizeof(*argv));
    int argc = 0, status;
    argv[argc++] = arena_string(&kept, SPAN("pointsman"));
    argv[argc++] = arena_string(&kept, SPAN("--base"));
    argv[argc++] = arena_string(&kept, span_of(call_value(shell, "base")));
    for (size_t i = 0; i < count; i++)
        argv[argc++] = words[i];
    argv[argc] = NULL;
    bool is_parsed = call_parse(shell->table, argc, argv, &call, &err);
    call.person = person;
    if (!is_parsed || !check(&call, &err) || !console_init(&call, &err)) {
        status = console_error(&err);
    } else {
        status = run_checked(&call);
    }
    call_clear(&call);
    return status;
}

/* ---- no command ---------------------------------------------------------- */

static int show_caller(struct call *call) {
    CLEANUP(text_clear) struct text names = TEXT_INIT;
    enum access_role role;
    struct err err = {0};
    if (!role_read(call, &role, &err))
        return console_error(&err);
    add_names(call->table, role, &names);
    (void)console_printf("You are %s, with the role %s. There are no "
                         "interactive sessions; the commands are: %s\n",
                         call->person, access_role_word(role),
                         text_string(&names));
    return console_finish(0);
}

/* ---- the line ------------------------------------------------------------ */

static bool check_self(const struct call *call, struct err *err) {
    const char *person = call_value(call, "as");
    if (person == NULL || !access_person_is_valid(span_of(person)))
        return err_set(err, ERR_USAGE,
                       "'shell' needs --as NAME: up to 64 letters, digits and "
                       ". _ - + @");
    if (call_value(call, "base") == NULL || call_has(call, "server"))
        return err_set(err, ERR_USAGE,
                       "'shell' needs --base DIR and takes no --server: the "
                       "line of the key decides which base is used");
    return true;
}

int cmd_shell(struct call *call) {
    const char *line = getenv(command_variable);
    struct err err = {0};
    char **words = NULL;
    size_t count = 0;

    if (line != NULL)
        line = arena_string(&call->arena, span_of(line));
    if (!call_operands(call, 0, 0, &err) || !check_self(call, &err) ||
        !forget_environment(&err) ||
        (line != NULL &&
         !words_split(span_of(line), &call->arena, &words, &count, &err)))
        return console_error(&err);
    call->person = call_value(call, "as");
    if (count > 0 && strcmp(words[0], "pointsman") == 0) {
        words++;
        count--;
    }
    return count == 0 ? show_caller(call)
                      : run_words(call, call->person, words, count);
}
