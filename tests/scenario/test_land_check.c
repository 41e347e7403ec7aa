/* Checks on the merged tree, races for the branch, interruptions, locks, full
 * disks, and targets that are commands. */
#include "support/landing.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/random.h"
#include "lib/time.h"
#include "os/clock.h"

static const struct set plain = {.id = "C1", .files = {{"f", "new\n"}}};

static const char *in_dir(const char *format, ...) PRINTF_LIKE(1, 2);
static const char *in_dir(const char *format, ...) {
    static char rooms[8][1024];
    static unsigned next;
    char *room = rooms[next++ % COUNT(rooms)];
    int n = snprintf(room, 1024, "%s/", test_dir());
    va_list args;
    va_start(args, format);
    vsnprintf(room + n, 1024 - (size_t)n, format, args);
    va_end(args);
    return room;
}

/* Writes a script to the directory of the test; returns the command line. */
/* A script that a git of ours runs, in place of somebody else, must not work on
 * the objects of our landing. */
static const char *script(const char *name, const char *body) {
    static char rooms[4][1200];
    static unsigned next;
    char *room = rooms[next++ % COUNT(rooms)];
    snprintf(room, 1200, "sh '%s'", in_dir("%s", name));
    FILE *file = fopen(in_dir("%s", name), "w");
    assert_non_null(file);
    fprintf(file,
            "base='%s'\nunset GIT_OBJECT_DIRECTORY "
            "GIT_ALTERNATE_OBJECT_DIRECTORIES\n%s\n",
            test_dir(), body);
    fclose(file);
    return room;
}

static void checks_see_the_merged_tree(void **state) {
    (void)state;
    landing_begin();
    const struct set set = {
        .id = "C1", .files = {{"f", "new\n"}, {"run", "#!/bin/sh\n", 0755}}};
    struct outcome outcome = land(&(struct attempt){
        .set = &set,
        .checks = {"one",
                   script("one", "test $(cat f) = new && test -f g && "
                                 "test -x run && ls -A | tr '\\n' ' '"),
                   "two",
                   script("two",
                          "echo $POINTSMAN_CSID $POINTSMAN_TARGET "
                          "$POINTSMAN_CLASS; test -z \"$GIT_DIR$POINTSMAN_"
                          "STATUS_FD\"; touch built")}});
    assert_landed(&outcome);
    assert_says(&outcome, "f g run ");
    assert_says(&outcome, "C1 main DC");
    assert_says(&outcome, "== check 'two' exited with 0 after ");
    assert_string_equal(sh("git -C target.git ls-tree --name-only main"),
                        "f\ng\nrun");
}

/* Attributes and filters with which a checkout changes bytes, or fails. */
static const char attributes[] =
    "*.crlf text eol=crlf\n*.id ident\n*.smudge filter=s\n"
    "*.utf text working-tree-encoding=UTF-16\n*.lfs filter=lfs\n"
    "*.odd working-tree-encoding=no-such\n[attr]all text eol=crlf\n"
    "*.all all\n";
static const struct set converted = {.id = "C1",
                                     .files = {{".gitattributes", attributes},
                                               {"a.crlf", "one\ntwo\n"},
                                               {"a.id", "$Id$\n"},
                                               {"a.smudge", "plain\n"},
                                               {"a.utf", "text\n"},
                                               {"a.odd", "odd\n"},
                                               {"a.all", "one\n"}}};

static void filters_begin(const char *options) {
    landing_begin_empty(options);
    sh("cd target.git; git config filter.s.smudge 'tr a-z A-Z'; "
       "git config core.autocrlf true; git config core.eol crlf; "
       "git config core.attributesFile $PWD/more; echo '* text' >more; "
       "echo '* ident' >info/attributes");
}

static void checks_see_the_bytes_that_land(void **state) {
    (void)state;
    static const char *const options[] = {"", "--object-format=sha256"};
    for (size_t i = 0; i < COUNT(options); i++) {
        filters_begin(options[i]);
        struct outcome outcome = land(&(struct attempt){
            .set = &converted,
            .checks = {
                "bytes",
                script("bytes",
                       "rm -rf $base/seen; mkdir $base/seen\n"
                       "tar -xf $base/sets/C1 -C $base/seen "
                       "--strip-components=1 || exit 1\n"
                       "for f in .gitattributes *; do cmp $f $base/seen/$f || "
                       "exit 1; done\n"
                       "set -- *; test $# -eq 6")}});
        assert_landed(&outcome);
    }
}

