/* Access roles, and what each may do with its own jobs and those of others. */
#include "core/access.h"
#include "lib/text.h"
#include "support/test.h"

enum { OWNER = 1000, MEMBER = 2000, STRANGER = 3000, GROUP = 77 };

static const struct access_rules alone = {.owner = OWNER};
static const struct access_grant grants[] = {
    {ACCESS_SUBMITTER, ACCESS_GROUP, GROUP, SPAN("@dev")},
    {ACCESS_VIEWER, ACCESS_ACCOUNT, MEMBER, SPAN("mary")},
    {ACCESS_OPERATOR, ACCESS_ACCOUNT, 4000, SPAN("olga")},
};
static const struct access_rules shared = {
    .owner = OWNER, .grants = grants, .grant_count = COUNT(grants)};

static const struct access_need needs[] = {
    ACCESS_NEED_NOBODY,  ACCESS_NEED_VIEWER,   ACCESS_NEED_SUBMITTER,
    ACCESS_NEED_OWN_JOB, ACCESS_NEED_OPERATOR, ACCESS_NEED_ADMIN};

static bool role_may(enum access_role role, struct access_need need,
                     const uint32_t *submitter) {
    struct access_actor actor = {
        .uid = STRANGER, .role = role, .is_known = true};
    struct access_owner owner = {.uid = submitter == NULL ? 0 : *submitter};
    return access_allows(&alone, &actor, need,
                         submitter == NULL ? NULL : &owner, NULL);
}

static void each_lesser_role_is_refused(void **state) {
    (void)state;
    static const uint32_t own = STRANGER, others = OWNER;
    for (unsigned n = 0; n < COUNT(needs); n++)
        for (unsigned r = 0; r < ACCESS_ROLES; r++) {
            enum access_role role = (enum access_role)r;
            assert_int_equal(role_may(role, needs[n], NULL),
                             role >= needs[n].role);
            assert_int_equal(role_may(role, needs[n], &own),
                             role >= needs[n].role);
            assert_int_equal(role_may(role, needs[n], &others),
                             role >= needs[n].others);
        }
}

static void the_owner_and_root_are_admin(void **state) {
    (void)state;
    assert_int_equal(access_role_of(&alone, OWNER, NULL, 0), ACCESS_ADMIN);
    assert_int_equal(access_role_of(&shared, 0, NULL, 0), ACCESS_ADMIN);
    assert_int_equal(access_role_of(&alone, STRANGER, NULL, 0), ACCESS_NOBODY);
    assert_int_equal(access_role_of(&shared, STRANGER, NULL, 0), ACCESS_NOBODY);
}

static void an_account_has_the_highest_of_its_roles(void **state) {
    static const uint32_t others[] = {GROUP - 1, GROUP + 1};
    static const uint32_t groups[] = {12, GROUP};
    (void)state;
    assert_int_equal(access_role_of(&shared, MEMBER, NULL, 0), ACCESS_VIEWER);
    assert_int_equal(access_role_of(&shared, MEMBER, others, 2), ACCESS_VIEWER);
    assert_int_equal(access_role_of(&shared, MEMBER, groups, 2),
                     ACCESS_SUBMITTER);
    assert_int_equal(access_role_of(&shared, STRANGER, groups, 2),
                     ACCESS_SUBMITTER);
    /* The number of a group is not that of an account. */
    assert_int_equal(access_role_of(&shared, GROUP, NULL, 0), ACCESS_NOBODY);
    assert_int_equal(access_role_of(&shared, 4000, NULL, 0), ACCESS_OPERATOR);
    assert_true(access_needs_groups(&shared));
    assert_false(access_needs_groups(&alone));
}

static void a_star_gives_everybody_the_role(void **state) {
    static const struct access_grant all[] = {
        {ACCESS_VIEWER, ACCESS_EVERYBODY, 0, SPAN("*")}};
    static const struct access_rules open = {
        .owner = OWNER, .grants = all, .grant_count = 1};
    (void)state;
    assert_int_equal(access_role_of(&open, STRANGER, NULL, 0), ACCESS_VIEWER);
}

