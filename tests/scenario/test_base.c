#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serve/tables.h"
#include "support/spool.h"

static char *path_of(const char *format, ...) PRINTF_LIKE(1, 2);
static struct text paths[8];
static char *path_of(const char *format, ...) {
    static unsigned at;
    struct text *text = &paths[at++ % 8];
    va_list args;
    va_start(args, format);
    text_reset(text);
    text_addf(text, "%s/", test_dir());
    text_addv(text, format, args);
    va_end(args);
    return text->p;
}

static char *copy_of(const char *name) {
    return mem_string(path_of("%s", name));
}

static int free_paths(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(paths); i++)
        text_clear(&paths[i]);
    return 0;
}

static bool init(const char *path, struct err *err) {
    return base_init(&(struct base_init){.path = path, .roles = serve_roles},
                     err);
}

static void assert_opens(const char *path) {
    struct err err = {0};
    struct base *base;
    if (!base_open(path, &(struct base_open){0}, &base, &err))
        fail_msg("%s", err.text);
    base_close(base);
}

static void assert_refuses(const char *path, enum err_kind kind,
                           const char *words) {
    struct err err = {0};
    struct base *base;
    if (base_open(path, &(struct base_open){0}, &base, &err)) {
        base_close(base);
        fail_msg("the base was opened; expected '%s'", words);
    }
    if (err.kind != kind || !strstr(err.text, words))
        fail_msg("error '%s', expected '%s'", err.text, words);
}

static void init_creates_a_complete_base(void **state) {
    CLEANUP(text_free_string) char *path = copy_of("deep/er/one");
    struct err err = {0};
    struct stat st;
    (void)state;
    assert_true(init(path, &err));
    static const char *const fifos[] = {
        "prequeue_fifo", "queue_fifo", "exec_fifo", "clock_fifo", "nodes_fifo"};
    for (size_t i = 0; i < COUNT(fifos); i++) {
        assert_int_equal(stat(path_of("deep/er/one/ctrl/%s", fifos[i]), &st),
                         0);
        assert_true(S_ISFIFO(st.st_mode));
        assert_int_equal(st.st_mode & 0777, 0622);
    }
    for (int dir = 0; dir < BASE_DIRS; dir++)
        assert_int_equal(
            stat(path_of("deep/er/one/%s", base_dir_name(dir)), &st), 0);
    assert_opens(path);
    assert_true(base_exists(path));
}

static void init_refuses_an_existing_base(void **state) {
    CLEANUP(text_free_string) char *path = copy_of("two");
    struct err err = {0};
    (void)state;
    assert_true(init(path, &err));
    assert_false(init(path, &err));
    assert_int_equal(err.kind, ERR_REFUSED);
    assert_opens(path);
}

static void init_completes_an_interrupted_init(void **state) {
    CLEANUP(text_free_string) char *path = copy_of("half");
    struct err err = {0};
    (void)state;
    assert_true(init(path, &err));
    assert_int_equal(unlink(path_of("half/pointsman.conf")), 0);
    assert_int_equal(unlink(path_of("half/ctrl/exec_fifo")), 0);
    assert_refuses(path, ERR_CONFIG, "is not a base");
    assert_true(init(path, &err));
    assert_opens(path);
}

static void init_does_not_replace_a_lost_registry(void **state) {
    CLEANUP(text_free_string) char *path = copy_of("orphan");
    struct err err = {0};
    (void)state;
    assert_true(init(path, &err));
    assert_int_equal(unlink(path_of("orphan/pointsman.conf")), 0);
    assert_int_equal(unlink(path_of("orphan/ctrl/registry.db")), 0);
    close(open(path_of("orphan/pending/x"), O_CREAT | O_WRONLY, 0600));
    assert_false(init(path, &err));
    assert_int_equal(err.kind, ERR_REFUSED);
    assert_non_null(strstr(err.text, "fsck --rebuild"));
}

