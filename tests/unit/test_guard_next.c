/* Tasks that stop, kill or trace the guard or each other. */
#include "support/guard_world.h"

#include <linux/capability.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

#include "os/rights.h"

/* ---- tasks ---- */

/* Sends the signal to its parent, the guard. */
static int task_signal_parent(const char *signal) {
    kill(getppid(), atoi(signal));
    sleep_for_ever();
    return 0;
}

/* Stops one thread of the guard, given by its number; 9: it may not. */
static int task_trace_parent(const char *thread) {
    char path[64];
    pid_t ids[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)getppid());
    DIR *dir = opendir(path);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL && count < 64)
        if (entry->d_name[0] != '.')
            ids[count++] = atoi(entry->d_name);
    pid_t id = ids[atoi(thread) < count ? atoi(thread) : 0];
    if (ptrace(PTRACE_SEIZE, id, 0, 0) < 0 ||
        ptrace(PTRACE_INTERRUPT, id, 0, 0) < 0)
        return 9;
    sleep_for_ever();
    return 0;
}

/* Its first process exits with 7 and is traced by a process that has left the
 * group; `keeps`: which still holds the canary. */
static int task_traced(bool keeps) {
    int ready[2];
    char c;
    if (pipe(ready) < 0)
        return 9;
    pid_t traced = getpid();
    if (fork() == 0) {
        setsid();
        for (int fd = 0; fd < 1000; fd++)
            if (fd != ready[1] && (!keeps || fd < 5))
                close(fd);
        if (ptrace(PTRACE_SEIZE, traced, 0, 0) == 0)
            say_fd(ready[1], "x");
        close(ready[1]);
        sleep_for_ever();
    }
    close(ready[1]);
    return read(ready[0], &c, 1) == 1 ? 7 : 9;
}

/* Allows the guard 5 descriptors; `hard`: and never more again. */
static int task_limit_parent(bool hard) {
    struct rlimit few;
    if (prlimit(getppid(), RLIMIT_NOFILE, NULL, &few) < 0)
        return 9;
    few.rlim_cur = 5;
    few.rlim_max = hard ? 5 : few.rlim_max;
    return prlimit(getppid(), RLIMIT_NOFILE, &few, NULL) == 0 ? 0 : 9;
}

static int own_task(char **argv) {
    if (strcmp(argv[1], "signal-parent") == 0)
        return task_signal_parent(argv[2]);
    if (strcmp(argv[1], "trace-parent") == 0)
        return task_trace_parent(argv[2]);
    if (strcmp(argv[1], "limit-parent") == 0)
        return task_limit_parent(strcmp(argv[2], "hard") == 0);
    return task_traced(strcmp(argv[2], "canary") == 0);
}

/* ---- tests ---- */

enum { VICTIM = 1, CULPRIT, LATER };

static struct world *open_world(const char *cgroup_root) {
    struct world *world = world_new(cgroup_root);
    world->reply_ms = 300;
    world->goes_on = true;
    world_open(world, 0);
    return world;
}

/* A tree that ignores TERM, in sessions of its own. */
static void start_victim(struct world *world) {
    char file[PATH_MAX + 20];
    snprintf(file, sizeof file, "%s/pids", world->dir);
    struct guard_start start = task(VICTIM, TASK("stay", file));
    start.progress_fd = true;
    start.canary = true;
    guard_start(world->guard, &start);
    while (strcmp(world->progress, "staying") != 0)
        uv_run(&world->loop, UV_RUN_ONCE);
}

static void check_lost(struct world *world, uint64_t id) {
    const struct seen *seen = &world->seen[id];
    assert_int_equal(seen->times, 1);
    assert_int_equal(seen->end.result, GUARD_LOST);
    assert_int_equal(seen->end.exit_code, -1);
}

/* What was lost is gone, and the next guard works. */
static void check_replaced(struct world *world, pid_t before) {
    unsigned lines;
    assert_true(world->lost);
    assert_true(world->restored);
    assert_int_not_equal(guard_pid(world->guard), before);
    assert_true(guard_runs(world->guard));
    check_lost(world, VICTIM);
    assert_int_equal(count_running(world, "pids", &lines), 0);
    assert_int_equal(lines, 6);
    struct seen *seen = run_sh(world, LATER, "echo goes on");
    assert_string_equal(seen->output, "goes on\n");
}

