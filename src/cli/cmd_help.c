#include "cli/commands.h"
#include "cli/help.h"
#include "cli/call_connect.h"
#include "cli/console.h"

int cmd_version(struct call *call) {
    struct err err = {0};

    if (!call_operands(call, 0, 0, &err))
        return console_error(&err);
    if (call_has(call, "json"))
        (void)console_printf("{\"name\":\"pointsman\",\"version\":\"%s\"}\n",
                             POINTSMAN_VERSION);
    else
        (void)console_printf("pointsman %s\n", POINTSMAN_VERSION);
    return console_finish(0);
}

/* "change pack" may be given as two words. */
static const struct command *named(struct call *call, struct text *name) {
    for (size_t i = 0; i < call->word_count; i++)
        text_addf(name, "%s%s", i == 0 ? "" : " ", call->words[i]);
    return command_find(call->table, text_string(name));
}

/* `help change`: all commands that begin with this word. */
static bool family(const struct command_table *table, const char *first,
                   struct text *out) {
    bool any = false;

    for (size_t i = 0; i < table->command_count; i++) {
        if (command_second_word(&table->commands[i], first) == NULL)
            continue;
        if (any)
            text_adds(out, "\n");
        any = true;
        help_command(table, &table->commands[i], out);
    }
    return any;
}

static bool manual(const struct command_table *table,
                   const struct command *command, const char *name,
                   struct text *out, struct err *err) {
    if (command != NULL)
        man_command(table, command, out);
    else if (name[0] == '\0' || strcmp(name, "pointsman") == 0)
        man_overview(table, out);
    else if (strcmp(name, "pointsman.conf") == 0)
        man_config(out);
    else if (!man_family(table, name, out))
        return err_set(err, ERR_USAGE,
                       "--man prints no page '%s', only those of commands, "
                       "pointsman and pointsman.conf; others are installed: "
                       "man %s, or see pointsman help",
                       name, name);
    return true;
}

int cmd_help(struct call *call) {
    CLEANUP(text_clear) struct text out = TEXT_INIT, name = TEXT_INIT;
    const struct command *command = named(call, &name);
    const char *shell = call_value(call, "completion");
    struct err err = {0};
    bool ok = true;

    if (shell != NULL)
        ok = completion_format(call->table, shell, &out, &err);
    else if (call_has(call, "man"))
        ok = manual(call->table, command, text_string(&name), &out, &err);
    else if (command != NULL)
        help_command(call->table, command, &out);
    else if (name.len == 0)
        help_overview(call->table, &out);
    else if (!family(call->table, text_string(&name), &out))
        ok = help_topic(call->table, text_string(&name), &out, &err);
    if (!ok)
        return console_error(&err);
    (void)console_write(text_span(&out));
    return console_finish(0);
}
