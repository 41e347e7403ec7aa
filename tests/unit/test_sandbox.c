/* The sandbox. Each test enters it in a child process, because it cannot be
 * left again. */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/features.h"
#include "os/sandbox.h"

enum { OK = 0, CANNOT_ENTER = 50 };

/* Runs `inside` in a sandboxed child and returns its exit status. */
static int in_sandbox(const struct sandbox *sandbox, int (*inside)(void)) {
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct err err;
        if (!sandbox_enter(sandbox, NULL, &err))
            _exit(CANNOT_ENTER);
        _exit(inside());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void need(enum sandbox_part part) {
    struct sandbox_report report;
    sandbox_probe(&report);
    if ((report.in_force & part) == 0)
        test_skip(report.text);
}

static int does_allowed_operations(void) {
    char *memory = malloc(1 << 20);
    if (memory == NULL)
        return 1;
    memset(memory, 'x', 1 << 20);
    free(memory);
    int fd = dup(1);
    return fd < 0 ? 2 : close(fd) < 0 ? 3 : OK;
}

static void allowed_operations_still_work_in_the_sandbox(void **state) {
    (void)state;
    struct sandbox sandbox = {.cpu_s = 60};
    assert_int_equal(in_sandbox(&sandbox, does_allowed_operations), OK);
}

static int opens_files(void) {
    int fd = open("/etc/passwd", O_RDONLY);
    return fd < 0 ? OK : 1;
}

static void no_file_can_be_opened(void **state) {
    (void)state;
    need(SANDBOX_SECCOMP);
    struct sandbox sandbox = {0};
    assert_int_equal(in_sandbox(&sandbox, opens_files), OK);
}

static int does_forbidden_operations(void) {
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
        return 1;
    if (fork() >= 0)
        return 2;
    char *const argv[] = {NULL};
    execve("/bin/true", argv, argv);
    if (errno != EPERM)
        return 3;
    void *page =
        mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0)
        return 4;
    return mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0 ? OK : 5;
}

static void no_socket_process_or_program_can_be_created(void **state) {
    (void)state;
    need(SANDBOX_SECCOMP);
    struct sandbox sandbox = {0};
    assert_int_equal(in_sandbox(&sandbox, does_forbidden_operations), OK);
}

static char inside_path[4096], outside_path[4096];

static int reads_only_what_is_given(void) {
    int fd = open(inside_path, O_RDONLY);
    if (fd < 0)
        return 1;
    if (open(inside_path, O_RDWR) >= 0)
        return 2;
    return open(outside_path, O_RDONLY) >= 0 ? 3 : OK;
}

static void touch(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    close(fd);
}

static void landlock_allows_reading_only_the_given_directories(void **state) {
    (void)state;
    need(SANDBOX_LANDLOCK);
    char dir[2048];
    snprintf(dir, sizeof dir, "%s/given", test_dir());
    assert_int_equal(mkdir(dir, 0755), 0);
    snprintf(inside_path, sizeof inside_path, "%s/file", dir);
    snprintf(outside_path, sizeof outside_path, "%s/other", test_dir());
    touch(inside_path);
    touch(outside_path);
    const char *const readable[] = {dir, NULL};
    struct sandbox sandbox = {.readable = readable, .file_bytes = 1 << 20};
    assert_int_equal(in_sandbox(&sandbox, reads_only_what_is_given), OK);
}

static int allocates_too_much(void) {
    return mmap(NULL, (size_t)4 << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0) == MAP_FAILED
               ? OK
               : 1;
}

static void memory_is_limited(void **state) {
    (void)state;
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
#if defined __SANITIZE_ADDRESS__
    test_skip("the address sanitizer maps more memory than the limit");
#endif
    struct sandbox sandbox = {.memory_bytes = (uint64_t)1 << 30};
    assert_int_equal(in_sandbox(&sandbox, allocates_too_much), OK);
}

static int file_fd;

static int writes_a_file(void) {
    signal(SIGXFSZ, SIG_IGN);
    return write(file_fd, "x", 1) < 0 && errno == EFBIG ? OK : 1;
}

static void files_cannot_grow(void **state) {
    (void)state;
    char path[2048];
    snprintf(path, sizeof path, "%s/grows", test_dir());
    file_fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    struct sandbox sandbox = {.file_bytes = 0};
    assert_int_equal(in_sandbox(&sandbox, writes_a_file), OK);
    close(file_fd);
}

static int burns_time(void) {
    for (volatile unsigned long i = 1; i != 0; i++)
        continue;
    return 1;
}

static void cpu_time_is_limited(void **state) {
    (void)state;
    struct sandbox sandbox = {.cpu_s = 1};
    int status = in_sandbox(&sandbox, burns_time);
    assert_true(status == 128 + SIGXCPU || status == 128 + SIGKILL);
}

static void the_report_names_every_part(void **state) {
    (void)state;
    struct sandbox_report report;
    sandbox_probe(&report);
    assert_non_null(strstr(report.text, "no-new-privs, "));
    assert_non_null(strstr(report.text, "landlock"));
    assert_non_null(strstr(report.text, "seccomp"));
    assert_non_null(strstr(report.text, "limits"));
}

static void each_feature_has_a_description(void **state) {
    (void)state;
    struct feature features[FEATURES_MAX];
    size_t count = features_probe("", features);
    assert_true(count >= 8 && count <= FEATURES_MAX);
    for (size_t i = 0; i < count; i++) {
        assert_true(strlen(features[i].name) > 2);
        size_t length = strlen(features[i].meaning);
        assert_true(length > 10 && features[i].meaning[length - 1] == '.');
    }
    assert_string_equal(features[1].name, "cgroup-v2");
    assert_false(features[1].present);
    assert_true(features[1].needed);
    assert_string_equal(features[2].name, "cgroup-limits");
    assert_false(features[2].needed);
    assert_string_equal(features[1].detail, "switched off");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allowed_operations_still_work_in_the_sandbox),
        cmocka_unit_test(no_file_can_be_opened),
        cmocka_unit_test(no_socket_process_or_program_can_be_created),
        cmocka_unit_test(landlock_allows_reading_only_the_given_directories),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(files_cannot_grow),
        cmocka_unit_test(cpu_time_is_limited),
        cmocka_unit_test(the_report_names_every_part),
        cmocka_unit_test(each_feature_has_a_description),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
