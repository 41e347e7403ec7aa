#include "cli/command.h"

#include <string.h>

const struct command *command_find(const struct command_table *table,
                                   const char *name) {
    for (size_t i = 0; i < table->command_count; i++)
        if (strcmp(table->commands[i].name, name) == 0)
            return &table->commands[i];
    return NULL;
}

const char *command_second_word(const struct command *command,
                                const char *first) {
    size_t len = strlen(first);

    if (strncmp(command->name, first, len) != 0 || command->name[len] != ' ')
        return NULL;
    return command->name + len + 1;
}

bool command_is_shown(const struct command *command) {
    return (command->flags & COMMAND_HIDDEN) == 0;
}
