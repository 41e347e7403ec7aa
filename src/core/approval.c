#include "core/approval.h"

/* ---- patterns ------------------------------------------------------------ */

static struct span behind(struct span span, size_t count) {
    return span_make(span.p + count, span.len - count);
}

/* A star that was met: where it may go on. */
struct star {
    struct span pattern; /* behind it; NULL: none was met */
    struct span text;    /* that it has not taken */
    bool whole;          /* it takes whole components */
};

/* The star takes one byte or component more, unless that is not its to take. */
static bool star_takes(struct star *star, bool slashes) {
    const char *slash = NULL;
    if (star->pattern.p == NULL || star->text.len == 0 ||
        (!slashes && star->text.p[0] == '/'))
        return false;
    if (star->whole &&
        (slash = memchr(star->text.p, '/', star->text.len)) == NULL)
        return false;
    star->text = behind(star->text,
                        star->whole ? (size_t)(slash + 1 - star->text.p) : 1);
    return true;
}

/* `*` stands for anything but slashes, `**` for anything, `?` for one byte but
 * a slash. In `paths`, a component `**` stands for any number of components,
 * also for none. Goes back to the last star only: with two kinds of star, to
 * the last of each kind; so the cost is at most the product of the lengths. */
static bool matches(struct span whole, struct span text, bool paths) {
    struct span pattern = whole;
    struct star star = {0}, deep = {0};
    while (true) {
        if (pattern.len >= 2 && pattern.p[0] == '*' && pattern.p[1] == '*') {
            bool begins = pattern.p == whole.p || pattern.p[-1] == '/';
            deep.whole =
                paths && begins && pattern.len > 2 && pattern.p[2] == '/';
            pattern = deep.pattern = behind(pattern, deep.whole ? 3 : 2);
            deep.text = text;
            star.pattern.p = NULL;
        } else if (pattern.len > 0 && pattern.p[0] == '*') {
            pattern = star.pattern = behind(pattern, 1);
            star.text = text;
        } else if (pattern.len > 0 && text.len > 0 &&
                   (pattern.p[0] == text.p[0] ||
                    (pattern.p[0] == '?' && text.p[0] != '/'))) {
            pattern = behind(pattern, 1);
            text = behind(text, 1);
        } else if (pattern.len == 0 && text.len == 0) {
            return true;
        } else if (star_takes(&star, false)) {
            text = star.text;
            pattern = star.pattern;
        } else if (star_takes(&deep, true)) {
            text = deep.text;
            pattern = deep.pattern;
            star.pattern.p = NULL;
        } else {
            return false;
        }
    }
}

/* ---- policies ------------------------------------------------------------ */

static bool is_wild(struct span dir) {
    return memchr(dir.p, '*', dir.len) != NULL ||
           memchr(dir.p, '?', dir.len) != NULL;
}

/* True if the path is a directory that the pattern names, so that something
 * else takes its place. The first component `**` is none: it matches wherever a
 * link leads. */
static bool replaces_directory(struct span pattern, struct span path,
                               bool has_links) {
    bool whole = pattern.len > 3 &&
                 span_is(span_make(pattern.p + pattern.len - 3, 3), "/**");
    for (size_t i = 0; i < pattern.len; i++) {
        struct span dir = span_make(pattern.p, i);
        if (pattern.p[i] == '/' && !span_is(dir, "**") &&
            (!is_wild(dir) || (whole && has_links)) && matches(dir, path, true))
            return true;
    }
    return false;
}

static bool any_path(const struct approval_policy *policy,
                     const struct approval_subject *subject) {
    /* A rollback names no files and may affect any. */
    if (policy->paths.count == 0 || subject->touch_count == 0)
        return true;
    for (size_t i = 0; i < subject->touch_count; i++)
        for (size_t k = 0; k < policy->paths.count; k++)
            if (matches(policy->paths.items[k], subject->touches[i].path,
                        true) ||
                replaces_directory(policy->paths.items[k],
                                   subject->touches[i].path,
                                   subject->has_links))
                return true;
    return false;
}

static bool is_listed(const struct approval_list *list, struct span item) {
    for (size_t i = 0; i < list->count; i++)
        if (span_equal(list->items[i], item))
            return true;
    return false;
}

