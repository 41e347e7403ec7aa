#include "support/test.h"

#include "core/approval.h"

/* A list of one item. */
#define ONE(literal) \
    { (const struct span[]){{literal, sizeof(literal) - 1}}, 1 }
#define LIST(...)                                                            \
    {                                                                        \
        (const struct span[]){__VA_ARGS__},                                  \
            sizeof((const struct span[]){__VA_ARGS__}) / sizeof(struct span) \
    }

static const struct wall now = {INT64_C(1000000000000)};

static struct approval_subject subject_of(enum job_class job_class,
                                          const char *path) {
    static struct job_touch touch;
    touch.path = span_of(path);
    return (struct approval_subject){.job_class = job_class,
                                     .target = SPAN("main"),
                                     .submitter = SPAN("uid:1"),
                                     .touches = &touch,
                                     .touch_count = 1};
}

static struct approval_given given_by(const char *who, bool is_operator) {
    return (struct approval_given){
        .who = span_of(who), .is_operator = is_operator, .at = now};
}

static enum approval_outcome judge(const struct approval_policy *policy,
                                   const struct approval_subject *subject,
                                   const struct approval_given *given,
                                   size_t count) {
    return approval_judge(policy, 1, subject, given, count, now).outcome;
}

/* Without any approval, a policy that applies is not satisfied. */
static bool applies(const struct approval_policy *policy,
                    const struct approval_subject *subject) {
    return judge(policy, subject, NULL, 0) != APPROVAL_FREE;
}

static void patterns_match_paths(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *path;
        bool matches;
    } cases[] = {
        {"prod/**", "prod/a/b.c", true},
        {"prod/**", "test/prod/a", false},
        {"*.c", "a.c", true},
        {"*.c", "d/a.c", false},
        {"**/*.c", "d/e/a.c", true},
        {"**.c", "d/a.c", true},
        {"a?c", "abc", true},
        {"a?c", "a/c", false},
        {"**", "any/thing", true},
        {"a*b*c", "axxbyyc", true},
        {"a*b*c", "axxbyy", false},
        {"**/x/*y", "a/x/b/x/zy", true},
        {"**/x/*y", "a/x/b/x/z/y", false},
        {"OPS-*", "OPS-17", true},
        {"**/Makefile", "Makefile", true},
        {"**/Makefile", "a/b/Makefile", true},
        {"**/Makefile", "aMakefile", false},
        {"a/**/b", "a/b", true},
        {"a/**/b", "a/x/y/b", true},
        {"a/**/b", "a/xb", false},
        {"a/**", "a", true},
        {"a/b/*.c", "a/b", true},
        {"a/b/**", "a", true},
        {"a/b/**", "b", false},
        {"a/b/**", "a/c", false},
        {"**/a/**", "x", false},
        {"*/a/**", "x", false},
        {"a", "a/b", false},
        {"**/*", "f", true},
        {"**/a/b", "a/a/b", true},
        {"**/a/**/b", "x/a/y/a/z/b", true},
        {"x**/b", "x/b", true},
        {"x**/b", "b", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct span pattern = span_of(cases[i].pattern);
        struct approval_policy policy = {.paths = {&pattern, 1}, .count = 1};
        struct approval_subject subject = subject_of(CLASS_DC, cases[i].path);
        if (applies(&policy, &subject) != cases[i].matches)
            fail_msg("'%s' on '%s'", cases[i].pattern, cases[i].path);
    }
}

/* Where sets may have links, these may lead to what nobody has approved. */
static void links_may_replace_directories_with_wildcards(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *path;
        bool matches;
    } cases[] = {
        {"*/a/**", "x", true},          {"*/a/**", "x/a", true},
        {"*/a/**", "x/b", false},       {"a/**/b/**", "a/x/y", true},
        {"a/b?/**", "a/b1", true},      {"*/a/*.c", "x", false},
        {"**/a/**", "x", false},        {"**/a/**", "x/y/a", true},
        {"**/a/*/b/**", "x/a/y", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct span pattern = span_of(cases[i].pattern);
        struct approval_policy policy = {.paths = {&pattern, 1}, .count = 1};
        struct approval_subject subject = subject_of(CLASS_DC, cases[i].path);
        subject.has_links = true;
        if (applies(&policy, &subject) != cases[i].matches)
            fail_msg("'%s' on '%s'", cases[i].pattern, cases[i].path);
    }
}