static void check_task(const char *cgroup_root, char *const *argv) {
    struct world *world = open_world(cgroup_root);
    pid_t before = guard_pid(world->guard);
    start_victim(world);
    struct guard_start start = task(CULPRIT, argv);
    guard_start(world->guard, &start);
    world_run(world, 2, CULPRIT);
    if (world->seen[CULPRIT].end.exit_code == 9) {
        world_free(world);
        test_skip("this machine does not allow it to trace the guard");
    }
    check_lost(world, CULPRIT);
    check_replaced(world, before);
    world_free(world);
}

static void a_task_may_kill_the_guard(void **state) {
    (void)state;
    check_task(NULL, ARGV(self, "own", "signal-parent", "9"));
}

static void a_task_may_kill_the_guard_without_cgroup(void **state) {
    (void)state;
    check_task("", ARGV(self, "own", "signal-parent", "9"));
}

static void a_task_may_stop_the_guard(void **state) {
    (void)state;
    check_task(NULL, ARGV(self, "own", "signal-parent", "19"));
}

static void a_task_may_stop_the_guard_without_cgroup(void **state) {
    (void)state;
    check_task("", ARGV(self, "own", "signal-parent", "19"));
}

static void a_task_may_trace_the_guard(void **state) {
    (void)state;
    check_task(NULL, ARGV(self, "own", "trace-parent", "0"));
}

static void a_task_may_trace_the_guard_without_cgroup(void **state) {
    (void)state;
    check_task("", ARGV(self, "own", "trace-parent", "0"));
}

/* The first thread still answers. */
static void a_task_may_trace_another_thread_of_the_guard(void **state) {
    (void)state;
    check_task(NULL, ARGV(self, "own", "trace-parent", "1"));
}

static void starts_meanwhile_wait_for_the_next_guard(void **state) {
    (void)state;
    struct world *world = open_world(NULL);
    pid_t before = guard_pid(world->guard);
    start_victim(world);
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    say_fd(fds[1], "handed over\n");
    close(fds[1]);
    kill(before, SIGKILL);
    while (!world->lost)
        uv_run(&world->loop, UV_RUN_ONCE);
    struct guard_start first = task(10, SH("cat")), second = task(11, SH(":"));
    first.stdin_fd = fds[0];
    guard_start(world->guard, &first);
    guard_start(world->guard, &second);
    guard_withdraw(world->guard, 12);
    close(fds[0]);
    struct seen *seen = world_run(world, 3, 10);
    assert_int_equal(seen->end.result, GUARD_RAN);
    assert_string_equal(seen->output, "handed over\n");
    assert_int_equal(world->seen[11].end.result, GUARD_RAN);
    check_replaced(world, before);
    world_free(world);
}

static void a_stopped_guard_can_be_closed(void **state) {
    (void)state;
    struct world *world = open_world(NULL);
    unsigned lines;
    start_victim(world);
    kill(guard_pid(world->guard), SIGSTOP);
    world_close_guard(world);
    world_open(world, 0); /* waits until nothing is left */
    assert_int_equal(count_running(world, "pids", &lines), 0);
    world_free(world);
}

static void a_guard_can_be_closed_while_it_is_replaced(void **state) {
    (void)state;
    struct world *world = open_world(NULL);
    kill(guard_pid(world->guard), SIGKILL);
    while (!world->lost)
        uv_run(&world->loop, UV_RUN_ONCE);
    world_close_guard(world);
    world_free(world);
}

