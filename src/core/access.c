#include "core/access.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

const char *access_role_word(enum access_role role) {
    static const char *const words[ACCESS_ROLES] = {
        "nobody", "viewer", "submitter", "operator", "admin"};
    assert(role < ACCESS_ROLES);
    return words[role];
}

static bool is_admin(const struct access_rules *rules, uint32_t uid) {
    return uid == 0 || uid == rules->owner;
}

/* The owner of the base and root are not trusted to name a person: they are
 * admins, and what they do is recorded as theirs. */
static bool is_shell(const struct access_rules *rules, uint32_t uid) {
    return rules->has_shell && uid == rules->shell && !is_admin(rules, uid);
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
    case ACCESS_PERSON:
        return false;
    }
    return false;
}

enum access_role access_role_of(const struct access_rules *rules, uint32_t uid,
                                const uint32_t *groups, size_t group_count) {
    enum access_role role = ACCESS_NOBODY;
    if (is_admin(rules, uid))
        return ACCESS_ADMIN;
    if (is_shell(rules, uid))
        return ACCESS_NOBODY;
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
        .account = uid,
        .is_refused = is_shell(rules, uid),
    };
}

/* ---- persons without an account ------------------------------------------ */

static const char person_prefix[] = "person:";

bool access_person_is_valid(struct span person) {
    for (size_t i = 0; i < person.len; i++) {
        char c = person.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || strchr("._-+@", c) != NULL) ||
            c == '\0')
            return false;
    }
    return person.len > 0 && person.len <= ACCESS_PERSON_BYTES;
}

enum access_role access_role_of_person(const struct access_rules *rules,
                                       struct span person) {
    enum access_role role = ACCESS_NOBODY;
    for (size_t i = 0; i < rules->grant_count; i++) {
        const struct access_grant *grant = &rules->grants[i];
        bool fits = grant->who == ACCESS_EVERYBODY ||
                    (grant->who == ACCESS_PERSON &&
                     span_equal(access_actor_person_of(grant->name), person));
        if (fits && grant->role > role)
            role = grant->role;
    }
    return role;
}

struct access_actor access_actor_person(const struct access_rules *rules,
                                        uint32_t account, struct span person) {
    bool trusted = is_shell(rules, account) && access_person_is_valid(person);
    return (struct access_actor){
        .uid = ACCESS_PERSON_UID,
        .role = trusted ? access_role_of_person(rules, person) : ACCESS_NOBODY,
        .is_known = true,
        .person = person,
        .account = account,
        .is_refused = !trusted,
    };
}

void access_actor_format(const struct access_actor *actor, struct text *out) {
    if (actor->person.len > 0)
        text_addf(out, "%s%.*s/uid:%u", person_prefix, (int)actor->person.len,
                  actor->person.p, (unsigned)actor->account);
    else
        text_addf(out, "uid:%u", (unsigned)actor->uid);
}

struct span access_actor_name(struct span actor) {
    struct span rest = actor, name = actor;
    if (span_starts(actor, person_prefix))
        (void)span_cut(&rest, '/', &name);
    return name;
}

struct span access_actor_person_of(struct span actor) {
    size_t skip = sizeof(person_prefix) - 1;
    struct span name = access_actor_name(actor);
    return span_starts(name, person_prefix)
               ? span_make(name.p + skip, name.len - skip)
               : (struct span){0};
}

bool access_owner_parse(struct span actor, struct access_owner *ret_owner) {
    static const char prefix[] = "uid:";
    size_t skip = sizeof(prefix) - 1;
    struct span person = access_actor_person_of(actor);
    uint64_t uid = ACCESS_PERSON_UID;
    if (person.len > 0
            ? !access_person_is_valid(person)
            : !span_starts(actor, prefix) ||
                  !span_u64(span_make(actor.p + skip, actor.len - skip),
                            &uid) ||
                  uid >= ACCESS_PERSON_UID)
        return false;
    *ret_owner = (struct access_owner){(uint32_t)uid, actor};
    return true;
}

bool access_owner_is_same(const struct access_owner *one,
                          const struct access_owner *other) {
    return one->uid == other->uid &&
           span_equal(access_actor_person_of(one->actor),
                      access_actor_person_of(other->actor));
}

static bool owns(const struct access_actor *actor,
                 const struct access_owner *owner) {
    return owner->uid == actor->uid &&
           span_equal(access_actor_person_of(owner->actor), actor->person);
}

/* What a process hands in counts as handed in by the submitter of its job. So
 * the process must have been trusted by him: it runs as his account, or as one
 * that could act in his name anyway. Who runs it as somebody else does not get
 * that account's name for what it hands in, and that account not his. Checks
 * run the code of everybody who has landed something. */
static enum access_limit limit_of(const struct access_rules *rules,
                                  const struct access_actor *caller,
                                  const struct access_job *job) {
    bool is_same = caller->account == job->submitter.uid && !job->is_unsure;
    if (job->lands)
        return ACCESS_RUNS_A_SET;
    return is_same || is_admin(rules, caller->account) ? ACCESS_UNLIMITED
                                                       : ACCESS_OTHER_ACCOUNT;
}

