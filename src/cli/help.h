/* Help, manual pages and completions from the table of commands. All output
 * goes to a text: the manual pages are generated at build time by the same
 * code. */
#ifndef POINTSMAN_CLI_HELP_H
#define POINTSMAN_CLI_HELP_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/text.h"
#include "cli/command.h"

void help_overview(const struct command_table *table, struct text *out);
void help_command(const struct command_table *table,
                  const struct command *command, struct text *out);
/* "Required role: ..." as a paragraph; false: any viewer may run it. */
bool help_role(const struct command *command, struct text *out);
/* Topics besides the commands. False: no such topic (ERR_USAGE). */
bool help_topic(const struct command_table *table, const char *name,
                struct text *out, struct err *err);
size_t help_topic_count(void);
const char *help_topic_name(size_t index);

/* pointsman(1), pointsman-VERB(1), pointsman.conf(5) in roff. */
void man_overview(const struct command_table *table, struct text *out);
/* pointsman-cron(1): the page of a family of commands. False: it has none. */
bool man_family(const struct command_table *table, const char *name,
                struct text *out);
void man_command(const struct command_table *table,
                 const struct command *command, struct text *out);
void man_config(struct text *out);

/* "bash", "zsh" or "fish". ERR_USAGE. */
bool completion_format(const struct command_table *table, const char *shell,
                       struct text *out, struct err *err);

#endif