/* Only the time counts in which this process could have heard it. */
static void a_stopped_client_does_not_suspect_its_guard(void **state) {
    (void)state;
    struct world *world = open_world(NULL);
    start_victim(world);
    pid_t pid = fork();
    if (pid == 0) { /* stops us until the deadline has passed ten times */
        pid_t parent = getppid();
        kill(parent, SIGSTOP);
        poll(NULL, 0, 3000);
        kill(parent, SIGCONT);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    struct seen *seen = run_sh(world, LATER, "echo still here");
    assert_string_equal(seen->output, "still here\n");
    assert_false(world->lost);
    guard_kill(world->guard, VICTIM, SIGKILL, 0);
    assert_int_equal(world_run(world, 1, VICTIM)->end.signal, SIGKILL);
    world_free(world);
}

/* ---- what stands in the way of the tasks, but does not stop the guard ---- */

/* The guard that was there before still has its tasks, and starts others. */
static void check_kept(struct world *world, pid_t before) {
    struct seen *seen = run_sh(world, LATER, "echo goes on");
    assert_int_equal(seen->end.result, GUARD_RAN);
    assert_string_equal(seen->output, "goes on\n");
    assert_false(world->lost);
    assert_int_equal(guard_pid(world->guard), before);
    guard_kill(world->guard, VICTIM, SIGKILL, 0);
    assert_int_equal(world_run(world, 1, VICTIM)->end.signal, SIGKILL);
}

/* A script in which %s is the path of the cgroup tree. */
static struct seen *run_in_tree(struct world *world, const char *script) {
    const char *mode = guard_mode(world->guard);
    size_t len = strcspn(mode, " "), rest = len + 1;
    char text[PATH_MAX + 300];
    if (!guard_has_cgroup(world->guard))
        test_skip(mode);
    snprintf(text, sizeof text, "tree=%.*s; %s", (int)strcspn(mode + rest, " "),
             mode + rest, script);
    return run_sh(world, CULPRIT, text);
}

static void a_task_may_freeze_all_tasks(void **state) {
    (void)state;
    struct world *world = open_world(NULL);
    pid_t before = guard_pid(world->guard);
    start_victim(world);
    struct seen *seen =
        run_in_tree(world, "echo 1 >$tree/cgroup.freeze; echo thawed");
    assert_string_equal(seen->output, "thawed\n");
    check_kept(world, before);
    world_free(world);
}

/* The task leaves the cgroup before it freezes it. */
static void a_cgroup_that_was_frozen_is_not_used_again(void **state) {
    (void)state;
    struct world *world = open_world(NULL);
    pid_t before = guard_pid(world->guard);
    start_victim(world);
    struct seen *seen =
        run_in_tree(world, "leaf=$(sed -n 's,^0::.*/,,p' /proc/self/cgroup)\n"
                           "echo $$ >$tree/../cgroup.procs || exit 9\n"
                           "echo 1 >$tree/$leaf/cgroup.freeze");
    if (seen->end.exit_code == 9)
        test_skip("tasks may not leave their cgroup");
    assert_int_equal(seen->end.exit_code, 0);
    check_kept(world, before);
    world_free(world);
}

static void lower_limit(struct world *world, const char *how) {
    struct guard_start start =
        task(CULPRIT, ARGV(self, "own", "limit-parent", how));
    guard_start(world->guard, &start);
}

static void a_task_may_lower_the_limits_of_the_guard(void **state) {
    (void)state;
    struct world *world = open_world(NULL);
    pid_t before = guard_pid(world->guard);
    struct rlimit noted, now = {0};
    assert_int_equal(prlimit(before, RLIMIT_NOFILE, NULL, &noted), 0);
    start_victim(world);
    lower_limit(world, "soft");
    assert_int_equal(world_run(world, 1, CULPRIT)->end.exit_code, 0);
    while (now.rlim_cur != noted.rlim_cur && !world->lost) {
        uv_run(&world->loop, UV_RUN_ONCE);
        assert_int_equal(prlimit(before, RLIMIT_NOFILE, NULL, &now), 0);
    }
    check_kept(world, before);
    world_free(world);
}

static void a_guard_whose_limits_cannot_be_raised_is_replaced(void **state) {
    (void)state;
    struct world *world = open_world(NULL);
    pid_t before = guard_pid(world->guard);
    assert_true(rights_lower(~RIGHTS_OF(CAP_SYS_RESOURCE), ~UINT64_C(0)));
    start_victim(world);
    lower_limit(world, "hard");
    world_run(world, 2, CULPRIT); /* it may be lost itself */
    assert_true(rights_raise());
    check_replaced(world, before);
    world_free(world);
}

/* ---- a first process that is traced ---- */

static void need_tracing(const struct world *world, uint64_t id) {
    if (world->seen[id].end.exit_code == 9)
        test_skip("this machine does not allow tasks to trace");
}

static void a_task_whose_own_stray_traces_it_ends(void **state) {
    struct world *world = *state;
    struct guard_start start = task(1, ARGV(self, "own", "traced", "canary"));
    start.canary = true;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    need_tracing(world, 1);
    assert_int_equal(seen->end.exit_code, 7);
    assert_true(seen->end.leftovers);
    assert_false(seen->end.survivors);
}

static void check_named(const struct world *world, const char *name) {
    const struct seen *seen = &world->seen[1];
    /* With a cgroup, a guard of root has not the right to see it. */
    if (!guard_has_cgroup(world->guard) || seen->end.signal == 0)
        assert_int_equal(seen->end.exit_code, 7);
    else
        assert_int_equal(seen->end.signal, SIGKILL);
    assert_true(seen->end.survivors);
    if (strstr(seen->error, name) == NULL)
        fail_msg("'%s' does not name %s", seen->error, name);
}

/* Nothing ties the tracer to its task. */
static void without_cgroup_a_hidden_tracer_is_named(void **state) {
    struct world *world = *state;
    struct guard_start start = task(1, ARGV(self, "own", "traced", "no"));
    start.canary = true;
    guard_start(world->guard, &start);
    world_run(world, 1, 1);
    need_tracing(world, 1);
    check_named(world, "traced by");
    check_named(world, "(test_guard_next)");
}

/* Traced from outside, by this process. */
static pid_t trace_task(struct world *world) {
    struct guard_start start = task(1, SH("echo ready >&4; read line; exit 7"));
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    start.stdin_fd = fds[0];
    start.progress_fd = true;
    guard_start(world->guard, &start);
    close(fds[0]);
    while (world->progressed == 0)
        uv_run(&world->loop, UV_RUN_ONCE);
    pid_t pid = world->last_pid;
    if (ptrace(PTRACE_SEIZE, pid, 0, 0) < 0)
        test_skip("this machine does not allow to trace tasks");
    close(fds[1]);
    return pid;
}

static void a_task_traced_from_outside_ends_and_is_named(void **state) {
    struct world *world = *state;
    pid_t pid = trace_task(world);
    char name[40];
    snprintf(name, sizeof name, "%d (sh)", (int)pid);
    world_run(world, 1, 1);
    check_named(world, name);
    snprintf(name, sizeof name, "traced by %d", (int)getpid());
    check_named(world, name);
}

/* Strays without a canary are ended with the guard at the latest. */
static void a_traced_task_does_not_keep_strays_of_others(void **state) {
    struct world *world = *state;
    unsigned lines;
    char file[PATH_MAX + 20];
    snprintf(file, sizeof file, "%s/pids", world->dir);
    pid_t pid = trace_task(world);
    struct guard_start start = task(2, TASK("tree", file));
    start.progress_fd = true;
    guard_start(world->guard, &start);
    world_run(world, 2, 2);
    world_close_guard(world);
    assert_int_equal(count_running(world, "pids", &lines), 0);
    assert_int_equal(lines, 5);
    assert_int_equal(process_tracer(pid), getpid());
}

int main(int argc, char **argv) {
    int status = world_verbs(argc, argv);
    if (status >= 0)
        return status;
    if (argc > 3 && strcmp(argv[1], "own") == 0)
        return end_task(own_task(argv + 1));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_may_kill_the_guard),
        cmocka_unit_test(a_task_may_kill_the_guard_without_cgroup),
        cmocka_unit_test(a_task_may_stop_the_guard),
        cmocka_unit_test(a_task_may_stop_the_guard_without_cgroup),
        cmocka_unit_test(a_task_may_trace_the_guard),
        cmocka_unit_test(a_task_may_trace_the_guard_without_cgroup),
        cmocka_unit_test(a_task_may_trace_another_thread_of_the_guard),
        cmocka_unit_test(a_task_may_freeze_all_tasks),
        cmocka_unit_test(a_cgroup_that_was_frozen_is_not_used_again),
        cmocka_unit_test(a_task_may_lower_the_limits_of_the_guard),
        cmocka_unit_test(a_guard_whose_limits_cannot_be_raised_is_replaced),
        cmocka_unit_test(starts_meanwhile_wait_for_the_next_guard),
        cmocka_unit_test(a_stopped_guard_can_be_closed),
        cmocka_unit_test(a_guard_can_be_closed_while_it_is_replaced),
        cmocka_unit_test(a_stopped_client_does_not_suspect_its_guard),
        CASE(a_task_whose_own_stray_traces_it_ends),
        GROUPS(a_task_whose_own_stray_traces_it_ends),
        GROUPS(without_cgroup_a_hidden_tracer_is_named),
        CASE(a_task_traced_from_outside_ends_and_is_named),
        GROUPS(a_task_traced_from_outside_ends_and_is_named),
        CASE(a_traced_task_does_not_keep_strays_of_others),
        GROUPS(a_traced_task_does_not_keep_strays_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