static void a_submitter_cancels_only_own_jobs(void **state) {
    static const uint32_t groups[] = {GROUP};
    static const struct access_owner own = {.uid = MEMBER},
                                     others = {.uid = STRANGER};
    static const struct access_need need = ACCESS_NEED_OWN_JOB;
    struct err err = {0};
    (void)state;
    struct access_actor member = access_actor_make(&shared, MEMBER, groups, 1);
    assert_true(access_allows(&shared, &member, need, &own, NULL));
    assert_true(access_allows(&shared, &member, need, NULL, NULL));
    assert_false(access_allows(&shared, &member, need, &others, &err));
    assert_string_equal(err.text,
                        "this needs the role operator for a job of somebody "
                        "else, and uid 2000 has the role submitter; the owner "
                        "of the base (uid 1000), root and olga may do it");
    err_clear(&err);
}

static void an_unknown_caller_has_no_role_whatever_its_uid(void **state) {
    (void)state;
    struct access_actor actor = {.uid = OWNER, .role = ACCESS_ADMIN};
    assert_true(access_allows(&alone, &actor, needs[0], NULL, NULL));
    for (unsigned n = 1; n < COUNT(needs); n++)
        assert_false(access_allows(&alone, &actor, needs[n], NULL, NULL));
}

static void a_refusal_says_who_has_the_role(void **state) {
    (void)state;
    struct err err = {0};
    static const struct access_need admin = ACCESS_NEED_ADMIN;
    struct access_actor actor = access_actor_make(&shared, STRANGER, NULL, 0);
    assert_false(access_allows(&shared, &actor, admin, NULL, &err));
    assert_int_equal(err.kind, ERR_DENIED);
    assert_string_equal(err.text,
                        "this needs the role admin, and uid 3000 has the role "
                        "nobody; the owner of the base (uid 1000) and root may "
                        "do it");
    err_clear(&err);
    static const struct access_need viewer = ACCESS_NEED_VIEWER;
    assert_false(access_allows(&shared, &actor, viewer, NULL, &err));
    assert_non_null(strstr(err.text, "root, @dev, mary and olga may do it"));
    err_clear(&err);
}

/* ---- persons under one account ------------------------------------------- */

enum { SHELL = 5000 };
static const struct access_grant persons[] = {
    {ACCESS_SUBMITTER, ACCESS_PERSON, 0, SPAN("person:ann")},
    {ACCESS_OPERATOR, ACCESS_PERSON, 0, SPAN("person:olga")},
    {ACCESS_ADMIN, ACCESS_ACCOUNT, SHELL, SPAN("gate")},
    {ACCESS_ADMIN, ACCESS_GROUP, GROUP, SPAN("@dev")},
    {ACCESS_VIEWER, ACCESS_EVERYBODY, 0, SPAN("*")},
};
static const struct access_rules gate = {.owner = OWNER,
                                         .has_shell = true,
                                         .shell = SHELL,
                                         .grants = persons,
                                         .grant_count = COUNT(persons)};

static void a_person_has_the_role_that_is_given_to_the_name(void **state) {
    (void)state;
    static const struct {
        const char *name;
        enum access_role role;
    } known[] = {{"ann", ACCESS_SUBMITTER},     {"olga", ACCESS_OPERATOR},
                 {"Ann", ACCESS_VIEWER},        {"gate", ACCESS_VIEWER},
                 {"person:ann", ACCESS_NOBODY}, {"ann/uid:1000", ACCESS_NOBODY},
                 {"ann, olga", ACCESS_NOBODY},  {"", ACCESS_NOBODY}};
    for (unsigned i = 0; i < COUNT(known); i++) {
        struct access_actor actor =
            access_actor_person(&gate, SHELL, span_of(known[i].name));
        assert_int_equal(actor.role, known[i].role);
        assert_int_equal(actor.uid, ACCESS_PERSON_UID);
    }
}

