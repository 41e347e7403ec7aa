/* Under which account work runs: every case of the tables. */
#include "core/run_as.h"
#include "support/test.h"

enum { OWNER = 1000, OTHER = 2000, THIRD = 3000 };

/* The owner of the base is root or not; a service of root may lack the
 * capabilities to switch. */
enum service { ORDINARY, ROOT, BARE_ROOT, SERVICES };
enum person { THE_OWNER, A_ROOT, AN_OTHER, AN_ADMIN, PERSONS };
enum user { NOBODY, SELF, OWNERS, ROOTS, THIRDS, USERS };

static struct run_as_case make(enum service service, enum person person,
                               enum user user, bool allowed) {
    uint32_t owner = service == ORDINARY ? OWNER : 0;
    uint32_t submitter = person == THE_OWNER ? owner
                         : person == A_ROOT  ? 0
                                             : OTHER;
    uint32_t users[USERS] = {0, submitter, owner, 0, THIRD};
    return (struct run_as_case){
        .owner = owner,
        .can_switch = service == ROOT,
        .submitter = submitter,
        .is_admin = person != AN_OTHER,
        .allowed = allowed,
        .names_user = user != NOBODY,
        .user = users[user],
    };
}

/* A letter for each answer. */
static char letter(enum run_as answer) {
    return "OSUDF"[answer];
}

struct row {
    enum person person;
    /* For each user: nobody, self, the owner, root, a third account. */
    const char *refused, *allowed; /* without and with the key */
};

static void check_table(enum run_as (*decide)(const struct run_as_case *),
                        enum service service, const struct row rows[PERSONS]) {
    for (unsigned p = 0; p < PERSONS; p++)
        for (unsigned key = 0; key < 2; key++) {
            const struct row *row = &rows[p];
            char seen[USERS + 1] = "";
            for (unsigned u = 0; u < USERS; u++) {
                struct run_as_case it =
                    make(service, row->person, (enum user)u, key == 1);
                seen[u] = letter(decide(&it));
            }
            assert_string_equal(seen, key == 1 ? row->allowed : row->refused);
        }
}

static void
commands_of_others_need_a_key_if_the_service_is_not_root(void **state) {
    (void)state;
    static const struct row rows[PERSONS] = {
        {THE_OWNER, "OUUUU", "OUUUU"},
        {A_ROOT, "OUUUU", "OUUUU"},
        {AN_OTHER, "FUDDD", "OUDDD"},
        {AN_ADMIN, "FUUUU", "OUUUU"},
    };
    check_table(run_as_command, ORDINARY, rows);
    check_table(run_as_command, BARE_ROOT, rows);
}

static void
commands_of_others_run_under_their_accounts_if_it_is_root(void **state) {
    (void)state;
    static const struct row rows[PERSONS] = {
        {THE_OWNER, "OUUUU", "OUUUU"},
        {A_ROOT, "OUUUU", "OUUUU"},
        {AN_OTHER, "SUDDD", "SUDDD"},
        {AN_ADMIN, "SUUUU", "SUUUU"},
    };
    check_table(run_as_command, ROOT, rows);
}

/* The owner has named the user of a target, so it may be anybody else. */
static void sets_of_others_need_a_key_if_checks_run_as_the_owner(void **state) {
    (void)state;
    static const struct row rows[PERSONS] = {
        {THE_OWNER, "OOOUU", "OOOUU"},
        {A_ROOT, "OUOUU", "OUOUU"},
        {AN_OTHER, "FUFUU", "OUOUU"},
        {AN_ADMIN, "FUFUU", "OUOUU"},
    };
    check_table(run_as_target, ORDINARY, rows);
}

static void
sets_of_others_are_checked_under_their_accounts_if_it_is_root(void **state) {
    (void)state;
    static const struct row rows[PERSONS] = {
        {THE_OWNER, "OOOOU", "OOOOU"},
        {A_ROOT, "OOOOU", "OOOOU"},
        {AN_OTHER, "SUFFU", "SUOOU"},
        {AN_ADMIN, "SUFFU", "SUOOU"},
    };
    static const struct row bare[PERSONS] = {
        {THE_OWNER, "OOOOU", "OOOOU"},
        {A_ROOT, "OOOOU", "OOOOU"},
        {AN_OTHER, "FUFFU", "OUOOU"},
        {AN_ADMIN, "FUFFU", "OUOOU"},
    };
    check_table(run_as_target, ROOT, rows);
    check_table(run_as_target, BARE_ROOT, bare);
}

static void the_work_of_the_owner_and_of_root_is_the_owners(void **state) {
    (void)state;
    assert_true(run_as_is_own(OWNER, OWNER));
    assert_true(run_as_is_own(OWNER, 0));
    assert_false(run_as_is_own(OWNER, OTHER));
    assert_false(run_as_is_own(0, OTHER));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            commands_of_others_need_a_key_if_the_service_is_not_root),
        cmocka_unit_test(
            commands_of_others_run_under_their_accounts_if_it_is_root),
        cmocka_unit_test(sets_of_others_need_a_key_if_checks_run_as_the_owner),
        cmocka_unit_test(
            sets_of_others_are_checked_under_their_accounts_if_it_is_root),
        cmocka_unit_test(the_work_of_the_owner_and_of_root_is_the_owners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
