#include "changes/policy_config.h"

#include <strings.h>

#include "core/job.h"
#include "wire/approval_text.h"
#include "wire/path.h"

enum { KEY_BYTES = 50 }; /* "SHA256:" and 43 digits of base64 */

const struct config_approval *policy_config_at(const struct config *config,
                                               size_t index) {
    return config_added(config, &approval_section, index);
}

const struct config_person *policy_config_person_at(const struct config *config,
                                                    size_t index) {
    return config_added(config, &person_section, index);
}

/* ---- items of an approval ------------------------------------------------ */

static const struct config_key approval_keys[] = {
#define CONFIG_KEY(...) CONFIG_ROW(struct config_approval, __VA_ARGS__),
#include "changes/config_approval.def"
};

static bool check_label(struct span label, const struct config_spot *spot) {
    return label.len > 0 ||
           config_refuse(spot, "a policy needs a name: [approval \"prod\"]");
}

static bool check_class(struct span item, const struct config_spot *spot) {
    enum job_class job_class;
    return job_class_parse(item, &job_class) ||
           config_refuse(
               spot, "unknown class '%.*s'; the classes are RB, EM, BF and DC",
               (int)item.len, item.p);
}

static bool check_target(const struct config *config, struct span item,
                         const struct config_spot *spot) {
    return config_target(config, item) ||
           config_refuse(spot,
                         "target '%.*s': no such section [target \"%.*s\"]",
                         (int)item.len, item.p, (int)item.len, item.p);
}

/* Other programs give these bytes a meaning in patterns, begin a comment with
 * them or separate patterns by them, so a policy that has them by mistake would
 * match nothing. */
static bool looks_foreign(struct span pattern) {
    static const char marks[] = "[]{}\\ \t#;";
    for (size_t i = 0; i < pattern.len; i++)
        if (memchr(marks, pattern.p[i], sizeof(marks) - 1))
            return true;
    return span_starts(pattern, "!");
}

static bool check_path(const struct config_list_item *item,
                       const struct config_spot *spot) {
    const char *fault = path_pattern_fault(item->text);
    if (fault == NULL && !item->is_quoted && looks_foreign(item->text))
        fault = "a pattern has only *, ** and ?, and no comment behind it; "
                "commas separate patterns; a name that contains [ ] { } \\ # ; "
                "or a blank or begins with ! is written in quotes";
    return fault == NULL ||
           config_refuse(spot, "path '%.*s': %s", (int)item->text.len,
                         item->text.p, fault);
}

static const struct config_person *person_of(const struct config *config,
                                             struct span name) {
    const struct config_person *person;
    for (size_t i = 0; (person = policy_config_person_at(config, i)) != NULL;
         i++)
        if (span_equal(person->name, name))
            return person;
    return NULL;
}

static struct span behind(struct span span, size_t count) {
    return span_make(span.p + count, span.len - count);
}

/* As actors are written: "uid:7", never "uid:07". */
static bool is_uid(struct span item) {
    uint64_t uid;
    return span_starts(item, "uid:") && span_u64(behind(item, 4), &uid) &&
           uid < UINT32_MAX && (item.p[4] != '0' || item.len == 5);
}

static bool check_role(const struct config *config, struct span item,
                       const struct config_spot *spot) {
    if (span_starts(item, "person:"))
        return person_of(config, behind(item, 7)) ||
               config_refuse(
                   spot, "role '%.*s': no such section [person \"%.*s\"]",
                   (int)item.len, item.p, (int)item.len - 7, item.p + 7);
    return span_is(item, "operator") || is_uid(item) ||
           (span_starts(item, "user:") &&
            approval_name_is_valid(behind(item, 5))) ||
           (span_starts(item, "@") && item.len > 1) ||
           config_refuse(spot,
                         "role '%.*s': operator, uid:N, user:NAME, "
                         "person:NAME and @GROUP are roles",
                         (int)item.len, item.p);
}

static bool check_items(const struct config *config,
                        const struct config_approval *approval,
                        struct err *err) {
    struct config_origin origin = approval->origin;
    struct config_spot classes =
        config_spot_of(approval->classes_origin, origin, err);
    struct config_spot targets =
        config_spot_of(approval->targets_origin, origin, err);
    struct config_spot paths =
        config_spot_of(approval->paths_origin, origin, err);
    struct config_spot roles =
        config_spot_of(approval->roles_origin, origin, err);
    for (size_t i = 0; i < approval->classes.count; i++)
        if (!check_class(approval->classes.items[i].text, &classes))
            return false;
    for (size_t i = 0; i < approval->targets.count; i++)
        if (!check_target(config, approval->targets.items[i].text, &targets))
            return false;
    for (size_t i = 0; i < approval->paths.count; i++)
        if (!check_path(&approval->paths.items[i], &paths))
            return false;
    for (size_t i = 0; i < approval->roles.count; i++)
        if (!check_role(config, approval->roles.items[i].text, &roles))
            return false;
    return true;
}