static void only_the_shell_account_acts_for_persons(void **state) {
    (void)state;
    static const uint32_t accounts[] = {0, OWNER, MEMBER, SHELL - 1};
    static const struct access_need viewer = ACCESS_NEED_VIEWER;
    static const struct access_rules without = {
        .owner = OWNER, .grants = persons, .grant_count = COUNT(persons)};
    struct err err = {0};
    for (unsigned i = 0; i < COUNT(accounts); i++) {
        struct access_actor actor =
            access_actor_person(&gate, accounts[i], SPAN("olga"));
        assert_int_equal(actor.role, ACCESS_NOBODY);
        assert_false(access_allows(&gate, &actor, viewer, NULL, &err));
        assert_non_null(strstr(err.text, "may not act for 'olga'"));
        err_clear(&err);
    }
    assert_int_equal(access_actor_person(&without, SHELL, SPAN("olga")).role,
                     ACCESS_NOBODY);
    /* Uid 0 is not the shell account because none is configured. */
    assert_int_equal(access_actor_person(&without, 0, SPAN("olga")).role,
                     ACCESS_NOBODY);
}

static void the_shell_account_has_no_role_of_its_own(void **state) {
    (void)state;
    static const uint32_t groups[] = {GROUP};
    static const struct access_need viewer = ACCESS_NEED_VIEWER;
    struct err err = {0};
    struct access_actor actor = access_actor_make(&gate, SHELL, groups, 1);
    assert_int_equal(actor.role, ACCESS_NOBODY);
    assert_false(access_allows(&gate, &actor, viewer, NULL, &err));
    assert_non_null(strstr(err.text, "has no role of its own"));
    err_clear(&err);
    /* The owner and root do not lose their role by being named. */
    struct access_rules own = gate;
    own.shell = OWNER;
    assert_int_equal(access_role_of(&own, OWNER, NULL, 0), ACCESS_ADMIN);
    assert_int_equal(access_actor_person(&own, OWNER, SPAN("olga")).role,
                     ACCESS_NOBODY);
}

static void persons_do_not_own_the_jobs_of_each_other(void **state) {
    (void)state;
    static const struct access_need need = ACCESS_NEED_OWN_JOB;
    struct access_actor ann = access_actor_person(&gate, SHELL, SPAN("ann"));
    static const struct access_owner others[] = {
        {ACCESS_PERSON_UID, SPAN("person:bob/uid:5000")},
        {ACCESS_PERSON_UID, SPAN("person:anna/uid:5000")},
        {SHELL, SPAN("uid:5000")},
        {OWNER, SPAN("uid:1000")},
        {ACCESS_PERSON_UID, SPAN("")}};
    /* The account of the gate may have changed since. */
    static const struct access_owner own[] = {
        {ACCESS_PERSON_UID, SPAN("person:ann/uid:5000")},
        {ACCESS_PERSON_UID, SPAN("person:ann/uid:5001")}};
    struct err err = {0};
    for (unsigned i = 0; i < COUNT(own); i++)
        assert_true(access_allows(&gate, &ann, need, &own[i], NULL));
    for (unsigned i = 0; i < COUNT(others); i++)
        assert_false(access_allows(&gate, &ann, need, &others[i], NULL));
    assert_false(access_allows(&gate, &ann, need, &others[0], &err));
    assert_non_null(strstr(err.text, "person ann has the role submitter"));
    err_clear(&err);
}

static void an_actor_names_the_person_and_the_account(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct access_actor ann = access_actor_person(&gate, SHELL, SPAN("ann"));
    access_actor_format(&ann, &text);
    assert_string_equal(text_string(&text), "person:ann/uid:5000");
    assert_true(span_is(access_actor_name(text_span(&text)), "person:ann"));
    assert_true(span_is(access_actor_person_of(text_span(&text)), "ann"));
    assert_true(span_is(access_actor_name(SPAN("uid:7")), "uid:7"));
    assert_int_equal(access_actor_person_of(SPAN("uid:7")).len, 0);
    assert_int_equal(access_actor_person_of(SPAN("user:ann")).len, 0);
}

