#include "cli/crontab_job.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <unistd.h>

#include "cli/submission_line.h"

enum { UMASK = 022 };

struct account {
    bool known;
    struct span name, home;
    uid_t uid;
};

/* ---- settings ------------------------------------------------------------ */

bool crontab_settings_init(struct crontab_settings *settings, bool users,
                           struct err *err) {
    const struct passwd *own = getpwuid(geteuid());

    *settings = (struct crontab_settings){.users = users, .arena = ARENA_INIT};
    if (own != NULL)
        settings->owner = arena_span(&settings->arena, span_of(own->pw_name));
    return own != NULL || users ||
           err_set(err, ERR_CANNOT,
                   "user %u has no account on this machine, and a crontab "
                   "takes HOME and LOGNAME from it",
                   (unsigned)geteuid());
}

void crontab_settings_clear(struct crontab_settings *settings) {
    map_clear(&settings->accounts);
    arena_clear(&settings->arena);
}

static struct span unquoted(struct span value) {
    if (value.len >= 2 && (value.p[0] == '"' || value.p[0] == '\'') &&
        value.p[value.len - 1] == value.p[0])
        return span_make(value.p + 1, value.len - 2);
    return value;
}

void crontab_settings_take(struct crontab_settings *settings, struct span line,
                           struct span *ret_name, struct span *ret_value) {
    struct arena *arena = &settings->arena;
    struct span rest = arena_span(arena, line), name;

    (void)span_cut(&rest, '=', &name);
    *ret_name = name = unquoted(span_trim(name));
    *ret_value = rest = unquoted(span_trim(rest));
    struct submission_env *env =
        arena_alloc(arena, (settings->count + 1) * sizeof *env);
    size_t count = 0;
    for (size_t i = 0; i < settings->count; i++)
        if (!span_equal(settings->env[i].name, name))
            env[count++] = settings->env[i];
    env[count++] = (struct submission_env){name, rest};
    settings->env = env;
    settings->count = count;
}

struct span crontab_settings_find(const struct crontab_settings *settings,
                                  const char *name) {
    for (size_t i = 0; i < settings->count; i++)
        if (span_is(settings->env[i].name, name))
            return settings->env[i].value;
    return (struct span){0};
}

/* ---- the account --------------------------------------------------------- */

/* Each is looked up once: a directory service may be slow. */
static const struct account *account_of(struct crontab_settings *settings,
                                        struct span name) {
    struct account *account = map_get(&settings->accounts, name);

    if (account != NULL)
        return account;
    account = arena_alloc(&settings->arena, sizeof *account);
    account->name = arena_span(&settings->arena, name);
    const struct passwd *row = getpwnam(arena_string(&settings->arena, name));
    account->known = row != NULL;
    if (row != NULL) {
        account->uid = row->pw_uid;
        account->home = arena_span(&settings->arena, span_of(row->pw_dir));
    }
    map_put(&settings->accounts, name, account);
    return account;
}

/* Takes the column of the account off the line. */
static bool take_account(struct crontab_settings *settings, struct span *rest,
                         const struct account **ret_account, struct err *err) {
    struct span word = *rest, trimmed;
    size_t len = 0;

    if (!settings->users) {
        *ret_account = account_of(settings, settings->owner);
        return true;
    }
    while (len < word.len && !isspace((unsigned char)word.p[len]))
        len++;
    trimmed = span_trim(span_make(word.p + len, word.len - len));
    word.len = len;
    if (trimmed.len == 0)
        return err_set(
            err, ERR_DATA,
            "only '%.*s' follows the times; is this a crontab without a user "
            "column?",
            (int)word.len, word.p);
    *rest = trimmed;
    *ret_account = account_of(settings, word);
    return (*ret_account)->known ||
           err_set(err, ERR_DATA, "there is no user '%.*s' on this machine",
                   (int)word.len, word.p);
}

/* ---- the environment ----------------------------------------------------- */

/* SHELL, PATH and HOME may be set by the crontab, LOGNAME and USER may not. */
static void make_env(const struct crontab_settings *settings,
                     const struct account *account, struct arena *arena,
                     struct submission *job) {
    struct submission_env automatic[] = {
        {SPAN("SHELL"), SPAN("/bin/sh")}, {SPAN("PATH"), SPAN("/usr/bin:/bin")},
        {SPAN("HOME"), account->home},    {SPAN("LOGNAME"), account->name},
        {SPAN("USER"), account->name},
    };
    enum { SETTABLE = 3 };
    struct submission_env *env =
        arena_alloc(arena, (COUNT(automatic) + settings->count) * sizeof *env);
    size_t count = 0;

    for (size_t i = 0; i < COUNT(automatic); i++)
        env[count++] = automatic[i];
    for (size_t i = 0; i < settings->count; i++) {
        size_t at = 0;
        while (at < COUNT(automatic) &&
               !span_equal(automatic[at].name, settings->env[i].name))
            at++;
        if (at == COUNT(automatic))
            env[count++] = settings->env[i];
        else if (at < SETTABLE)
            env[at].value = settings->env[i].value;
    }
    job->env = env;
    job->env_count = count;
    job->dir = env[2].value.len > 0 ? env[2].value : SPAN("/");
    job->clean = true;
    job->umask = UMASK;
}

/* ---- the command --------------------------------------------------------- */

/* Cuts at the first % that is not escaped by a backslash; the rest is input,
 * where each % is a line end. */
static void cut_input(struct span line, struct text *command,
                      struct text *input, bool *ret_has_input) {
    struct text *out = command;

    *ret_has_input = false;
    for (size_t i = 0; i < line.len; i++) {
        char c = line.p[i];
        if (c == '\\' && i + 1 < line.len && line.p[i + 1] == '%') {
            text_addc(out, '%');
            i++;
        } else if (c == '%' && !*ret_has_input) {
            *ret_has_input = true;
            out = input;
        } else {
            text_addc(out, c == '%' ? '\n' : c);
        }
    }
}

static void make_command(struct span line, struct arena *arena,
                         struct submission *job) {
    CLEANUP(text_clear) struct text command = TEXT_INIT;
    CLEANUP(text_clear) struct text input = TEXT_INIT;
    bool has_input;

    cut_input(line, &command, &input, &has_input);
    struct span *words = arena_alloc(arena, 5 * sizeof *words);
    words[0] = job->env[0].value.len > 0 ? job->env[0].value : SPAN("/bin/sh");
    words[1] = SPAN("-c");
    words[2] = span_of(
        has_input ? arena_printf(arena, "printf '%%s\\n' \"$1\" | { %s\n}",
                                 text_string(&command))
                  : arena_string(arena, text_span(&command)));
    words[3] = words[0];
    words[4] = arena_span(arena, text_span(&input));
    job->command.items = words;
    job->command.count = has_input ? 5 : 3;
}

bool crontab_job_make(struct crontab_settings *settings, struct span rest,
                      struct arena *arena, struct submission *ret_job,
                      struct span *ret_command, struct err *err) {
    const struct account *account = NULL;

    submission_init(ret_job);
    if (!take_account(settings, &rest, &account, err))
        return false;
    if (rest.len == 0)
        return err_set(err, ERR_DATA, "the command is missing");
    *ret_command = rest;
    if (account->uid != geteuid())
        ret_job->task.user = account->name;
    make_env(settings, account, arena, ret_job);
    make_command(rest, arena, ret_job);
    return submission_fill(ret_job, arena, err);
}
