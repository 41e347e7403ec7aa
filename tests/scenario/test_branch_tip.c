/* Compares the tip of a branch, read without git, with git's answer. */
#include "support/landing.h"

#include "landing/branch_tip.h"

static const char *read_tip(const char *name, const char *branch) {
    static char oid[OID_BYTES];
    char path[512];
    snprintf(path, sizeof path, "%s/%s", test_dir(), name);
    return branch_tip_read(path, span_of(branch), oid) ? oid : "unknown";
}

static void begin(void) {
    landing_begin();
    sh("rm -rf tree plain; git -C clone push -q origin main:a/b main:c");
}

static void the_tip_is_what_git_says(void **state) {
    (void)state;
    begin();
    assert_string_equal(read_tip("target.git", "main"), tip());
    assert_string_equal(read_tip("target.git", "a/b"), tip());
    assert_string_equal(read_tip("clone", "main"), tip());
}

static void packed_branches_are_found_and_loose_ones_win(void **state) {
    (void)state;
    begin();
    sh("git -C target.git pack-refs --all");
    assert_string_equal(read_tip("target.git", "main"), tip());
    assert_string_equal(read_tip("target.git", "a/b"), tip());
    const char *old = tip();
    sh("cd clone; echo more >>g; git commit -qam more; git push -q origin "
       "main");
    assert_string_not_equal(tip(), old);
    assert_string_equal(read_tip("target.git", "main"), tip());
    assert_string_equal(read_tip("target.git", "c"), old);
}

static void a_damaged_list_of_branches_says_nothing(void **state) {
    (void)state;
    begin();
    const char *at = tip();
    sh("git -C target.git pack-refs --all; echo junk >>target.git/packed-refs");
    assert_string_equal(read_tip("target.git", "main"), at);
    assert_string_equal(read_tip("target.git", "mai"), "unknown");
    sh("echo junk >target.git/packed-refs");
    assert_string_equal(read_tip("target.git", "main"), "unknown");
}

static void a_missing_branch_has_no_tip(void **state) {
    (void)state;
    begin();
    assert_string_equal(read_tip("target.git", "mai"), "");
    assert_string_equal(read_tip("target.git", "main/x"), "");
    assert_string_equal(read_tip("target.git", "a"), "");
    sh("git -C target.git pack-refs --all");
    assert_string_equal(read_tip("target.git", "a"), "");
    landing_begin_empty("");
    assert_string_equal(read_tip("target.git", "main"), "");
}

static void the_tip_is_found_from_a_worktree(void **state) {
    (void)state;
    begin();
    sh("git -C target.git worktree add -q ../tree c 2>/dev/null");
    assert_string_equal(read_tip("tree", "main"), tip());
    sh("git clone -q --separate-git-dir plain.git target.git plain "
       "2>/dev/null");
    assert_string_equal(read_tip("plain", "main"), tip());
    sh("rm -rf plain plain.git tree");
}

static void a_tip_not_in_the_files_is_unknown(void **state) {
    (void)state;
    begin();
    assert_string_equal(read_tip("nowhere", "main"), "unknown");
    assert_string_equal(read_tip("sets", "main"), "unknown");
    sh("git -C target.git symbolic-ref refs/heads/alias refs/heads/main");
    assert_string_equal(read_tip("target.git", "alias"), "unknown");
    sh("echo junk >target.git/refs/heads/junk; : >target.git/refs/heads/cut");
    assert_string_equal(read_tip("target.git", "junk"), "unknown");
    assert_string_equal(read_tip("target.git", "cut"), "unknown");
    sh("mkdir target.git/reftable");
    assert_string_equal(read_tip("target.git", "main"), "unknown");
}

static const char *ref_of(const char *branch) {
    static struct text ref;
    char path[512];
    snprintf(path, sizeof path, "%s/target.git", test_dir());
    text_reset(&ref);
    return branch_tip_ref(path, span_of(branch), &ref) ? text_string(&ref)
                                                       : "none";
}

static void a_symbolic_ref_leads_to_what_git_says(void **state) {
    (void)state;
    begin();
    sh("cd target.git; git symbolic-ref refs/heads/alias refs/heads/main\n"
       "git symbolic-ref refs/heads/a/more refs/heads/alias\n"
       "git symbolic-ref refs/heads/other refs/other/main\n"
       "git symbolic-ref refs/heads/new refs/heads/not-there\n"
       "ln -s refs/heads/c refs/heads/link; git pack-refs --all");
    static const char *const branches[] = {"main",  "a/b", "alias", "a/more",
                                           "other", "new", "link",  "absent"};
    for (size_t i = 0; i < COUNT(branches); i++)
        assert_string_equal(
            ref_of(branches[i]),
            sh("cd target.git; r=refs/heads/%s\n"
               "while t=$(git symbolic-ref -q --no-recurse $r 2>/dev/null ||\n"
               "git symbolic-ref -q $r); do r=$t; done; echo $r",
               branches[i]));
    sh("cd target.git; printf 'ref: refs/heads/y\n' >refs/heads/x\n"
       "printf 'ref: refs/heads/x\n' >refs/heads/y");
    assert_string_equal(ref_of("x"), "none");
    sh("rm -rf target.git");
    assert_string_equal(ref_of("main"), "none");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tip_is_what_git_says),
        cmocka_unit_test(packed_branches_are_found_and_loose_ones_win),
        cmocka_unit_test(a_damaged_list_of_branches_says_nothing),
        cmocka_unit_test(a_missing_branch_has_no_tip),
        cmocka_unit_test(the_tip_is_found_from_a_worktree),
        cmocka_unit_test(a_tip_not_in_the_files_is_unknown),
        cmocka_unit_test(a_symbolic_ref_leads_to_what_git_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