static void names_of_persons_have_a_grammar(void **state) {
    (void)state;
    static const char *const good[] = {"ann", "a.b-c_d+e@example.org", "7"};
    static const char *const bad[] = {"",    "a b",      "a/b", "a:b",
                                      "a,b", "\xc3\xa4", "a\n"};
    CLEANUP(text_clear) struct text longest = TEXT_INIT;
    for (unsigned i = 0; i < COUNT(good); i++)
        assert_true(access_person_is_valid(span_of(good[i])));
    for (unsigned i = 0; i < COUNT(bad); i++)
        assert_false(access_person_is_valid(span_of(bad[i])));
    assert_false(access_person_is_valid(span_make("a\0b", 3)));
    for (unsigned i = 0; i < ACCESS_PERSON_BYTES; i++)
        text_addc(&longest, 'a');
    assert_true(access_person_is_valid(text_span(&longest)));
    text_addc(&longest, 'a');
    assert_false(access_person_is_valid(text_span(&longest)));
}

static struct access_actor in_job(uint32_t account, enum access_role role,
                                  uint32_t submitter, bool lands,
                                  enum access_role submitters) {
    struct access_actor actor = {
        .uid = account, .account = account, .role = role, .is_known = true};
    struct access_job job = {
        .id = SPAN("j1"),
        .submitter = {.uid = submitter, .role = submitters, .is_known = true},
        .lands = lands};
    access_actor_in_job(&shared, &actor, &job);
    return actor;
}

static void a_process_of_a_job_acts_for_the_submitter(void **state) {
    static const struct access_need need = ACCESS_NEED_OWN_JOB;
    static const struct access_owner submitter = {STRANGER, SPAN("uid:3000")},
                                     account = {OWNER, SPAN("uid:1000")};
    static const uint32_t accounts[] = {0, OWNER, STRANGER};
    struct err err = {0};
    (void)state;
    for (unsigned i = 0; i < COUNT(accounts); i++)
        for (unsigned own = 0; own < ACCESS_ROLES; own++)
            for (unsigned role = 0; role < ACCESS_ROLES; role++) {
                struct access_actor actor =
                    in_job(accounts[i], (enum access_role)own, STRANGER, false,
                           (enum access_role)role);
                assert_int_equal(actor.role, own < role ? own : role);
                assert_int_equal(actor.uid, STRANGER);
                assert_int_equal(actor.account, accounts[i]);
            }
    struct access_actor owner =
        in_job(OWNER, ACCESS_ADMIN, STRANGER, false, ACCESS_SUBMITTER);
    assert_true(access_allows(&shared, &owner, need, &submitter, NULL));
    assert_false(access_allows(&shared, &owner, need, &account, &err));
    assert_non_null(strstr(err.text,
                           "and job 'j1' of uid 3000 (running as uid 1000) has "
                           "the role submitter"));
    err_clear(&err);
}

static void a_process_of_another_account_in_a_job_may_only_read(void **state) {
    static const uint32_t submitters[] = {0, OWNER, STRANGER,
                                          ACCESS_PERSON_UID};
    (void)state;
    for (unsigned i = 0; i < COUNT(submitters); i++)
        for (unsigned n = 0; n < COUNT(needs); n++) {
            struct err err = {0};
            struct access_actor actor = in_job(
                MEMBER, ACCESS_ADMIN, submitters[i], false, ACCESS_ADMIN);
            struct access_owner own = {submitters[i], SPAN("uid:1")};
            bool reads = needs[n].role <= ACCESS_VIEWER;
            assert_int_equal(
                access_allows(&shared, &actor, needs[n], &own, &err), reads);
            if (!reads)
                assert_non_null(strstr(err.text, "without --user"));
            err_clear(&err);
        }
    struct access_actor nobody =
        in_job(MEMBER, ACCESS_NOBODY, OWNER, false, ACCESS_ADMIN);
    assert_int_equal(nobody.role, ACCESS_NOBODY);
}