static void checks_can_see_what_a_checkout_writes(void **state) {
    (void)state;
    filters_begin("");
    static const struct set set = {
        .id = "C1",
        .files = {{".gitattributes", "*.crlf text eol=crlf\n"
                                     "*.smudge filter=s\n"},
                  {"a.crlf", "one\n"},
                  {"a.smudge", "plain\n"}}};
    struct outcome outcome = land(&(struct attempt){
        .set = &set,
        .filters = true,
        .checks = {"bytes", script("bytes", "cat a.crlf a.smudge | od -c")}});
    assert_landed(&outcome);
    assert_says(&outcome, "\\r");
    assert_says(&outcome, "P   L   A   I   N");
}

static void require_nobody(void) {
    if (getuid() != 0)
        test_skip("only root can run checks as another user");
    if (getpwnam("nobody") == NULL)
        test_skip("the user nobody does not exist");
}

static void checks_run_as_the_targets_user(void **state) {
    (void)state;
    require_nobody();
    landing_begin();
    assert_int_equal(chmod(test_dir(), 0711), 0);
    struct outcome outcome = land(&(struct attempt){
        .set = &plain,
        .user = "nobody",
        .checks = {"who", "sh -c 'id -un; echo $USER; touch built $TMPDIR/x; "
                          "test -w /dev/stdout && echo there; test ! -w ..'"}});
    chmod(test_dir(), 0700);
    if (strstr(outcome.output, "cannot enter") != NULL)
        test_skip("the user nobody cannot enter the test directory");
    assert_says(&outcome, "\nnobody\nnobody\nthere\n");
    assert_landed(&outcome);
}

static void the_error_names_a_user_who_cannot_enter_the_tree(void **state) {
    (void)state;
    require_nobody();
    landing_begin();
    const char *before = tip();
    struct outcome outcome = land(&(struct attempt){
        .set = &plain, .user = "nobody", .checks = {"who", "id"}});
    assert_starts(&outcome, "forbidden cannot run check 'who': user 'nobody' "
                            "cannot enter '");
    assert_int_equal(outcome.exit_code, 111);
    assert_unmoved(&outcome, before);
}

static void the_error_names_an_unknown_user(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    struct outcome outcome = land(&(struct attempt){
        .set = &plain, .user = "nobody-of-this-name", .checks = {"who", "id"}});
    assert_line(&outcome,
                "forbidden no user 'nobody-of-this-name' on this machine");
    assert_unmoved(&outcome, before);
}

static void a_command_runs_as_the_targets_user(void **state) {
    (void)state;
    require_nobody();
    landing_begin();
    assert_int_equal(chmod(test_dir(), 0711), 0);
    struct outcome outcome = land(&(struct attempt){
        .set = &plain,
        .user = "nobody",
        .command = "sh -c 'id -un; cat lroot/f; touch lroot/made'"});
    chmod(test_dir(), 0700);
    if (strstr(outcome.line, "cannot enter") != NULL)
        test_skip("the user nobody cannot enter the test directory");
    assert_line(&outcome, "done");
    assert_says(&outcome, "nobody\nnew\n");
}

static void a_failed_check_keeps_the_branch(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    struct outcome outcome = land(&(struct attempt){
        .set = &plain,
        .checks = {"fine", "true", "unit", "sh -c 'echo reason; exit 3'",
                   "never", "echo reached"}});
    assert_line(&outcome, "failed check-failed check 'unit' exited with 3");
    assert_int_equal(outcome.exit_code, 101);
    assert_says(&outcome, "reason");
    assert_null(strstr(outcome.output, "reached\n=="));
    assert_unmoved(&outcome, before);
}

static void a_check_may_fail_temporarily(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    struct outcome outcome = land(&(struct attempt){
        .set = &plain, .checks = {"busy", "sh -c 'exit 75'"}});
    assert_line(&outcome, "temporary check 'busy' exited with 75");
    assert_int_equal(outcome.exit_code, 111);
    assert_unmoved(&outcome, before);
}

/* For example by the kernel, for lack of memory. */
static void a_check_that_somebody_kills_may_be_tried_again(void **state) {
    (void)state;
    static const char *const checks[] = {"sh -c 'kill -9 $$'",
                                         "sh -c 'sh -c \"kill -9 \\$\\$\"'"};
    static const char *const says[] = {
        "temporary check 'unit' was killed by signal 9, which Pointsman did",
        "temporary check 'unit' exited with 137, as if killed by signal 9"};
    for (size_t i = 0; i < COUNT(checks); i++) {
        landing_begin();
        const char *before = tip();
        struct outcome outcome = land(
            &(struct attempt){.set = &plain, .checks = {"unit", checks[i]}});
        assert_starts(&outcome, says[i]);
        assert_says(&outcome, "did the machine run out of memory?");
        assert_int_equal(outcome.exit_code, 111);
        assert_unmoved(&outcome, before);
    }
}