static void a_policy_applies_by_class_target_and_path(void **state) {
    (void)state;
    struct approval_policy policy = {.classes = 1u << CLASS_EM,
                                     .targets = ONE("main"),
                                     .paths = ONE("prod/**"),
                                     .count = 1};
    struct approval_subject subject = subject_of(CLASS_EM, "prod/a");
    assert_true(applies(&policy, &subject));
    subject.target = SPAN("site");
    assert_false(applies(&policy, &subject));
    subject = subject_of(CLASS_DC, "prod/a");
    assert_false(applies(&policy, &subject));
    subject = subject_of(CLASS_EM, "test/a");
    assert_false(applies(&policy, &subject));
    subject.touch_count = 0; /* a rollback may touch any file */
    assert_true(applies(&policy, &subject));
}

static void submitters_cannot_approve_their_own_sets(void **state) {
    (void)state;
    struct approval_policy policy = {.count = 1};
    struct approval_subject subject = subject_of(CLASS_DC, "a");
    struct approval_given own = given_by("uid:1", true);
    struct approval_given other = given_by("uid:2", false);
    assert_int_equal(judge(&policy, &subject, &own, 1), APPROVAL_HOLD);
    assert_int_equal(judge(&policy, &subject, &other, 1), APPROVAL_ENOUGH);
    assert_true(approval_lacks(&policy, 1, &subject, &own, now) !=
                APPROVAL_LACKS_NOTHING);
    assert_true(approval_lacks(&policy, 1, &subject, &other, now) ==
                APPROVAL_LACKS_NOTHING);
}

static void one_person_counts_once(void **state) {
    (void)state;
    struct approval_policy policy = {.count = 2};
    struct approval_subject subject = subject_of(CLASS_DC, "a");
    struct approval_given twice[] = {given_by("uid:2", false),
                                     given_by("uid:2", false),
                                     given_by("uid:3", false)};
    assert_int_equal(judge(&policy, &subject, twice, 2), APPROVAL_HOLD);
    assert_int_equal(judge(&policy, &subject, twice, 3), APPROVAL_ENOUGH);
}

static void an_approver_needs_the_role_that_the_policy_names(void **state) {
    (void)state;
    struct approval_policy policy = {.count = 1, .roles = ONE("operator")};
    struct approval_subject subject = subject_of(CLASS_DC, "a");
    struct approval_given person = given_by("uid:2", false);
    struct approval_given chief = given_by("uid:3", true);
    assert_int_equal(judge(&policy, &subject, &person, 1), APPROVAL_HOLD);
    assert_int_equal(judge(&policy, &subject, &chief, 1), APPROVAL_ENOUGH);
    policy.roles = (struct approval_list)LIST(SPAN("uid:7"), SPAN("uid:2"));
    assert_int_equal(judge(&policy, &subject, &person, 1), APPROVAL_ENOUGH);
    assert_int_equal(judge(&policy, &subject, &chief, 1), APPROVAL_HOLD);
}

static void the_reason_why_an_approval_does_not_count_is_named(void **state) {
    (void)state;
    struct approval_policy policy = {.count = 1, .expires_ms = 1000};
    struct approval_subject subject = subject_of(CLASS_DC, "a");
    struct approval_given bob = given_by("uid:2", false);
    assert_int_equal(approval_lacks(&policy, 1, &subject, &bob, now),
                     APPROVAL_LACKS_NOTHING);
    policy.is_signed = true;
    assert_int_equal(approval_lacks(&policy, 1, &subject, &bob, now),
                     APPROVAL_LACKS_SIGNATURE);
    bob.is_signed = true;
    bob.at = wall_add_ms(now, -1001);
    assert_int_equal(approval_lacks(&policy, 1, &subject, &bob, now),
                     APPROVAL_LACKS_TIME);
    policy.roles = (struct approval_list)LIST(SPAN("uid:7"));
    assert_int_equal(approval_lacks(&policy, 1, &subject, &bob, now),
                     APPROVAL_LACKS_ROLE);
    /* The policy that lacks least counts. */
    struct approval_policy both[] = {policy, {.count = 1}};
    assert_int_equal(approval_lacks(both, 2, &subject, &bob, now),
                     APPROVAL_LACKS_NOTHING);
}