static void a_process_of_a_change_set_may_only_read(void **state) {
    static const uint32_t accounts[] = {0, OWNER, MEMBER, STRANGER};
    (void)state;
    for (unsigned i = 0; i < COUNT(accounts); i++)
        for (unsigned n = 0; n < COUNT(needs); n++) {
            struct err err = {0};
            struct access_actor actor =
                in_job(accounts[i], ACCESS_ADMIN, STRANGER, true, ACCESS_ADMIN);
            bool reads = needs[n].role <= ACCESS_VIEWER;
            assert_int_equal(
                access_allows(&shared, &actor, needs[n], NULL, &err), reads);
            if (!reads)
                assert_non_null(strstr(err.text, "others have landed"));
            err_clear(&err);
        }
}

static void a_process_that_may_be_of_two_accounts_may_only_read(void **state) {
    struct access_actor actor = access_actor_make(&shared, 4000, NULL, 0);
    struct access_job job = {
        .id = SPAN("j1"), .submitter = actor, .is_unsure = true};
    (void)state;
    access_actor_in_job(&shared, &actor, &job);
    assert_int_equal(actor.role, ACCESS_VIEWER);
}

static void a_process_of_a_job_may_act_for_a_person(void **state) {
    static const struct access_need need = ACCESS_NEED_OWN_JOB;
    static const struct access_owner own = {ACCESS_PERSON_UID,
                                            SPAN("person:ann/uid:5000")};
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct access_job job = {
        .id = SPAN("j1"),
        .submitter = access_actor_person(&gate, SHELL, SPAN("ann"))};
    struct access_actor actor = access_actor_make(&gate, OWNER, NULL, 0);
    (void)state;
    access_actor_in_job(&gate, &actor, &job);
    assert_int_equal(actor.role, ACCESS_SUBMITTER);
    assert_true(access_allows(&gate, &actor, need, &own, NULL));
    access_actor_format(&actor, &text);
    assert_string_equal(text_string(&text), "person:ann/uid:1000");
}

static void a_process_of_an_unknown_job_may_only_read(void **state) {
    (void)state;
    struct access_actor actor = access_actor_make(&alone, OWNER, NULL, 0);
    access_actor_in_job(&alone, &actor, NULL);
    assert_true(access_allows(&alone, &actor, needs[1], NULL, NULL));
    assert_false(access_allows(&alone, &actor, needs[2], NULL, NULL));
}

static void jobs_neither_approve_nor_change_settings(void **state) {
    static const struct access_need reserved[] = {ACCESS_NEED_APPROVER,
                                                  ACCESS_NEED_SETTER};
    (void)state;
    for (unsigned n = 0; n < COUNT(reserved); n++) {
        struct err err = {0};
        struct access_actor actor = access_actor_make(&alone, OWNER, NULL, 0);
        assert_true(access_allows(&alone, &actor, reserved[n], NULL, NULL));
        actor.place = ACCESS_UNCLEAR;
        assert_false(access_allows(&alone, &actor, reserved[n], NULL, &err));
        assert_int_equal(err.kind, ERR_DENIED);
        assert_non_null(strstr(err.text, "cannot examine this process"));
        err_clear(&err);
        assert_true(access_allows(&alone, &actor, needs[5], NULL, NULL));
        actor = in_job(OWNER, ACCESS_ADMIN, OWNER, false, ACCESS_ADMIN);
        assert_false(access_allows(&alone, &actor, reserved[n], NULL, &err));
        assert_int_equal(err.kind, ERR_DENIED);
        assert_non_null(strstr(err.text, reserved[n].reserved));
        assert_non_null(
            strstr(err.text, "this process belongs to job 'j1' of uid 1000"));
        err_clear(&err);
        assert_true(access_allows(&alone, &actor, needs[5], NULL, NULL));
    }
}