/* ---- policies that can never be met -------------------------------------- */

static bool lists(const struct config_list *list, struct span item) {
    for (size_t i = 0; i < list->count; i++)
        if (span_equal(list->items[i].text, item))
            return true;
    return false;
}

static bool can_sign(const struct config *config, struct span role) {
    if (!span_starts(role, "person:"))
        return span_starts(role, "user:");
    const struct config_person *person = person_of(config, behind(role, 7));
    return person->principals.count > 0 || person->keys.count > 0;
}

/* The person that a role item names, if a section [person] says so. */
static const struct config_person *named_person(const struct config *config,
                                                struct span role) {
    const struct config_person *person;
    if (span_starts(role, "person:"))
        return person_of(config, behind(role, 7));
    for (size_t i = 0; (person = policy_config_person_at(config, i)) != NULL;
         i++)
        if ((span_starts(role, "uid:") &&
             lists(&person->accounts, behind(role, 4))) ||
            (span_starts(role, "user:") &&
             lists(&person->principals, behind(role, 5))))
            return person;
    return NULL;
}

static bool is_named_before(const struct config *config,
                            const struct config_list *roles, size_t at) {
    const struct config_person *person =
        named_person(config, roles->items[at].text);
    for (size_t i = 0; i < at; i++)
        if (span_equal(roles->items[i].text, roles->items[at].text) ||
            (person != NULL &&
             named_person(config, roles->items[i].text) == person))
            return true;
    return false;
}

/* How many people can ever satisfy it; INT64_MAX: no limit is known. */
static int64_t people_of(const struct config *config,
                         const struct config_approval *approval) {
    int64_t people = 0;
    if (approval->roles.count == 0)
        return INT64_MAX;
    for (size_t i = 0; i < approval->roles.count; i++) {
        struct span role = approval->roles.items[i].text;
        if (approval->is_signed == 1 && !can_sign(config, role))
            continue;
        if (span_is(role, "operator") || span_starts(role, "@"))
            return INT64_MAX;
        people += !is_named_before(config, &approval->roles, i);
    }
    return people;
}

static bool check_people(const struct config *config,
                         const struct config_approval *approval,
                         const struct config_spot *spot) {
    int64_t people = people_of(config, approval);
    bool only_operators = approval->roles.count > 0;
    for (size_t i = 0; i < approval->roles.count; i++)
        only_operators &= span_is(approval->roles.items[i].text, "operator");
    if (approval->count > people)
        return config_refuse(spot,
                             "policy '%.*s' can never be met: count = %lld, "
                             "but its role names %lld %s%s",
                             (int)approval->name.len, approval->name.p,
                             (long long)approval->count, (long long)people,
                             people == 1 ? "person" : "people",
                             approval->is_signed == 1 ? " who can sign" : "");
    if (approval->count > 0 && only_operators &&
        approval->unapproved == UNAPPROVED_REFUSE)
        return config_refuse(
            spot,
            "policy '%.*s' can never be met: operators approve sets that have "
            "been submitted, and unapproved = refuse admits only sets that "
            "come with their approval",
            (int)approval->name.len, approval->name.p);
    return true;
}

/* ---- policies that contradict each other --------------------------------- */

static bool same_items(const struct config_list *one,
                       const struct config_list *other) {
    for (size_t i = 0; i < one->count; i++)
        if (!lists(other, one->items[i].text))
            return false;
    for (size_t i = 0; i < other->count; i++)
        if (!lists(one, other->items[i].text))
            return false;
    return true;
}

static bool same_reach(const struct config_approval *one,
                       const struct config_approval *other) {
    return same_items(&one->classes, &other->classes) &&
           same_items(&one->targets, &other->targets) &&
           same_items(&one->paths, &other->paths);
}

static bool contradict(const struct config_approval *one,
                       const struct config_approval *other) {
    return one->late == 1 && other->unapproved == UNAPPROVED_REFUSE &&
           same_reach(one, other);
}

static bool check_others(const struct config *config,
                         const struct config_approval *approval,
                         const struct config_spot *spot) {
    const struct config_approval *other;
    for (size_t i = 0; (other = policy_config_at(config, i)) != NULL; i++) {
        if (!contradict(approval, other))
            continue;
        if (other == approval)
            return config_refuse(spot,
                                 "policy '%.*s' contradicts itself: with "
                                 "unapproved = refuse nothing is late",
                                 (int)approval->name.len, approval->name.p);
        return config_refuse(spot,
                             "policies '%.*s' (late = yes) and '%.*s' "
                             "(unapproved = refuse, %s:%u) apply to the same "
                             "sets and contradict each other",
                             (int)approval->name.len, approval->name.p,
                             (int)other->name.len, other->name.p,
                             other->origin.file, other->origin.line);
    }
    return true;
}

