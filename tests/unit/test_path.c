#include "support/test.h"

#include "lib/text.h"
#include "wire/path.h"

static const struct path_limits limits = {40, 12, 4};

static void assert_refused(struct span path, enum refusal_kind kind) {
    struct refusal why = {0};
    assert_false(path_check(path, &limits, &why));
    assert_int_equal(why.kind, kind);
    assert_true(why.text[0]);
}

static void plain_paths_are_accepted(void **state) {
    (void)state;
    static const char *const good[] = {
        "a",   "a/b/c/d", "...",        ".gitignore", ".github/x",
        "git", "a b",     "f\xc3\xbcr", "\xff",       "#x",
        "-x",  ".gi",     "git~2",      "a\\b",       "a:b"};
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(path_check(span_of(good[i]), &limits, NULL));
}

static void paths_that_are_not_normalized_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"",       "/a",   "a/", "a//b", ".",
                                      "a/.",    "./a",  "..", "a/..", "../a",
                                      "a/../b", "a\nb", "/"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_refused(span_of(bad[i]), REFUSAL_BAD_PATH);
    assert_refused(span_make("a\0b", 3), REFUSAL_BAD_PATH);
}

static void every_spelling_of_dot_git_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = {".git",
                                      ".GIT",
                                      ".gIt",
                                      "a/.git",
                                      ".git/a",
                                      "a/.git/b",
                                      ".git.",
                                      ".git ",
                                      ".git. .",
                                      "git~1",
                                      "GIT~1",
                                      "git~1.",
                                      ".git:x",
                                      ".git::$",
                                      ".g\xe2\x80\x8cit",
                                      "\xef\xbb\xbf.git",
                                      ".git\xe2\x81\xaf",
                                      "a\\.git",
                                      ".git\\a"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_refused(span_of(bad[i]), REFUSAL_DOT_GIT);
}

static void limits_are_enforced(void **state) {
    (void)state;
    assert_true(path_check(SPAN("abcdefghijkl"), &limits, NULL));
    assert_refused(SPAN("abcdefghijklm"), REFUSAL_TOO_BIG);
    assert_refused(SPAN("a/b/c/d/e"), REFUSAL_TOO_BIG);
    assert_refused(SPAN("abcdefghij/abcdefghij/abcdefghij/abcdefgh"),
                   REFUSAL_TOO_BIG);
}

static void links_must_stay_inside_the_tree(void **state) {
    (void)state;
    static const struct {
        const char *path, *target;
        bool good;
    } cases[] = {
        {"a", "b", true},
        {"d/a", "../b", true},
        {"d/a", "..", true},
        {"d/e/a", "../../b/c", true},
        {"a", "..", false},
        {"a", "../b", false},
        {"d/a", "../../b", false},
        {"a", "/etc/passwd", false},
        {"a", "", false},
        {"a", "b/../../c", false},
        {"d/a", "b/../c", false},
        {"a", "./b", false},
        {"a", ".git/config", false},
        {"d/a", "../.GIT/x", false},
        {"a", "b//c", false},
        {"d/a", "..//etc", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct refusal why = {0};
        assert_int_equal(path_link_check(span_of(cases[i].path),
                                         span_of(cases[i].target), &limits,
                                         &why),
                         cases[i].good);
        if (!cases[i].good)
            assert_int_equal(why.kind, REFUSAL_SYMLINK);
    }
}

/* As git does: verify_dotfile, is_ntfs_dotgitmodules, is_hfs_dotgitmodules. */
static void a_link_is_no_gitmodules_in_any_spelling(void **state) {
    (void)state;
    static const struct path_limits usual = PATH_LIMITS;
    static const char *const bad[] = {".gitmodules",
                                      ".GITmodules",
                                      "a/.gitmodules",
                                      ".gitmodules/a",
                                      ".gitmodules.",
                                      ".gitmodules . ",
                                      ".gitmodules:x",
                                      ".gitmodules::$DATA",
                                      "gitmod~1",
                                      "d/GITMOD~4",
                                      "gitmod~2 .",
                                      "gi7eba~1",
                                      "GI7EBA~9",
                                      "gi7eb~10",
                                      "g~123456",
                                      "~1000000",
                                      "gi7eba~1:x",
                                      "a\\.gitmodules",
                                      ".git\xe2\x80\x8cmodules",
                                      "\xef\xbb\xbf.gitMODULES"};
    static const char *const good[] = {
        ".gitmodule", ".gitmodules2", "gitmod~0", "gitmod~5", "gitmodules",
        "gi7eba~0",   "gi7eba~",      "gi7ebc~1", "~0123456", "~1"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct refusal why = {0};
        assert_false(path_link_check(span_of(bad[i]), SPAN("x"), &usual, &why));
        assert_int_equal(why.kind, REFUSAL_SYMLINK);
        assert_true(path_check(span_of(bad[i]), &usual, NULL));
    }
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(path_link_check(span_of(good[i]), SPAN("x"), &usual, NULL));
}

static void a_path_sorts_before_everything_below_it(void **state) {
    (void)state;
    static const char *const order[] = {"a",   "a/b", "a/b/c", "a/b.c", "a-b",
                                        "a.b", "ab",  "b",     "\xff"};
    for (size_t i = 0; i < COUNT(order); i++)
        for (size_t k = 0; k < COUNT(order); k++) {
            int got = path_compare(span_of(order[i]), span_of(order[k]));
            assert_int_equal((got > 0) - (got < 0), (i > k) - (i < k));
        }
    assert_true(path_is_below(SPAN("a/b"), SPAN("a")));
    assert_false(path_is_below(SPAN("ab"), SPAN("a")));
    assert_false(path_is_below(SPAN("a"), SPAN("a")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_paths_are_accepted),
        cmocka_unit_test(paths_that_are_not_normalized_are_refused),
        cmocka_unit_test(every_spelling_of_dot_git_is_refused),
        cmocka_unit_test(limits_are_enforced),
        cmocka_unit_test(links_must_stay_inside_the_tree),
        cmocka_unit_test(a_link_is_no_gitmodules_in_any_spelling),
        cmocka_unit_test(a_path_sorts_before_everything_below_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
