#include "changes/policies.h"

#include "os/account.h"
#include "changes/approvers.h"
#include "changes/policy_config.h"
#include "changes/signers.h"

struct policy_group {
    struct span role; /* "@staff" */
    gid_t gid;
};

/* ---- lists --------------------------------------------------------------- */

static struct approval_list list_of(const struct config_list *from,
                                    struct arena *arena) {
    struct span *items = arena_alloc(arena, (from->count + 1) * sizeof(*items));
    for (size_t i = 0; i < from->count; i++)
        items[i] = from->items[i].text;
    return (struct approval_list){items, from->count};
}

static unsigned classes_of(const struct config_list *list) {
    unsigned classes = 0;
    enum job_class job_class;
    for (size_t i = 0; i < list->count; i++)
        if (job_class_parse(list->items[i].text, &job_class))
            classes |= 1u << job_class;
    return classes;
}

static struct approval_policy policy_of(const struct config_approval *from,
                                        struct arena *arena) {
    return (struct approval_policy){
        .name = from->name,
        .classes = classes_of(&from->classes),
        .targets = list_of(&from->targets, arena),
        .paths = list_of(&from->paths, arena),
        .ticket = from->ticket,
        .roles = list_of(&from->roles, arena),
        .count = (unsigned)from->count,
        .late = from->late == 1,
        .is_signed = from->is_signed == 1,
        .within_ms = from->within_s * 1000,
        .refuse = from->unapproved == UNAPPROVED_REFUSE,
        .expires_ms = from->expires_s * 1000,
    };
}

/* ---- groups -------------------------------------------------------------- */

static bool add_groups(struct policies *policies,
                       const struct config_approval *approval,
                       struct arena *arena, struct err *err) {
    struct config_spot spot =
        config_spot_of(approval->roles_origin, approval->origin, err);
    for (size_t i = 0; i < approval->roles.count; i++) {
        struct span role = approval->roles.items[i].text;
        struct err why = {0};
        struct policy_group *more;
        if (!span_starts(role, "@"))
            continue;
        more = arena_alloc(arena, (policies->group_count + 1) * sizeof(*more));
        for (size_t k = 0; k < policies->group_count; k++)
            more[k] = policies->groups[k];
        policies->groups = more;
        more += policies->group_count;
        more->role = role;
        if (!account_group_find(span_make(role.p + 1, role.len - 1), &more->gid,
                                &why))
            return config_refuse(&spot, "role '%.*s': %s", (int)role.len,
                                 role.p, why.text);
        policies->group_count++;
    }
    return true;
}

void policies_set_groups(const struct policies *policies,
                         struct approval_given *given, struct arena *arena) {
    struct account account;
    if (policies->group_count == 0 || !span_starts(given->who, "uid:") ||
        !account_find(span_make(given->who.p + 4, given->who.len - 4), arena,
                      &account, NULL))
        return;
    struct span *groups =
        arena_alloc(arena, policies->group_count * sizeof(*groups));
    given->groups = (struct approval_list){groups, 0};
    for (size_t i = 0; i < policies->group_count; i++)
        if (account_has_group(&account, policies->groups[i].gid))
            groups[given->groups.count++] = policies->groups[i].role;
}

/* ---- persons ------------------------------------------------------------- */

/* "uid:7" for an account by name or number. A number needs no account: work of
 * an account that was removed still belongs to its person. */
static bool read_account(struct span account, struct arena *arena,
                         struct span *ret_name, struct err *err) {
    struct account found;
    uint64_t uid;
    if (!span_u64(account, &uid) || uid >= UINT32_MAX) {
        if (!account_find(account, arena, &found, err))
            return false;
        uid = found.uid;
    }
    *ret_name = span_of(arena_printf(arena, "uid:%lu", (unsigned long)uid));
    return true;
}

