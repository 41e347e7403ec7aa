/* The account of `pointsman shell` keeps its persons apart only if nobody can
 * do anything else under it. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "os/account.h"

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

static bool is_member(const struct account *account, uint32_t gid) {
    for (size_t i = 0; i < account->group_count; i++)
        if (account->groups[i] == gid)
            return true;
    return account->gid == gid;
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
             is_member(&check->account, grant->id)))
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
           ((st->st_mode & S_IWGRP) != 0 && is_member(account, st->st_gid));
}

/* Whoever can write to a directory can replace what lies in it. A file that
 * cannot be seen from here says nothing. */
static void check_keys(const struct shell_check *check) {
    static const char *const below[] = {"", "/.ssh", "/.ssh/authorized_keys"};
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
}
