/* The account of `pointsman shell` keeps its persons apart only if nobody can
 * do anything else under it. */
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "os/account.h"
#include "os/dir.h"
#include "os/fd.h"

struct shell_check {
    const struct base *base;
    struct account account;
    base_shell_fault *fault;
    void *ctx;
};

static void report(const struct shell_check *check, const char *format, ...)
    PRINTF_LIKE(2, 3);
static void report(const struct shell_check *check, const char *format, ...) {
    CLEANUP(text_clear) struct text sentence = TEXT_INIT;
    va_list args;
    text_addf(&sentence, "account '%s' of `pointsman shell` ",
              check->account.name);
    va_start(args, format);
    text_addv(&sentence, format, args);
    va_end(args);
    check->fault(check->ctx, text_string(&sentence));
}

/* The server ignores such a role, but whoever wrote it expected otherwise. */
static void check_roles(const struct shell_check *check) {
    const struct access_rules *rules = &check->base->access;
    if (rules->shell == 0 || rules->shell == rules->owner) {
        report(check, "is %s: it cannot act for persons",
               rules->shell == 0 ? "root" : "the owner of the base");
        return;
    }
    for (size_t i = 0; i < rules->grant_count; i++) {
        const struct access_grant *grant = &rules->grants[i];
        if ((grant->who == ACCESS_ACCOUNT && grant->id == rules->shell) ||
            (grant->who == ACCESS_GROUP &&
             account_has_group(&check->account, grant->id)))
            report(check,
                   "is given the role %s by '%.*s', but has no role of its own",
                   access_role_word(grant->role), (int)grant->name.len,
                   grant->name.p);
    }
}

/* Code of a set that runs under the account can name any person. */
static void check_targets(const struct shell_check *check) {
    const struct config *config = &check->base->config;
    for (size_t i = 0; i < config->target_count; i++) {
        const struct config_target *target = &config->targets[i];
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct account user;
        if (target->user.len > 0 &&
            account_find(target->user, &arena, &user, NULL) &&
            user.uid == check->account.uid)
            report(check,
                   "runs the checks of target '%.*s', which can act for "
                   "anybody; give the target another user",
                   (int)target->name.len, target->name.p);
    }
}

static bool can_write(const struct account *account, const struct stat *st) {
    return st->st_uid == account->uid || (st->st_mode & S_IWOTH) != 0 ||
           ((st->st_mode & S_IWGRP) != 0 &&
            account_has_group(account, st->st_gid));
}

/* ---- the lines of its keys ----------------------------------------------- */

enum { KEYS_BYTES = 1 << 20 };
static const char keys_file[] = "/.ssh/authorized_keys";

/* Takes the next option off the beginning of a line: they are separated by
 * commas, may have values in quotes, and end at a blank. */
static bool option_next(struct span *line, struct span *ret_option) {
    bool quoted = false;
    size_t at = 0;
    for (; at < line->len; at++) {
        char c = line->p[at];
        if (c == '"' && (at == 0 || line->p[at - 1] != '\\'))
            quoted = !quoted;
        if (!quoted && (c == ',' || c == ' ' || c == '\t'))
            break;
    }
    *ret_option = span_make(line->p, at);
    bool more = at < line->len && line->p[at] == ',';
    *line = more ? span_make(line->p + at + 1, line->len - at - 1)
                 : span_make(line->p + at, 0);
    return ret_option->len > 0;
}

static bool option_is(struct span option, const char *name) {
    size_t len = strlen(name);
    return option.len >= len && strncasecmp(option.p, name, len) == 0;
}

/* Without `restrict`, a socket can be forwarded to the one of the server. */
static bool is_forced(struct span line) {
    bool restricted = false, forced = false;
    struct span option;
    while (option_next(&line, &option)) {
        restricted |=
            option.len == strlen("restrict") && option_is(option, "restrict");
        forced |= option_is(option, "command=\"") &&
                  memmem(option.p, option.len, "pointsman shell ",
                         strlen("pointsman shell ")) != NULL;
    }
    return restricted && forced;
}

static void check_lines(const struct shell_check *check) {
    CLEANUP(text_clear) struct text path = TEXT_INIT, text = TEXT_INIT;
    struct span rest, line;
    text_addf(&path, "%s%s", check->account.home, keys_file);
    CLEANUP(fd_close)
    int fd = open(text_string(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || !dir_read_file(fd, KEYS_BYTES, &text, NULL))
        return;
    rest = text_span(&text);
    for (unsigned number = 1; span_cut(&rest, '\n', &line); number++) {
        line = span_trim(line);
        if (line.len == 0 || line.p[0] == '#' || is_forced(line))
            continue;
        report(check,
               "can do anything with the key of line %u of '%s'; begin the "
               "line with command=\"pointsman shell ...\",restrict",
               number, text_string(&path));
        return;
    }
}

/* Whoever can write to a directory can replace what lies in it. A file that
 * cannot be seen from here says nothing. */
static void check_keys(const struct shell_check *check) {
    static const char *const below[] = {"", "/.ssh", keys_file};
    for (size_t i = 0; i < COUNT(below); i++) {
        CLEANUP(text_clear) struct text path = TEXT_INIT;
        struct stat st;
        text_addf(&path, "%s%s", check->account.home, below[i]);
        if (stat(text_string(&path), &st) < 0 ||
            !can_write(&check->account, &st))
            continue;
        report(check,
               "can write to '%s', and so add keys in the name of anybody; let "
               "it belong to root",
               text_string(&path));
        return;
    }
}

void base_shell_check(const struct base *base, base_shell_fault *fault,
                      void *ctx) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct shell_check check = {.base = base, .fault = fault, .ctx = ctx};
    if (!base->access.has_shell ||
        !account_find(base->config.access.shell, &arena, &check.account, NULL))
        return;
    check_roles(&check);
    check_targets(&check);
    check_keys(&check);
    check_lines(&check);
}
