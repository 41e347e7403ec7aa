#include "support/test.h"

#include <sys/wait.h>
#include <unistd.h>

#include "os/process.h"

static void the_current_process_is_alive(void **state) {
    (void)state;
    unsigned long long start = process_start(getpid());
    assert_true(start != 0);
    assert_true(process_lives(getpid(), start));
    assert_false(process_lives(getpid(), start + 1));
    assert_false(process_lives(getpid(), 0));
}

static void a_zombie_is_not_alive(void **state) {
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    unsigned long long start = process_start(pid);
    assert_true(start != 0);
    assert_false(process_lives(pid, start));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(process_lives(pid, start));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_current_process_is_alive),
        cmocka_unit_test(a_zombie_is_not_alive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