static bool approval_finish(const struct config *config, const void *section,
                            struct err *err) {
    const struct config_approval *approval = section;
    struct config_spot spot = {approval->origin.file, approval->origin.line,
                               err};
    return check_items(config, approval, err) &&
           check_people(config, approval, &spot) &&
           check_others(config, approval, &spot);
}

const struct config_section approval_section = {
    .name = "approval",
    .keys = approval_keys,
    .key_count = COUNT(approval_keys),
    .bytes = sizeof(struct config_approval),
    .check_label = check_label,
    .origin_at = offsetof(struct config_approval, origin),
    .finish = approval_finish,
};

/* ---- persons ------------------------------------------------------------- */

static const struct config_key person_keys[] = {
#define CONFIG_KEY(...) CONFIG_ROW(struct config_person, __VA_ARGS__),
#include "changes/config_person.def"
};

static bool check_person(struct span label, const struct config_spot *spot) {
    return approval_name_is_valid(label) ||
           config_refuse(spot, "a person needs a name of letters, digits and "
                               ". _ @ + : / -: [person \"alice\"]");
}

/* The lists of a person, with what an item of each is called. */
struct names {
    const char *what;
    const struct config_list *list;
    const struct config_origin *origin;
};
enum { LISTS = 3 };

static void names_of(const struct config_person *person,
                     struct names ret[LISTS]) {
    ret[0] =
        (struct names){"account", &person->accounts, &person->accounts_origin};
    ret[1] = (struct names){"principal", &person->principals,
                            &person->principals_origin};
    ret[2] = (struct names){"key", &person->keys, &person->keys_origin};
}

static const char *name_fault(unsigned list, struct span item) {
    if (list == 2)
        return span_starts(item, "SHA256:") && item.len == KEY_BYTES
                   ? NULL
                   : "a key is written as SHA256:... (ssh-keygen -lf KEY.pub)";
    return approval_name_is_valid(item) ? NULL
                                        : "this is not a name; use letters, "
                                          "digits and . _ @ + : / -";
}

/* Principals of two persons are compared as approvals are, regardless of case.
 */
static bool is_same_name(unsigned list, bool is_other, struct span name,
                         struct span item) {
    return list == 1 && is_other
               ? name.len == item.len &&
                     strncasecmp(name.p, item.p, name.len) == 0
               : span_equal(name, item);
}

/* Refuses an item that stands before item `at` of this person or with any
 * person before. */
static bool check_once(const struct config *config,
                       const struct config_person *person, unsigned list,
                       size_t at, const struct config_spot *spot) {
    struct names ours[LISTS], theirs[LISTS];
    const struct config_person *other;
    names_of(person, ours);
    struct span item = ours[list].list->items[at].text;
    for (size_t i = 0; (other = policy_config_person_at(config, i)) != NULL;
         i++) {
        names_of(other, theirs);
        size_t end = other == person ? at : theirs[list].list->count;
        for (size_t k = 0; k < end; k++)
            if (is_same_name(list, other != person,
                             theirs[list].list->items[k].text, item))
                return config_refuse(
                    spot, "%s '%.*s' of person '%.*s' is listed %s",
                    ours[list].what, (int)item.len, item.p,
                    (int)person->name.len, person->name.p,
                    other == person ? "twice" : "for another person too");
        if (other == person)
            break;
    }
    return true;
}

static bool person_finish(const struct config *config, const void *section,
                          struct err *err) {
    const struct config_person *person = section;
    struct names names[LISTS];
    size_t count = 0;
    names_of(person, names);
    for (unsigned list = 0; list < LISTS; list++) {
        struct config_spot spot =
            config_spot_of(*names[list].origin, person->origin, err);
        for (size_t i = 0; i < names[list].list->count; i++, count++) {
            struct span item = names[list].list->items[i].text;
            const char *fault = name_fault(list, item);
            if (fault != NULL)
                return config_refuse(&spot, "%s '%.*s': %s", names[list].what,
                                     (int)item.len, item.p, fault);
            if (!check_once(config, person, list, i, &spot))
                return false;
        }
    }
    struct config_spot spot = {person->origin.file, person->origin.line, err};
    return count > 0 ||
           config_refuse(&spot,
                         "person '%.*s' has no accounts, principals or keys",
                         (int)person->name.len, person->name.p);
}

const struct config_section person_section = {
    .name = "person",
    .keys = person_keys,
    .key_count = COUNT(person_keys),
    .bytes = sizeof(struct config_person),
    .check_label = check_person,
    .is_unique = true,
    .origin_at = offsetof(struct config_person, origin),
    .finish = person_finish,
};