static void a_check_that_crashes_fails(void **state) {
    (void)state;
    landing_begin();
    struct outcome outcome = land(&(struct attempt){
        .set = &plain, .checks = {"unit", "sh -c 'kill -SEGV $$'"}});
    assert_line(&outcome,
                "failed check-failed check 'unit' was killed by signal 11");
}

static void a_check_that_this_machine_lacks_is_no_fault_of_a_set(void **state) {
    (void)state;
    landing_begin();
    char before[72];
    snprintf(before, sizeof(before), "%s", tip());
    sh("printf '#!/no/such/interpreter\\n' >script; chmod +x script\n"
       "printf 'text\\n' >text");
    const struct {
        const char *check, *advice;
    } cases[] = {
        {"no-such-program-here --all", "; install it, or its interpreter, on"},
        {"/no/such/program", "; install it, or its interpreter, on"},
        {in_dir("script"), "; install it, or its interpreter, on"},
        {in_dir("text/program"), "; install it, or its interpreter, on"},
        {in_dir("text"), "Permission denied; make it executable, or correct"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct outcome outcome = land(&(struct attempt){
            .set = &plain, .checks = {"odd", cases[i].check}});
        assert_starts(&outcome, "unavailable cannot run check 'odd': cannot "
                                "start '");
        assert_says(&outcome, cases[i].advice);
        assert_int_equal(outcome.exit_code, 111);
        assert_unmoved(&outcome, before);
    }
}

static void
a_check_of_the_tree_that_cannot_run_is_a_fault_of_the_set(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    static const struct set set = {
        .id = "C1",
        .files = {{"missing", "#!/no/such/interpreter\n", 0755},
                  {"t/127", "#!/bin/sh\nexit 127\n", 0755}}};
    static const char *const checks[] = {"./missing", "./none", "t/127"};
    static const char *const says[] = {
        "failed check-failed cannot run check 'own': cannot start './missing'",
        "failed check-failed cannot run check 'own': cannot start './none'",
        "failed check-failed check 'own' exited with 127"};
    for (size_t i = 0; i < COUNT(checks); i++) {
        struct outcome outcome =
            land(&(struct attempt){.set = &set, .checks = {"own", checks[i]}});
        assert_starts(&outcome, says[i]);
        assert_int_equal(outcome.exit_code, 101);
        assert_unmoved(&outcome, before);
    }
}

static void a_check_that_times_out_is_killed_with_its_children(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    assert_int_equal(mkfifo(in_dir("never"), 0600), 0);
    /* Two processes wait for ever: one ignores TERM, the other is the child of
     * an orphan. */
    struct outcome outcome = land(&(struct attempt){
        .set = &plain,
        .timeout = "1",
        .checks = {"slow", script("slow", "trap '' TERM\n"
                                          "setsid sh -c 'cat \"$0\" & cat "
                                          "\"$0\"' $base/never &\n"
                                          "cat $base/never")}});
    assert_line(&outcome, "failed timeout check 'slow' timed out (1 s)");
    assert_unmoved(&outcome, before);
    /* No process reads the FIFO any more. */
    assert_int_equal(open(in_dir("never"), O_WRONLY | O_NONBLOCK), -1);
    assert_int_equal(errno, ENXIO);
    sh("rm never");
}

static void processes_left_by_a_check_are_killed(void **state) {
    (void)state;
    landing_begin();
    assert_int_equal(mkfifo(in_dir("never"), 0600), 0);
    int keep = open(in_dir("never"), O_RDWR | O_CLOEXEC);
    struct outcome outcome = land(&(struct attempt){
        .set = &plain,
        .checks = {"leaves",
                   script("leaves", "exec 9<$base/never\n"
                                    "setsid sh -c 'cat <&9' & exit 0")}});
    assert_landed(&outcome);
    close(keep);
    assert_int_equal(open(in_dir("never"), O_WRONLY | O_NONBLOCK), -1);
    sh("rm never");
}

/* A command line that runs git gc, as a cron job of the repository might. */
static const char *gc(void) {
    return script("gc", "echo run >>$base/runs; git --git-dir="
                        "$base/target.git gc --quiet --prune=now");
}

/* git stores nothing that is in the repository already, even if no branch
 * refers to it. */
static void what_gc_removes_during_a_check_is_stored_again(void **state) {
    (void)state;
    const struct set set = {.id = "C1", .files = {{"f", large_content()}}};
    landing_begin();
    sh("rm -f runs");
    struct outcome outcome =
        land(&(struct attempt){.set = &set, .checks = {"gc", gc()}});
    assert_landed(&outcome);
    sh("cd target.git; git rev-parse main:f | "
       "git pack-objects -q objects/pack/pack >&2; git prune-packed -q; "
       "git update-ref refs/heads/main main~1; "
       "git reflog expire --expire=now --all; rm ../runs");
    outcome = land(&(struct attempt){.set = &set, .checks = {"gc", gc()}});
    assert_landed(&outcome);
    assert_string_equal(sh("cat runs"), "run");
    sh("git -C target.git fsck --strict --no-dangling >&2");
}

static void gc_during_a_check_removes_nothing_of_the_sets(void **state) {
    (void)state;
    static const struct set other = {.id = "C2", .files = {{"a/b/c", "c\n"}}};
    static const struct set *const others[] = {NULL, &other};
    for (size_t i = 0; i < COUNT(others); i++) {
        landing_begin();
        sh("rm -f runs");
        struct outcome outcome = land(&(struct attempt){
            .set = &plain, .others = {others[i]}, .checks = {"gc", gc()}});
        assert_starts(&outcome, "done ");
        assert_string_equal(sh("cat runs"), "run");
        sh("git -C target.git fsck --strict --no-dangling >&2");
        assert_string_equal(content("f"), "new");
    }
}

/* ---- races -------------------------------------------------------------- */

static const char push_other[] =
    "cd $base/clone; export HOME=$base GIT_AUTHOR_NAME=a "
    "GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n"
    "git pull -q origin main\n"
    "n=$(cat $base/pushes 2>/dev/null || echo 0)\n"
    "test $n -lt $1 || exit 0\n"
    "echo $n >n; git add n; git commit -q -m n; git push -q origin main\n"
    "echo $((n + 1)) >$base/pushes";

/* Writes a wrapper of git that runs `body` for the subcommand `verb`; "$git" is
 * the real git. Returns the directory to put before $PATH. */
static const char *fake_git(const char *verb, const char *body) {
    sh("mkdir -p fake; cat >fake/git <<'END'\n"
       "#!/bin/sh\nbase='%s'\ngit='%s'\n"
       "case \" $* \" in *' %s '*) %s ;; esac\nexec \"$git\" \"$@\"\nEND\n"
       "chmod +x fake/git",
       test_dir(), sh("command -v git"), verb, body);
    return in_dir("fake");
}

/* Before it moves the branch, somebody else does, at most so many times. */
static const char *git_that_is_late(const char *times) {
    return fake_git("update-ref", sh("echo \"%s %s >&2\"",
                                     script("push", push_other), times));
}

static void a_lost_race_restarts_from_the_new_tip(void **state) {
    (void)state;
    landing_begin();
    sh("rm -f pushes");
    struct outcome outcome =
        land(&(struct attempt){.set = &plain, .path = git_that_is_late("2")});
    assert_landed(&outcome);
    assert_says(&outcome, "main has moved meanwhile");
    assert_string_equal(commits(), "4");
    assert_string_equal(content("n"), "1");
    assert_string_equal(content("f"), "new");
}

static void landing_is_postponed_if_the_branch_keeps_moving(void **state) {
    (void)state;
    landing_begin();
    sh("rm -f pushes");
    struct outcome outcome =
        land(&(struct attempt){.set = &plain, .path = git_that_is_late("99")});
    assert_line(&outcome, "temporary others keep moving the branch");
    assert_string_equal(sh("cat pushes"), "5");
    assert_string_equal(commits(), "6");
}

static void a_race_can_end_in_a_conflict(void **state) {
    (void)state;
    landing_begin();
    const char *push =
        script("push", "cd $base/clone; export GIT_AUTHOR_NAME=a "
                       "GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
                       "GIT_COMMITTER_EMAIL=a@b\necho theirs >f\n"
                       "git commit -q -a -m f; git push -q origin main");
    struct outcome outcome = land(&(struct attempt){
        .set = &plain,
        .path = fake_git("update-ref", sh("echo \"%s >&2\"", push))});
    assert_starts(&outcome, "conflict f (f was changed by commit ");
    assert_string_equal(content("f"), "theirs");
}

/* ---- signals ------------------------------------------------------------ */

/* Starts a landing and waits until its check runs; the check does not end. */
static struct landing_child start_hanging_check(void) {
    sh("rm -f ready never; mkfifo ready never");
    struct landing_child child = landing_spawn(&(struct attempt){
        .set = &plain,
        .checks = {
            "wait",
            script("wait", "echo ready >$base/ready; cat $base/never")}});
    char line[16] = "";
    int fd = open(in_dir("ready"), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, line, sizeof line - 1) > 0);
    close(fd);
    return child;
}