static const struct approval_person *owner_of(const struct policies *policies,
                                              struct span name) {
    for (size_t i = 0; i < policies->person_count; i++)
        for (size_t k = 0; k < policies->persons[i].names.count; k++)
            if (span_equal(policies->persons[i].names.items[k], name))
                return &policies->persons[i];
    return NULL;
}

static bool add_accounts(const struct policies *policies,
                         const struct config_person *from, struct span *names,
                         size_t *count, struct arena *arena, struct err *err) {
    struct config_spot spot =
        config_spot_of(from->accounts_origin, from->origin, err);
    for (size_t i = 0; i < from->accounts.count; i++) {
        struct span account = from->accounts.items[i].text;
        struct err why = {0};
        if (!read_account(account, arena, &names[*count], &why))
            return config_refuse(&spot, "person '%.*s': %s",
                                 (int)from->name.len, from->name.p, why.text);
        const struct approval_person *other = owner_of(policies, names[*count]);
        if (other != NULL)
            return config_refuse(
                &spot,
                "account '%.*s' of person '%.*s' is listed for person '%.*s' "
                "too (%.*s)",
                (int)account.len, account.p, (int)from->name.len, from->name.p,
                (int)other->name.len, other->name.p, (int)names[*count].len,
                names[*count].p);
        (*count)++;
    }
    return true;
}

static bool add_person(struct policies *policies,
                       const struct config_person *from, struct arena *arena,
                       struct err *err) {
    struct approval_person *person = &policies->persons[policies->person_count];
    size_t most =
        from->accounts.count + from->principals.count + from->keys.count;
    size_t count = 1;
    struct span *names = arena_alloc(arena, (most + 1) * sizeof(*names));
    names[0] = span_of(
        arena_printf(arena, "person:%.*s", (int)from->name.len, from->name.p));
    if (!add_accounts(policies, from, names, &count, arena, err))
        return false;
    for (size_t i = 0; i < from->principals.count; i++)
        names[count++] = span_of(arena_printf(
            arena, "user:%.*s", (int)from->principals.items[i].text.len,
            from->principals.items[i].text.p));
    for (size_t i = 0; i < from->keys.count; i++)
        names[count++] = from->keys.items[i].text;
    *person = (struct approval_person){from->name, {names, count}};
    policies->person_count++;
    return true;
}

/* ---- all of it ----------------------------------------------------------- */

static bool read_all(const struct config *config, struct arena *arena,
                     struct policies *policies, struct err *err) {
    const struct config_approval *approval;
    const struct config_person *person;
    size_t persons = 0;
    while (policy_config_at(config, policies->count) != NULL)
        policies->count++;
    policies->items =
        arena_alloc(arena, (policies->count + 1) * sizeof(*policies->items));
    for (size_t i = 0; (approval = policy_config_at(config, i)) != NULL; i++)
        policies->items[i] = policy_of(approval, arena);
    while (policy_config_person_at(config, persons) != NULL)
        persons++;
    policies->persons =
        arena_alloc(arena, (persons + 1) * sizeof(*policies->persons));
    for (size_t i = 0; (person = policy_config_person_at(config, i)) != NULL;
         i++)
        if (!add_person(policies, person, arena, err))
            return false;
    for (size_t i = 0; (approval = policy_config_at(config, i)) != NULL; i++)
        if (!add_groups(policies, approval, arena, err))
            return false;
    return true;
}

void policies_read(const struct base *base, struct arena *arena,
                   struct policies *ret_policies) {
    struct err err = {0};
    *ret_policies = (struct policies){0};
    if (!read_all(&base->config, arena, ret_policies, &err) ||
        !signers_read(base, arena, ret_policies, &err))
        ret_policies->fault = arena_string(arena, span_of(err.text));
}

bool policies_check(const struct base *base, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct policies policies = {0};
    return read_all(&base->config, &arena, &policies, err) &&
           signers_read(base, &arena, &policies, err) &&
           (policies.no_signature == NULL ||
            err_set(err, ERR_CONFIG, "no signature counts: %s",
                    policies.no_signature)) &&
           approvers_check(base, &policies, err);
}
