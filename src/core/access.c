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

struct access_actor access_actor_make(const struct access_rules *rules,
                                      uint32_t uid, bool in_group) {
    bool shares = rules->has_group && in_group;
    return (struct access_actor){
        .uid = uid,
        .role = is_admin(rules, uid) ? ACCESS_ADMIN
                : shares             ? ACCESS_SUBMITTER
                                     : ACCESS_NOBODY,
        .is_known = true,
        .shares = shares,
    };
}

bool access_has_role(const struct access_rules *rules, uint32_t uid,
                     enum access_role role) {
    return access_actor_make(rules, uid, false).role >= role;
}

static bool refuse(const struct access_rules *rules,
                   const struct access_actor *actor, enum access_role needed,
                   struct err *err) {
    if (!actor->is_known)
        return err_set(err, ERR_DENIED,
                       "only health and metrics are served here; "
                       "the rest is on the base's socket");
    return err_set(err, ERR_DENIED,
                   "this needs the role %s, and uid %u has the role %s; the "
                   "owner of the base (uid %u)%s and root may do it",
                   access_role_word(needed), (unsigned)actor->uid,
                   access_role_word(actor->role), (unsigned)rules->owner,
                   rules->has_group ? ", members of its group" : "");
}

bool access_allows(const struct access_rules *rules,
                   const struct access_actor *actor, struct access_need need,
                   const uint32_t *submitter, struct err *err) {
    enum access_role needed = need.role;

    assert(need.role <= need.others && need.others < ACCESS_ROLES);
    if (submitter != NULL && *submitter != actor->uid)
        needed = need.others;
    return needed == ACCESS_NOBODY ||
           (actor->is_known && (actor->shares || actor->role >= needed)) ||
           refuse(rules, actor, needed, err);
}