static void term_stops_the_landing_and_its_check(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    struct landing_child child = start_hanging_check();
    kill(-child.pid, SIGTERM); /* the whole group, as the guard does */
    struct outcome outcome = land_wait(&child);
    assert_starts(&outcome, "stopped");
    assert_int_equal(outcome.exit_code, 102);
    assert_unmoved(&outcome, before);
}

static void hup_to_the_landing_alone_stops_both(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    struct landing_child child = start_hanging_check();
    kill(child.pid, SIGHUP);
    struct outcome outcome = land_wait(&child);
    assert_starts(&outcome, "stopped");
    assert_int_equal(outcome.exit_code, 103);
    assert_unmoved(&outcome, before);
    assert_int_equal(open(in_dir("never"), O_WRONLY | O_NONBLOCK), -1);
}

static void term_after_the_branch_moved_changes_nothing(void **state) {
    (void)state;
    landing_begin();
    /* The signal arrives after the landing has told git to commit the update of
     * the ref, and before git does so. */
    const char *path =
        fake_git("update-ref", "{ head -n 3; read -r word; kill -TERM $PPID; "
                               "kill -HUP $PPID; echo \"$word\"; } | "
                               "\"$git\" \"$@\"; exit");
    struct outcome outcome =
        land(&(struct attempt){.set = &plain, .path = path});
    assert_landed(&outcome);
    assert_string_equal(commits(), "2");
}

