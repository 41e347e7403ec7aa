/* Completion scripts. Words of commands and options come from the table, ids
 * of jobs from `pointsman list`. */
#include "cli/help.h"

/* Commands whose operands are ids of jobs. */
static bool takes_ids(const struct command *command) {
    return strstr(command->arguments, "ID") != NULL;
}

/* First words, without repetition. */
static void add_first_words(const struct command_table *table, struct text *out,
                            const char *separator) {
    bool any = false;

    for (size_t i = 0; i < table->command_count; i++) {
        struct span rest = span_of(table->commands[i].name), word, before_word;
        (void)span_cut(&rest, ' ', &word);
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++) {
            struct span before = span_of(table->commands[k].name);
            (void)span_cut(&before, ' ', &before_word);
            seen = span_equal(before_word, word);
        }
        if (seen || !command_is_shown(&table->commands[i]))
            continue;
        if (any)
            text_adds(out, separator);
        any = true;
        text_addspan(out, word);
    }
}

static void add_option_words(const struct command_table *table,
                             struct text *out, unsigned id) {
    for (size_t i = 0; i < table->option_count; i++)
        if (table->options[i].command == id)
            text_addf(out, " --%s%s", table->options[i].name,
                      table->options[i].value == NULL ? "" : "=");
}

/* Second words of "change" and "config". */
static void add_second_words(const struct command_table *table,
                             struct text *out, struct span first) {
    for (size_t i = 0; i < table->command_count; i++) {
        struct span rest = span_of(table->commands[i].name), word;
        (void)span_cut(&rest, ' ', &word);
        if (span_equal(word, first) && rest.p != NULL) {
            text_addc(out, ' ');
            text_addspan(out, rest);
        }
    }
}

static bool begins_pair(const struct command_table *table, size_t index,
                        struct span *ret_first) {
    struct span rest = span_of(table->commands[index].name);

    (void)span_cut(&rest, ' ', ret_first);
    if (rest.p == NULL)
        return false;
    for (size_t k = 0; k < index; k++)
        if (strncmp(table->commands[k].name, ret_first->p,
                    ret_first->len + 1) == 0)
            return false;
    return true;
}

static bool is_command(const struct command_table *table, struct span name) {
    for (size_t i = 0; i < table->command_count; i++)
        if (span_is(name, table->commands[i].name))
            return true;
    return false;
}

static void bash(const struct command_table *table, struct text *out) {
    struct span first;

    text_adds(out,
              "# bash completion of pointsman; made by the program itself\n"
              "_pointsman() {\n"
              "    local cur=${COMP_WORDS[COMP_CWORD]} verb='' i words='' "
              "ids=''\n"
              "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
              "        case ${COMP_WORDS[i]} in\n"
              "        --base | --server | --color) ((i++)) ;;\n"
              "        -*) ;;\n"
              "        *) verb=\"${verb:+$verb }${COMP_WORDS[i]}\" ;;\n"
              "        esac\n"
              "    done\n"
              "    case $verb in\n"
              "    '') words='");
    add_first_words(table, out, " ");
    text_adds(out, "' ;;\n");
    for (size_t i = 0; i < table->command_count; i++)
        if (command_is_shown(&table->commands[i]) &&
            begins_pair(table, i, &first)) {
            text_addf(out, "    %.*s) words='", (int)first.len, first.p);
            add_second_words(table, out, first);
            text_adds(out, "' ;;\n");
        }
    for (size_t i = 0; i < table->command_count; i++) {
        if (!command_is_shown(&table->commands[i]))
            continue;
        text_addf(out, "    '%s' | '%s '*) words='", table->commands[i].name,
                  table->commands[i].name);
        add_option_words(table, out, table->commands[i].id);
        add_option_words(table, out, COMMAND_EVERY);
        text_addf(out, "'%s ;;\n",
                  takes_ids(&table->commands[i]) ? " ids=1" : "");
    }
    text_adds(out,
              "    esac\n"
              "    if [[ $ids && $cur != -* ]]; then\n"
              "        words=$(pointsman list --json 2>/dev/null |\n"
              "            sed -n 's/^{\"id\":\"\\([^\"]*\\)\".*/\\1/p')\n"
              "    fi\n"
              "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
              "    [[ ${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "
              "\"$cur\"))\n"
              "    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace\n"
              "    return 0\n"
              "}\n"
              "complete -F _pointsman pointsman\n");
}

/* A word between single quotes of a shell. */
static void add_quoted(struct text *out, const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            text_adds(out, "'\\''");
        else
            text_addc(out, *text);
    }
}

/* A member of an array of _describe: 'WORD:meaning'. */
static void add_described(struct text *out, struct span word,
                          const char *meaning) {
    text_adds(out, "        '");
    text_addspan(out, word);
    text_addc(out, ':');
    add_quoted(out, meaning);
    text_adds(out, "'\n");
}

static void zsh_seconds(const struct command_table *table, struct text *out,
                        struct span first) {
    text_addf(out, "        %.*s) seconds=(\n", (int)first.len, first.p);
    for (size_t i = 0; i < table->command_count; i++) {
        struct span rest = span_of(table->commands[i].name), word;
        (void)span_cut(&rest, ' ', &word);
        if (span_equal(word, first) && rest.p != NULL)
            add_described(out, rest, table->commands[i].line);
    }
    text_adds(out, "        ) ;;\n");
}