static void an_approval_expires(void **state) {
    (void)state;
    struct approval_policy policy = {.count = 1, .expires_ms = 1000};
    struct approval_subject subject = subject_of(CLASS_DC, "a");
    struct approval_given old = given_by("uid:2", false);
    old.at = wall_add_ms(now, -1001);
    assert_int_equal(judge(&policy, &subject, &old, 1), APPROVAL_HOLD);
    old.at = wall_add_ms(now, -1000);
    assert_int_equal(judge(&policy, &subject, &old, 1), APPROVAL_ENOUGH);
}

static void the_set_or_an_approval_may_carry_the_ticket(void **state) {
    (void)state;
    struct approval_policy policy = {.name = SPAN("prod"),
                                     .ticket = SPAN("OPS-*")};
    struct approval_subject subject = subject_of(CLASS_DC, "a");
    struct span ticket = SPAN("OPS-17");
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct approval_verdict verdict =
        approval_judge(&policy, 1, &subject, NULL, 0, now);
    assert_int_equal(verdict.outcome, APPROVAL_HOLD);
    approval_describe(&verdict, &text);
    assert_string_equal(text_string(&text),
                        "approval 'prod': 0 of 0, with a ticket like OPS-*");
    struct approval_given given = given_by("uid:2", false);
    policy.count = 1;
    verdict = approval_judge(&policy, 1, &subject, &given, 1, now);
    assert_int_equal(verdict.outcome, APPROVAL_HOLD);
    assert_int_equal(verdict.have, 0);
    given.ticket = ticket;
    assert_int_equal(judge(&policy, &subject, &given, 1), APPROVAL_ENOUGH);
    policy.count = 0;
    subject.tickets = &ticket;
    subject.ticket_count = 1;
    assert_int_equal(judge(&policy, &subject, NULL, 0), APPROVAL_ENOUGH);
}

static void the_strictest_policy_decides(void **state) {
    (void)state;
    struct approval_policy policies[] = {
        {.count = 1, .late = true}, {.count = 1}, {.count = 1, .refuse = true}};
    struct approval_subject subject = subject_of(CLASS_EM, "a");
    static const enum approval_outcome outcomes[] = {
        APPROVAL_FREE, APPROVAL_LATE, APPROVAL_HOLD, APPROVAL_REFUSE};
    for (size_t i = 0; i < COUNT(outcomes); i++) {
        struct approval_verdict verdict =
            approval_judge(policies, i, &subject, NULL, 0, now);
        assert_int_equal(verdict.outcome, outcomes[i]);
    }
}

static void a_person_who_commands_and_signs_counts_once(void **state) {
    (void)state;
    struct approval_policy policy = {.count = 2};
    struct approval_subject subject = subject_of(CLASS_DC, "a");
    struct approval_given bob = given_by("user:bob@x", false);
    bob.is_signed = true;
    bob.alias = SPAN("uid:2");
    struct approval_given words[] = {given_by("uid:2", false), bob,
                                     given_by("user:eve@y", false)};
    assert_int_equal(judge(&policy, &subject, words, 2), APPROVAL_HOLD);
    assert_int_equal(judge(&policy, &subject, words, 3), APPROVAL_ENOUGH);
    /* The same account under two names. */
    words[0] = given_by("user:bob", false);
    words[0].alias = SPAN("uid:2");
    assert_int_equal(judge(&policy, &subject, words, 2), APPROVAL_HOLD);
    /* One key that signs under several names. */
    words[0] = given_by("user:bob@x", false);
    words[2] = given_by("user:bobby@x", false);
    words[0].key = words[2].key = SPAN("SHA256:b");
    words[1] = words[2];
    assert_int_equal(judge(&policy, &subject, words, 3), APPROVAL_HOLD);
    words[1].key = SPAN("SHA256:c");
    assert_int_equal(judge(&policy, &subject, words, 2), APPROVAL_ENOUGH);
    bob.alias = SPAN("uid:1"); /* the submitter's account */
    assert_true(approval_is_own(&subject, &bob));
    assert_true(approval_lacks(&policy, 1, &subject, &bob, now) !=
                APPROVAL_LACKS_NOTHING);
}

