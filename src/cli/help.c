#include "cli/help.h"

#include "lib/arena.h"
#include "base/base.h"
#include "wire/filter.h"

enum { HELP_WIDTH = 78, HELP_INDENT = 4 };

/* Adds the words of `text` from column `indent` on, in lines of HELP_WIDTH;
 * the first line continues at column `at`. */
static void add_wrapped(struct text *out, const char *text, size_t at,
                        size_t indent) {
    struct span rest = span_of(text), word;
    bool first = true;

    while (span_cut(&rest, ' ', &word)) {
        if (!first && at + 1 + word.len > HELP_WIDTH) {
            text_addf(out, "\n%*s", (int)indent, "");
            at = indent;
            first = true;
        }
        if (!first) {
            text_addc(out, ' ');
            at++;
        }
        text_addspan(out, word);
        at += word.len;
        first = false;
    }
    text_addc(out, '\n');
}

/* "  LEFT   RIGHT", RIGHT wrapped below itself. */
static void add_pair(struct text *out, const char *left, size_t left_width,
                     const char *right) {
    size_t column = 2 + left_width + 2, len = strlen(left);

    text_addf(out, "  %s", left);
    if (len > left_width) {
        text_addf(out, "\n%*s", (int)column, "");
        len = left_width;
    } else {
        text_addf(out, "%*s", (int)(left_width - len + 2), "");
    }
    add_wrapped(out, right, column, column);
}

static void add_paragraphs(struct text *out, const char *help) {
    struct span rest = span_of(help), line;

    while (span_cut(&rest, '\n', &line)) {
        if (line.len == 0) {
            text_addc(out, '\n');
            continue;
        }
        CLEANUP(text_free_string) char *paragraph = span_string(line);
        add_wrapped(out, paragraph, 0, 0);
    }
}

void help_overview(const struct command_table *table, struct text *out) {
    text_adds(out,
              "pointsman queues commands and change sets, orders and runs "
              "them.\n\n"
              "usage: pointsman COMMAND [OPTION]... [ARGUMENT]...\n\n"
              "  pointsman init                  create a base here\n"
              "  pointsman run -- make -j8       run a command through the "
              "queue\n"
              "  pointsman list                  list jobs\n");
    for (unsigned group = 0; group < table->group_count; group++) {
        text_addf(out, "\n%s\n", table->groups[group]);
        for (size_t i = 0; i < table->command_count; i++)
            if (table->commands[i].group == group &&
                command_is_shown(&table->commands[i]))
                add_pair(out, table->commands[i].name, 13,
                         table->commands[i].line);
    }
    text_adds(out, "\nTopics\n  ");
    for (size_t i = 0; i < help_topic_count(); i++)
        text_addf(out, "%s%s", i == 0 ? "" : ", ", help_topic_name(i));
    text_adds(out, "\n\n`pointsman help COMMAND` and `pointsman help TOPIC` "
                   "explain each.\n");
}

static void add_options(const struct command_table *table, struct text *out,
                        unsigned id, const char *title) {
    bool any = false;

    for (size_t i = 0; i < table->option_count; i++) {
        const struct option *option = &table->options[i];
        if (option->command != id)
            continue;
        struct text left = TEXT_INIT;
        if (option->letter != '\0')
            text_addf(&left, "-%c, ", option->letter);
        text_addf(&left, "--%s%s%s", option->name,
                  option->value == NULL ? "" : "=",
                  option->value == NULL ? "" : option->value);
        if (!any)
            text_addf(out, "\n%s:\n", title);
        any = true;
        CLEANUP(text_clear) struct text right = TEXT_INIT;
        text_adds(&right, option->help);
        if ((option->flags & OPTION_MANY) != 0)
            text_adds(&right, " (may be repeated)");
        add_pair(out, text_string(&left), 22, text_string(&right));
        text_clear(&left);
    }
}

static void add_roles(const struct command_table *table, struct text *out) {
    text_adds(out, "\nroles:\n");
    for (const struct role *const *role = table->roles; *role; role++)
        add_pair(out, (*role)->name, 8, (*role)->help);
}

static void add_exit_codes(const struct command_table *table, struct text *out,
                           unsigned id) {
    bool any = false;

    for (size_t i = 0; i < table->exit_code_count; i++) {
        if (table->exit_codes[i].command != id)
            continue;
        if (!any)
            text_adds(out, "\nexit codes (see also pointsman help "
                           "exit-codes):\n");
        any = true;
        char code[16];
        struct text text = TEXT_INIT;
        text_addf(&text, "%d", table->exit_codes[i].code);
        memcpy(code, text_string(&text), text.len + 1);
        text_clear(&text);
        add_pair(out, code, 3, table->exit_codes[i].meaning);
    }
}

