#include "core/access.h"

#include <assert.h>
#include <stddef.h>

const char *access_role_word(enum access_role role) {
    static const char *const words[ACCESS_ROLES] = {
        "nobody", "viewer", "submitter", "operator", "admin"};
    assert(role < ACCESS_ROLES);
    return words[role];
}

static bool is_admin(const struct access_rules *rules, uint32_t uid) {
    return uid == 0 || uid == rules->owner;
}

static bool grant_fits(const struct access_grant *grant, uint32_t uid,
                       const uint32_t *groups, size_t group_count) {
    switch (grant->who) {
    case ACCESS_EVERYBODY:
        return true;
    case ACCESS_ACCOUNT:
        return grant->id == uid;
    case ACCESS_GROUP:
        for (size_t i = 0; i < group_count; i++)
            if (groups[i] == grant->id)
                return true;
        return false;
    }
    return false;
}

enum access_role access_role_of(const struct access_rules *rules, uint32_t uid,
                                const uint32_t *groups, size_t group_count) {
    enum access_role role = ACCESS_NOBODY;
    if (is_admin(rules, uid))
        return ACCESS_ADMIN;
    for (size_t i = 0; i < rules->grant_count; i++)
        if (rules->grants[i].role > role &&
            grant_fits(&rules->grants[i], uid, groups, group_count))
            role = rules->grants[i].role;
    return role;
}

struct access_actor access_actor_make(const struct access_rules *rules,
                                      uint32_t uid, const uint32_t *groups,
                                      size_t group_count) {
    return (struct access_actor){
        .uid = uid,
        .role = access_role_of(rules, uid, groups, group_count),
        .is_known = true,
    };
}

bool access_needs_groups(const struct access_rules *rules) {
    for (size_t i = 0; i < rules->grant_count; i++)
        if (rules->grants[i].who == ACCESS_GROUP)
            return true;
    return false;
}

/* "the owner of the base (uid 7), root, alice and @ops" */
static void holders_add(const struct access_rules *rules, enum access_role role,
                        struct text *out) {
    size_t left = 0;
    for (size_t i = 0; i < rules->grant_count; i++)
        left += rules->grants[i].role >= role;
    text_addf(out, "the owner of the base (uid %u)%sroot",
              (unsigned)rules->owner, left > 0 ? ", " : " and ");
    for (size_t i = 0; i < rules->grant_count; i++) {
        const struct access_grant *grant = &rules->grants[i];
        if (grant->role < role)
            continue;
        text_addf(out, "%s%.*s", --left > 0 ? ", " : " and ",
                  (int)grant->name.len, grant->name.p);
    }
}

static bool refuse(const struct access_rules *rules,
                   const struct access_actor *actor, enum access_role needed,
                   bool is_others, struct err *err) {
    CLEANUP(text_clear) struct text holders = TEXT_INIT;
    if (!actor->is_known)
        return err_set(err, ERR_DENIED,
                       "only health and metrics are served here; "
                       "the rest is on the base's socket");
    holders_add(rules, needed, &holders);
    return err_set(err, ERR_DENIED,
                   "this needs the role %s%s, and uid %u has the role %s; %s "
                   "may do it",
                   access_role_word(needed),
                   is_others ? " for a job of somebody else" : "",
                   (unsigned)actor->uid, access_role_word(actor->role),
                   text_string(&holders));
}

bool access_allows(const struct access_rules *rules,
                   const struct access_actor *actor, struct access_need need,
                   const uint32_t *submitter, struct err *err) {
    bool is_others = submitter != NULL && *submitter != actor->uid &&
                     need.others > need.role;
    enum access_role needed = is_others ? need.others : need.role;

    assert(need.role <= need.others && need.others < ACCESS_ROLES);
    return needed == ACCESS_NOBODY ||
           (actor->is_known && actor->role >= needed) ||
           refuse(rules, actor, needed, is_others && actor->role >= need.role,
                  err);
}
