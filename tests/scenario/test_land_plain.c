/* A branch that is a plain file with a reflog is moved without git, by the same
 * rules. What is not plain is left to git. */
#include "support/landing.h"

#include <signal.h>

#include "landing/git.h"
#include "landing/ref_plain.h"

static const struct set first = {.id = "C1", .files = {{"f", "new\n"}}};
static const struct set second = {.id = "C2", .files = {{"h", "second\n"}}};

static const char *in_dir(const char *name) {
    return sh("echo \"$PWD/%s\"", name);
}

/* Writes a wrapper of git that runs `body` for the subcommand `verb`. Returns
 * the directory to put before $PATH. */
static const char *fake_git(const char *verb, const char *body) {
    sh("mkdir -p fake; cat >fake/git <<'END'\n"
       "#!/bin/sh\nbase='%s'\ngit='%s'\n"
       "case \" $* \" in *' %s '*) %s ;; esac\nexec \"$git\" \"$@\"\nEND\n"
       "chmod +x fake/git",
       test_dir(), sh("command -v git"), verb, body);
    return in_dir("fake");
}

/* A git that cannot move a branch, and notes that it was asked to. */
static const char *git_that_cannot_move(void) {
    return fake_git("update-ref", "touch $base/asked; exit 1");
}

static void assert_asked(bool is_asked) {
    assert_string_equal(sh("test -e asked && echo yes || echo no"),
                        is_asked ? "yes" : "no");
    sh("rm -f asked");
}

/* C1 has landed: the branch has a reflog. */
static void begin(void) {
    landing_begin();
    struct outcome outcome = land(&(struct attempt){.set = &first});
    assert_landed(&outcome);
}

static const char *reflog(const char *ref) {
    return sh("git -C target.git reflog --format='%%gn %%ge %%H %%gs' %s", ref);
}

static void the_branch_is_moved_without_git(void **state) {
    (void)state;
    begin();
    const char *before = tip();
    sh("chmod 0664 target.git/refs/heads/main");
    struct outcome outcome =
        land(&(struct attempt){.set = &second, .path = git_that_cannot_move()});
    assert_landed(&outcome);
    assert_asked(false);
    assert_string_equal(content("h"), "second");
    const char *lines = sh("printf '%%s\\n' 'Pointsman pointsman@localhost "
                           "%s pointsman: land C2' 'Pointsman "
                           "pointsman@localhost %s pointsman: land C1'",
                           tip(), before);
    assert_string_equal(reflog("main"), lines);
    assert_string_equal(reflog("HEAD"), lines);
    assert_string_equal(sh("stat -c '%%a %%h' target.git/refs/heads/main"),
                        "664 1");
    assert_string_equal(sh("find target.git/objects -name 'tmp_*'"), "");
}

static void the_head_of_another_branch_stays_alone(void **state) {
    (void)state;
    begin();
    const char *before = reflog("HEAD");
    sh("echo 'ref: refs/heads/other' >target.git/HEAD");
    struct outcome outcome =
        land(&(struct attempt){.set = &second, .path = git_that_cannot_move()});
    assert_starts(&outcome, "done ");
    assert_asked(false);
    sh("echo 'ref: refs/heads/main' >target.git/HEAD");
    assert_landed(&outcome);
    assert_string_equal(reflog("HEAD"), before);
}

/* The mode of a branch's file that was 0644, after a landing with this value of
 * core.sharedRepository. */
static const char *mode_with(const char *shared, bool by_git) {
    begin();
    sh("chmod 0644 target.git/refs/heads/main\n"
       "git -C target.git config core.sharedRepository '%s'",
       shared);
    struct outcome outcome =
        land(&(struct attempt){.set = &second, .path = git_that_cannot_move()});
    assert_asked(by_git);
    if (by_git)
        outcome = land(&(struct attempt){.set = &second});
    assert_landed(&outcome);
    return sh("stat -c %%a target.git/refs/heads/main");
}