bool help_role(const struct command *command, struct text *out) {
    struct access_need need = command->need;

    if (need.role <= ACCESS_VIEWER)
        return false;
    text_addf(out, "\nRequired role: %s", access_role_word(need.role));
    if (need.others != need.role)
        text_addf(out, "; %s for jobs of others",
                  access_role_word(need.others));
    if (need.reserved != NULL)
        text_addf(out, "; jobs may not %s", need.reserved);
    text_adds(out, " (pointsman help roles).\n");
    return true;
}

void help_command(const struct command_table *table,
                  const struct command *command, struct text *out) {
    bool any = false;

    text_addf(out, "usage: pointsman %s [OPTION]...%s%s\n\n", command->name,
              command->arguments[0] == '\0' ? "" : " ", command->arguments);
    for (size_t i = 0; i < table->example_count; i++) {
        if (table->examples[i].command != command->id)
            continue;
        any = true;
        text_addf(out, "  pointsman %s\n", table->examples[i].line);
        text_addf(out, "%*s%s\n", 2 * HELP_INDENT, "",
                  table->examples[i].meaning);
    }
    if (any)
        text_addc(out, '\n');
    add_paragraphs(out, command->help);
    help_role(command, out);
    if ((command->flags & COMMAND_ROLES) != 0)
        add_roles(table, out);
    add_options(table, out, command->id, "options");
    add_options(table, out, COMMAND_EVERY, "options of every command");
    add_exit_codes(table, out, command->id);
}

/* ---- topics -------------------------------------------------------------- */

