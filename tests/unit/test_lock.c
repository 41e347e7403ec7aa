#include "os/lock.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/attr.h"
#include "os/fd.h"
#include "os/fifo.h"
#include "os/sock.h"
#include "support/test.h"

static int dir;

static int set_up(void **state) {
    (void)state;
    dir = open(test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir < 0;
}

static void make(const char *name) {
    CLEANUP(fd_close) int fd = openat(dir, name, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
}

static void a_lock_held_by_another_is_not_taken(void **state) {
    CLEANUP(fd_close) int one = -1;
    CLEANUP(fd_close) int two = -1;
    bool held;
    (void)state;
    make("l1");
    assert_true(lock_take(dir, "l1", LOCK_EXCLUSIVE, false, false, &one, NULL));
    assert_true(one >= 0);
    assert_true(lock_take(dir, "l1", LOCK_SHARED, false, false, &two, NULL));
    assert_int_equal(two, -1);
    assert_true(lock_is_held(dir, "l1", &held, NULL));
    assert_true(held);
    fd_close(&one);
    assert_true(lock_is_held(dir, "l1", &held, NULL));
    assert_false(held);
}

static void a_missing_file_is_locked_only_if_it_may_be_created(void **state) {
    CLEANUP(fd_close) int fd = -1;
    bool held;
    (void)state;
    assert_true(lock_take(dir, "l2", LOCK_SHARED, false, false, &fd, NULL));
    assert_int_equal(fd, -1);
    assert_true(lock_is_held(dir, "l2", &held, NULL));
    assert_false(held);
    assert_true(lock_take(dir, "l2", LOCK_SHARED, true, false, &fd, NULL));
    assert_true(fd >= 0);
}

static void a_lock_follows_the_name_not_the_old_inode(void **state) {
    CLEANUP(fd_close) int old = -1;
    CLEANUP(fd_close) int new = -1;
    (void)state;
    make("l3");
    assert_true(lock_take(dir, "l3", LOCK_EXCLUSIVE, false, false, &old, NULL));
    make("l3.new");
    assert_int_equal(renameat(dir, "l3.new", dir, "l3"), 0);
    assert_true(lock_take(dir, "l3", LOCK_EXCLUSIVE, false, false, &new, NULL));
    assert_true(new >= 0);
}

/* A waiter that gets the lock of a file that has been renamed tries again. */
static void a_waiter_does_not_lock_a_renamed_file(void **state) {
    CLEANUP(fd_close) int held = -1;
    int ready[2];
    (void)state;
    make("l4");
    assert_true(
        lock_take(dir, "l4", LOCK_EXCLUSIVE, false, false, &held, NULL));
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = -1;
        fd_close(&held);
        (void)!write(ready[1], "", 1);
        bool ok = lock_take(dir, "l4", LOCK_EXCLUSIVE, false, true, &fd, NULL);
        _exit(ok && fd == -1 ? 0 : 1);
    }
    char byte;
    int status;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(renameat(dir, "l4", dir, "l4.done"), 0);
    fd_close(&held);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(ready[0]);
    close(ready[1]);
}

static void a_role_has_one_holder_whose_pid_is_known(void **state) {
    int one = -1, two = -1;
    pid_t pid;
    struct err err = {0};
    (void)state;
    make("r.pid"); /* stale: no process holds it */
    assert_true(lock_pid_file_holder(dir, "r.pid", &pid, NULL));
    assert_int_equal(pid, 0);
    assert_true(lock_take_pid_file(dir, "r.pid", LOCK_PID_KEEP, &one, &err));
    assert_false(lock_take_pid_file(dir, "r.pid", LOCK_PID_KEEP, &two, &err));
    assert_int_equal(err.kind, ERR_RUNNING);
    assert_true(lock_pid_file_holder(dir, "r.pid", &pid, NULL));
    assert_int_equal(pid, getpid());
    lock_give_pid_file(dir, "r.pid", &one);
    assert_int_equal(faccessat(dir, "r.pid", F_OK, 0), -1);
    assert_true(lock_take_pid_file(dir, "r.pid", LOCK_PID_KEEP, &two, &err));
    lock_give_pid_file(dir, "r.pid", &two);
}

/* Takes the pid file in a child, which exits with 0 if it gets it. *ret_log:
 * what the child says meanwhile. */
static pid_t take_in_child(enum lock_pid_file how, int *ret_log) {
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = -1;
        dup2(ends[1], STDERR_FILENO);
        bool ok = lock_take_pid_file(dir, "lent.pid", how, &fd, NULL);
        _exit(ok && fd >= 0 ? 0 : 1);
    }
    close(ends[1]);
    *ret_log = ends[0];
    return child;
}

