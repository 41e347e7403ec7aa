/* Commands in a sandbox. This program acts both as `confine` and as the
 * command that runs inside it. */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/confine.h"
#include "os/landlock.h"

static char self[PATH_MAX], inside[PATH_MAX];

/* Runs the command in the directory `inside` and returns its exit status. */
static int confined(const char *const *argv) {
    const char *words[16] = {self, "confine", "--"};
    for (size_t i = 0; argv[i] != NULL; i++)
        words[3 + i] = argv[i];
    fflush(NULL);
    pid_t pid = fork();
    int status = 0;
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 2);
        unsetenv("TMPDIR");
        /* The leak check at exit needs rights that the sandbox removes. */
        if (ADDRESS_SANITIZER)
            setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
        if (chdir(inside) == 0)
            execv(self, (char *const *)(uintptr_t)words);
        _exit(99);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define CONFINED(...) confined((const char *const[]){__VA_ARGS__, NULL})
#define SHELL(text) CONFINED("sh", "-c", text)

static void need_landlock(int abi) {
    if (landlock_abi() < abi)
        test_skip("the kernel lacks this version of Landlock");
}

static void a_confined_command_works_and_returns_its_exit_code(void **state) {
    (void)state;
    need_landlock(1);
    assert_int_equal(SHELL("ls / >/dev/null && exit 7"), 7);
    assert_int_equal(CONFINED("no-such-program-here"), 127);
    assert_int_equal(CONFINED("/"), 126);
}

static void a_confined_command_writes_only_below_its_directory(void **state) {
    (void)state;
    need_landlock(3);
    assert_int_equal(
        SHELL("mkdir -p a/b && echo x >a/b/c && mv a/b/c d && rm -r a"), 0);
    assert_int_equal(SHELL("echo x >../out"), 2);
    assert_int_equal(SHELL("echo x >>../there"), 2);
    assert_int_equal(SHELL("rm ../there"), 1);
    assert_int_equal(SHELL("cat ../there"), 0);
}

static void temporary_files_are_created_in_the_directory(void **state) {
    (void)state;
    need_landlock(1);
    assert_int_equal(SHELL("test \"$TMPDIR\" = \"$PWD\" && mktemp >made"), 0);
}

static void a_confined_command_gets_no_sockets_or_namespaces(void **state) {
    (void)state;
    need_landlock(1);
    assert_int_equal(CONFINED(self, "try", "socket"), 0);
    assert_int_equal(CONFINED(self, "try", "unshare"), 0);
    assert_int_equal(CONFINED(self, "try", "clone"), 0);
    assert_int_equal(CONFINED(self, "try", "rights"), 0);
}

/* Only root could do this, and even root's rights are gone. */
static void
a_confined_command_cannot_make_devices_or_change_owners(void **state) {
    (void)state;
    need_landlock(1);
    if (geteuid() != 0)
        test_skip("only root has rights that can be dropped");
    assert_int_equal(SHELL("mknod disk b 7 0"), 1);
    assert_int_equal(SHELL("mknod null c 1 3"), 1);
    assert_int_equal(SHELL("chown 1 ../there"), 1);
    assert_int_equal(SHELL("chmod 777 ../theirs"), 1);
    assert_int_equal(SHELL("touch -d 2000-01-01 ../theirs"), 1);
    assert_int_equal(SHELL("cat ../theirs"), 0);
}

static void a_confined_command_cannot_signal_processes_outside(void **state) {
    (void)state;
    need_landlock(6);
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    assert_int_equal(CONFINED(self, "try", "kill", pid), 0);
}

/* Runs in the sandbox: 0 if the action is denied. */
static int try_it(const char *what, const char *arg) {
    if (strcmp(what, "socket") == 0)
        return socket(AF_INET, SOCK_DGRAM, 0) >= 0 || errno != EPERM ||
               socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
    if (strcmp(what, "unshare") == 0)
        return unshare(CLONE_NEWUSER) == 0 || errno != EPERM;
    if (strcmp(what, "clone") == 0)
        return syscall(SYS_clone, (long)CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) >=
                   0 ||
               errno != EPERM;
    if (strcmp(what, "rights") == 0)
        return system("grep -q '^NoNewPrivs:.1' /proc/self/status") != 0;
    return kill(atoi(arg), 0) == 0 || errno != EPERM;
}

static int set_up(void **state) {
    (void)state;
    char path[PATH_MAX];
    snprintf(inside, sizeof inside, "%s/inside", test_dir());
    snprintf(path, sizeof path, "%s/there", test_dir());
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    close(fd);
    snprintf(path, sizeof path, "%s/theirs", test_dir());
    int theirs = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    bool given = geteuid() != 0 || fchown(theirs, 1, 1) == 0;
    close(theirs);
    return fd < 0 || theirs < 0 || !given || mkdir(inside, 0755) < 0;
}

int main(int argc, char **argv) {
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
        return 9;
    if (argc > 1 && strcmp(argv[1], "confine") == 0)
        return confine_main(argc - 1, argv + 1);
    if (argc > 2 && strcmp(argv[1], "try") == 0)
        return try_it(argv[2], argc > 3 ? argv[3] : "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_confined_command_works_and_returns_its_exit_code),
        cmocka_unit_test(a_confined_command_writes_only_below_its_directory),
        cmocka_unit_test(temporary_files_are_created_in_the_directory),
        cmocka_unit_test(a_confined_command_gets_no_sockets_or_namespaces),
        cmocka_unit_test(
            a_confined_command_cannot_make_devices_or_change_owners),
        cmocka_unit_test(a_confined_command_cannot_signal_processes_outside),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
