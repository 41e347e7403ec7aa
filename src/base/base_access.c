/* Who has which role in this base: the names of [access] as accounts and groups
 * of this machine. */
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "os/account.h"
#include "wire/config_section.h"

/* "@dev", "alice" or "*" */
static bool grant_read(struct span name, enum access_role role,
                       struct access_grant *ret_grant) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct account account;
    uint64_t number;
    gid_t gid;
    *ret_grant = (struct access_grant){.role = role, .name = name};
    if (span_is(name, "*")) {
        ret_grant->who = ACCESS_EVERYBODY;
        return true;
    }
    if (span_starts(name, "@")) {
        struct span group = span_make(name.p + 1, name.len - 1);
        ret_grant->who = ACCESS_GROUP;
        if (!account_group_find(group, &gid, NULL))
            return false;
        ret_grant->id = gid;
        return true;
    }
    if (span_starts(name, "person:")) {
        ret_grant->who = ACCESS_PERSON;
        return true;
    }
    ret_grant->who = ACCESS_ACCOUNT;
    if (span_u64(name, &number) && number < UINT32_MAX) {
        ret_grant->id = (uint32_t)number;
        return true;
    }
    if (!account_find(name, &arena, &account, NULL))
        return false;
    ret_grant->id = account.uid;
    return true;
}

static void set_unknown(struct base *base, struct span name,
                        struct config_origin origin) {
    if (base->unknown.len > 0)
        return;
    base->unknown = name;
    base->unknown_origin = origin;
}

static void role_read(struct base *base, struct span names,
                      struct config_origin origin, enum access_role role) {
    struct access_grant *grants = (void *)(uintptr_t)base->access.grants;
    struct span name;
    while (config_access_next(&names, &name)) {
        size_t count = base->access.grant_count;
        grants = mem_grow(grants, count + 1, sizeof *grants);
        if (grant_read(name, role, &grants[count]))
            base->access.grant_count++;
        else
            set_unknown(base, name, origin);
    }
    base->access.grants = grants;
}

/* A shell account that is unknown here belongs to nobody. */
static void shell_read(struct base *base, struct span name,
                       struct config_origin origin) {
    struct access_grant account;
    if (name.len == 0)
        return;
    base->access.has_shell = grant_read(name, ACCESS_NOBODY, &account) &&
                             account.who == ACCESS_ACCOUNT;
    if (base->access.has_shell)
        base->access.shell = account.id;
    else
        set_unknown(base, name, origin);
}

void base_access_read(struct base *base) {
    const struct config_access *access = &base->config.access;
    base_access_clear(base);
    role_read(base, access->viewer, access->viewer_origin, ACCESS_VIEWER);
    role_read(base, access->submitter, access->submitter_origin,
              ACCESS_SUBMITTER);
    role_read(base, access->operator, access->operator_origin, ACCESS_OPERATOR);
    role_read(base, access->admin, access->admin_origin, ACCESS_ADMIN);
    shell_read(base, access->shell, access->shell_origin);
}

void base_access_clear(struct base *base) {
    free((void *)(uintptr_t)base->access.grants);
    base->access = (struct access_rules){.owner = base->uid};
    base->unknown = (struct span){0};
}

bool base_access_is_set(const struct base *base) {
    return base->access.grant_count > 0 || base->unknown.len > 0;
}

bool base_access_check(const struct base *base, struct err *err) {
    if (base->unknown.len == 0)
        return true;
    struct config_spot spot =
        config_spot_of(base->unknown_origin, base->unknown_origin, err);
    return config_refuse(&spot,
                         "[access] names '%.*s', which is no account or group "
                         "on this machine and so has no role",
                         (int)base->unknown.len, base->unknown.p);
}

static void account_of(uid_t uid, struct arena *arena,
                       struct account *ret_account) {
    char number[24];
    snprintf(number, sizeof(number), "%lu", (unsigned long)uid);
    (void)account_find(span_of(number), arena, ret_account, NULL);
}

struct access_actor base_actor(const struct base *base, uid_t uid) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct account account = {0};
    if (access_needs_groups(&base->access))
        account_of(uid, &arena, &account);
    return access_actor_make(&base->access, uid, account.groups,
                             account.group_count);
}

/* Asking for groups may be slow, and is often not needed. */
bool base_has_role(const struct base *base, uid_t uid, enum access_role role) {
    return access_role_of(&base->access, uid, NULL, 0) >= role ||
           base_actor(base, uid).role >= role;
}

bool base_submitter_has_role(const struct base *base,
                             const struct access_owner *submitter,
                             enum access_role role) {
    struct span person = access_actor_person_of(submitter->actor);
    struct span account = submitter->actor, name;
    uint64_t uid;
    if (person.len == 0)
        return base_has_role(base, submitter->uid, role);
    if (!span_cut(&account, '/', &name) || account.len == 0)
        return access_role_of_person(&base->access, person) >= role;
    return span_starts(account, "uid:") &&
           span_u64(span_make(account.p + 4, account.len - 4), &uid) &&
           access_actor_person(&base->access, (uint32_t)uid, person).role >=
               role;
}

static bool is_granted(const struct access_rules *rules,
                       const struct access_actor *actor) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct account account = {0};
    if (actor->person.len > 0)
        return access_role_of_person(rules, actor->person) > ACCESS_NOBODY;
    if (access_needs_groups(rules))
        account_of(actor->uid, &arena, &account);
    return access_role_of(rules, actor->uid, account.groups,
                          account.group_count) > ACCESS_NOBODY;
}

bool base_is_named(const struct base *base, struct span names,
                   const struct access_actor *actor) {
    struct access_rules rules = base->access;
    struct access_grant *grants = NULL;
    struct span name;
    rules.grants = NULL;
    rules.grant_count = 0;
    while (config_access_next(&names, &name)) {
        grants = mem_grow(grants, rules.grant_count + 1, sizeof *grants);
        rules.grant_count +=
            grant_read(name, ACCESS_SUBMITTER, &grants[rules.grant_count]);
    }
    rules.grants = grants;
    bool named = is_granted(&rules, actor);
    free(grants);
    return named;
}

struct access_actor base_caller(const struct access_rules *rules) {
    gid_t groups[NGROUPS_MAX + 1];
    int count = getgroups(NGROUPS_MAX, groups);
    if (count < 0)
        count = 0;
    groups[count++] = getegid();
    return access_actor_make(rules, geteuid(), groups, (size_t)count);
}