static void a_policy_may_list_several_targets_and_paths(void **state) {
    (void)state;
    struct approval_policy policy = {
        .targets = LIST(SPAN("main"), SPAN("site")),
        .paths = LIST(SPAN("prod/**"), SPAN("sec,ret/**")),
        .count = 1};
    struct approval_subject subject = subject_of(CLASS_DC, "sec,ret/a");
    assert_true(applies(&policy, &subject));
    subject = subject_of(CLASS_DC, "prod/a");
    assert_true(applies(&policy, &subject));
    subject.target = SPAN("site");
    assert_true(applies(&policy, &subject));
    subject.target = SPAN("other");
    assert_false(applies(&policy, &subject));
    subject = subject_of(CLASS_DC, "ret/a");
    assert_false(applies(&policy, &subject));
}

static const struct span williams[] = {
    {"uid:1", 5}, {"uid:8", 5}, {"user:will@x", 11}, {"SHA256:w", 8}};
static const struct span eves[] = {{"uid:2", 5}, {"user:eve@x", 10}};
static const struct approval_person persons[] = {
    {{"william", 7}, {williams, 4}}, {{"eve", 3}, {eves, 2}}};

static struct approval_subject of_william(void) {
    struct approval_subject subject = subject_of(CLASS_DC, "a");
    subject.persons = persons;
    subject.person_count = COUNT(persons);
    return subject;
}

static void a_policy_that_only_the_submitter_meets_says_so(void **state) {
    (void)state;
    struct approval_policy policy = {
        .name = SPAN("only"), .count = 1, .roles = LIST(SPAN("person:william"))};
    struct approval_subject subject = of_william();
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct approval_verdict verdict =
        approval_judge(&policy, 1, &subject, NULL, 0, now);
    assert_true(verdict.is_for_self);
    approval_describe(&verdict, &text);
    assert_non_null(strstr(text_string(&text), "let somebody else submit it"));
    policy.roles =
        (struct approval_list)LIST(SPAN("person:william"), SPAN("uid:7"));
    assert_false(
        approval_judge(&policy, 1, &subject, NULL, 0, now).is_for_self);
    policy.roles = (struct approval_list){0};
    assert_false(
        approval_judge(&policy, 1, &subject, NULL, 0, now).is_for_self);
}

static struct approval_given signed_by(const char *who, const char *key) {
    struct approval_given given = given_by(who, false);
    given.is_signed = true;
    given.key = span_of(key);
    return given;
}

