/* Landing as a person sees it: a set, a branch, a commit. */
#include "support/landing.h"

static const struct set plain = {.id = "C1",
                                 .files = {{"f", "new\n"}, {"d/e/h", "h\n"}}};

static void assert_line(const struct outcome *outcome, const char *line) {
    if (strcmp(outcome->line, line) != 0)
        fail_msg("'%s', not '%s':\n%s", outcome->line, line, outcome->output);
}

static void assert_starts(const struct outcome *outcome, const char *start) {
    if (strncmp(outcome->line, start, strlen(start)) != 0)
        fail_msg("'%s', not '%s':\n%s", outcome->line, start,
                 outcome->output);
}

/* It landed, as the newest commit. */
static void assert_landed(const struct outcome *outcome) {
    assert_starts(outcome, "done ");
    assert_int_equal(outcome->exit_code, 0);
    assert_string_equal(outcome->status.text,
                        sh("git -C target.git rev-parse main"));
    sh("git -C target.git fsck --strict --no-dangling");
}

static const char *content(const char *path) {
    return sh("git -C target.git show main:%s", path);
}

static const char *commits(void) {
    return sh("git -C target.git rev-list --count main");
}

static void a_set_becomes_one_commit_on_the_branch(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    assert_string_equal(content("f"), "new");
    assert_string_equal(content("d/e/h"), "h");
    assert_string_equal(content("g"), "g");
    assert_string_equal(commits(), "2");
    assert_string_equal(sh("ls tmp"), "");
    assert_string_equal(sh("cd target.git; find . -name '*.lock'"), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_becomes_one_commit_on_the_branch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