static void the_branch_gets_the_mode_of_a_shared_repository(void **state) {
    (void)state;
    assert_string_equal(mode_with("false", false), "644");
    assert_string_equal(mode_with("group", false), "664");
    assert_string_equal(mode_with("all", false), "664");
    assert_string_equal(mode_with("0660", false), "660");
    /* Only git knows what this means. */
    assert_string_equal(mode_with("yes", true), "664");
}

/* Only git can move the branch now, and does. */
static void assert_left_to_git(void) {
    struct outcome outcome =
        land(&(struct attempt){.set = &second, .path = git_that_cannot_move()});
    assert_true(outcome.exit_code != 0);
    assert_asked(true);
    outcome = land(&(struct attempt){.set = &second});
    assert_landed(&outcome);
}

static void a_configuration_that_includes_others_is_left_to_git(void **state) {
    (void)state;
    begin();
    sh("echo '[core] sharedRepository = group' >more\n"
       "git -C target.git config include.path ../more");
    assert_left_to_git();
    assert_string_equal(sh("stat -c %%a target.git/refs/heads/main"), "664");
}

/* After the look at the repository and before the locks. */
static void a_head_that_changes_meanwhile_is_left_to_git(void **state) {
    (void)state;
    static const char *const heads[] = {"main", "other", "main"};
    begin();
    for (size_t i = 0; i + 1 < COUNT(heads); i++) {
        struct git git;
        struct ref_plain plain;
        struct err err = {0};
        char old[OID_BYTES];
        snprintf(old, sizeof old, "%s", tip());
        sh("echo 'ref: refs/heads/%s' >target.git/HEAD", heads[i]);
        assert_true(git_open(in_dir("target.git"), NULL, NULL, &git, &err));
        assert_true(ref_plain_open(&git, "main", old, &plain));
        assert_true(ref_plain_lock(&plain, old));
        ref_plain_end(&plain);
        assert_true(ref_plain_open(&git, "main", old, &plain));
        sh("echo 'ref: refs/heads/%s' >target.git/HEAD", heads[i + 1]);
        assert_false(ref_plain_lock(&plain, old));
        ref_plain_end(&plain);
        git_close(&git);
    }
    assert_string_equal(sh("find target.git -name '*.lock' -o -name 'tmp_*'"),
                        "");
}

/* The file of the branch is gone, its value is in packed-refs. */
static void a_packed_branch_is_left_to_git(void **state) {
    (void)state;
    begin();
    sh("git -C target.git pack-refs --all");
    assert_left_to_git();
}

static void a_branch_without_a_reflog_is_left_to_git(void **state) {
    (void)state;
    begin();
    sh("rm target.git/logs/HEAD");
    struct outcome outcome = land(&(struct attempt){.set = &second});
    assert_landed(&outcome);
    assert_string_equal(sh("wc -l <target.git/logs/HEAD"), "1");
}

/* Somebody pushes between the look at the branch and its move. */
static void a_push_meanwhile_is_noticed(void **state) {
    (void)state;
    begin();
    const struct set large = {.id = "C2", .files = {{"h", large_content()}}};
    const char *path = fake_git(
        "fast-import",
        "test -e $base/pushed || { touch $base/pushed; cd $base/clone\n"
        "unset GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\n"
        "export HOME=$base; \"$git\" pull -q origin main; echo p >p\n"
        "\"$git\" add p; \"$git\" -c user.name=P -c user.email=p@p "
        "commit -qm push; \"$git\" push -q origin main; cd ../target.git\n"
        "} >&2 </dev/null");
    struct outcome outcome =
        land(&(struct attempt){.set = &large, .path = path});
    assert_landed(&outcome);
    assert_says(&outcome, "main has moved meanwhile");
    assert_string_equal(commits(), "4");
    assert_string_equal(content("p"), "p");
}

static void respects(const char *lock) {
    const char *before = tip(), *log = reflog("main");
    sh("touch target.git/%s", lock);
    struct outcome outcome = land(&(struct attempt){.set = &second});
    assert_starts(&outcome, "unavailable ");
    assert_says(&outcome, lock);
    sh("rm target.git/%s", lock);
    assert_unmoved(&outcome, before);
    assert_string_equal(reflog("main"), log);
}

