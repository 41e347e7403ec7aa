/* A target that is not as it should be: its branch stays where it is, the set
 * is not to blame and lands once the target is repaired. */
#include "support/landing.h"

static const struct set plain = {.id = "C1",
                                 .files = {{"f", "new\n"}, {"d/e/h", "h\n"}}};

/* Not landed, and to be tried again. */
static void assert_held(const struct outcome *outcome, const char *words) {
    if (outcome->exit_code != 111)
        fail_msg("it ended with %d, '%s':\n%s", outcome->exit_code,
                 outcome->line, outcome->output);
    assert_says(outcome, words);
    assert_string_equal(sh("ls -A tmp"), "");
    assert_string_equal(sh("cd target.git; find . -name '*.lock'"), "");
}

static void push(const char *commands) {
    sh("cd clone; git checkout -q main; %s; git add -A; git commit -q -m push;"
       "git push -q origin main",
       commands);
}

/* ---- damaged ------------------------------------------------------------- */

/* The loose object with that name in the repository. */
static const char *object_file(const char *name) {
    return sh("git -C target.git rev-parse \"%s\" | "
              "sed 's,^..,target.git/objects/&/,'",
              name);
}

/* The set is held while `damage` has been done to that object's file, and
 * lands when the file is as it was. */
static void assert_held_without(const char *object, const char *damage,
                                const char *words) {
    const char *before = tip();
    const char *file = object_file(object);
    sh("cp -p %s saved; chmod u+w %s; f=%s; %s", file, file, file, damage);
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_held(&outcome, words);
    assert_string_equal(tip(), before);
    sh("cp -f saved %s", file);
    outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
}

static void a_missing_file_beside_a_listed_one_holds_the_set(void **state) {
    (void)state;
    landing_begin();
    assert_held_without("main:g", "rm $f",
                        "of 'g' is missing or cannot be read");
}

static void a_missing_file_in_a_directory_is_named(void **state) {
    (void)state;
    landing_begin();
    push("mkdir -p d/e; echo x >d/e/x");
    assert_held_without("main:d/e/x", "rm $f",
                        "of 'd/e/x' is missing or cannot be read");
}

static void a_missing_directory_holds_the_set(void **state) {
    (void)state;
    landing_begin();
    push("mkdir -p d/e d/x; echo x >d/x/x; echo e >d/e/e");
    assert_held_without("main:d/x", "rm $f",
                        "of 'd/x' is missing or cannot be read");
}

static void an_empty_file_of_an_object_is_a_missing_one(void **state) {
    (void)state;
    landing_begin();
    assert_held_without("main:g", ": >$f",
                        "of 'g' is missing or cannot be read");
}

/* git keeps an object that it has, whatever it holds. */
static void
a_listed_file_that_the_target_has_damaged_holds_the_set(void **state) {
    (void)state;
    landing_begin();
    push("seq 1000 >f; echo new >new; git add new; git rm -q --cached new");
    sh("git -C target.git hash-object -w --stdin <<END\nnew\nEND");
    const char *const damages[] = {
        ": >$f",
        "printf x | dd of=$f bs=1 seek=12 conv=notrunc 2>/dev/null",
        "truncate -s 15 $f",
    };
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        const char *old = tip();
        assert_held_without("$(printf 'new\\n' | git hash-object --stdin)",
                            damages[i], "of 'f' is missing or cannot be read");
        sh("git -C target.git update-ref refs/heads/main %s", old);
    }
}

/* Another repository's commits are not looked for. */
static void a_submodule_is_no_damage(void **state) {
    (void)state;
    landing_begin();
    push("git update-index --add --cacheinfo "
         "160000,0123456789012345678901234567890123456789,sub; mkdir sub");
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
}

static void a_directory_of_many_files_is_checked_whole(void **state) {
    (void)state;
    landing_begin();
    push("mkdir d; for i in $(seq 1000); do echo $i >d/$i; done");
    const struct set set = {.id = "C1", .files = {{"d/new", "new\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &set});
    assert_landed(&outcome);
    assert_string_equal(sh("git -C target.git ls-tree main:d | wc -l"), "1001");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_file_beside_a_listed_one_holds_the_set),
        cmocka_unit_test(a_missing_file_in_a_directory_is_named),
        cmocka_unit_test(a_missing_directory_holds_the_set),
        cmocka_unit_test(an_empty_file_of_an_object_is_a_missing_one),
        cmocka_unit_test(
            a_listed_file_that_the_target_has_damaged_holds_the_set),
        cmocka_unit_test(a_submodule_is_no_damage),
        cmocka_unit_test(a_directory_of_many_files_is_checked_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