static void a_lost_registry_is_not_recreated_silently(void **state) {
    CLEANUP(text_free_string) char *path = copy_of("lost");
    struct err err = {0};
    (void)state;
    assert_true(init(path, &err));
    close(open(path_of("lost/log/C1"), O_CREAT | O_WRONLY, 0600));
    assert_int_equal(unlink(path_of("lost/ctrl/registry.db")), 0);
    assert_refuses(path, ERR_CONFIG, "registry");
}

static void targets_are_relative_to_the_caller(void **state) {
    CLEANUP(text_free_string) char *path = copy_of("aimed");
    struct err err = {0};
    struct base *base;
    struct base_target target;
    (void)state;
    assert_int_equal(mkdir(path_of("repo.git"), 0700), 0);
    CLEANUP(fd_close) int old = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(chdir(test_dir()), 0);
    assert_true(base_target_parse("main=repo.git#trunk", &target, &err));
    struct base_init how = {
        .path = path, .targets = &target, .target_count = 1};
    bool ok = base_init(&how, &err);
    assert_int_equal(fchdir(old), 0);
    if (!ok)
        fail_msg("%s", err.text);
    assert_true(base_open(path, &(struct base_open){0}, &base, &err));
    const struct config_target *found =
        config_target(&base->config, SPAN("main"));
    assert_non_null(found);
    assert_true(span_is(found->branch, "trunk"));
    assert_true(span_ends(found->git, "/repo.git"));
    assert_int_equal(found->git.p[0], '/');
    base_close(base);
    CLEANUP(text_clear) struct text conf = TEXT_INIT;
    CLEANUP(fd_close) int fd = open(path_of("aimed/pointsman.conf"), O_RDONLY);
    assert_true(dir_read_file(fd, 1 << 20, &conf, &err));
    static const char *const keys[] = {
        "\ngit = ",      "\nbranch = trunk", "\nblind = ",  "\nlanes = ",
        "\nsymlinks = ", "\ncommitter = ",   "\ntimeout = "};
    for (size_t i = 0; i < COUNT(keys); i++)
        if (!strstr(conf.p, keys[i]))
            fail_msg("'%s' is not in:\n%s", keys[i], conf.p);
    assert_non_null(strstr(conf.p, "# concurrency = 4"));
}

static void a_target_needs_a_name_and_a_directory(void **state) {
    static const char *const bad[] = {"", "x", "=x", "x=", "x=#b", "x=y#"};
    struct base_target target;
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_false(base_target_parse(bad[i], &target, &err));
        assert_int_equal(err.kind, ERR_USAGE);
    }
    assert_true(base_target_parse("a=b#c/d", &target, &err));
    assert_true(span_is(target.branch, "c/d"));
}

static void opening_a_base_checks_its_directories(void **state) {
    CLEANUP(text_free_string) char *path = copy_of("strict");
    struct err err = {0};
    (void)state;
    assert_true(init(path, &err));
    assert_int_equal(chmod(path_of("strict/queue"), 0777), 0);
    assert_refuses(path, ERR_REFUSED, "everybody");
    assert_int_equal(chmod(path_of("strict/queue"), 0700), 0);
    assert_int_equal(chmod(path_of("strict/prequeue"), 0777), 0);
    assert_refuses(path, ERR_REFUSED, "1733");
    assert_int_equal(chmod(path_of("strict/prequeue"), 01733), 0);
    assert_opens(path);
    assert_int_equal(rmdir(path_of("strict/term")), 0);
    assert_refuses(path, ERR_CONFIG, "term");
    assert_int_equal(mkdir(path_of("strict/term"), 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path_of("strict/run"), 12345, -1), 0);
        assert_refuses(path, ERR_REFUSED, "belongs to user 12345");
    }
}

