/* Manual pages in roff, generated from the tables that the parsers use. */
#include "cli/help.h"
#include "wire/config_section.h"

/* Escapes text for roff: dots at the beginning of lines, backslashes, and minus
 * signs, so that they can be copied. */
static void add_roff(struct text *out, const char *text) {
    if (*text == '.' || *text == '\'')
        text_adds(out, "\\&");
    for (; *text != '\0'; text++) {
        if (*text == '\\')
            text_adds(out, "\\e");
        else if (*text == '-')
            text_adds(out, "\\-");
        else
            text_addc(out, *text);
        if (*text == '\n' && (text[1] == '.' || text[1] == '\''))
            text_adds(out, "\\&");
    }
}

static void add_paragraphs(struct text *out, const char *help) {
    for (const char *c = help; *c != '\0';) {
        const char *end = strchr(c, '\n');
        size_t len = end == NULL ? strlen(c) : (size_t)(end - c);
        CLEANUP(text_free_string) char *line = span_string(span_make(c, len));
        if (len == 0)
            text_adds(out, ".PP\n");
        else {
            add_roff(out, line);
            text_addc(out, '\n');
        }
        c += len + (end != NULL);
    }
}

static void add_option(struct text *out, const struct option *option) {
    text_adds(out, ".TP\n");
    if (option->letter != '\0')
        text_addf(out, "\\fB\\-%c\\fR, ", option->letter);
    text_adds(out, "\\fB\\-\\-");
    add_roff(out, option->name);
    text_adds(out, "\\fR");
    if (option->value != NULL) {
        text_adds(out, "=\\fI");
        add_roff(out, option->value);
        text_adds(out, "\\fR");
    }
    text_addc(out, '\n');
    add_roff(out, option->help);
    text_adds(out, (option->flags & OPTION_MANY) != 0 ? "; may be repeated.\n"
                                                      : ".\n");
}

static void add_options(const struct command_table *table, struct text *out,
                        unsigned id, const char *title) {
    bool any = false;

    for (size_t i = 0; i < table->option_count; i++) {
        if (table->options[i].command != id)
            continue;
        if (!any && title != NULL)
            text_addf(out, ".SH %s\n", title);
        any = true;
        add_option(out, &table->options[i]);
    }
}

static void add_head(struct text *out, const char *name, int section,
                     const char *line) {
    text_addf(out, ".TH \"%s\" %d \"\" \"pointsman %s\" \"Pointsman\"\n", name,
              section, POINTSMAN_VERSION);
    text_adds(out, ".SH NAME\n");
    add_roff(out, name);
    text_adds(out, " \\- ");
    add_roff(out, line);
    text_addc(out, '\n');
}

/* "change pack" -> "change-pack". */
static char *page_name(const struct command *command) {
    struct text name = TEXT_INIT;

    text_addf(&name, "pointsman-%s", command->name);
    for (size_t i = 0; i < name.len; i++)
        if (name.p[i] == ' ')
            name.p[i] = '-';
    return text_take(&name);
}

static void add_synopsis(struct text *out, const struct command *command) {
    text_addf(out, "\\fBpointsman %s\\fR [\\fIOPTION\\fR]... ", command->name);
    add_roff(out, command->arguments);
    text_addc(out, '\n');
}

static void add_examples(const struct command_table *table, struct text *out,
                         unsigned id) {
    for (size_t i = 0; i < table->example_count; i++) {
        if (table->examples[i].command != id)
            continue;
        text_adds(out, ".TP\n\\fBpointsman ");
        add_roff(out, table->examples[i].line);
        text_adds(out, "\\fR\n");
        add_roff(out, table->examples[i].meaning);
        text_addc(out, '\n');
    }
}

/* Pages as in "pointsman(1), pointsman.conf(5)", their names in bold. */
static void add_see_also(struct text *out, const char *pages) {
    struct span rest = span_of(pages), page;

    text_adds(out, ".SH SEE ALSO\n");
    while (span_cut(&rest, '(', &page)) {
        CLEANUP(text_free_string) char *name = span_string(page);
        text_adds(out, "\\fB");
        add_roff(out, name);
        text_adds(out, "\\fR(");
        (void)span_cut(&rest, ' ', &page);
        text_addspan(out, page);
        text_addc(out, rest.p == NULL ? '\n' : ' ');
    }
}