static void topic_exit_codes(struct text *out) {
    text_adds(out, "Exit codes\n\n");
    add_pair(out, "0", 5, "success");
    add_pair(out, "N", 5,
             "run and wait: the exit code of the job. A command killed by "
             "signal N: 128 + N. A change set: done 0, failed 1, terminated "
             "143, abandoned 125. Several jobs: the first code that is not 0");
    add_pair(out, "1", 5,
             "fsck, doctor: problems were found; cron check: warnings were "
             "found; rollback --preview: the reverse merges would fail");
#define ERR_KIND(name, exit, http, again, meaning) \
    add_pair(out, #exit, 5, meaning);
#include "lib/err.def"
#undef ERR_KIND
    add_pair(out, "141", 5,
             "standard output was closed by its reader; no message is "
             "printed");
    text_adds(out, "\nWith an exit code of its own, pointsman prints one line "
                   "on standard error\nthat begins with `pointsman:`.\n");
}

static void topic_states(struct text *out) {
    text_adds(out, "States of a job\n\n");
#define JOB_STATE(name, letter, word, dir, group, traits) \
    add_pair(out, (char[]){letter, '\0'}, 1, word " (" group "; " dir "/)");
#include "core/life.def"
#undef JOB_STATE
    text_adds(out, "\nClasses, most urgent first\n\n");
#define JOB_CLASS(name, word, meaning, traits) add_pair(out, word, 2, meaning);
#include "core/life.def"
#undef JOB_CLASS
    text_adds(out, "\nHolds, and what lifts them\n\n");
#define JOB_HOLD(name, bit, word, lifter) add_pair(out, word, 9, lifter);
#include "core/life.def"
#undef JOB_HOLD
}

/* The words of life.def that a field of a filter accepts, each after ", ". */
static const char state_words[] =
#define JOB_STATE(name, letter, word, dir, group, traits) ", " word
#include "core/life.def"
#undef JOB_STATE
    ;
static const char kind_words[] =
#define JOB_KIND(name, word, traits) ", " word
#include "core/life.def"
#undef JOB_KIND
    ;
static const char class_words[] =
#define JOB_CLASS(name, word, meaning, traits) ", " word
#include "core/life.def"
#undef JOB_CLASS
    ;

static void add_field(struct text *out, const char *word, const char *words,
                      const char *meaning) {
    CLEANUP(text_clear) struct text all = TEXT_INIT;
    text_addf(&all, "%s%s", words, meaning);
    add_pair(out, word[0] == '\0' ? "WORD" : word, 7, text_string(&all));
}

static void topic_filter(struct text *out) {
    text_adds(out,
              "Filters of list and of --match\n\n"
              "  state:failed class:EM -target:main age>1h arg~\"foo bar\" "
              "abc\n\n"
              "A job matches if every term matches. A leading minus negates a "
              "term. A comma\nbetween values means `or`. FIELD:VALUE compares "
              "the whole value, with * for any\ntext; FIELD~PART looks for "
              "PART inside the value. A bare word is the beginning\nof an id, "
              "or a part of the command. Quote <, > and * for the shell. Write "
              "`--`\nbefore a filter that begins with a minus: pointsman list "
              "-- -state:done\n\n");
#define WORDS_STATE state_words + 2
#define WORDS_KIND kind_words + 2
#define WORDS_CLASS class_words + 2
#define WORDS_TEXT ""
#define WORDS_FLAG ""
#define WORDS_DURATION ""
#define FILTER_FIELD(name, word, kind, meaning) \
    add_field(out, word, WORDS_##kind, meaning);
#include "wire/filter.def"
#undef FILTER_FIELD
}

static void topic_environment(struct text *out) {
    text_adds(out, "Environment of a command\n\n");
    add_pair(out, "POINTSMAN_JOB", 22, "id of the job");
    add_pair(out, "POINTSMAN_TASK", 22, "id of the job; in an array, JOB/NODE");
    add_pair(out, "POINTSMAN_ATTEMPT", 22, "number of the attempt, from 1");
    add_pair(out, "POINTSMAN_NODE", 22, "line of the array, or the node");
    add_pair(out, "POINTSMAN_WORKER", 22,
             "the worker that runs it (`pointsman workers`)");
    add_pair(
        out, "POINTSMAN_STATUS_FD", 22,
        "descriptor for the status: done, incomplete, failed, temporary or "
        "permanent; the last line written takes precedence over the exit "
        "status "
        "(pointsman-tasks(7))");
    add_pair(out, "POINTSMAN_PROGRESS_FD", 22,
             "descriptor for progress lines such as `42 compiling`");
    add_pair(out, "TRACEPARENT", 22, "trace context of the attempt");
    text_adds(out, "\nA check, or the command of a target, gets these too. The "
                   "work tree of a check has\nno .git directory.\n\n");
    add_pair(out, "POINTSMAN_TARGET", 22, "the target");
    add_pair(out, "POINTSMAN_CSID", 22, "id of the change set");
    add_pair(out, "POINTSMAN_CSIDS", 22,
             "ids of all sets that are checked together, with spaces between "
             "them: POINTSMAN_CSID first, then the others of its group");
    add_pair(out, "POINTSMAN_CLASS", 22, "class of the set: RB, EM, BF or DC");
    add_pair(out, "POINTSMAN_SET_DIR", 22,
             "scratch directory of this attempt. For the command of a target "
             "it holds meta, which lists the changed and deleted files, and "
             "the new ones in lroot/");
    add_pair(out, "POINTSMAN_LANE", 22,
             "with lanes of 2 or more: number of the check, from 0, for what "
             "checks that run at once must not share, such as ports");
    text_adds(out, "\nEnvironment of pointsman itself\n\n");
    add_pair(out, "POINTSMAN_BASE", 22, "the base, unless --base is given");
    add_pair(out, "NO_COLOR", 22, "no colours, unless --color is given");
    add_pair(out, "COLUMNS", 22, "width of the output without a terminal");
}

static void topic_files(struct text *out) {
    text_adds(out, "Files of a base\n\n");
    add_pair(out, BASE_CONFIG, 18, "configuration, see pointsman.conf(5)");
    add_pair(out, "conf.d/*.conf", 18,
             "more configuration, read after " BASE_CONFIG);
    add_pair(out, BASE_REGISTRY, 18, "the registry");
    add_pair(out, "ctrl/" BASE_SOCKET, 18, "socket of the server");
    add_pair(out, "prequeue/", 18, "markers of arriving change sets");
    add_pair(out, "data/", 18, "tarballs of change sets");
    add_pair(out, "reject/", 18,
             "refused files, each with its reason in a .why file");
#define JOB_STATE(name, letter, word, dir, group, traits) \
    add_pair(out, dir "/", 18, "job files of change sets that are " word);
#include "core/life.def"
#undef JOB_STATE
    add_pair(out, "log/", 18, "history of each change set");
    add_pair(out, "attempts/", 18, "output of commands");
}

static void topic_cron_items(struct text *out) {
    text_adds(out, "Items: patterns of instants\n\n"
                   "  {\"hour\": [10, 20], \"minute\": 0, \"day_of_week\": "
                   "\"Tue\",\n"
                   "   \"dst_fixes\": [\"unskip\", "
                   "\"repeat_use_only_early\"]}\n\n"
                   "An item fires when all of its keys match. Each key takes a "
                   "value, a list, or a\nrange {\"start\": A, \"end\": B, "
                   "\"period\": N}; {} and [] match everything.\n\n");
    add_pair(out, "minute", 17, "0 to 59; required");
    add_pair(out, "second", 17, "0 to 59; default 0");
    add_pair(out, "hour", 17, "0 to 23");
    add_pair(out, "day_of_week", 17,
             "1 (Sunday) to 7, or names of three letters or more; cannot be "
             "combined with day_of_month");
    add_pair(out, "day_of_month", 17, "1 to 31; -1 is the last day");
    add_pair(out, "weekday_of_month", 17,
             "{\"n\": 2, \"day\": \"Tue\"} is the second Tuesday; n = -1 is "
             "the last one");
    add_pair(out, "month", 17, "1 to 12, or names of three letters or more");
    add_pair(out, "year", 17, "1969 to 9999");
    add_pair(out, "iter_day, iter_week, iter_month, iter_day_of_week", 17,
             "{\"start\": \"2026-01-06\", \"period\": 2}: every second "
             "one, counted from that date");
    add_pair(out, "except", 17,
             "days to skip: \"2026-12-24\", \"12-25\" (in each year), "
             "{\"start\": ..., \"end\": ...}, or a list of these");
    add_pair(out, "dst_fixes", 17,
             "required. `skip` or `unskip`: a local time that does not exist "
             "because the clock jumps over it is skipped, or fires one second "
             "before the jump. `repeat_use_both`, `repeat_use_only_early` or "
             "`repeat_use_only_late`: which one fires when a local time "
             "occurs twice");
    add_pair(out, "epoch", 17,
             "seconds since 1970, in any zone; cannot be combined with other "
             "keys: {\"epoch\": {\"period\": 300}}");
    text_adds(out, "\nA crontab line (five columns, or @daily and the like) "
                   "is accepted as well;\n`pointsman cron explain` prints the "
                   "equivalent item.\n");
}

static void topic_schedules(struct text *out) {
    text_adds(out,
              "Schedules: commands that are repeated on time\n\n"
              "  [schedule \"nightly\"]             in pointsman.conf, or\n"
              "  item = 30 2 * * *                 pointsman cron add --zone "
              "Europe/London \\\n"
              "  zone = Europe/London                  nightly '30 2 * * *' "
              "-- make nightly\n"
              "  run = make nightly\n\n"
              "Each instant becomes one job, such as "
              "nightly.20261122T023000Z, and never fires\ntwice, not even "
              "after a crash.\n\n");
    add_pair(out, "overlap", 17,
             "if the previous job has not ended: `forbid` skips the run, "
             "`allow` runs both, `replace` stops the previous job, `queue` "
             "waits for it");
    add_pair(out, "missed", 17,
             "runs missed because no server was running, the machine slept or "
             "the clock was set, late by at most max-shift: `run` fires each "
             "once, `skip` only reports them. Later ones are always reported "
             "and never fired");
    add_pair(out, "max-shift", 17,
             "how late a run may fire after a restart, a suspension or a clock "
             "set forward; and how far a clock may be set back without "
             "repeating runs. Default: as in the item "
             "(max_shift_seconds_for_unskip_and_do_not_repeat), or 3 h for a "
             "crontab line");
    add_pair(out, "offset", 17,
             "fire later by a fixed time. `hash`: by a delay derived from the "
             "name, always the same, below one hour and below the time "
             "between two runs. `hash 15m`: the same, below 15 minutes");
    add_pair(out, "jitter", 17,
             "fire later by a random delay up to this time, different for each "
             "run");
    add_pair(out, "deadline", 17,
             "a run that has not started this long after it was due is "
             "skipped, or terminated with the reason `deadline`");
    add_pair(out, "paused", 17,
             "yes: does not fire; see also `pointsman cron pause` and "
             "`resume`");
    text_adds(out,
              "\nEach skipped run is an event: `pointsman events` shows it, "
              "`pointsman cron list`\ncounts it. `why ID` and `status ID` name "
              "the schedule that a job comes from.\nSchedules fire in `serve`, "
              "`daemon clock` and `daemon all`, but not in `run`.\n");
}

static void topic_roles(struct text *out) {
    static const char *const meanings[ACCESS_ROLES] = {
        [ACCESS_NOBODY] = "uses commands that need no base, and asks a server "
                          "whether it is healthy",
        [ACCESS_VIEWER] = "lists jobs, and reads their output and history, "
                          "but not the values of `submit -e NAME=VALUE`",
        [ACCESS_SUBMITTER] = "submits commands and change sets; cancels, "
                             "holds and retries their own jobs, and releases "
                             "those that they hold themselves",
        [ACCESS_OPERATOR] = "does that to the jobs of others, changes "
                            "schedules, and approves rollbacks",
        [ACCESS_ADMIN] = "changes settings, reads the configuration, checks "
                         "the base and backs it up",
    };

    text_adds(out, "Each role includes the ones above it:\n\n");
    for (unsigned role = 0; role < ACCESS_ROLES; role++)
        add_pair(out, access_role_word((enum access_role)role), 9,
                 meanings[role]);
    text_adds(
        out, "\nThe owner of the base and root are admin. Other accounts "
             "have the role that\n[access] in pointsman.conf gives them; "
             "`pointsman init --group GROUP` makes\nthe members of GROUP "
             "submitters. Only the owner and root can open the files\nof a "
             "base; everybody else needs its server.\n"
             "\nThe work of others does not run as the owner. If the server "
             "runs as root, the\ncommands of an account, and the checks of "
             "its change sets, run under that\naccount, unless the target "
             "names a user; only an admin may run a command as\nsomebody "
             "else. If the server is not root, it refuses commands of others "
             "(exit\ncode 77), and their change sets on targets that run "
             "checks or a command. Two\nkeys of [access] lift that: "
             "commands-as-owner = yes and checks-as-owner = yes.\nWith "
             "either, every submitter can do whatever the owner can. A job "
             "that was\nadmitted before is judged again when it starts, and "
             "held (`account`) until\nsomebody changes the configuration and "
             "releases it. `pointsman doctor` names\neach place where work of "
             "others runs as the owner.\n"
             "\nRoot does not run the jobs of a base that belongs to another "
             "account (77): use\n`sudo -u OWNER pointsman serve`.\n\n"
             "People without an account use `pointsman shell` over ssh, with "
             "a key each;\n[access] gives them roles as person:NAME.\n\nA "
             "process of a job acts "
             "as the account that submitted the job (for a\nschedule: that "
             "added it), with the lesser role of that account and its own.\nIt "
             "can neither approve change sets nor change settings. It may only "
             "read if it\nruns as another account than the submitter, or if "
             "the job is a change set: what\nchecks run includes what others "
             "have landed.\n");
}

static const struct {
    const char *name;
    void (*print)(struct text *out);
} topics[] = {
    {"filter", topic_filter},       {"exit-codes", topic_exit_codes},
    {"states", topic_states},       {"environment", topic_environment},
    {"files", topic_files},         {"cron-items", topic_cron_items},
    {"schedules", topic_schedules}, {"roles", topic_roles},
};

size_t help_topic_count(void) {
    return COUNT(topics);
}

const char *help_topic_name(size_t index) {
    return topics[index].name;
}

bool help_topic(const struct command_table *table, const char *name,
                struct text *out, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const char **names = arena_alloc(
        &arena, (table->command_count + COUNT(topics)) * sizeof(*names));
    size_t count = 0;

    for (size_t i = 0; i < COUNT(topics); i++) {
        if (strcmp(topics[i].name, name) == 0) {
            topics[i].print(out);
            return true;
        }
        names[count++] = topics[i].name;
    }
    for (size_t i = 0; i < table->command_count; i++)
        if (command_is_shown(&table->commands[i]))
            names[count++] = table->commands[i].name;
    if (strcmp(name, "pointsman.conf") == 0)
        return err_set(err, ERR_USAGE,
                       "pointsman.conf has a manual page: man pointsman.conf; "
                       "before it is installed, pointsman help --man "
                       "pointsman.conf | man -l -");
    const char *meant = text_nearest(name, names, count);
    if (meant != NULL)
        return err_set(err, ERR_USAGE,
                       "there is no help on '%s'; did you mean '%s'?", name,
                       meant);
    return err_set(err, ERR_USAGE,
                   "there is no help on '%s'; try pointsman help", name);
}