static void a_symbolic_link_to_a_directory_is_refused(void **state) {
    CLEANUP(text_free_string) char *path = copy_of("linked");
    struct err err = {0};
    (void)state;
    assert_true(init(path, &err));
    assert_int_equal(rename(path_of("linked/done"), path_of("elsewhere")), 0);
    assert_int_equal(symlink("../elsewhere", path_of("linked/done")), 0);
    assert_refuses(path, ERR_CANNOT, "done");
}

static void a_configuration_error_names_file_and_line(void **state) {
    CLEANUP(text_free_string) char *path = copy_of("conf");
    struct err err = {0};
    struct base *base;
    (void)state;
    assert_true(init(path, &err));
    assert_int_equal(mkdir(path_of("conf/conf.d"), 0700), 0);
    CLEANUP(fd_close)
    int fd = open(path_of("conf/conf.d/10-x.conf"), O_CREAT | O_WRONLY, 0600);
    assert_true(dir_write_file(fd, SPAN("[queue]\nconcurency = 3\n"), &err));
    assert_refuses(path, ERR_CONFIG, "conf.d/10-x.conf:2");
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_true(dir_write_file(fd, SPAN("[queue]\nconcurrency = 3\n"), &err));
    assert_true(base_open(path, &(struct base_open){0}, &base, &err));
    assert_int_equal(base->config.queue.concurrency, 3);
    assert_true(dir_write_file(fd, SPAN("nonsense\n"), &err));
    assert_false(base_reload(base, &err));
    assert_int_equal(base->config.queue.concurrency, 3);
    base_close(base);
}

static void an_exclusively_opened_base_is_refused(void **state) {
    CLEANUP(text_free_string) char *path = copy_of("alone");
    struct err err = {0};
    struct base *one;
    (void)state;
    assert_true(init(path, &err));
    assert_true(
        base_open(path, &(struct base_open){.exclusive = true}, &one, &err));
    assert_refuses(path, ERR_RUNNING, "rebuilt");
    base_close(one);
    assert_true(base_open(path, &(struct base_open){0}, &one, &err));
    struct base *two;
    assert_false(
        base_open(path, &(struct base_open){.exclusive = true}, &two, &err));
    assert_int_equal(err.kind, ERR_RUNNING);
    assert_opens(path);
    base_close(one);
}