static const struct family *family_of(const struct command_table *table,
                                      const char *name, size_t len) {
    for (size_t i = 0; i < table->family_count; i++)
        if (span_is(span_make(name, len), table->families[i].name))
            return &table->families[i];
    return NULL;
}

static bool is_of_family(const struct command_table *table,
                         const struct command *command,
                         const struct family *family) {
    return command_is_shown(command) &&
           family_of(table, command->name, strcspn(command->name, " ")) ==
               family;
}

static void add_role(struct text *out, const struct command *command) {
    CLEANUP(text_clear) struct text role = TEXT_INIT;

    if (help_role(command, &role)) {
        text_adds(out, ".PP");
        add_roff(out, text_string(&role));
    }
}

bool man_family(const struct command_table *table, const char *name,
                struct text *out) {
    const struct family *family = family_of(table, name, strlen(name));

    if (family == NULL)
        return false;
    CLEANUP(text_clear) struct text page = TEXT_INIT;
    text_addf(&page, "pointsman-%s", name);
    add_head(out, text_string(&page), 1, family->line);
    text_adds(out, ".SH SYNOPSIS\n");
    for (size_t i = 0; i < table->command_count; i++)
        if (is_of_family(table, &table->commands[i], family)) {
            add_synopsis(out, &table->commands[i]);
            text_adds(out, ".br\n");
        }
    text_adds(out, ".SH DESCRIPTION\n");
    add_paragraphs(out, family->help);
    for (size_t i = 0; i < table->command_count; i++)
        if (is_of_family(table, &table->commands[i], family)) {
            text_addf(out, ".SS pointsman %s\n", table->commands[i].name);
            add_paragraphs(out, table->commands[i].help);
            add_role(out, &table->commands[i]);
            add_options(table, out, table->commands[i].id, NULL);
        }
    add_options(table, out, COMMAND_EVERY, "OPTIONS OF EVERY COMMAND");
    text_adds(out, ".SH EXAMPLES\n");
    for (size_t i = 0; i < table->command_count; i++)
        if (is_of_family(table, &table->commands[i], family))
            add_examples(table, out, table->commands[i].id);
    add_see_also(out, family->see_also);
    return true;
}

static void add_roles(const struct command_table *table, struct text *out) {
    text_adds(out, ".SH ROLES\n");
    for (const struct role *const *role = table->roles; *role; role++) {
        text_addf(out, ".TP\n\\fB%s\\fR\n", (*role)->name);
        add_roff(out, (*role)->help);
        text_adds(out, ".\n");
    }
}

void man_command(const struct command_table *table,
                 const struct command *command, struct text *out) {
    CLEANUP(text_free_string) char *page = page_name(command);
    const struct family *family =
        family_of(table, command->name, strcspn(command->name, " "));
    bool any = false;

    add_head(out, page, 1, command->line);
    text_adds(out, ".SH SYNOPSIS\n");
    add_synopsis(out, command);
    text_adds(out, ".SH DESCRIPTION\n");
    add_paragraphs(out, command->help);
    add_role(out, command);
    if ((command->flags & COMMAND_ROLES) != 0)
        add_roles(table, out);
    add_options(table, out, command->id, "OPTIONS");
    add_options(table, out, COMMAND_EVERY, "OPTIONS OF EVERY COMMAND");
    for (size_t i = 0; i < table->exit_code_count; i++) {
        if (table->exit_codes[i].command != command->id)
            continue;
        if (!any)
            text_adds(out, ".SH EXIT STATUS\nIn addition to those of "
                           "\\fBpointsman\\fR(1):\n");
        any = true;
        text_addf(out, ".TP\n%d\n", table->exit_codes[i].code);
        add_roff(out, table->exit_codes[i].meaning);
        text_addc(out, '\n');
    }
    text_adds(out, ".SH EXAMPLES\n");
    add_examples(table, out, command->id);
    add_see_also(out, family != NULL ? family->see_also
                                     : "pointsman(1), pointsman.conf(5)");
}

