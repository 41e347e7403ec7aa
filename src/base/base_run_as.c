/* Under which account the jobs of a base run (core/run_as.h): the facts of the
 * decision, and its sentences. */
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"
#include "os/account.h"

static struct run_as_case case_of(const struct base *base, uid_t submitter) {
    uid_t owner = base ? base->uid : geteuid();
    return (struct run_as_case){
        .owner = owner,
        /* It does not matter for the owner's own work, which is common. */
        .can_switch = !run_as_is_own(owner, submitter) && owner == 0 &&
                      account_can_switch(),
        .submitter = submitter,
    };
}

static bool find_submitter(uid_t submitter, struct arena *arena,
                           struct account *ret_account, struct err *err) {
    struct span number =
        span_of(arena_printf(arena, "%lu", (unsigned long)submitter));
    if (submitter == ACCESS_PERSON_UID)
        return err_set(err, ERR_DENIED,
                       "its submitter has no account on this machine; a target "
                       "with a user of its own takes the sets of everybody");
    if (account_find(number, arena, ret_account, err))
        return true;
    if (err && err->kind == ERR_CONFIG)
        err_set(err, ERR_DENIED,
                "uid %lu, who submitted it, has no account on this machine",
                (unsigned long)submitter);
    return false;
}

static bool deny(const struct run_as_case *it, struct span user,
                 struct err *err) {
    return err_set(err, ERR_DENIED,
                   "cannot run a command as user '%.*s': uid %lu may only name "
                   "its own account; an admin may name another one",
                   (int)user.len, user.p, (unsigned long)it->submitter);
}

/* Whatever runs under the account of `pointsman shell` can name any person. */
static bool is_no_shell(const struct base *base, const struct account *account,
                        struct err *err) {
    return !base || !base->access.has_shell ||
           base->access.shell != account->uid ||
           err_set(err, ERR_DENIED,
                   "cannot run a command as user '%s', the account of "
                   "`pointsman shell`",
                   account->name);
}

bool base_run_as_command(const struct base *base, uid_t submitter,
                         struct span user, struct arena *arena,
                         const struct account **ret_account, struct err *err) {
    struct run_as_case it = case_of(base, submitter);
    struct account *account;
    it.allowed = base && base->config.access.commands_as_owner == 1;
    it.names_user = user.len > 0;
    *ret_account = NULL;
    if (!it.names_user && run_as_is_own(it.owner, submitter))
        return true;
    account = arena_alloc(arena, sizeof *account);
    if (it.names_user) {
        if (!account_find(user, arena, account, err))
            return false;
        it.user = account->uid;
        it.is_admin = base && base_has_role(base, submitter, ACCESS_ADMIN);
    }
    switch (run_as_command(&it)) {
    case RUN_AS_OWNER:
        return true;
    case RUN_AS_DENIED:
        return deny(&it, user, err);
    case RUN_AS_FORBIDDEN:
        return err_set(err, ERR_DENIED,
                       "a command of uid %lu would run as the owner of the "
                       "base, as the server is not root: [access] "
                       "commands-as-owner does not allow that",
                       (unsigned long)submitter);
    case RUN_AS_SUBMITTER:
        if (!find_submitter(submitter, arena, account, err))
            return false;
        break;
    case RUN_AS_USER:
        break;
    }
    if (!account_may_be(account, err) || !is_no_shell(base, account, err))
        return false;
    if (!account_is_ours(account))
        *ret_account = account;
    return true;
}

/* A user that this machine does not know is reported by the landing. */
static bool names_owner(const struct config_target *target, uint32_t owner) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct account account;
    return account_find(target->user, &arena, &account, NULL) &&
           account.uid == owner;
}

static enum run_as of_target(const struct base *base,
                             const struct config_target *target,
                             struct run_as_case *it) {
    it->allowed = base && base->config.access.checks_as_owner == 1;
    it->names_user = target->user.len > 0;
    it->user = it->names_user && names_owner(target, it->owner) ? it->owner
                                                                : UINT32_MAX;
    return run_as_target(it);
}

static bool forbid_target(const struct config_target *target,
                          const struct run_as_case *it, struct err *err) {
    return err_set(err, ERR_DENIED,
                   "target '%.*s' would run %s for a set of uid %lu as the "
                   "owner of the base: it has no user of its own, and [access] "
                   "checks-as-owner does not allow that",
                   (int)target->name.len, target->name.p,
                   target->command.count > 0 ? "its command" : "checks",
                   (unsigned long)it->submitter);
}

bool base_run_as_target(const struct base *base,
                        const struct config_target *target, uid_t submitter,
                        struct arena *arena, struct span *ret_user,
                        struct err *err) {
    struct run_as_case it = case_of(base, submitter);
    struct account account;
    *ret_user = target->user;
    if (target->check_count == 0 && target->command.count == 0)
        return true;
    switch (of_target(base, target, &it)) {
    case RUN_AS_OWNER:
        *ret_user = SPAN("");
        return true;
    case RUN_AS_SUBMITTER:
        *ret_user =
            span_of(arena_printf(arena, "%lu", (unsigned long)submitter));
        return find_submitter(submitter, arena, &account, err);
    case RUN_AS_USER:
        return true;
    case RUN_AS_DENIED:
    case RUN_AS_FORBIDDEN:
        break;
    }
    return forbid_target(target, &it, err);
}

enum run_as base_run_as_others(const struct base *base,
                               const struct config_target *target) {
    struct run_as_case it = case_of(base, UINT32_MAX);
    if (target)
        return of_target(base, target, &it);
    it.allowed = base->config.access.commands_as_owner == 1;
    return run_as_command(&it);
}

bool base_run_as_owner(const struct base *base, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct account account;
    char number[24];
    if (base->uid == geteuid())
        return true;
    snprintf(number, sizeof(number), "%lu", (unsigned long)base->uid);
    bool known = account_find(span_of(number), &arena, &account, NULL);
    return err_set(err, ERR_DENIED,
                   "base '%s' belongs to %s%s, and root does not run the jobs "
                   "of another account: use `sudo -u '%s%s' pointsman ...`",
                   base->path, known ? "" : "uid ",
                   known ? account.name : number, known ? "" : "#",
                   known ? account.name : number);
}