static bool applies(const struct approval_policy *policy,
                    const struct approval_subject *subject) {
    return (policy->classes == 0 ||
            (policy->classes & 1u << subject->job_class) != 0) &&
           (policy->targets.count == 0 ||
            is_listed(&policy->targets, subject->target)) &&
           any_path(policy, subject);
}

/* ---- who is who ---------------------------------------------------------- */

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Mail addresses are compared regardless of case, keys are not. To treat two
 * names as one person is the strict answer. */
static bool is_same(struct span name, struct span other) {
    if (name.len == 0 || name.len != other.len)
        return false;
    if (!span_starts(name, "user:"))
        return span_equal(name, other);
    for (size_t i = 0; i < name.len; i++)
        if (lower(name.p[i]) != lower(other.p[i]))
            return false;
    return true;
}

static bool has_name(const struct approval_person *person, struct span name) {
    for (size_t i = 0; i < person->names.count; i++)
        if (is_same(person->names.items[i], name))
            return true;
    return false;
}

static bool is_given_by(const struct approval_person *person,
                        const struct approval_given *given) {
    return has_name(person, given->who) || has_name(person, given->alias) ||
           has_name(person, given->key);
}

bool approval_name_matches(struct span pattern, struct span name) {
    return is_same(pattern, name) || matches(pattern, name, false);
}

/* The key may sign under this name. */
static bool may_sign_as(const struct approval_person *key, struct span name) {
    for (size_t i = 0; i < key->names.count && name.len > 0; i++)
        if (approval_name_matches(key->names.items[i], name))
            return true;
    return false;
}

static bool is_own_key(const struct approval_subject *subject,
                       struct span key) {
    for (size_t i = 0; i < subject->key_count; i++)
        if (is_same(subject->keys[i].name, key) &&
            (may_sign_as(&subject->keys[i], subject->submitter) ||
             may_sign_as(&subject->keys[i], subject->submitter_alias) ||
             may_sign_as(&subject->keys[i], subject->author)))
            return true;
    return false;
}

static bool is_person_of_subject(const struct approval_subject *subject,
                                 const struct approval_person *person) {
    return has_name(person, subject->submitter) ||
           has_name(person, subject->submitter_alias) ||
           has_name(person, subject->author);
}

bool approval_is_own(const struct approval_subject *subject,
                     const struct approval_given *given) {
    if (is_same(given->who, subject->submitter) ||
        is_same(given->alias, subject->submitter) ||
        is_same(given->who, subject->submitter_alias) ||
        is_same(given->alias, subject->submitter_alias) ||
        is_same(given->who, subject->author) || is_own_key(subject, given->key))
        return true;
    for (size_t i = 0; i < subject->person_count; i++)
        if (is_person_of_subject(subject, &subject->persons[i]) &&
            is_given_by(&subject->persons[i], given))
            return true;
    return false;
}

/* The same person may approve by command and by signature. */
static bool is_same_person(const struct approval_subject *subject,
                           const struct approval_given *one,
                           const struct approval_given *other) {
    if (is_same(one->who, other->who) || is_same(one->alias, other->who) ||
        is_same(one->who, other->alias) || is_same(one->alias, other->alias) ||
        is_same(one->key, other->key))
        return true;
    for (size_t i = 0; i < subject->person_count; i++)
        if (is_given_by(&subject->persons[i], one) &&
            is_given_by(&subject->persons[i], other))
            return true;
    return false;
}

/* Permissions need the exact name: a person has a role by account, by
 * principal or by key, but not by the account that a principal resembles. */
static bool is_person(const struct approval_subject *subject, struct span name,
                      const struct approval_given *given) {
    for (size_t i = 0; i < subject->person_count; i++) {
        const struct approval_person *person = &subject->persons[i];
        if (span_equal(person->name, name))
            return has_name(person, given->who) || has_name(person, given->key);
    }
    return false;
}

static bool role_fits(const struct approval_policy *policy,
                      const struct approval_subject *subject,
                      const struct approval_given *given) {
    for (size_t i = 0; i < policy->roles.count; i++) {
        struct span role = policy->roles.items[i];
        if (span_is(role, "operator") ? given->is_operator
            : span_starts(role, "person:")
                ? is_person(subject, behind(role, 7), given)
            : span_starts(role, "@") ? is_listed(&given->groups, role)
                                     : span_equal(role, given->who))
            return true;
    }
    return policy->roles.count == 0;
}