static void a_lock_of_another_process_is_respected(void **state) {
    (void)state;
    begin();
    respects("refs/heads/main.lock");
    respects("HEAD.lock");
    struct outcome outcome = land(&(struct attempt){.set = &second});
    assert_landed(&outcome);
}

/* ---- the moment in which the locks are held ------------------------------ */

static void a_stop_while_the_locks_are_held_moves_nothing(void **state) {
    (void)state;
    require_strace();
    begin();
    const char *before = tip(), *log = reflog("main");
    struct outcome outcome = land_signalled(&second, "TERM");
    assert_starts(&outcome, "stopped");
    assert_unmoved(&outcome, before);
    assert_string_equal(reflog("main"), log);
    outcome = land(&(struct attempt){.set = &second});
    assert_landed(&outcome);
}

/* Leaves the lock of the branch, and a note. */
static void kill_with_lock(void) {
    require_strace();
    begin();
    struct outcome outcome = land_signalled(&second, "KILL");
    assert_int_equal(outcome.signal, SIGKILL);
    assert_string_equal(sh("ls target.git/refs/heads"), "main\nmain.lock");
}

static void lands_despite_lock(void) {
    struct outcome outcome = land(&(struct attempt){.set = &second});
    assert_landed(&outcome);
    assert_says(&outcome, "removing a lock left by a process that died");
    assert_string_equal(commits(), "3");
}

static void locks_of_a_killed_landing_are_removed(void **state) {
    (void)state;
    kill_with_lock();
    lands_despite_lock();
}

/* The first number of its name was the device of the repository. */
static void rename_note(const char *device) {
    sh("cd tmp; mv move.*.main move.%s-$(printf %%x $(stat -c %%i "
       "../target.git))"
       ".main",
       device);
}

static const char *device_now(void) {
    return sh("printf %%x $(stat -c %%d target.git)");
}

static void the_note_of_an_earlier_version_is_found(void **state) {
    (void)state;
    kill_with_lock();
    rename_note(device_now());
    lands_despite_lock();
    kill_with_lock();
    rename_note("fffff"); /* the device has another number now */
    lands_despite_lock();
}

/* An empty lock shows nothing but when it was made. */
static void
a_note_of_an_earlier_version_proves_an_empty_lock_of_its_device(void **state) {
    (void)state;
    kill_with_lock();
    rename_note(device_now());
    sh(": >target.git/refs/heads/main.lock");
    lands_despite_lock();
}

static void the_note_of_another_device_proves_no_empty_lock(void **state) {
    (void)state;
    kill_with_lock();
    rename_note("fffff");
    sh(": >target.git/refs/heads/main.lock");
    struct outcome outcome = land(&(struct attempt){.set = &second});
    assert_starts(&outcome, "unavailable ");
    assert_string_equal(sh("ls target.git/refs/heads"), "main\nmain.lock");
    sh("rm target.git/refs/heads/main.lock; rm tmp/move.*");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_branch_is_moved_without_git),
        cmocka_unit_test(the_head_of_another_branch_stays_alone),
        cmocka_unit_test(the_branch_gets_the_mode_of_a_shared_repository),
        cmocka_unit_test(a_configuration_that_includes_others_is_left_to_git),
        cmocka_unit_test(a_head_that_changes_meanwhile_is_left_to_git),
        cmocka_unit_test(a_packed_branch_is_left_to_git),
        cmocka_unit_test(a_branch_without_a_reflog_is_left_to_git),
        cmocka_unit_test(a_push_meanwhile_is_noticed),
        cmocka_unit_test(a_lock_of_another_process_is_respected),
        cmocka_unit_test(a_stop_while_the_locks_are_held_moves_nothing),
        cmocka_unit_test(locks_of_a_killed_landing_are_removed),
        cmocka_unit_test(the_note_of_an_earlier_version_is_found),
        cmocka_unit_test(
            a_note_of_an_earlier_version_proves_an_empty_lock_of_its_device),
        cmocka_unit_test(the_note_of_another_device_proves_no_empty_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
