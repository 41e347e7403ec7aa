#include "changes/approvers.h"

#include "os/account.h"
#include "changes/approvals.h"
#include "changes/policy_config.h"
#include "changes/signers.h"

/* An approval for each name that can give one; approval_judge then tells how
 * many people they are, exactly as it does for approvals that were given. */
struct approvers {
    const struct base *base;
    const struct policies *policies;
    struct arena *arena;
    bool is_signed; /* only signed approvals count */
    bool is_many;   /* nobody knows how many */
    struct approval_given *given;
    size_t count;
    const char *fault; /* why the first name that cannot, cannot */
};

static struct span behind(struct span span, size_t count) {
    return span_make(span.p + count, span.len - count);
}

static void add(struct approvers *approvers, struct approval_given given) {
    struct approval_given *more =
        arena_alloc(approvers->arena, (approvers->count + 1) * sizeof(*more));
    for (size_t i = 0; i < approvers->count; i++)
        more[i] = approvers->given[i];
    more[approvers->count++] = given;
    approvers->given = more;
}

static bool cannot(struct approvers *approvers, struct span name,
                   const char *why) {
    if (approvers->fault == NULL)
        approvers->fault = arena_printf(approvers->arena, "%.*s %s",
                                        (int)name.len, name.p, why);
    return false;
}

/* "uid:7". A number that is no account belongs to nobody, unless it is the
 * owner's. */
static bool add_account(struct approvers *approvers, struct span name) {
    const struct base *base = approvers->base;
    struct span number = behind(name, 4);
    struct account account;
    uint64_t uid;
    if (approvers->is_signed)
        return false;
    if (!span_u64(number, &uid) ||
        (uid != base->uid && uid != 0 &&
         !account_find(number, approvers->arena, &account, NULL)))
        return cannot(approvers, name, "is no account of this machine");
    if (!base_has_role(base, (uid_t)uid, ACCESS_SUBMITTER))
        return cannot(approvers, name, "lacks the role submitter ([access])");
    add(approvers,
        (struct approval_given){
            .who = name,
            .is_operator = base_has_role(base, (uid_t)uid, ACCESS_OPERATOR)});
    return true;
}

/* "person:ann", who comes over ssh. */
static bool add_person(struct approvers *approvers, struct span name) {
    const struct base *base = approvers->base;
    enum access_role role =
        access_role_of_person(&base->access, behind(name, 7));
    if (approvers->is_signed || role < ACCESS_SUBMITTER)
        return false;
    add(approvers,
        (struct approval_given){
            .who = name,
            .alias = approvals_alias(base, behind(name, 7), approvers->arena),
            .is_operator = role >= ACCESS_OPERATOR});
    return true;
}

/* "user:bob@host" and the key with which he can sign, if it is the only one. */
static bool add_signer(struct approvers *approvers, struct span name) {
    const struct policies *policies = approvers->policies;
    struct approval_given given = {.who = name, .is_signed = true};
    size_t keys = 0;
    if (!signers_might_allow(policies, name, (struct span){0}))
        return cannot(approvers, name,
                      "has no key in the list of allowed signers");
    for (size_t i = 0; i < policies->key_count; i++) {
        struct span key = policies->keys[i].name; /* once for each line */
        if (span_equal(key, given.key) ||
            !signers_might_allow(policies, name, key))
            continue;
        given.key = key;
        keys++;
    }
    if (keys != 1)
        given.key = (struct span){0};
    given.alias =
        approvals_alias(approvers->base, behind(name, 5), approvers->arena);
    add(approvers, given);
    return true;
}

/* "SHA256:...", of a person. */
static bool add_key(struct approvers *approvers, struct span key) {
    if (!signers_might_allow(approvers->policies, (struct span){0}, key))
        return cannot(approvers, key, "is not in the list of allowed signers");
    add(approvers,
        (struct approval_given){.who = key, .key = key, .is_signed = true});
    return true;
}

static bool add_name(struct approvers *approvers, struct span name) {
    return span_starts(name, "uid:")      ? add_account(approvers, name)
           : span_starts(name, "person:") ? add_person(approvers, name)
           : span_starts(name, "user:")   ? add_signer(approvers, name)
                                          : add_key(approvers, name);
}