static int exit_of(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_borrowed_role_is_awaited_and_a_kept_one_is_not(void **state) {
    CLEANUP(fd_close) int log = -1;
    CLEANUP(fd_close) int fd = -1;
    struct err err = {0};
    pid_t pid;
    char byte;
    (void)state;
    assert_true(
        lock_take_pid_file(dir, "lent.pid", LOCK_PID_BORROW, &fd, &err));
    assert_true(lock_pid_file_holder(dir, "lent.pid", &pid, NULL));
    assert_int_equal(pid, getpid());
    int refused = -1;
    assert_false(
        lock_take_pid_file(dir, "lent.pid", LOCK_PID_KEEP, &refused, &err));
    assert_int_equal(err.kind, ERR_RUNNING);
    assert_false(
        lock_take_pid_file(dir, "lent.pid", LOCK_PID_BORROW, &refused, &err));
    pid_t waiter = take_in_child(LOCK_PID_KEEP_LATER, &log);
    assert_int_equal(read(log, &byte, 1), 1); /* it says that it waits */
    lock_give_pid_file(dir, "lent.pid", &fd);
    assert_int_equal(exit_of(waiter), 0);
    fd_close(&log);
    assert_true(lock_take_pid_file(dir, "lent.pid", LOCK_PID_KEEP, &fd, &err));
    assert_int_equal(exit_of(take_in_child(LOCK_PID_KEEP_LATER, &log)), 1);
    lock_give_pid_file(dir, "lent.pid", &fd);
}

static atomic_bool stop_reader;

static void *read_repeatedly(void *ctx) {
    bool held;
    (void)ctx;
    while (!stop_reader)
        (void)lock_is_held(dir, "read.pid", &held, NULL);
    return NULL;
}

static void reading_a_pid_file_does_not_block_its_owner(void **state) {
    pthread_t reader;
    struct err err = {0};
    (void)state;
    make("read.pid");
    assert_int_equal(pthread_create(&reader, NULL, read_repeatedly, NULL), 0);
    for (int i = 0; i < 200; i++) {
        int fd = -1;
        if (!lock_take_pid_file(dir, "read.pid", LOCK_PID_KEEP, &fd, &err))
            fail_msg("%s", err.text);
        assert_int_equal(ftruncate(fd, 0), 0);
        fd_close(&fd);
    }
    stop_reader = true;
    pthread_join(reader, NULL);
}

static void
a_trigger_is_received_once_and_harmless_without_a_reader(void **state) {
    CLEANUP(fd_close) int fd = -1;
    (void)state;
    fifo_trigger(dir, "f");
    assert_int_equal(mkfifoat(dir, "f", 0600), 0);
    fifo_trigger(dir, "f");
    assert_true(fifo_open(dir, "f", &fd, NULL));
    assert_false(fifo_drain(fd));
    fifo_trigger(dir, "f");
    fifo_trigger(dir, "f");
    assert_true(fifo_drain(fd));
    assert_false(fifo_drain(fd));
    for (int i = 0; i < 100000; i++) /* more than a pipe holds */
        fifo_trigger(dir, "f");
    assert_true(fifo_drain(fd));
    assert_false(fifo_drain(fd));
}

static void a_regular_file_in_place_of_a_fifo_is_not_written(void **state) {
    int fd;
    struct stat st;
    (void)state;
    make("notfifo");
    fifo_trigger(dir, "notfifo");
    assert_false(fifo_open(dir, "notfifo", &fd, NULL));
    assert_int_equal(fstatat(dir, "notfifo", &st, 0), 0);
    assert_int_equal(st.st_size, 0);
}

static void a_socket_may_have_a_long_path(void **state) {
    CLEANUP(fd_close) int deep = openat(dir, ".", O_RDONLY | O_DIRECTORY);
    CLEANUP(fd_close) int listener = -1;
    CLEANUP(fd_close) int client = -1;
    CLEANUP(fd_close) int server = -1;
    struct sock_peer peer;
    struct stat st;
    struct err err = {0};
    (void)state;
    for (int i = 0; i < 5; i++) {
        const char *name = "a-directory-with-a-rather-long-name-for-its-kind";
        assert_int_equal(mkdirat(deep, name, 0700), 0);
        int next = openat(deep, name, O_RDONLY | O_DIRECTORY);
        assert_true(next >= 0);
        close(deep);
        deep = next;
    }
    assert_false(sock_connect(deep, "sock", &client, &err));
    assert_int_equal(err.kind, ERR_UNAVAILABLE);
    assert_true(sock_listen(deep, "sock", 0600, &listener, &err));
    assert_int_equal(fstatat(deep, "sock", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(sock_connect(deep, "sock", &client, &err));
    server = accept(listener, NULL, NULL);
    assert_true(server >= 0);
    assert_true(sock_peer(server, &peer, &err));
    assert_int_equal(peer.uid, getuid());
    assert_int_equal(peer.pid, getpid());
    int second = -1;
    assert_false(sock_listen(deep, "sock", 0600, &second, &err));
    assert_int_equal(err.kind, ERR_RUNNING);
    fd_close(&listener); /* the name of a dead listener can be reused */
    assert_false(sock_connect(deep, "sock", &second, &err));
    assert_true(sock_listen(deep, "sock", 0600, &listener, &err));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_held_by_another_is_not_taken),
        cmocka_unit_test(a_missing_file_is_locked_only_if_it_may_be_created),
        cmocka_unit_test(a_lock_follows_the_name_not_the_old_inode),
        cmocka_unit_test(a_waiter_does_not_lock_a_renamed_file),
        cmocka_unit_test(a_role_has_one_holder_whose_pid_is_known),
        cmocka_unit_test(a_borrowed_role_is_awaited_and_a_kept_one_is_not),
        cmocka_unit_test(reading_a_pid_file_does_not_block_its_owner),
        cmocka_unit_test(
            a_trigger_is_received_once_and_harmless_without_a_reader),
        cmocka_unit_test(a_regular_file_in_place_of_a_fifo_is_not_written),
        cmocka_unit_test(a_socket_may_have_a_long_path),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