/* Nobody else than the submitter or the author has one of the roles. */
static bool is_for_self(const struct approval_policy *policy,
                        const struct approval_subject *subject) {
    for (size_t i = 0; i < policy->roles.count; i++) {
        struct span role = policy->roles.items[i];
        bool is_self = is_same(role, subject->submitter) ||
                       is_same(role, subject->submitter_alias) ||
                       is_same(role, subject->author);
        for (size_t k = 0; k < subject->person_count; k++)
            is_self |= span_starts(role, "person:") &&
                       span_equal(subject->persons[k].name, behind(role, 7)) &&
                       is_person_of_subject(subject, &subject->persons[k]);
        if (!is_self)
            return false;
    }
    return policy->roles.count > 0;
}

static bool has_expired(const struct approval_policy *policy,
                        const struct approval_given *given, struct wall now) {
    return (policy->expires_ms > 0 &&
            wall_ms_since(now, given->at) > policy->expires_ms) ||
           (given->until.ns > 0 && now.ns >= given->until.ns);
}

static bool counts(const struct approval_policy *policy,
                   const struct approval_subject *subject,
                   const struct approval_given *given, struct wall now) {
    return subject->fault == NULL && !given->is_withdrawn &&
           !has_expired(policy, given, now) &&
           (given->is_signed || !policy->is_signed) &&
           !approval_is_own(subject, given) &&
           role_fits(policy, subject, given);
}

static bool is_repeated(const struct approval_policy *policy,
                        const struct approval_subject *subject,
                        const struct approval_given *given, size_t at,
                        struct wall now) {
    for (size_t i = 0; i < at; i++)
        if (is_same_person(subject, &given[i], &given[at]) &&
            counts(policy, subject, &given[i], now))
            return true;
    return false;
}

static bool has_ticket(const struct approval_policy *policy,
                       const struct approval_subject *subject,
                       const struct approval_given *given, size_t count,
                       struct wall now) {
    if (policy->ticket.len == 0)
        return true;
    for (size_t i = 0; i < subject->ticket_count; i++)
        if (matches(policy->ticket, subject->tickets[i], false))
            return true;
    for (size_t i = 0; i < count; i++)
        if (given[i].ticket.len > 0 && !given[i].is_withdrawn &&
            !has_expired(policy, &given[i], now) &&
            matches(policy->ticket, given[i].ticket, false))
            return true;
    return false;
}

static struct approval_verdict judge_one(const struct approval_policy *policy,
                                         const struct approval_subject *subject,
                                         const struct approval_given *given,
                                         size_t count, struct wall now) {
    struct approval_verdict verdict = {.outcome = APPROVAL_ENOUGH,
                                       .policy = policy};
    for (size_t i = 0; i < count; i++) {
        verdict.have += counts(policy, subject, &given[i], now) &&
                        !is_repeated(policy, subject, given, i, now);
        if (given[i].is_withdrawn)
            verdict.withdrawn = given[i].who;
    }
    verdict.lacks_ticket = !has_ticket(policy, subject, given, count, now);
    /* One of those who approve has to give the ticket. */
    if (verdict.lacks_ticket && policy->count > 0 &&
        verdict.have >= policy->count)
        verdict.have = policy->count - 1;
    verdict.is_for_self =
        verdict.have < policy->count && is_for_self(policy, subject);
    if (verdict.have < policy->count || verdict.lacks_ticket)
        verdict.outcome = policy->refuse ? APPROVAL_REFUSE
                          : policy->late ? APPROVAL_LATE
                                         : APPROVAL_HOLD;
    return verdict;
}

struct approval_verdict approval_judge(const struct approval_policy *policies,
                                       size_t policy_count,
                                       const struct approval_subject *subject,
                                       const struct approval_given *given,
                                       size_t given_count, struct wall now) {
    struct approval_verdict hardest = {.outcome = APPROVAL_FREE};
    const struct approval_policy *owed = NULL;
    for (size_t i = 0; i < policy_count; i++) {
        if (!applies(&policies[i], subject))
            continue;
        struct approval_verdict one =
            judge_one(&policies[i], subject, given, given_count, now);
        if (one.outcome == APPROVAL_LATE &&
            (!owed || policies[i].within_ms < owed->within_ms))
            owed = &policies[i];
        if (one.outcome > hardest.outcome)
            hardest = one;
    }
    hardest.owed = owed;
    hardest.fault = subject->fault;
    return hardest;
}

