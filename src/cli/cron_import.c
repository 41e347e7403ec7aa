/* cron import: a crontab becomes schedules.
 *
 * A command gets the same surroundings as from cron: a shell (SHELL), the
 * variables set above it, its home as the directory, the text after the
 * first % as its input. The zone is CRON_TZ; the user's column names the
 * account. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pointsman/cron.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/cron_query.h"
#include "cli/call_connect.h"
#include "cli/cmd_schedule.h"
#include "cli/console.h"
#include "os/dir.h"
#include "os/fd.h"
#include "schedules/schedule_rule.h"

enum { CRONTAB_BYTES = 4 << 20, NAMES_MOST = 10000 };

struct import {
    struct call *call;
    struct client *client; /* NULL: only shown */
    const char *file;
    bool users; /* lines have a column for the account */
    char *prefix;
    struct submission_env *env; /* as set so far */
    size_t env_count;
    char *names[NAMES_MOST];
    size_t name_count;
    int64_t from_s; /* next is after it */
    int status;
};

static void complain(struct import *import, unsigned line,
                     const struct err *err) {
    struct err wrapped = {0};

    err_set(&wrapped, err->kind, "%s:%u: %s", import->file, line, err->text);
    import->status = console_error(&wrapped);
}

/* ---- settings ------------------------------------------------------------ */

static struct span unquoted(struct span value) {
    if (value.len >= 2 && (value.p[0] == '"' || value.p[0] == '\'') &&
        value.p[value.len - 1] == value.p[0])
        return span_make(value.p + 1, value.len - 2);
    return value;
}

/* NAME = value; the last one wins. */
static void take_setting(struct import *import, struct span line) {
    struct arena *arena = &import->call->arena;
    struct span rest = line, name;

    (void)span_cut(&rest, '=', &name);
    name = unquoted(span_trim(name));
    rest = unquoted(span_trim(rest));
    struct submission_env *env =
        arena_alloc(arena, (import->env_count + 1) * sizeof *env);
    size_t count = 0;
    for (size_t i = 0; i < import->env_count; i++)
        if (!span_equal(import->env[i].name, name))
            env[count++] = import->env[i];
    env[count++] = (struct submission_env){name, rest};
    import->env = env;
    import->env_count = count;
}

static struct span setting(const struct import *import, const char *name) {
    for (size_t i = 0; i < import->env_count; i++)
        if (span_is(import->env[i].name, name))
            return import->env[i].value;
    return (struct span){0};
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

static void make_command(struct import *import, struct span line,
                         struct submission *job) {
    CLEANUP(text_clear) struct text command = TEXT_INIT;
    CLEANUP(text_clear) struct text input = TEXT_INIT;
    struct arena *arena = &import->call->arena;
    struct span shell = setting(import, "SHELL");
    bool has_input;

    cut_input(line, &command, &input, &has_input);
    struct span *words = arena_alloc(arena, 5 * sizeof *words);
    words[0] = shell.len > 0 ? shell : SPAN("/bin/sh");
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

/* ---- names --------------------------------------------------------------- */

static bool is_taken(const struct import *import, const char *name) {
    for (size_t i = 0; i < import->name_count; i++)
        if (strcmp(import->names[i], name) == 0)
            return true;
    return false;
}

/* Letters and digits of a word; everything between them becomes one '-'. */
static void add_slug(struct text *out, struct span word) {
    for (size_t i = 0; i < word.len; i++) {
        if (isalnum((unsigned char)word.p[i]))
            text_addc(out, word.p[i]);
        else if (out->len > 0 && out->p[out->len - 1] != '-')
            text_addc(out, '-');
    }
}

/* PREFIX-COMMAND, followed by a number if that name is taken. */
static const char *make_name(struct import *import, struct span command) {
    CLEANUP(text_clear) struct text slug = TEXT_INIT;
    struct arena *arena = &import->call->arena;
    struct span rest = span_trim(command), word;

    (void)span_cut(&rest, ' ', &word);
    for (size_t i = word.len; i > 0; i--)
        if (word.p[i - 1] == '/') {
            word = span_make(word.p + i, word.len - i);
            break;
        }
    text_adds(&slug, import->prefix);
    text_addc(&slug, '-');
    add_slug(&slug, word);
    while (slug.len > 0 &&
           (slug.p[slug.len - 1] == '-' || slug.len > SCHEDULE_NAME_BYTES - 6))
        slug.len--;
    char *name = arena_string(arena, text_span(&slug));
    for (unsigned i = 2; is_taken(import, name) && i < NAMES_MOST; i++)
        name = arena_printf(arena, "%.*s-%u", (int)slug.len, slug.p, i);
    return import->names[import->name_count++] = name;
}

/* "crontab" of "/etc/crontab" */
static char *prefix_of(struct import *import) {
    CLEANUP(text_clear) struct text slug = TEXT_INIT;
    const char *given = call_value(import->call, "prefix");
    const char *slash = strrchr(import->file, '/');

    add_slug(&slug, span_of(given != NULL   ? given
                            : slash != NULL ? slash + 1
                                            : import->file));
    while (slug.len > 0 && (slug.p[slug.len - 1] == '-' || slug.len > 20))
        slug.len--;
    return arena_string(&import->call->arena,
                        slug.len > 0 ? text_span(&slug) : SPAN("crontab"));
}

/* ---- a line -------------------------------------------------------------- */

static bool take_user(struct import *import, struct span *rest,
                      struct submission *job, struct err *err) {
    struct span word = *rest, trimmed;
    size_t len = 0;