void access_actor_in_job(const struct access_rules *rules,
                         struct access_actor *caller,
                         const struct access_job *job) {
    enum access_role most = ACCESS_VIEWER;
    caller->place = ACCESS_IN_JOB;
    if (job) {
        caller->limit = limit_of(rules, caller, job);
        caller->job = job->id;
        caller->uid = job->submitter.uid;
        caller->person = job->submitter.person;
        if (caller->limit == ACCESS_UNLIMITED)
            most = job->submitter.role;
    }
    if (caller->role > most)
        caller->role = most;
}

/* ---- the decision -------------------------------------------------------- */

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

/* "uid 7", "person ann", or "job 'j1' of uid 7" */
static void actor_describe(const struct access_actor *actor, struct text *out) {
    if (actor->place == ACCESS_IN_JOB && actor->job.len == 0) {
        text_addf(out, "a job that is not known, running as uid %u",
                  (unsigned)actor->account);
        return;
    }
    if (actor->place == ACCESS_IN_JOB)
        text_addf(out, "job '%.*s' of ", (int)actor->job.len, actor->job.p);
    if (actor->person.len > 0)
        text_addf(out, "person %.*s", (int)actor->person.len, actor->person.p);
    else
        text_addf(out, "uid %u", (unsigned)actor->uid);
    if (actor->place == ACCESS_IN_JOB && actor->account != actor->uid)
        text_addf(out, " (running as uid %u)", (unsigned)actor->account);
}

static bool refuse_limited(const struct access_actor *actor, struct err *err) {
    CLEANUP(text_clear) struct text who = TEXT_INIT;
    actor_describe(actor, &who);
    if (actor->limit == ACCESS_RUNS_A_SET)
        return err_set(err, ERR_DENIED,
                       "this process belongs to %s, a change set: what its "
                       "checks and its command run may only read, because it "
                       "includes what others have landed; use a command, or a "
                       "shell that was not started by a job",
                       text_string(&who));
    return err_set(err, ERR_DENIED,
                   "this process belongs to %s: it may only read, because it "
                   "does not run as the account that submitted the job; "
                   "submit the job from that account, without --user",
                   text_string(&who));
}

static bool refuse(const struct access_rules *rules,
                   const struct access_actor *actor, enum access_role needed,
                   bool is_others, struct err *err) {
    CLEANUP(text_clear) struct text holders = TEXT_INIT, who = TEXT_INIT;
    if (!actor->is_known)
        return err_set(err, ERR_DENIED,
                       "only health and metrics are served here; "
                       "the rest is on the base's socket");
    if (actor->is_refused && actor->person.len > 0)
        return err_set(err, ERR_DENIED,
                       "uid %u may not act for '%.*s': only the account that "
                       "[access] shell names acts for persons",
                       (unsigned)actor->account, (int)actor->person.len,
                       actor->person.p);
    if (actor->is_refused)
        return err_set(err, ERR_DENIED,
                       "uid %u is the account of `pointsman shell` ([access] "
                       "shell) and has no role of its own",
                       (unsigned)actor->account);
    if (actor->limit != ACCESS_UNLIMITED && actor->role == ACCESS_VIEWER)
        return refuse_limited(actor, err);
    holders_add(rules, needed, &holders);
    actor_describe(actor, &who);
    return err_set(err, ERR_DENIED,
                   "this needs the role %s%s, and %s has the role %s; %s "
                   "may do it",
                   access_role_word(needed),
                   is_others ? " for a job of somebody else" : "",
                   text_string(&who), access_role_word(actor->role),
                   text_string(&holders));
}

static bool refuse_job(const struct access_actor *actor, const char *what,
                       struct err *err) {
    CLEANUP(text_clear) struct text who = TEXT_INIT;
    if (actor->place == ACCESS_UNCLEAR)
        return err_set(err, ERR_DENIED,
                       "jobs may not %s, and the server cannot examine this "
                       "process to see whether it belongs to a job: use a "
                       "process that runs on the server's machine, outside of "
                       "containers, and that does not exit before the answer",
                       what);
    actor_describe(actor, &who);
    return err_set(err, ERR_DENIED,
                   "jobs may not %s, and this process belongs to %s: use a "
                   "shell that was not started by a job",
                   what, text_string(&who));
}

bool access_allows(const struct access_rules *rules,
                   const struct access_actor *actor, struct access_need need,
                   const struct access_owner *owner, struct err *err) {
    bool is_others =
        owner != NULL && !owns(actor, owner) && need.others > need.role;
    enum access_role needed = is_others ? need.others : need.role;

    assert(need.role <= need.others && need.others < ACCESS_ROLES);
    if (need.reserved != NULL && actor->is_known &&
        actor->place != ACCESS_OUTSIDE)
        return refuse_job(actor, need.reserved, err);
    return needed == ACCESS_NOBODY ||
           (actor->is_known && actor->role >= needed) ||
           refuse(rules, actor, needed, is_others && actor->role >= need.role,
                  err);
}
