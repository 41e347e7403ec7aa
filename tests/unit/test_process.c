#include "support/test.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
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

struct relative {
    pid_t pid;
    int end; /* closing it ends the process */
};

static void wait_for_end(int fd) {
    char byte;
    while (read(fd, &byte, 1) > 0)
        continue;
    _exit(0);
}

/* A grandchild. Its parent exits at once if it is an orphan, else with it. */
static struct relative grandchild(bool orphan, pid_t *ret_child) {
    int told[2], end[2];
    struct relative it;
    assert_int_equal(pipe(told), 0);
    assert_int_equal(pipe(end), 0);
    pid_t child = fork();
    if (child == 0) {
        close(end[1]);
        pid_t pid = fork();
        if (pid == 0)
            wait_for_end(end[0]);
        (void)!write(told[1], &pid, sizeof(pid));
        if (orphan)
            _exit(0);
        wait_for_end(end[0]);
    }
    close(end[0]);
    close(told[1]);
    assert_int_equal(read(told[0], &it.pid, sizeof(it.pid)), sizeof(it.pid));
    close(told[0]);
    if (orphan)
        assert_int_equal(waitpid(child, NULL, 0), child);
    it.end = end[1];
    *ret_child = child;
    return it;
}

static void a_grandchild_descends_through_the_child(void **state) {
    (void)state;
    pid_t child, through = 0;
    struct relative it = grandchild(false, &child);
    assert_int_equal(process_descent(it.pid, getpid(), &through),
                     PROCESS_DESCENDANT);
    assert_int_equal(through, child);
    assert_int_equal(process_descent(it.pid, child, &through),
                     PROCESS_DESCENDANT);
    assert_int_equal(through, it.pid);
    assert_int_equal(process_descent(getpid(), child, &through),
                     PROCESS_UNRELATED);
    assert_int_equal(process_descent(child, it.pid, &through),
                     PROCESS_UNRELATED);
    close(it.end);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void an_orphan_descends_from_the_process_that_adopted_it(void **state) {
    (void)state;
    pid_t child, through = 0;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1L), 0);
    struct relative it = grandchild(true, &child);
    assert_int_equal(process_descent(it.pid, getpid(), &through),
                     PROCESS_DESCENDANT);
    assert_int_equal(through, it.pid);
    close(it.end);
    assert_int_equal(waitpid(it.pid, NULL, 0), it.pid);
    prctl(PR_SET_CHILD_SUBREAPER, 0L);
}

static void a_process_that_has_ended_descends_from_nobody(void **state) {
    (void)state;
    pid_t through, pid = fork();
    if (pid == 0)
        _exit(0);
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(process_has_ended(pidfd));
    assert_int_equal(process_descent(pid, getpid(), &through),
                     PROCESS_UNREADABLE);
    assert_int_equal(process_descent(0, getpid(), &through),
                     PROCESS_UNREADABLE);
    close(pidfd);
    pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    assert_false(process_has_ended(pidfd));
    close(pidfd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_current_process_is_alive),
        cmocka_unit_test(a_zombie_is_not_alive),
        cmocka_unit_test(a_grandchild_descends_through_the_child),
        cmocka_unit_test(an_orphan_descends_from_the_process_that_adopted_it),
        cmocka_unit_test(a_process_that_has_ended_descends_from_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