    if (!import->users)
        return true;
    while (len < word.len && !isspace((unsigned char)word.p[len]))
        len++;
    trimmed = span_trim(span_make(word.p + len, word.len - len));
    word.len = len;
    if (trimmed.len == 0)
        return err_set(
            err, ERR_DATA,
            "only '%.*s' follows the times; is this a crontab without "
            "a user column?",
            (int)word.len, word.p);
    *rest = trimmed;
    char *name = arena_string(&import->call->arena, word);
    const struct passwd *account = getpwnam(name);
    if (account == NULL || account->pw_uid != geteuid())
        job->task.user = span_of(name);
    return true;
}

static bool make_job(struct import *import, struct span rest,
                     struct submission *job, struct span *ret_command,
                     struct err *err) {
    struct arena *arena = &import->call->arena;
    struct span home = setting(import, "HOME");

    if (!take_user(import, &rest, job, err))
        return false;
    if (rest.len == 0)
        return err_set(err, ERR_DATA, "the command is missing");
    *ret_command = rest;
    make_command(import, rest, job);
    job->env = import->env;
    job->env_count = import->env_count;
    const char *own = getenv("HOME");
    job->dir = home.len > 0 ? home : span_of(own != NULL ? own : "/");
    return submission_fill(job, arena, err);
}

static void show(const struct import *import, const char *name,
                 const struct schedule_spec *spec,
                 const struct schedule_rule *rule) {
    char text[CRON_INSTANT_BYTES];
    int64_t at;
    const char *next = schedule_rule_next(rule, import->from_s, &at)
                           ? cron_instant_format(rule->zone, at, text)
                           : "never";

    (void)console_printf("%s\t%s\t%.*s\n", name, next, (int)spec->item.len,
                         spec->item.p);
}

static bool take_times(struct import *import, struct span line,
                       const char *rest, struct err *err) {
    struct arena *arena = &import->call->arena;
    struct schedule_spec spec;
    struct schedule_rule rule;
    struct span command;

    schedule_spec_init(&spec);
    spec.item = span_trim(span_make(line.p, (size_t)(rest - line.p)));
    spec.zone = setting(import, "CRON_TZ");
    const char *zone = call_value(import->call, "zone");
    if (spec.zone.len == 0 && zone != NULL)
        spec.zone = span_of(zone);
    const char *missed = call_value(import->call, "missed");
    if (missed != NULL && !schedule_missed_parse(span_of(missed), &spec.missed))
        return err_set(err, ERR_USAGE,
                       "'--missed' must be run or skip, not '%s'", missed);
    spec.overlap = OVERLAP_ALLOW; /* as cron does */
    if (!make_job(import, span_trim(span_of(rest)), &spec.job, &command, err))
        return false;
    const char *name = make_name(import, command);
    spec.item = arena_span(arena, spec.item);
    if (!schedule_spec_check(&spec, err) ||
        !schedule_rule_make(&spec, span_of(name), 0, NULL, &rule, err))
        return false;
    bool ok = import->client == NULL ||
              cmd_schedule_send(import->call, import->client, name, &spec, err);
    if (ok)
        show(import, name, &spec, &rule);
    schedule_rule_clear(&rule);
    return ok;
}

static void take_line(struct import *import, struct span text,
                      unsigned number) {
    char *line = arena_string(&import->call->arena, text);
    struct cron_crontab crontab;
    struct cron_err cron_err;
    struct err err = {0};

    if (!cron_crontab_parse(line, import->prefix, &crontab, &cron_err)) {
        err_set(&err, ERR_DATA, "%s", cron_err.text);
        complain(import, number, &err);
        return;
    }
    if (crontab.kind == CRON_LINE_SETTING)
        take_setting(import, span_of(line));
    else if (crontab.kind == CRON_LINE_TIMES &&
             import->name_count == NAMES_MOST)
        complain(
            import, number,
            (err_set(&err, ERR_DATA, "more than %d lines", NAMES_MOST), &err));
    else if (crontab.kind == CRON_LINE_TIMES &&
             !take_times(import, span_of(line), crontab.rest, &err))
        complain(import, number, &err);
    cron_crontab_clear(&crontab);
}

/* ---- the file ------------------------------------------------------------ */

static bool read_file(const char *file, struct text *text, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    if (!call_open_input(file, &fd, err))
        return false;
    return dir_read_file(fd, CRONTAB_BYTES, text, err) ||
           err_wrap(err, "cannot read '%s'", file);
}

static bool has_users(const struct call *call, const char *file) {
    return call_has(call, "system") || strcmp(file, "/etc/crontab") == 0 ||
           strncmp(file, "/etc/cron.d/", 12) == 0;
}

int cmd_cron_import(struct call *call) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct import *import = arena_alloc(&call->arena, sizeof *import);
    struct err err = {0};
    unsigned number = 0;

    import->call = call;
    if (!call_operands(call, 1, 1, &err) ||
        !cron_query_from(call, &import->from_s, &err) ||
        !read_file(call->words[0], &text, &err))
        return console_error(&err);
    import->file = call->words[0];
    import->users = has_users(call, import->file);
    import->prefix = prefix_of(import);
    if (!call_has(call, "dry-run") && !call_client(call, &import->client, &err))
        return console_error(&err);
    struct span rest = text_span(&text), line;
    while (rest.len > 0 && span_cut(&rest, '\n', &line))
        take_line(import, span_trim(line), ++number);
    client_close(import->client);
    return console_finish(import->status);
}
