/* Finds the paths that differ between two trees and that were not meant to. */
#include "support/landing.h"

#include <string.h>

#include "landing/git.h"
#include "landing/tree_compare.h"

/* Makes the commits main (before) and `after`; returns what tree_compare finds
 * beyond the listed paths, which are sorted. */
static const char *unlisted(const char *script, const char *const *listed) {
    static struct text found;
    char git_dir[512], before[OID_BYTES], after[OID_BYTES];
    struct tree_edit edits[8] = {0};
    size_t count = 0;
    struct git git;
    struct trees trees;
    struct err err = {0};
    sh("rm -rf repo; git init -q -b main repo; cd repo\n"
       "mkdir -p a/b c; echo 1 >a/b/x; echo 2 >a/y; echo 3 >c/z; echo 4 >a-b\n"
       "git add -A; git commit -q -m before\n%s\n"
       "git add -A; git commit -q --allow-empty -m after",
       script);
    snprintf(before, sizeof before, "%s",
             sh("git -C repo rev-parse 'main~1^{tree}'"));
    snprintf(after, sizeof after, "%s",
             sh("git -C repo rev-parse 'main^{tree}'"));
    for (; listed[count] != NULL; count++)
        edits[count].path = span_of(listed[count]);
    snprintf(git_dir, sizeof git_dir, "%s/repo", test_dir());
    assert_true(git_open(git_dir, NULL, NULL, &git, &err));
    assert_true(trees_open(&git, &trees, &err));
    text_reset(&found);
    assert_true(
        tree_compare(&trees, before, after, edits, count, &found, &err));
    trees_drop(&trees);
    git_close(&git);
    return text_string(&found);
}

#define LISTED(...) ((const char *const[]){__VA_ARGS__, NULL})

static void listed_changes_are_no_difference(void **state) {
    (void)state;
    assert_string_equal(
        unlisted("echo 5 >a/b/x; git rm -q c/z; mkdir n; echo n >n/n",
                 LISTED("a/b/x", "c/z", "n/n")),
        "");
    assert_string_equal(unlisted("true", LISTED("a/b/x")), "");
}

static void an_unlisted_change_is_found(void **state) {
    (void)state;
    assert_string_equal(unlisted("echo 5 >a/b/x; echo 6 >a/y", LISTED("a/b/x")),
                        "a/y");
    assert_string_equal(unlisted("chmod +x a/b/x", LISTED("a/y")), "a/b/x");
    assert_string_equal(unlisted("git rm -q c/z", LISTED("a/y")), "c/z");
    assert_string_equal(unlisted("echo n >n", LISTED("m")), "n");
}

static void a_rename_needs_both_names(void **state) {
    (void)state;
    assert_string_equal(unlisted("git mv c/z z", LISTED("c/z", "z")), "");
    assert_string_equal(unlisted("git mv c/z z", LISTED("z")), "c/z");
    assert_string_equal(unlisted("git mv c/z z", LISTED("c/z")), "z");
}

static void a_file_that_becomes_a_directory_needs_all_names(void **state) {
    (void)state;
    const char *script =
        "rm -r a; echo file >a; rm a-b; mkdir a-b; echo >a-b/i";
    assert_string_equal(
        unlisted(script, LISTED("a", "a/b/x", "a/y", "a-b", "a-b/i")), "");
    assert_string_equal(unlisted(script, LISTED("a", "a/b/x", "a-b", "a-b/i")),
                        "a/y");
    assert_string_equal(
        unlisted(script, LISTED("a/b/x", "a/y", "a-b", "a-b/i")), "a");
    assert_string_equal(unlisted(script, LISTED("a", "a/b/x", "a/y", "a-b")),
                        "a-b/i");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_changes_are_no_difference),
        cmocka_unit_test(an_unlisted_change_is_found),
        cmocka_unit_test(a_rename_needs_both_names),
        cmocka_unit_test(a_file_that_becomes_a_directory_needs_all_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