static void no_name_of_a_person_approves_what_another_submitted(void **state) {
    (void)state;
    struct approval_policy policy = {.count = 1};
    struct approval_subject subject = of_william();
    struct approval_given ways[] = {given_by("uid:1", true),
                                    given_by("uid:8", true),
                                    signed_by("user:will@x", "SHA256:other"),
                                    signed_by("user:WILL@x", "SHA256:other"),
                                    signed_by("user:release@x", "SHA256:w")};
    for (size_t i = 0; i < COUNT(ways); i++) {
        if (judge(&policy, &subject, &ways[i], 1) != APPROVAL_HOLD ||
            !approval_is_own(&subject, &ways[i]) ||
            approval_lacks(&policy, 1, &subject, &ways[i], now) ==
                APPROVAL_LACKS_NOTHING)
            fail_msg("way %zu", i);
    }
    struct approval_given eve = signed_by("user:eve@x", "SHA256:e");
    assert_int_equal(judge(&policy, &subject, &eve, 1), APPROVAL_ENOUGH);
    /* Somebody else submitted what William wrote. */
    subject.submitter = SPAN("uid:5");
    subject.author = SPAN("user:Will@X");
    for (size_t i = 0; i < COUNT(ways); i++)
        assert_int_equal(judge(&policy, &subject, &ways[i], 1), APPROVAL_HOLD);
    subject.persons = NULL;
    subject.person_count = 0;
    assert_true(approval_is_own(&subject, &ways[2]));
    assert_false(approval_is_own(&subject, &ways[0]));
}

static void a_person_counts_once_under_all_names(void **state) {
    (void)state;
    struct approval_policy policy = {.count = 2};
    struct approval_subject subject = of_william();
    subject.submitter = SPAN("uid:5");
    struct approval_given words[] = {
        given_by("uid:1", false), given_by("uid:8", false),
        signed_by("user:release@x", "SHA256:w"), given_by("uid:2", false)};
    assert_int_equal(judge(&policy, &subject, words, 3), APPROVAL_HOLD);
    assert_int_equal(judge(&policy, &subject, words, 4), APPROVAL_ENOUGH);
    assert_true(
        approval_is_repeat(&policy, 1, &subject, words, 1, &words[2], now));
}

/* A person who comes over ssh, with or without a section [person] and an
 * account of the same name. */
static void a_person_without_an_account_is_one_person(void **state) {
    (void)state;
    const struct approval_person ann = {
        SPAN("ann"), LIST(SPAN("person:ann"), SPAN("user:ann@x"))};
    struct approval_policy policy = {.count = 1};
    struct approval_subject subject = subject_of(CLASS_DC, "a");
    struct approval_given by_name = given_by("person:ann", false),
                          by_account = given_by("uid:2", false),
                          by_key = given_by("user:ann@x", false),
                          by_bob = given_by("person:bob", false);
    subject.submitter = SPAN("person:ann");
    subject.submitter_alias = SPAN("uid:2");
    assert_int_equal(judge(&policy, &subject, &by_name, 1), APPROVAL_HOLD);
    assert_int_equal(judge(&policy, &subject, &by_account, 1), APPROVAL_HOLD);
    assert_int_equal(judge(&policy, &subject, &by_bob, 1), APPROVAL_ENOUGH);
    assert_int_equal(judge(&policy, &subject, &by_key, 1), APPROVAL_ENOUGH);
    subject.persons = &ann;
    subject.person_count = 1;
    assert_int_equal(judge(&policy, &subject, &by_key, 1), APPROVAL_HOLD);
    /* The other way round */
    subject = subject_of(CLASS_DC, "a");
    subject.submitter = SPAN("uid:2");
    by_name.alias = SPAN("uid:2");
    assert_int_equal(judge(&policy, &subject, &by_name, 1), APPROVAL_HOLD);
    /* Twice the same person counts once. */
    struct approval_given both[] = {by_name, by_account};
    subject.submitter = SPAN("uid:1");
    policy.count = 2;
    assert_int_equal(judge(&policy, &subject, both, 2), APPROVAL_HOLD);
    /* A role may name the person. */
    policy = (struct approval_policy){.count = 1, .roles = ONE("person:ann")};
    assert_int_equal(judge(&policy, &subject, &by_name, 1), APPROVAL_HOLD);
    subject.persons = &ann;
    subject.person_count = 1;
    assert_int_equal(judge(&policy, &subject, &by_name, 1), APPROVAL_ENOUGH);
    assert_int_equal(judge(&policy, &subject, &by_bob, 1), APPROVAL_HOLD);
    assert_int_equal(judge(&policy, &subject, &by_account, 1), APPROVAL_HOLD);
}