/* A person of a section [person], who needs one name that can approve. */
static bool add_named(struct approvers *approvers, struct span name) {
    const struct policies *policies = approvers->policies;
    for (size_t i = 0; i < policies->person_count; i++) {
        const struct approval_person *person = &policies->persons[i];
        for (size_t k = 0;
             span_equal(person->name, name) && k < person->names.count; k++)
            if (add_name(approvers, person->names.items[k]))
                return true;
    }
    return false;
}

/* The owner, root and those whom [access] makes operators. */
static void add_operators(struct approvers *approvers) {
    const struct access_rules *rules = &approvers->base->access;
    struct arena *arena = approvers->arena;
    if (approvers->is_signed)
        return;
    (void)add_account(approvers, SPAN("uid:0"));
    (void)add_account(
        approvers,
        span_of(arena_printf(arena, "uid:%lu", (unsigned long)rules->owner)));
    for (size_t i = 0; i < rules->grant_count; i++) {
        const struct access_grant *grant = &rules->grants[i];
        if (grant->role < ACCESS_OPERATOR)
            continue;
        if (grant->who == ACCESS_ACCOUNT)
            (void)add_account(approvers,
                              span_of(arena_printf(arena, "uid:%lu",
                                                   (unsigned long)grant->id)));
        else if (grant->who == ACCESS_PERSON)
            (void)add_person(approvers, grant->name);
        else
            approvers->is_many = true;
    }
}

static void add_role(struct approvers *approvers, struct span role) {
    if (span_starts(role, "@"))
        approvers->is_many |= !approvers->is_signed;
    else if (span_is(role, "operator"))
        add_operators(approvers);
    else if (span_starts(role, "person:"))
        (void)add_named(approvers, behind(role, 7));
    else
        (void)add_name(approvers, role);
}

static bool refuse_unsigned(const struct base *base,
                            const struct config_approval *from,
                            struct err *err) {
    struct config_spot spot =
        config_spot_of(from->is_signed_origin, from->origin, err);
    struct span list = base->config.queue.allowed_signers;
    return config_refuse(&spot,
                         "policy '%.*s' can never be met: signed = yes, but "
                         "the list of allowed signers, '%.*s', has nobody who "
                         "can sign",
                         (int)from->name.len, from->name.p, (int)list.len,
                         list.p);
}

static bool check(const struct base *base, const struct policies *policies,
                  const struct config_approval *from,
                  const struct approval_policy *policy, struct arena *arena,
                  struct err *err) {
    struct approvers approvers = {.base = base,
                                  .policies = policies,
                                  .arena = arena,
                                  .is_signed = policy->is_signed};
    struct approval_subject subject = {.persons = policies->persons,
                                       .person_count = policies->person_count,
                                       .keys = policies->keys,
                                       .key_count = policies->key_count};
    /* What the policy asks for, of every set. */
    struct approval_policy asks = {.roles = policy->roles,
                                   .count = policy->count,
                                   .is_signed = policy->is_signed};
    struct config_spot spot =
        config_spot_of(from->roles_origin, from->origin, err);
    for (size_t i = 0; i < policy->roles.count; i++)
        add_role(&approvers, policy->roles.items[i]);
    if (policy->roles.count == 0 || approvers.is_many)
        return !policy->is_signed || policy->count == 0 ||
               signers_might_allow(policies, (struct span){0},
                                   (struct span){0}) ||
               refuse_unsigned(base, from, err);
    unsigned have = approval_judge(&asks, 1, &subject, approvers.given,
                                   approvers.count, (struct wall){0})
                        .have;
    const char *can = have == 0 ? "none" : arena_printf(arena, "only %u", have);
    const char *why = approvers.fault != NULL ? approvers.fault
                      : have > 0
                          ? "several of its names belong to one person"
                          : "they have no role of [access] or cannot sign";
    return have >= policy->count ||
           config_refuse(&spot,
                         "policy '%.*s' can never be met: it needs %u %s, but "
                         "%s of those whom its role names can approve; %s",
                         (int)policy->name.len, policy->name.p, policy->count,
                         policy->count == 1 ? "person" : "people", can, why);
}

bool approvers_check(const struct base *base, const struct policies *policies,
                     struct err *err) {
    const struct config_approval *from;
    for (size_t i = 0; (from = policy_config_at(&base->config, i)) != NULL;
         i++) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        if (!check(base, policies, from, &policies->items[i], &arena, err))
            return false;
    }
    return true;
}
