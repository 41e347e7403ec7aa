/* A landing is killed by strace at its k-th mutating call, for every k up to
 * the end of the run. After another attempt, the set is on the branch exactly
 * once. */
#include "support/landing.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const struct set sets[] = {
    {.id = "C1",
     .files = {{"f", "new\n"}, {"d/e/run", "#!/bin/sh\n", 0755}},
     .deleted = {"g"}},
};

#define CALLS                                                      \
    "write,pwrite64,rename,renameat,renameat2,link,linkat,unlink," \
    "unlinkat,mkdir,mkdirat,rmdir,fsync,fdatasync,syncfs,ftruncate"

/* More calls than the longest of these programs makes; detects endless loops.
 */
enum { POINTS_MAX = 400 };

/* Kills all processes that the attempt started, as the guard does. */
static void end_group(pid_t pid) {
    kill(-pid, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        continue;
}

static struct outcome land_and_end(const struct attempt *attempt) {
    struct landing_child child = landing_spawn(attempt);
    struct outcome outcome = land_wait(&child);
    end_group(child.pid);
    return outcome;
}

/* Repeats the attempt until no lock prevents it. */
static struct outcome land_until_decided(const struct attempt *attempt) {
    struct outcome outcome;
    do
        outcome = land_and_end(attempt);
    while (strncmp(outcome.line, "temporary ", 10) == 0 &&
           strstr(outcome.line, "lock") != NULL);
    return outcome;
}

static void assert_once(unsigned point, const struct outcome *first,
                        const struct outcome *last) {
    bool fine = last->exit_code == 0 && strcmp(commits(), "2") == 0 &&
                strcmp(content("f"), "new") == 0;
    if (!fine)
        fail_msg("killed at call %u: %s commits\nfirst '%s':\n%s\nlast "
                 "'%s':\n%s",
                 point, commits(), first->line, first->output, last->line,
                 last->output);
    /* A killed fast-import leaves a crash report. */
    sh("rm -f target.git/fast_import_crash_*");
    assert_string_equal(sh("ls -A tmp"), "");
    assert_string_equal(sh("cd target.git; find . -name '*.lock'"), "");
    sh("git -C target.git fsck --strict --no-dangling >&2");
}

/* Restores the repository that every point starts with. */
static void restore_repository(void) {
    sh("rm -rf target.git tmp; cp -a begin.git target.git; mkdir tmp");
}

static void begin(void) {
    require_strace();
    prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
    landing_begin();
    sh("rm -rf begin.git; cp -a target.git begin.git");
}

static void sweep_landing(void) {
    unsigned point = 1;
    for (; point < POINTS_MAX; point += test_sweep_stride(2)) {
        char inject[256];
        snprintf(inject, sizeof inject, "inject=" CALLS ":signal=KILL:when=%u",
                 point);
        const char *const wrap[] = {"env",       "ASAN_OPTIONS=detect_leaks=0",
                                    "strace",    "-o",
                                    "/dev/null", "-e",
                                    inject,      NULL};
        restore_repository();
        struct outcome first =
            land_and_end(&(struct attempt){.set = &sets[0], .wrap = wrap});
        struct outcome last =
            land_until_decided(&(struct attempt){.set = &sets[0]});
        assert_once(point, &first, &last);
        if (first.signal != SIGKILL)
            break;
    }
    assert_in_range(point, 10, POINTS_MAX - 1);
}

static void a_killed_landing_lands_once(void **state) {
    (void)state;
    begin();
    sweep_landing();
}

/* The branch has a reflog, so it is moved without git. */
static void a_killed_landing_without_git_lands_once(void **state) {
    (void)state;
    begin();
    sh("cd begin.git; mkdir -p logs/refs/heads\n"
       ": >logs/refs/heads/main; : >logs/HEAD");
    sweep_landing();
}

static void a_killed_landing_of_a_group_lands_all_once(void **state) {
    (void)state;
    begin();
    const struct set with = {.id = "C2", .files = {{"h", "with\n"}}};
    struct attempt attempt = {.set = &sets[0], .others = {&with}};
    unsigned point = 1;
    for (; point < POINTS_MAX; point += test_sweep_stride(2)) {
        char inject[256];
        snprintf(inject, sizeof inject, "inject=" CALLS ":signal=KILL:when=%u",
                 point);
        const char *const wrap[] = {"env",       "ASAN_OPTIONS=detect_leaks=0",
                                    "strace",    "-o",
                                    "/dev/null", "-e",
                                    inject,      NULL};
        restore_repository();
        attempt.wrap = wrap;
        struct outcome first = land_and_end(&attempt);
        if (strcmp(commits(), "1") != 0 && strcmp(commits(), "3") != 0)
            fail_msg("killed at call %u: only a part of the group landed",
                     point);
        attempt.wrap = NULL;
        struct outcome last = land_until_decided(&attempt);
        if (last.exit_code != 0 || strcmp(commits(), "3") != 0)
            fail_msg("killed at call %u: '%s' then '%s'", point, first.line,
                     last.line);
        assert_string_equal(content("h"), "with");
        if (first.signal != SIGKILL)
            break;
    }
    assert_in_range(point, 10, POINTS_MAX - 1);
}

/* Writes a wrapper of git that kills the subcommand `verb` at call `point`. */
static const char *killing_git(const char *verb, unsigned point) {
    sh("mkdir -p fake; cat >fake/git <<'END'\n"
       "#!/bin/sh\n"
       "case \" $* \" in *' %s '*) exec strace -f -o /dev/null -e "
       "inject=" CALLS ":signal=KILL:when=%u '%s' \"$@\" ;; esac\n"
       "exec '%s' \"$@\"\nEND\n"
       "chmod +x fake/git",
       verb, point, sh("command -v git"), sh("command -v git"));
    return sh("echo \"$PWD/fake\"");
}

/* Kills only one git; the landing survives, reports a temporary failure, and
 * the next attempt lands. */
static void sweep_git(const char *verb, const struct set *set) {
    begin();
    unsigned point = 1;
    for (; point < POINTS_MAX; point += test_sweep_stride(2)) {
        restore_repository();
        struct outcome first = land_and_end(
            &(struct attempt){.set = set, .path = killing_git(verb, point)});
        if (first.exit_code != 0)
            assert_starts(&first, "temporary ");
        struct outcome last = land_until_decided(&(struct attempt){.set = set});
        assert_once(point, &first, &last);
        if (first.exit_code == 0 &&
            strstr(first.output, "killed by signal") == NULL)
            break;
    }
    assert_in_range(point, 2, POINTS_MAX - 1);
}

static void a_killed_fast_import_is_repaired(void **state) {
    (void)state;
    const struct set set = {
        .id = "C1", .files = {{"f", "new\n"}, {"large", large_content()}}};
    sweep_git("fast-import", &set);
}

static void a_killed_update_ref_is_repaired(void **state) {
    (void)state;
    sweep_git("update-ref", &sets[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_landing_lands_once),
        cmocka_unit_test(a_killed_landing_without_git_lands_once),
        cmocka_unit_test(a_killed_landing_of_a_group_lands_all_once),
        cmocka_unit_test(a_killed_fast_import_is_repaired),
        cmocka_unit_test(a_killed_update_ref_is_repaired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