bool approval_is_repeat(const struct approval_policy *policies,
                        size_t policy_count,
                        const struct approval_subject *subject,
                        const struct approval_given *given, size_t given_count,
                        const struct approval_given *more, struct wall now) {
    for (size_t i = 0; i < given_count && subject->fault == NULL; i++) {
        bool as_good = is_same_person(subject, &given[i], more) &&
                       span_equal(given[i].ticket, more->ticket);
        for (size_t k = 0; as_good && k < policy_count; k++)
            as_good = counts(&policies[k], subject, &given[i], now) ||
                      !counts(&policies[k], subject, more, now);
        if (as_good)
            return true;
    }
    return false;
}

enum approval_lack approval_lacks(const struct approval_policy *policies,
                                  size_t policy_count,
                                  const struct approval_subject *subject,
                                  const struct approval_given *given,
                                  struct wall now) {
    enum approval_lack least = APPROVAL_LACKS_ROLE;
    for (size_t i = 0; i < policy_count; i++) {
        if (!applies(&policies[i], subject) ||
            !role_fits(&policies[i], subject, given))
            continue;
        enum approval_lack one = counts(&policies[i], subject, given, now)
                                     ? APPROVAL_LACKS_NOTHING
                                 : policies[i].is_signed && !given->is_signed
                                     ? APPROVAL_LACKS_SIGNATURE
                                     : APPROVAL_LACKS_TIME;
        if (one < least)
            least = one;
    }
    return least;
}

bool approval_counts(const struct approval_policy *policies,
                     size_t policy_count,
                     const struct approval_subject *subject,
                     const struct approval_given *given, struct wall now) {
    for (size_t i = 0; i < policy_count; i++)
        if (applies(&policies[i], subject) &&
            counts(&policies[i], subject, given, now))
            return true;
    return false;
}

static void sooner(struct wall *ends, struct wall end, struct wall now) {
    if (end.ns > now.ns && end.ns < ends->ns)
        *ends = end;
}

struct wall approval_ends(const struct approval_policy *policies,
                          size_t policy_count,
                          const struct approval_given *given,
                          size_t given_count, struct wall now) {
    struct wall ends = WALL_NEVER;
    for (size_t i = 0; i < given_count; i++) {
        if (given[i].until.ns > 0)
            sooner(&ends, given[i].until, now);
        for (size_t k = 0; k < policy_count; k++)
            if (policies[k].expires_ms > 0)
                sooner(&ends,
                       wall_add_ms(given[i].at, policies[k].expires_ms + 1),
                       now);
    }
    return ends;
}

void approval_describe(const struct approval_verdict *verdict,
                       struct text *out) {
    const struct approval_policy *policy = verdict->policy;
    text_addf(out, "approval '%.*s': %u of %u", (int)policy->name.len,
              policy->name.p, verdict->have, policy->count);
    for (size_t i = 0; i < policy->roles.count; i++)
        text_addf(out, "%s%.*s", i == 0 ? ", by " : ", ",
                  (int)policy->roles.items[i].len, policy->roles.items[i].p);
    if (policy->because.len > 0)
        text_addf(out, " (%.*s)", (int)policy->because.len, policy->because.p);
    if (policy->is_signed)
        text_adds(out, ", signed");
    if (verdict->lacks_ticket)
        text_addf(out, ", with a ticket like %.*s", (int)policy->ticket.len,
                  policy->ticket.p);
    if (verdict->is_for_self)
        text_adds(out, "; only its submitter or author could give it, and "
                       "nobody approves a set of their own: let somebody else "
                       "submit it, or change the policy");
    if (verdict->withdrawn.len > 0)
        text_addf(out,
                  "; the approval by %.*s does not count any more, because %s",
                  (int)verdict->withdrawn.len, verdict->withdrawn.p,
                  span_starts(verdict->withdrawn, "user:")
                      ? "the key may not sign"
                      : "[access] gives the role submitter no more");
    if (verdict->fault != NULL)
        text_addf(out, "; no approval counts: %s", verdict->fault);
}