void man_overview(const struct command_table *table, struct text *out) {
    add_head(out, "pointsman", 1,
             "queues commands and change sets, orders and runs them");
    text_adds(out, ".SH SYNOPSIS\n\\fBpointsman\\fR \\fICOMMAND\\fR "
                   "[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n"
                   ".SH DESCRIPTION\nOne directory, the base, holds a whole "
                   "installation. Change sets for branches of git "
                   "repositories and commands go into one queue; they are "
                   "ordered, run and recorded.\n");
    for (unsigned group = 0; group < table->group_count; group++) {
        text_addf(out, ".SS %s\n", table->groups[group]);
        for (size_t i = 0; i < table->command_count; i++) {
            if (table->commands[i].group != group ||
                !command_is_shown(&table->commands[i]))
                continue;
            CLEANUP(text_free_string)
            char *page = page_name(&table->commands[i]);
            text_adds(out, ".TP\n\\fB");
            add_roff(out, page);
            text_adds(out, "\\fR(1)\n");
            add_roff(out, table->commands[i].line);
            text_addc(out, '\n');
        }
    }
    add_options(table, out, COMMAND_EVERY, "OPTIONS OF EVERY COMMAND");
    for (size_t i = 0; i < help_topic_count(); i++) {
        struct text topic = TEXT_INIT;
        (void)help_topic(table, help_topic_name(i), &topic, NULL);
        text_addf(out, ".SH %s\n.nf\n", help_topic_name(i));
        add_roff(out, text_string(&topic));
        text_adds(out, ".fi\n");
        text_clear(&topic);
    }
    add_see_also(out, "pointsman.conf(5)");
}

static void add_key(struct text *out, const char *key, const char *value,
                    const char *choices, const char *meaning) {
    text_adds(out, ".TP\n\\fB");
    add_roff(out, key);
    text_adds(out, "\\fR = ");
    add_roff(out, value);
    text_addc(out, '\n');
    if (choices != NULL) {
        add_roff(out, choices);
        text_adds(out, ": ");
    }
    add_roff(out, meaning);
    text_addc(out, '\n');
}

static void add_section(struct text *out,
                        const struct config_section *section) {
    text_addf(out, ".SH [%s%s]\n", section->name,
              section->check_label == NULL ? "" : " \\(dqNAME\\(dq");
    for (size_t k = 0; k < section->key_count; k++) {
        const struct config_key *key = &section->keys[k];
        add_key(out, key->name, key->usual, key->choices, key->meaning);
    }
    const struct config_free_key *free_key = section->free_key;
    if (free_key != NULL)
        add_key(out, free_key->name, free_key->value, NULL, free_key->meaning);
}

void man_config(struct text *out) {
    add_head(out, "pointsman.conf", 5, "configuration of a base");
    text_adds(out,
              ".SH DESCRIPTION\nThe configuration of a base is read from the "
              "file \\fBpointsman.conf\\fR and then from "
              "\\fBconf.d/*.conf\\fR. Section names are written in brackets, "
              "and each key has a line of its own. Comments begin with # or ; "
              "and have lines of their own. If a key is given twice, the last "
              "one wins; the items of a list add up, and an empty value "
              "clears it. Items are separated by commas; an item that "
              "contains a comma is written in double quotes. An unknown key is "
              "an error.\n.PP\n"
              "Times are seconds or have a unit (90, 15m, 2h, 7d). Sizes are "
              "bytes or have a suffix (4096, 256M, 2G). Commands are split "
              "into words with the quoting rules of a shell, but run without "
              "a shell. Paths are relative to the base.\n.PP\n"
              "Each key is shown with its default. A section with NAME can be "
              "repeated with different names.\n");
    const struct config_section *section;
    for (size_t s = 0; (section = config_section_at(s)) != NULL; s++)
        add_section(out, section);
    add_see_also(out, "pointsman(1), pointsman-config-check(1)");
}
