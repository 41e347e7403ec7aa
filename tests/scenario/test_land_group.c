/* Sets that land together (##group): one commit for each set in one update of
 * the branch, or none. */
#include "support/landing.h"

static const struct set first = {.id = "C1", .files = {{"a", "one\n"}}};
static const struct set second = {
    .id = "C2", .class = "BF", .files = {{"b", "two\n"}}};
static const struct set third = {.id = "C3", .files = {{"c", "three\n"}}};

static const char *oid_of(const char *id) {
    return sh("git -C target.git log --format='%%H %%(trailers:key=CS-Id,"
              "valueonly)' main | sed -n 's/ %s$//p'",
              id);
}

static void each_set_is_a_commit_and_the_branch_moves_once(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome =
        land(&(struct attempt){.set = &first, .others = {&second, &third}});
    assert_int_equal(outcome.exit_code, 0);
    assert_line(&outcome, sh("echo done %s C1:%s C2:%s C3:%s", tip(),
                             oid_of("C1"), oid_of("C2"), oid_of("C3")));
    assert_string_equal(tip(), oid_of("C3"));
    assert_string_equal(commits(), "4");
    assert_string_equal(sh("git -C target.git reflog main --format=%%gs"),
                        "pointsman: land C1 C2 C3");
    assert_string_equal(
        sh("git -C target.git log -2 --format='%%an %%(trailers:key=CS-Class,"
           "valueonly,separator=)' main"),
        "Otto DC\nOtto BF");
    assert_string_equal(sh("ls -A tmp"), "");
}

static void a_later_set_builds_on_an_earlier_set(void **state) {
    (void)state;
    landing_begin();
    const char *sections = sh("printf '##base\\n%s\\n'", tip());
    const struct set top = {.id = "C1",
                            .sections = sections,
                            .files = {{"f", "ONE\n2\n3\n4\n5\n6\n7\n"}}};
    const struct set end = {.id = "C2",
                            .sections = sections,
                            .files = {{"f", "1\n2\n3\n4\n5\n6\nEND\n"}}};
    struct outcome outcome =
        land(&(struct attempt){.set = &top, .others = {&end}});
    assert_starts(&outcome, "done ");
    assert_string_equal(content("f"), "ONE\n2\n3\n4\n5\n6\nEND");
}

static void a_conflict_names_its_set_and_nothing_lands(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    const struct set clash = {.id = "C2", .deleted = {"nowhere"}};
    struct outcome outcome =
        land(&(struct attempt){.set = &first, .others = {&clash, &third}});
    assert_starts(&outcome, "conflict C2: nowhere (");
    assert_unmoved(&outcome, before);
}

static void sets_that_overwrite_each_other_conflict(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    const struct set same = {.id = "C2", .files = {{"a", "other\n"}}};
    struct outcome outcome =
        land(&(struct attempt){.set = &first, .others = {&same}});
    assert_starts(&outcome, "conflict C2: a (a was changed by C1");
    assert_unmoved(&outcome, before);
}

static void the_check_sees_all_sets_and_stops_all(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    struct outcome outcome = land(&(struct attempt){
        .set = &first,
        .others = {&second},
        .checks = {"all", "sh -c 'cat a b; echo $POINTSMAN_CSIDS; exit 1'"}});
    assert_starts(&outcome, "failed check-failed check 'all'");
    assert_says(&outcome, "one\ntwo\nC1 C2\n");
    assert_unmoved(&outcome, before);
}

static void earlier_landings_are_reported_for_each_set(void **state) {
    (void)state;
    landing_begin();
    struct attempt attempt = {.set = &first, .others = {&second}};
    struct outcome outcome = land(&attempt);
    assert_starts(&outcome, "done ");
    const char *at = tip();
    outcome = land(&attempt);
    assert_line(&outcome,
                sh("echo already-landed %s C1=%s C2=%s", at, oid_of("C1"), at));
    attempt = (struct attempt){.set = &second, .probe = true};
    outcome = land(&attempt);
    assert_line(&outcome, sh("echo landed %s", at));
    /* Only a rewritten history can hold half of the group. */
    sh("git -C target.git update-ref refs/heads/main main~1");
    at = tip();
    outcome = land(&(struct attempt){.set = &first, .others = {&second}});
    assert_starts(&outcome, "failed policy some of these sets");
    assert_unmoved(&outcome, at);
}

static void a_push_meanwhile_restarts_the_whole_group(void **state) {
    (void)state;
    landing_begin();
    sh("rm -f pushed; mkdir -p fake; cat >fake/git <<'END'\n"
       "#!/bin/sh\ncase \" $* \" in *' update-ref '*)\n"
       "[ -e %s/pushed ] || ( unset GIT_OBJECT_DIRECTORY "
       "GIT_ALTERNATE_OBJECT_DIRECTORIES\n"
       "cd %s/clone; echo p >p; '%s' add p; '%s' -c "
       "user.name=P -c user.email=p@p commit -qm push; '%s' push -q origin "
       "main; touch ../pushed ) >&2;; esac\nexec '%s' \"$@\"\nEND\n"
       "chmod +x fake/git",
       test_dir(), test_dir(), sh("command -v git"), sh("command -v git"),
       sh("command -v git"), sh("command -v git"));
    struct outcome outcome = land(&(struct attempt){
        .set = &first, .others = {&second}, .path = sh("echo $PWD/fake")});
    assert_starts(&outcome, "done ");
    assert_says(&outcome, "main has moved meanwhile");
    assert_string_equal(commits(), "4");
    assert_string_equal(content("a"), "one");
    assert_string_equal(content("p"), "p");
}

/* Sets that are not a group are no whole either. */
static void sets_on_the_branch_are_left_out(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome = land(&(struct attempt){.set = &second});
    assert_starts(&outcome, "done ");
    outcome = land(&(struct attempt){
        .set = &first, .others = {&second, &third}, .alone = true});
    assert_line(&outcome, sh("echo done %s C1:%s C2=%s C3:%s", tip(),
                             oid_of("C1"), oid_of("C2"), oid_of("C3")));
    assert_string_equal(commits(), "4");
    outcome = land(&(struct attempt){
        .set = &first, .others = {&second}, .alone = true, .probe = true});
    assert_starts(&outcome, "landed ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_set_is_a_commit_and_the_branch_moves_once),
        cmocka_unit_test(a_later_set_builds_on_an_earlier_set),
        cmocka_unit_test(a_conflict_names_its_set_and_nothing_lands),
        cmocka_unit_test(sets_that_overwrite_each_other_conflict),
        cmocka_unit_test(the_check_sees_all_sets_and_stops_all),
        cmocka_unit_test(earlier_landings_are_reported_for_each_set),
        cmocka_unit_test(a_push_meanwhile_restarts_the_whole_group),
        cmocka_unit_test(sets_on_the_branch_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