static void term_before_the_branch_moves_undoes_everything(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    const char *path =
        fake_git("rev-list", "\"$git\" \"$@\"; kill -TERM $PPID; exit 0");
    struct outcome outcome =
        land(&(struct attempt){.set = &plain, .path = path});
    assert_starts(&outcome, "stopped");
    assert_int_equal(outcome.exit_code, 102);
    assert_unmoved(&outcome, before);
}

/* ---- a repository that is moved away ------------------------------------ */

/* git waits for the update of the branch while the repository moves; git alone
 * would go on at the old path. */
static void a_repository_that_moves_away_leaves_nothing_behind(void **state) {
    (void)state;
    landing_begin();
    const char *path =
        fake_git("update-ref",
                 "mkfifo $base/begun\n"
                 "{ read -r word; echo \"$word\"; read -r word <$base/begun\n"
                 "mv $base/target.git $base/aside; cat; } | \"$git\" \"$@\" |\n"
                 "{ read -r word; echo \"$word\"; echo >$base/begun; cat; kill "
                 "-9 $$; }");
    struct outcome outcome =
        land(&(struct attempt){.set = &plain, .path = path});
    assert_starts(&outcome, "unavailable the repository '");
    assert_says(&outcome, "was moved away or replaced while it was in use");
    assert_string_equal(sh("ls -d target.git 2>/dev/null || echo none"),
                        "none");
    sh("mv aside target.git");
    outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
    assert_string_equal(commits(), "2");
}

/* git has its lock, and does not find it any more when it gives up. */
static void lose_lock(const char *before) {
    const char *path = fake_git(
        "update-ref",
        sh("echo 'read -r word; echo start: ok; read -r word; read -r word\n"
           "%s\n: >$base/target.git/refs/heads/main.lock\n"
           "mv $base/target.git $base/aside; exit 128'",
           before));
    struct outcome outcome =
        land(&(struct attempt){.set = &plain, .path = path});
    assert_starts(&outcome, "unavailable the repository '");
    sh("mv aside target.git");
    outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
}

static void a_lock_that_moves_away_is_removed(void **state) {
    (void)state;
    landing_begin();
    lose_lock("");
    assert_string_equal(commits(), "2");
}

static void a_lock_that_moves_away_after_a_push_is_removed(void **state) {
    (void)state;
    landing_begin();
    lose_lock(sh("echo \"echo $(git -C target.git commit-tree -p main -m more "
                 "'main^{tree}') >\\$base/target.git/refs/heads/main\""));
    assert_string_equal(commits(), "3");
}

/* It moves after the branch was read; the base of the set then seems to be
 * missing, as if the branch had been rewritten. */
static void a_repository_that_moves_away_is_no_conflict(void **state) {
    (void)state;
    static char section[100];
    const struct set set = {
        .id = "C1", .sections = section, .files = {{"f", "new\n"}}};
    landing_begin();
    const char *base = tip();
    snprintf(section, sizeof section, "##base\n%s\n", base);
    sh("cd clone; echo more >>g; git commit -qam more; git push -q; mkfifo "
       "../read");
    const char *path = fake_git(
        "rev-list '*) \"$git\" \"$@\" >$base/commits; test -e $base/aside || "
        "{\n"
        "read -r word <$base/read; mv $base/target.git $base/aside; }\n"
        "cat $base/commits; exit ;; *' cat-file",
        "\"$git\" \"$@\" | {\n"
        "read -r head; echo \"$head\"; echo >$base/read; cat; }; exit");
    struct outcome outcome =
        land(&(struct attempt){.set = &set, .seen = tip(), .path = path});
    assert_starts(&outcome, "unavailable the repository '");
    sh("mv aside target.git; rm read commits");
    outcome = land(&(struct attempt){.set = &set});
    assert_landed(&outcome);
}