static void a_role_may_be_a_person_or_a_group(void **state) {
    (void)state;
    struct approval_policy policy = {
        .count = 1, .roles = LIST(SPAN("person:william"), SPAN("@staff"))};
    struct approval_subject subject = of_william();
    struct span staff = SPAN("@staff"), wheel = SPAN("@wheel");
    struct approval_given by_key = signed_by("user:release@x", "SHA256:w");
    struct approval_given eve = given_by("uid:2", true);
    struct approval_given alias = signed_by("user:w@y", "SHA256:other");
    subject.submitter = SPAN("uid:5");
    alias.alias = SPAN("uid:1");
    assert_int_equal(judge(&policy, &subject, &by_key, 1), APPROVAL_ENOUGH);
    assert_int_equal(judge(&policy, &subject, &alias, 1), APPROVAL_HOLD);
    assert_int_equal(judge(&policy, &subject, &eve, 1), APPROVAL_HOLD);
    eve.groups = (struct approval_list){&wheel, 1};
    assert_int_equal(judge(&policy, &subject, &eve, 1), APPROVAL_HOLD);
    eve.groups = (struct approval_list){&staff, 1};
    assert_int_equal(judge(&policy, &subject, &eve, 1), APPROVAL_ENOUGH);
}

static void no_approval_counts_while_it_is_unknown_who_is_who(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct approval_policy policy = {.name = SPAN("prod"), .count = 1};
    struct approval_subject subject = subject_of(CLASS_DC, "a");
    struct approval_given eve = given_by("uid:2", true);
    subject.fault = "no user 'x'";
    struct approval_verdict verdict =
        approval_judge(&policy, 1, &subject, &eve, 1, now);
    assert_int_equal(verdict.outcome, APPROVAL_HOLD);
    assert_false(approval_is_repeat(&policy, 1, &subject, &eve, 1, &eve, now));
    approval_describe(&verdict, &text);
    assert_string_equal(
        text_string(&text),
        "approval 'prod': 0 of 1; no approval counts: no user 'x'");
}

static void a_policy_may_require_signed_approvals(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct approval_policy policy = {
        .name = SPAN("prod"), .count = 1, .is_signed = true};
    struct approval_subject subject = subject_of(CLASS_DC, "a");
    struct approval_given word = given_by("uid:2", true);
    struct approval_verdict verdict =
        approval_judge(&policy, 1, &subject, &word, 1, now);
    assert_int_equal(verdict.outcome, APPROVAL_HOLD);
    approval_describe(&verdict, &text);
    assert_string_equal(text_string(&text), "approval 'prod': 0 of 1, signed");
    word.is_signed = true;
    assert_int_equal(judge(&policy, &subject, &word, 1), APPROVAL_ENOUGH);
}

static void a_role_may_list_signers_besides_operators(void **state) {
    (void)state;
    struct approval_policy policy = {
        .count = 1, .roles = LIST(SPAN("operator"), SPAN("user:bob@x"))};
    struct approval_subject subject = subject_of(CLASS_DC, "a");
    struct approval_given bob = given_by("user:bob@x", false);
    struct approval_given chief = given_by("uid:3", true);
    struct approval_given eve = given_by("user:operator", false);
    assert_int_equal(judge(&policy, &subject, &bob, 1), APPROVAL_ENOUGH);
    assert_int_equal(judge(&policy, &subject, &chief, 1), APPROVAL_ENOUGH);
    assert_int_equal(judge(&policy, &subject, &eve, 1), APPROVAL_HOLD);
}

static void an_approval_may_set_its_own_expiry(void **state) {
    (void)state;
    struct approval_policy policy = {.count = 1, .ticket = SPAN("OPS-*")};
    struct approval_subject subject = subject_of(CLASS_DC, "a");
    struct approval_given word = given_by("uid:2", false);
    word.ticket = SPAN("OPS-1");
    word.until = wall_add_ms(now, 1);
    assert_int_equal(judge(&policy, &subject, &word, 1), APPROVAL_ENOUGH);
    word.until = now; /* the ticket expires with it */
    assert_int_equal(judge(&policy, &subject, &word, 1), APPROVAL_HOLD);
    assert_true(approval_lacks(&policy, 1, &subject, &word, now) !=
                APPROVAL_LACKS_NOTHING);
}