/* The name and the access needed by each command of the command line. */
static const struct {
    const char *name;
    struct access_need need;
} commands[] = {
#define COMMAND(id, name, run, group, role, flags, args, line, help) \
    {name, ACCESS_NEED_##role},
#include "cli/commands.def"
};

static void each_command_refuses_each_lesser_role(void **state) {
    (void)state;
    static const uint32_t others = OWNER;
    for (unsigned c = 0; c < COUNT(commands); c++)
        for (unsigned r = 0; r < ACCESS_ROLES; r++) {
            enum access_role role = (enum access_role)r;
            struct access_need need = commands[c].need;
            if (role_may(role, need, NULL) != (role >= need.role) ||
                role_may(role, need, &others) != (role >= need.others))
                fail_msg("%s as %s", commands[c].name, access_role_word(role));
        }
}

static void approving_and_setting_are_for_people(void **state) {
    (void)state;
    for (unsigned c = 0; c < COUNT(commands); c++) {
        bool is_reserved = strcmp(commands[c].name, "approve") == 0 ||
                           strcmp(commands[c].name, "set") == 0;
        assert_int_equal(commands[c].need.reserved != NULL, is_reserved);
    }
}

static enum access_role role_of_command(const char *name) {
    for (unsigned c = 0; c < COUNT(commands); c++)
        if (strcmp(commands[c].name, name) == 0)
            return commands[c].need.role;
    fail_msg("no command '%s'", name);
    return ACCESS_ROLES;
}

static void commands_need_the_documented_role(void **state) {
    (void)state;
    assert_int_equal(role_of_command("version"), ACCESS_NOBODY);
    assert_int_equal(role_of_command("list"), ACCESS_VIEWER);
    assert_int_equal(role_of_command("cancel"), ACCESS_SUBMITTER);
    assert_int_equal(role_of_command("cron add"), ACCESS_OPERATOR);
    assert_int_equal(role_of_command("set"), ACCESS_ADMIN);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_lesser_role_is_refused),
        cmocka_unit_test(the_owner_and_root_are_admin),
        cmocka_unit_test(an_account_has_the_highest_of_its_roles),
        cmocka_unit_test(a_star_gives_everybody_the_role),
        cmocka_unit_test(a_submitter_cancels_only_own_jobs),
        cmocka_unit_test(an_unknown_caller_has_no_role_whatever_its_uid),
        cmocka_unit_test(a_refusal_says_who_has_the_role),
        cmocka_unit_test(a_person_has_the_role_that_is_given_to_the_name),
        cmocka_unit_test(only_the_shell_account_acts_for_persons),
        cmocka_unit_test(the_shell_account_has_no_role_of_its_own),
        cmocka_unit_test(persons_do_not_own_the_jobs_of_each_other),
        cmocka_unit_test(an_actor_names_the_person_and_the_account),
        cmocka_unit_test(names_of_persons_have_a_grammar),
        cmocka_unit_test(a_process_of_a_job_acts_for_the_submitter),
        cmocka_unit_test(a_process_of_another_account_in_a_job_may_only_read),
        cmocka_unit_test(a_process_of_a_change_set_may_only_read),
        cmocka_unit_test(a_process_that_may_be_of_two_accounts_may_only_read),
        cmocka_unit_test(a_process_of_a_job_may_act_for_a_person),
        cmocka_unit_test(a_process_of_an_unknown_job_may_only_read),
        cmocka_unit_test(jobs_neither_approve_nor_change_settings),
        cmocka_unit_test(each_command_refuses_each_lesser_role),
        cmocka_unit_test(approving_and_setting_are_for_people),
        cmocka_unit_test(commands_need_the_documented_role),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