/* Pushes a commit that changes f and has an old date: only the reflog shows
 * that it is newer than the time that is returned. */
static int64_t push_with_an_old_date(void) {
    const struct set first = {.id = "C0", .files = {{"g", "theirs\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &first});
    assert_landed(&outcome);
    sh("cd clone; git pull -q origin main; echo other >f\n"
       "GIT_COMMITTER_DATE='2001-01-01T00:00Z' git commit -q -a -m f\n"
       "git push -q origin main:side; cd ../target.git\n"
       "git repack -q -a -d; git prune-packed");
    int64_t since_ns = clock_wall().ns;
    sh("cd clone; export GIT_COMMITTER_DATE=\"$(($(date +%%s) + 3600)) +0000\""
       "\ngit push -q origin main");
    return since_ns;
}

static void a_branch_that_is_away_for_a_moment_has_a_reflog(void **state) {
    (void)state;
    landing_begin();
    int64_t since_ns = push_with_an_old_date();
    const char *before = tip();
    const char *path = fake_git(
        "rev-parse",
        "case $* in *@{*) mv refs/heads/main $base/aside; \"$git\" \"$@\"; "
        "s=$?; mv $base/aside refs/heads/main; exit $s ;; esac");
    struct outcome outcome = land(
        &(struct attempt){.set = &plain, .since_ns = since_ns, .path = path});
    assert_starts(&outcome, "unavailable the reflog of branch 'main' cannot");
    assert_unmoved(&outcome, before);
    outcome = land(&(struct attempt){.set = &plain, .since_ns = since_ns});
    assert_starts(&outcome, "conflict f (f was changed by commit ");
}

static void without_the_commit_of_the_reflog_dates_decide(void **state) {
    (void)state;
    landing_begin();
    const struct set first = {.id = "C0", .files = {{"g", "theirs\n"}}};
    struct outcome outcome = land(&(struct attempt){.set = &first});
    assert_landed(&outcome);
    const char *gone = tip();
    int64_t since_ns = clock_wall().ns;
    sh("cd clone; git fetch -q; echo n >n; git add n\n"
       "export GIT_COMMITTER_DATE=\"$(($(date +%%s) + 3600)) +0000\"\n"
       "git commit -q -m n; git push -q -f origin main; cd ../target.git\n"
       "rm objects/$(echo %s | sed 's,^..,&/,')",
       gone);
    outcome = land(&(struct attempt){.set = &plain, .since_ns = since_ns});
    assert_starts(&outcome, "done ");
}

static void a_repository_that_replaces_another_gets_no_commit(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    const char *restore = script("restore", "cd $base; cp -r target.git copy\n"
                                            "mv target.git aside\n"
                                            "mv copy target.git");
    struct outcome outcome = land(&(struct attempt){
        .set = &plain,
        .path = fake_git("update-ref", sh("echo \"%s\"", restore))});
    assert_starts(&outcome, "unavailable the repository '");
    assert_unmoved(&outcome, before);
    assert_string_equal(sh("git -C aside rev-parse main"), before);
    sh("rm -rf aside");
}

/* ---- locks -------------------------------------------------------------- */

/* Kills git while it holds its locks, and the landing that waits for it. The
 * landing's note about the locks is removed, as if it had been killed before it
 * wrote the note. */
static void kill_with_locks(void) {
    landing_begin();
    const char *path =
        fake_git("update-ref", "mkfifo $base/end.$$\n"
                               "head -n 3 >$base/lines\n"
                               "{ cat $base/lines; cat $base/end.$$; } | "
                               "\"$git\" \"$@\" &\n"
                               "while ! test -e $base/target.git/HEAD.lock "
                               "|| ! test -s $base/target.git/refs/heads/"
                               "main.lock; do :; done\n"
                               "kill -9 $! $PPID; exit");
    struct outcome outcome =
        land(&(struct attempt){.set = &plain, .path = path});
    assert_int_equal(outcome.signal, SIGKILL);
    assert_string_equal(outcome.line, "");
    assert_string_equal(sh("cd target.git; ls HEAD.lock refs/heads/main.lock"),
                        "HEAD.lock\nrefs/heads/main.lock");
    sh("sed -i '/^lock/d; /^pid/d' $(find . -name 'move.*.main')");
}

static void lands_despite_locks(void) {
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_starts(&outcome, "done ");
    assert_says(&outcome, "removing a lock left by a process that died");
    /* The cat of the wrapper still waits for a writer. */
    sh("for end in end.*; do : <>$end; done; rm -f end.* lines");
    assert_landed(&outcome);
}

static void locks_of_a_killed_git_are_removed(void **state) {
    (void)state;
    kill_with_locks();
    /* HEAD.lock does not show its owner; the other lock does. */
    sh("touch target.git/HEAD.lock");
    lands_despite_locks();
}

/* A running git would soon write to the lock. The landing waits for that, and
 * the attempt is not lost. */
static void an_empty_lock_is_waited_for(void **state) {
    (void)state;
    kill_with_locks();
    sh(": >target.git/refs/heads/main.lock");
    lands_despite_locks();
}

static void a_lock_of_another_process_is_respected(void **state) {
    (void)state;
    landing_begin();
    const char *before = tip();
    sh("touch target.git/refs/heads/main.lock");
    struct outcome outcome = land(&(struct attempt){.set = &plain});
    assert_starts(&outcome, "unavailable ");
    assert_says(&outcome, "main.lock");
    assert_int_equal(outcome.exit_code, 111);
    sh("rm target.git/refs/heads/main.lock");
    assert_unmoved(&outcome, before);
    outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
}

/* git cannot remove its lock, which has moved along with the repository. */
static void
a_lock_in_a_repository_that_was_moved_away_is_removed(void **state) {
    (void)state;
    landing_begin();
    const char *path =
        fake_git("update-ref", "\"$git\" \"$@\" | while read -r line; do\n"
                               "case $line in prepare*) "
                               "mv $base/target.git $base/away;; esac\n"
                               "echo \"$line\"; done; exit");
    struct outcome outcome =
        land(&(struct attempt){.set = &plain, .path = path});
    assert_starts(&outcome, "unavailable ");
    sh("rm -rf target.git; mv away target.git"); /* git makes directories */
    outcome = land(&(struct attempt){.set = &plain});
    assert_landed(&outcome);
}

/* ---- full disks --------------------------------------------------------- */

static void a_file_above_the_size_limit_is_temporary(void **state) {
    (void)state;
    landing_begin();
    char big[70000];
    struct random random;
    random_init(&random, 1);
    for (size_t i = 0; i < sizeof big - 1; i++)
        big[i] = (char)('!' + random_below(&random, 90));
    big[sizeof big - 1] = '\0';
    const char *before = tip();
    const struct set set = {.id = "C1", .files = {{"big", big}}};
    struct outcome outcome =
        land(&(struct attempt){.set = &set, .file_bytes = 2048});
    assert_starts(&outcome, "temporary ");
    assert_unmoved(&outcome, before);
    outcome = land(&(struct attempt){.set = &set});
    assert_landed(&outcome);
}

static void a_full_file_system_is_unavailable(void **state) {
    (void)state;
    landing_begin();
    if (geteuid() != 0)
        test_skip("only root can mount a small file system");
    if (*sh("mkdir -p small; mount -t tmpfs -o size=400k none small "
            "2>/dev/null && echo yes || true") == '\0')
        test_skip("small file systems cannot be mounted here");
    sh("cp -r target.git small/target.git; cd small\n"
       "dd if=/dev/zero of=ballast bs=1k 2>/dev/null || true");
    struct outcome outcome =
        land(&(struct attempt){.set = &plain, .git = "small/target.git"});
    sh("rm small/ballast");
    struct outcome second =
        land(&(struct attempt){.set = &plain, .git = "small/target.git"});
    sh("umount small");
    assert_starts(&outcome, "unavailable ");
    assert_starts(&second, "done ");
}

/* ---- targets that are commands ------------------------------------------ */

static void a_command_gets_the_unpacked_set(void **state) {
    (void)state;
    landing_begin();
    const struct set set = {
        .id = "C1",
        .class = "BF",
        .files = {{"a/b", "b\n"}, {"run", "#!/bin/sh\n", 0755}}};
    struct outcome outcome = land(&(struct attempt){
        .set = &set,
        .command = script("apply", "cat lroot/a/b; test -x lroot/run; "
                                   "head -n 2 meta | tail -n 1; "
                                   "cmp meta \"$POINTSMAN_SET_DIR/meta\" && "
                                   "echo $POINTSMAN_CSID $POINTSMAN_TARGET "
                                   "$POINTSMAN_CLASS")});
    assert_line(&outcome, "done");
    assert_int_equal(outcome.exit_code, 0);
    assert_says(&outcome, "b\nBF\nC1 main BF\n");
    assert_string_equal(sh("ls -A tmp"), "");
}

static void the_exit_status_of_a_command_decides(void **state) {
    (void)state;
    landing_begin();
    static const struct {
        const char *command, *line;
        int exit_code;
    } cases[] = {
        {"sh -c 'exit 75'", "temporary command exited with 75", 111},
        {"sh -c 'exit 111'", "temporary command exited with 111", 111},
        {"sh -c 'exit 100'", "permanent command exited with 100", 100},
        {"sh -c 'exit 3'", "failed exit-3 command exited with 3", 101},
        {"sh -c 'kill -9 $$'", "failed signal-9 command was killed by signal 9",
         101},
        {"/no/such",
         "unavailable cannot run command: cannot start '/no/such': No such "
         "file or directory; install it, or its interpreter, on this machine, "
         "or correct the configuration of the target",
         111},
        {"lroot/none",
         "permanent cannot run command: cannot start 'lroot/none': No such "
         "file or directory",
         100},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct outcome outcome =
            land(&(struct attempt){.set = &plain, .command = cases[i].command});
        assert_line(&outcome, cases[i].line);
        assert_int_equal(outcome.exit_code, cases[i].exit_code);
    }
}

static void the_status_line_of_a_command_wins(void **state) {
    (void)state;
    landing_begin();
    static const struct {
        const char *command, *line;
    } cases[] = {
        {"sh -c 'echo failed >&3; echo done >&3; exit 3'", "done"},
        {"sh -c 'echo conflict a b >&$POINTSMAN_STATUS_FD'", "conflict a b"},
        {"sh -c 'echo temporary database is busy >&3'",
         "temporary database is busy"},
        {"sh -c 'echo failed because >&3'", "failed failed because"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct outcome outcome =
            land(&(struct attempt){.set = &plain, .command = cases[i].command});
        assert_line(&outcome, cases[i].line);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_see_the_merged_tree),
        cmocka_unit_test(checks_see_the_bytes_that_land),
        cmocka_unit_test(checks_can_see_what_a_checkout_writes),
        cmocka_unit_test(checks_run_as_the_targets_user),
        cmocka_unit_test(the_error_names_a_user_who_cannot_enter_the_tree),
        cmocka_unit_test(the_error_names_an_unknown_user),
        cmocka_unit_test(a_command_runs_as_the_targets_user),
        cmocka_unit_test(a_failed_check_keeps_the_branch),
        cmocka_unit_test(a_check_may_fail_temporarily),
        cmocka_unit_test(a_check_that_somebody_kills_may_be_tried_again),
        cmocka_unit_test(a_check_that_crashes_fails),
        cmocka_unit_test(a_check_that_this_machine_lacks_is_no_fault_of_a_set),
        cmocka_unit_test(
            a_check_of_the_tree_that_cannot_run_is_a_fault_of_the_set),
        cmocka_unit_test(a_check_that_times_out_is_killed_with_its_children),
        cmocka_unit_test(processes_left_by_a_check_are_killed),
        cmocka_unit_test(what_gc_removes_during_a_check_is_stored_again),
        cmocka_unit_test(gc_during_a_check_removes_nothing_of_the_sets),
        cmocka_unit_test(a_lost_race_restarts_from_the_new_tip),
        cmocka_unit_test(landing_is_postponed_if_the_branch_keeps_moving),
        cmocka_unit_test(a_race_can_end_in_a_conflict),
        cmocka_unit_test(term_stops_the_landing_and_its_check),
        cmocka_unit_test(hup_to_the_landing_alone_stops_both),
        cmocka_unit_test(a_repository_that_moves_away_leaves_nothing_behind),
        cmocka_unit_test(a_lock_that_moves_away_is_removed),
        cmocka_unit_test(a_lock_that_moves_away_after_a_push_is_removed),
        cmocka_unit_test(a_repository_that_moves_away_is_no_conflict),
        cmocka_unit_test(a_branch_that_is_away_for_a_moment_has_a_reflog),
        cmocka_unit_test(without_the_commit_of_the_reflog_dates_decide),
        cmocka_unit_test(a_repository_that_replaces_another_gets_no_commit),
        cmocka_unit_test(term_after_the_branch_moved_changes_nothing),
        cmocka_unit_test(term_before_the_branch_moves_undoes_everything),
        cmocka_unit_test(locks_of_a_killed_git_are_removed),
        cmocka_unit_test(an_empty_lock_is_waited_for),
        cmocka_unit_test(a_lock_of_another_process_is_respected),
        cmocka_unit_test(a_lock_in_a_repository_that_was_moved_away_is_removed),
        cmocka_unit_test(a_file_above_the_size_limit_is_temporary),
        cmocka_unit_test(a_full_file_system_is_unavailable),
        cmocka_unit_test(a_command_gets_the_unpacked_set),
        cmocka_unit_test(the_exit_status_of_a_command_decides),
        cmocka_unit_test(the_status_line_of_a_command_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