static void an_expired_approval_may_be_given_again(void **state) {
    (void)state;
    struct approval_policy policies[] = {{.count = 1},
                                         {.count = 1, .expires_ms = 1000}};
    struct approval_subject subject = subject_of(CLASS_DC, "a");
    struct approval_given old = given_by("uid:2", false), more = old;
    assert_true(approval_is_repeat(policies, 2, &subject, &old, 1, &more, now));
    old.at = wall_add_ms(now, -2000);
    assert_true(approval_is_repeat(policies, 1, &subject, &old, 1, &more, now));
    assert_false(
        approval_is_repeat(policies, 2, &subject, &old, 1, &more, now));
    more.ticket = SPAN("OPS-1");
    assert_false(
        approval_is_repeat(policies, 1, &subject, &old, 1, &more, now));
}

static void the_late_approval_that_is_due_first_is_owed(void **state) {
    (void)state;
    struct approval_policy policies[] = {
        {.count = 1, .late = true, .within_ms = 3000},
        {.count = 1, .late = true, .within_ms = 2000},
        {.count = 2, .late = true, .within_ms = 9000},
        {.count = 1, .roles = ONE("uid:9")}};
    struct approval_subject subject = subject_of(CLASS_EM, "a");
    struct approval_given word = given_by("uid:2", false);
    struct approval_verdict verdict =
        approval_judge(policies, 3, &subject, NULL, 0, now);
    assert_int_equal(verdict.outcome, APPROVAL_LATE);
    assert_ptr_equal(verdict.owed, &policies[1]);
    verdict = approval_judge(policies, 3, &subject, &word, 1, now);
    assert_ptr_equal(verdict.owed, &policies[2]);
    verdict = approval_judge(policies, 2, &subject, &word, 1, now);
    assert_int_equal(verdict.outcome, APPROVAL_ENOUGH);
    assert_null(verdict.owed);
    /* The approval is owed even if another policy holds the set. */
    verdict = approval_judge(policies, 4, &subject, NULL, 0, now);
    assert_int_equal(verdict.outcome, APPROVAL_HOLD);
    assert_ptr_equal(verdict.owed, &policies[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_paths),
        cmocka_unit_test(links_may_replace_directories_with_wildcards),
        cmocka_unit_test(a_policy_applies_by_class_target_and_path),
        cmocka_unit_test(submitters_cannot_approve_their_own_sets),
        cmocka_unit_test(one_person_counts_once),
        cmocka_unit_test(an_approver_needs_the_role_that_the_policy_names),
        cmocka_unit_test(the_reason_why_an_approval_does_not_count_is_named),
        cmocka_unit_test(a_policy_that_only_the_submitter_meets_says_so),
        cmocka_unit_test(an_approval_expires),
        cmocka_unit_test(the_set_or_an_approval_may_carry_the_ticket),
        cmocka_unit_test(the_strictest_policy_decides),
        cmocka_unit_test(a_person_who_commands_and_signs_counts_once),
        cmocka_unit_test(a_policy_may_list_several_targets_and_paths),
        cmocka_unit_test(no_name_of_a_person_approves_what_another_submitted),
        cmocka_unit_test(a_person_counts_once_under_all_names),
        cmocka_unit_test(a_person_without_an_account_is_one_person),
        cmocka_unit_test(a_role_may_be_a_person_or_a_group),
        cmocka_unit_test(no_approval_counts_while_it_is_unknown_who_is_who),
        cmocka_unit_test(a_policy_may_require_signed_approvals),
        cmocka_unit_test(a_role_may_list_signers_besides_operators),
        cmocka_unit_test(an_approval_may_set_its_own_expiry),
        cmocka_unit_test(an_expired_approval_may_be_given_again),
        cmocka_unit_test(the_late_approval_that_is_due_first_is_owed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