static void zsh_words(const struct command_table *table, struct text *out) {
    struct span first;

    text_adds(out, "    local -a verbs seconds; verbs=(\n");
    for (size_t i = 0; i < table->command_count; i++) {
        if (!command_is_shown(&table->commands[i]))
            continue;
        if (strchr(table->commands[i].name, ' ') == NULL)
            add_described(out, span_of(table->commands[i].name),
                          table->commands[i].line);
        else if (begins_pair(table, i, &first) && !is_command(table, first))
            add_described(out, first, "...");
    }
    text_adds(out, "    )\n"
                   "    if (( CURRENT == 2 )); then _describe command verbs; "
                   "return; fi\n"
                   "    local verb=$words[2]\n"
                   "    case $verb in\n");
    for (size_t i = 0; i < table->command_count; i++)
        if (command_is_shown(&table->commands[i]) &&
            begins_pair(table, i, &first))
            zsh_seconds(table, out, first);
    text_adds(out, "    esac\n"
                   "    if (( $#seconds )); then\n"
                   "        if (( CURRENT == 3 )); then _describe command "
                   "seconds; return; fi\n"
                   "        verb=\"$words[2] $words[3]\"\n"
                   "    fi\n");
}

static void zsh(const struct command_table *table, struct text *out) {
    text_adds(out, "#compdef pointsman\n"
                   "# zsh completion of pointsman; made by the program "
                   "itself\n"
                   "_pointsman() {\n");
    zsh_words(table, out);
    text_adds(out, "    case $verb in\n");
    for (size_t i = 0; i < table->command_count; i++) {
        if (!command_is_shown(&table->commands[i]))
            continue;
        text_addf(out, "    '%s') _arguments", table->commands[i].name);
        for (size_t k = 0; k < table->option_count; k++) {
            if (table->options[k].command != table->commands[i].id &&
                table->options[k].command != COMMAND_EVERY)
                continue;
            text_addf(out, " \\\n        '%s--%s%s[",
                      (table->options[k].flags & OPTION_MANY) != 0 ? "*" : "",
                      table->options[k].name,
                      table->options[k].value == NULL ? "" : "=");
            for (const char *c = table->options[k].help; *c != '\0'; c++) {
                if (*c == '\'')
                    text_adds(out, "'\\''");
                else if (*c == '[' || *c == ']' || *c == ':')
                    text_addf(out, "\\%c", *c);
                else
                    text_addc(out, *c);
            }
            text_adds(out, "]");
            if (table->options[k].value != NULL)
                text_adds(out, ":value:_files");
            text_adds(out, "'");
        }
        text_adds(out, takes_ids(&table->commands[i])
                           ? " \\\n        '*:job:($(pointsman list --json "
                             "2>/dev/null | sed -n \"s/^{\\\"id\\\":"
                             "\\\"\\([^\\\"]*\\)\\\".*/\\1/p\"))' ;;\n"
                           : " \\\n        '*:file:_files' ;;\n");
    }
    text_adds(out, "    esac\n}\n_pointsman \"$@\"\n");
}

static void fish(const struct command_table *table, struct text *out) {
    text_adds(out, "# fish completion of pointsman; made by the program "
                   "itself\n"
                   "complete -c pointsman -f\n"
                   "function __pointsman_ids\n"
                   "    pointsman list --json 2>/dev/null | string replace -rf "
                   "'^\\{\"id\":\"([^\"]*)\".*' '$1'\n"
                   "end\n");
    for (size_t i = 0; i < table->command_count; i++) {
        if (!command_is_shown(&table->commands[i]))
            continue;
        struct span rest = span_of(table->commands[i].name), first;
        (void)span_cut(&rest, ' ', &first);
        if (rest.p == NULL)
            text_addf(out,
                      "complete -c pointsman -n __fish_use_subcommand -a "
                      "'%s' -d '",
                      table->commands[i].name);
        else
            text_addf(out,
                      "complete -c pointsman -n '__fish_seen_subcommand_from "
                      "%.*s' -a '%.*s' -d '",
                      (int)first.len, first.p, (int)rest.len, rest.p);
        add_quoted(out, table->commands[i].line);
        text_adds(out, "'\n");
        struct span last = rest.p == NULL ? first : rest;
        for (size_t k = 0; k < table->option_count; k++) {
            if (table->options[k].command != table->commands[i].id)
                continue;
            text_addf(out,
                      "complete -c pointsman -n '__fish_seen_subcommand_from "
                      "%.*s' -l %s",
                      (int)last.len, last.p, table->options[k].name);
            if (table->options[k].letter != '\0')
                text_addf(out, " -s %c", table->options[k].letter);
            text_addf(out, "%s -d '",
                      table->options[k].value == NULL ? "" : " -r");
            add_quoted(out, table->options[k].help);
            text_adds(out, "'\n");
        }
        if (takes_ids(&table->commands[i]))
            text_addf(out,
                      "complete -c pointsman -n '__fish_seen_subcommand_from "
                      "%.*s' -a '(__pointsman_ids)'\n",
                      (int)last.len, last.p);
    }
    struct span pair;
    for (size_t i = 0; i < table->command_count; i++)
        if (command_is_shown(&table->commands[i]) &&
            begins_pair(table, i, &pair))
            text_addf(out,
                      "complete -c pointsman -n __fish_use_subcommand -a "
                      "'%.*s'\n",
                      (int)pair.len, pair.p);
    for (size_t k = 0; k < table->option_count; k++)
        if (table->options[k].command == COMMAND_EVERY)
            text_addf(out, "complete -c pointsman -l %s%s\n",
                      table->options[k].name,
                      table->options[k].value == NULL ? "" : " -r");
}

bool completion_format(const struct command_table *table, const char *shell,
                       struct text *out, struct err *err) {
    if (strcmp(shell, "bash") == 0)
        bash(table, out);
    else if (strcmp(shell, "zsh") == 0)
        zsh(table, out);
    else if (strcmp(shell, "fish") == 0)
        fish(table, out);
    else
        return err_set(err, ERR_USAGE,
                       "there are completions for bash, zsh and fish, not "
                       "'%s'",
                       shell);
    return true;
}