static void another_user_is_denied(void **state) {
    CLEANUP(text_free_string) char *path = copy_of("private");
    struct err err = {0};
    (void)state;
    if (geteuid() != 0)
        test_skip("only root can become another user");
    assert_true(init(path, &err));
    pid_t child = fork();
    if (child == 0) {
        struct base *base;
        if (setresuid(54321, 54321, 54321) < 0)
            _exit(2);
        bool ok = base_open(path, &(struct base_open){0}, &base, &err);
        _exit(!ok && err.kind == ERR_DENIED ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_role_has_one_process(void **state) {
    CLEANUP(text_free_string) char *path = copy_of("role");
    struct err err = {0};
    struct base *base;
    int one = -1, two = -1;
    (void)state;
    assert_true(init(path, &err));
    assert_true(base_open(path, &(struct base_open){0}, &base, &err));
    assert_true(base_take_role(base, "queue", LOCK_PID_KEEP, &one, &err));
    assert_false(base_take_role(base, "queue", LOCK_PID_KEEP, &two, &err));
    assert_int_equal(err.kind, ERR_RUNNING);
    base_give_role(base, "queue", &one);
    assert_true(base_take_role(base, "queue", LOCK_PID_KEEP, &two, &err));
    base_give_role(base, "queue", &two);
    base_close(base);
}

static void the_base_is_searched_in_the_documented_order(void **state) {
    char *found = NULL;
    struct err err = {0};
    (void)state;
    CLEANUP(fd_close) int old = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(mkdir(path_of("tree"), 0700), 0);
    assert_int_equal(mkdir(path_of("tree/.pointsman"), 0700), 0);
    assert_int_equal(mkdir(path_of("tree/a"), 0700), 0);
    assert_int_equal(chdir(path_of("tree/a")), 0);
    setenv("POINTSMAN_BASE", "/from/environment/", 1);
    assert_true(base_find("/said", &found, &err));
    assert_string_equal(found, "/said");
    free(found);
    assert_true(base_find(NULL, &found, &err));
    assert_string_equal(found, "/from/environment");
    free(found);
    unsetenv("POINTSMAN_BASE");
    assert_true(base_find(NULL, &found, &err));
    assert_non_null(strstr(found, "/tree/.pointsman"));
    free(found);
    if (geteuid() == 0) {
        assert_int_equal(chown(path_of("tree/.pointsman"), 12345, -1), 0);
        assert_false(base_find(NULL, &found, &err));
        assert_int_equal(err.kind, ERR_DENIED);
    }
    assert_int_equal(rmdir(path_of("tree/.pointsman")), 0);
    setenv("XDG_STATE_HOME", "/state", 1);
    assert_true(base_find(NULL, &found, &err));
    assert_string_equal(found,
                        base_exists("/var/lib/pointsman") && geteuid() == 0
                            ? "/var/lib/pointsman"
                            : "/state/pointsman");
    free(found);
    assert_int_equal(fchdir(old), 0);
}

/* ---- shared with others -------------------------------------------------- */

enum { GROUP = 54321 };

static mode_t mode_of(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static bool init_for_group(const char *path, struct err *err) {
    return base_init(&(struct base_init){.path = path,
                                         .group = "54321",
                                         .roles = serve_roles},
                     err);
}

static void only_the_owner_reaches_the_files(void **state) {
    CLEANUP(text_free_string) char *path = copy_of("shared");
    static const char *const files[] = {"pointsman.conf", "ctrl/registry.db",
                                        "ctrl/base.lock", "ctrl/instance"};
    struct err err = {0};
    struct stat st;
    (void)state;
    if (geteuid() != 0)
        test_skip("only root gives directories to any group");
    if (!init_for_group(path, &err))
        fail_msg("%s", err.text);
    assert_int_equal(mode_of(path), 0711);
    for (int dir = 0; dir < BASE_DIRS; dir++) {
        mode_t mode = base_dir_takes_files(dir) ? 01730
                      : dir == BASE_CTRL        ? 0711
                                                : 0700;
        assert_int_equal(mode_of(path_of("shared/%s", base_dir_name(dir))),
                         mode);
    }
    assert_int_equal(stat(path_of("shared/prequeue"), &st), 0);
    assert_int_equal(st.st_gid, GROUP);
    for (size_t i = 0; i < COUNT(files); i++)
        assert_int_equal(mode_of(path_of("shared/%s", files[i])) & 0177, 0);
}

static void config_add(const char *file, const char *text) {
    struct err err = {0};
    CLEANUP(fd_close) int fd = open(file, O_WRONLY | O_APPEND);
    assert_true(dir_write_file(fd, span_of(text), &err));
}

static unsigned faults;
static void count_fault(void *ctx, const char *sentence) {
    (void)ctx, (void)sentence;
    faults++;
}

static void modes_follow_the_configuration(void **state) {
    CLEANUP(text_free_string) char *path = copy_of("modes");
    struct err err = {0};
    struct base *base;
    (void)state;
    assert_true(init(path, &err));
    assert_opens(path);
    assert_int_equal(mode_of(path_of("modes/prequeue")), 0700);
    config_add(path_of("modes/pointsman.conf"),
               "[access]\nviewer = *\nsubmitter = 12, 13\n");
    assert_int_equal(chmod(path_of("modes/done"), 0755), 0);
    assert_int_equal(chmod(path_of("modes/ctrl/base.lock"), 0644), 0);
    assert_true(
        base_open(path, &(struct base_open){.read_only = true}, &base, &err));
    faults = 0;
    assert_true(base_modes_check(base, count_fault, NULL, &err));
    assert_int_equal(faults, 2);
    base_close(base);
    assert_opens(path);
    assert_int_equal(mode_of(path_of("modes/prequeue")), 01733);
    assert_int_equal(mode_of(path_of("modes/done")), 0700);
    assert_int_equal(mode_of(path_of("modes/ctrl/base.lock")), 0600);
}

static void a_group_that_shared_the_files_becomes_submitter(void **state) {
    CLEANUP(text_free_string) char *path = copy_of("migrated");
    struct err err = {0};
    struct base *base;
    (void)state;
    if (geteuid() != 0)
        test_skip("only root gives directories to any group");
    assert_true(init(path, &err));
    assert_int_equal(chown(path, -1, GROUP), 0);
    assert_int_equal(chmod(path, 02770), 0);
    for (int dir = 0; dir < BASE_DIRS; dir++)
        assert_int_equal(
            chmod(path_of("migrated/%s", base_dir_name(dir)), 02770), 0);
    for (int i = 0; i < 2; i++) { /* the second time finds nothing to do */
        if (!base_open(path, &(struct base_open){0}, &base, &err))
            fail_msg("%s", err.text);
        assert_true(span_is(base->config.access.submitter, "@54321"));
        assert_int_equal(base->access.grant_count, 1);
        base_close(base);
        assert_int_equal(mode_of(path), 0711);
        assert_int_equal(mode_of(path_of("migrated/queue")), 0700);
        assert_int_equal(mode_of(path_of("migrated/data")), 01730);
    }
}

static void a_role_for_an_unknown_name_is_remembered(void **state) {
    CLEANUP(text_free_string) char *path = copy_of("unknown");
    struct err err = {0};
    struct base *base;
    (void)state;
    assert_true(init(path, &err));
    config_add(path_of("unknown/pointsman.conf"),
               "[access]\noperator = 4711, @no-such-group\n");
    assert_true(base_open(path, &(struct base_open){0}, &base, &err));
    assert_true(span_is(base->unknown, "@no-such-group"));
    assert_true(base_has_role(base, 4711, ACCESS_OPERATOR));
    assert_false(base_has_role(base, 4711, ACCESS_ADMIN));
    assert_false(base_has_role(base, 4712, ACCESS_VIEWER));
    base_close(base);
    config_add(path_of("unknown/pointsman.conf"), "admin = a b\n");
    assert_refuses(path, ERR_CONFIG, "'a b' is not an account");
}

int main(int argc, char **argv) {
    SPOOL_MAIN(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(init_creates_a_complete_base),
        cmocka_unit_test(init_refuses_an_existing_base),
        cmocka_unit_test(init_completes_an_interrupted_init),
        cmocka_unit_test(init_does_not_replace_a_lost_registry),
        cmocka_unit_test(a_lost_registry_is_not_recreated_silently),
        cmocka_unit_test(targets_are_relative_to_the_caller),
        cmocka_unit_test(a_target_needs_a_name_and_a_directory),
        cmocka_unit_test(opening_a_base_checks_its_directories),
        cmocka_unit_test(a_symbolic_link_to_a_directory_is_refused),
        cmocka_unit_test(a_configuration_error_names_file_and_line),
        cmocka_unit_test(an_exclusively_opened_base_is_refused),
        cmocka_unit_test(another_user_is_denied),
        cmocka_unit_test(only_the_owner_reaches_the_files),
        cmocka_unit_test(modes_follow_the_configuration),
        cmocka_unit_test(a_group_that_shared_the_files_becomes_submitter),
        cmocka_unit_test(a_role_for_an_unknown_name_is_remembered),
        cmocka_unit_test(a_role_has_one_process),
        cmocka_unit_test(the_base_is_searched_in_the_documented_order),
    };
    return cmocka_run_group_tests(tests, NULL, free_paths);
}
