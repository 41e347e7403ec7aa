/* The whole guard: process trees, locks, and the death of client and guard. */
#include "support/guard_world.h"

/* ---- trees ---- */

static unsigned count_alive(struct world *world, const char *name) {
    unsigned lines, alive = count_running(world, name, &lines);
    assert_int_equal(lines, 5);
    return alive;
}

static struct seen *run_tree(struct world *world, const char *verb) {
    char file[PATH_MAX + 20];
    snprintf(file, sizeof file, "%s/pids", world->dir);
    struct guard_start start = task(1, TASK(verb, file));
    start.progress_fd = true;
    guard_start(world->guard, &start);
    return world_run(world, 1, 1);
}

static void need_cgroup(struct world *world) {
    if (guard_has_cgroup(world->guard))
        return;
    test_skip(guard_mode(world->guard));
}

static void
grandchildren_in_their_own_sessions_end_with_the_task(void **state) {
    need_cgroup(*state);
    struct seen *seen = run_tree(*state, "tree");
    assert_int_equal(seen->end.exit_code, 0);
    assert_true(seen->end.leftovers);
    assert_false(seen->end.survivors);
    assert_int_equal(count_alive(*state, "pids"), 0);
}

static void grandchildren_that_hold_the_pipe_end_with_the_task(void **state) {
    need_cgroup(*state);
    struct seen *seen = run_tree(*state, "tree-with-pipe");
    assert_true(seen->end.leftovers);
    assert_false(seen->end.survivors);
    assert_int_equal(count_alive(*state, "pids"), 0);
}

static void a_daemon_without_descriptors_ends_with_the_task(void **state) {
    struct world *world = *state;
    need_cgroup(world);
    struct guard_start start = task(1, TASK("daemon"));
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_int_equal(seen->end.exit_code, 0);
    assert_false(seen->end.survivors);
}

static void background_processes_of_the_group_end_with_the_task(void **state) {
    struct seen *seen =
        run_sh(*state, 1, "sleep 1000 & echo $!; exec 2>&-; exit 0");
    assert_int_equal(seen->end.exit_code, 0);
    assert_false(seen->end.survivors);
    pid_t pid = atoi(seen->output);
    assert_true(pid > 0);
    assert_false(still_runs(pid));
}

/* Process groups alone do not reach these processes; the end reports that. */
static void without_cgroup_the_end_reports_survivors(void **state) {
    struct world *world = *state;
    struct seen *seen = run_tree(world, "tree-with-pipe");
    assert_int_equal(seen->end.exit_code, 0);
    assert_true(seen->end.leftovers);
    if (seen->end.survivors)
        assert_true(count_alive(world, "pids") > 0);
    else
        assert_int_equal(count_alive(world, "pids"), 0);
    world_close_guard(world);
    assert_int_equal(count_alive(world, "pids"), 0);
}

/* ---- locks ---- */

static void a_locked_job_is_reported_as_taken(void **state) {
    struct world *world = *state;
    write_script(world, "job", "x", 0644);
    int fd = openat(world->base_fd, "job", O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    struct guard_start start = task(1, SH("echo ran"));
    start.lock_path = "job";
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_int_equal(seen->end.result, GUARD_TAKEN);
    assert_string_equal(seen->output, "");
    close(fd);
}

static void a_job_whose_file_is_gone_is_reported_as_taken(void **state) {
    struct world *world = *state;
    struct guard_start start = task(1, SH("echo ran"));
    start.lock_path = "gone";
    guard_start(world->guard, &start);
    assert_int_equal(world_run(world, 1, 1)->end.result, GUARD_TAKEN);
}

static void a_lock_is_held_until_it_is_released(void **state) {
    struct world *world = *state;
    write_script(world, "job", "x", 0644);
    struct guard_start start = task(1, SH("echo ran"));
    start.lock_path = "job";
    guard_start(world->guard, &start);
    assert_int_equal(world_run(world, 1, 1)->end.exit_code, 0);
    int fd = openat(world->base_fd, "job", O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
    guard_release(world->guard, 1);
    run_sh(world, 2, ":"); /* ends after the release */
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    close(fd);
}

/* ---- lives ---- */

static void wait_gone(pid_t pid, unsigned long long born) {
    int64_t until = clock_mono().ns + TIMEOUT_MS * NS_PER_MS;
    while (process_start(pid) == born && still_runs(pid)) {
        assert_true(clock_mono().ns < until);
        poll(NULL, 0, 2);
    }
}

static void stop_loop(struct world *world, uint64_t id) {
    (void)id;
    uv_stop(&world->loop);
}

static void the_death_of_the_guard_is_reported(void **state) {
    struct world *world = *state;
    world->on_progress = stop_loop;
    struct guard_start start = task(1, TASK("deaf"));
    start.progress_fd = true;
    guard_start(world->guard, &start);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    pid_t pid = world->last_pid;
    unsigned long long born = process_start(pid);
    assert_true(born > 0);
    kill(guard_pid(world->guard), SIGKILL);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_true(world->lost);
    /* PDEATHSIG kills the task; as it is not our child, we cannot wait for
     * it. */
    wait_gone(pid, born);
}

/* A client in a separate process, which is killed while its tasks run. It
 * prints the guard's pid once they do. */
static void client_main(const char *dir, const char *cgroup_root) {
    struct world *world = calloc(1, sizeof *world);
    snprintf(world->dir, sizeof world->dir, "%s", dir);
    world->base_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    world->cgroup_root = *cgroup_root == '-' ? NULL : "";
    uv_loop_init(&world->loop);
    world_open(world, 0);
    char file[PATH_MAX + 20];
    snprintf(file, sizeof file, "%s/pids", dir);
    struct guard_start start = task(1, TASK("tree", file));
    start.progress_fd = true;
    guard_start(world->guard, &start);
    start = task(2, TASK("deaf"));
    start.progress_fd = true;
    guard_start(world->guard, &start);
    while (world->progressed < 2)
        uv_run(&world->loop, UV_RUN_ONCE);
    printf("%d\n", (int)guard_pid(world->guard));
    fflush(stdout);
    sleep_for_ever();
}

static pid_t start_client(struct world *world, pid_t *ret_guard) {
    int fds[2];
    char text[32] = "";
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], 1);
        close(fds[0]);
        close(fds[1]);
        execl(self, self, "client", world->dir,
              world->cgroup_root == NULL ? "-" : "none", NULL);
        _exit(9);
    }
    close(fds[1]);
    assert_true(read(fds[0], text, sizeof text - 1) > 0);
    close(fds[0]);
    *ret_guard = atoi(text);
    return pid;
}

static void check_killed_client(const char *cgroup_root) {
    struct world *world = world_new(cgroup_root);
    pid_t guard, client = start_client(world, &guard);
    kill(client, SIGKILL);
    waitpid(client, NULL, 0);
    wait_gone(guard, process_start(guard));
    assert_int_equal(count_alive(world, "pids"), 0);
    world_free(world);
}

static void a_killed_client_leaves_no_task(void **state) {
    (void)state;
    check_killed_client(NULL);
}

static void a_killed_client_leaves_no_task_without_cgroup(void **state) {
    (void)state;
    check_killed_client("");
}

/* The client and the guard die together, so only the next start cleans up. */
static void check_next_start(const char *cgroup_root) {
    struct world *world = world_new(cgroup_root);
    pid_t guard, client = start_client(world, &guard);
    kill(guard, SIGSTOP);
    kill(client, SIGKILL);
    waitpid(client, NULL, 0);
    world_open(world, 0); /* kills the stopped guard too */
    assert_int_equal(count_alive(world, "pids"), 0);
    struct seen *seen = run_sh(world, 1, "echo new life");
    assert_string_equal(seen->output, "new life\n");
    world_free(world);
}

/* The mode is "cgroup PATH", possibly followed by more. */
static void a_guard_that_ends_leaves_no_cgroup(void **state) {
    struct world *world = *state;
    char path[PATH_MAX];
    need_cgroup(world);
    run_sh(world, 1, "exit 0");
    assert_int_equal(sscanf(guard_mode(world->guard), "cgroup %4095s", path),
                     1);
    assert_int_equal(access(path, F_OK), 0);
    world_close_guard(world);
    assert_int_equal(access(path, F_OK), -1);
}

static void the_next_start_leaves_no_earlier_task_running(void **state) {
    (void)state;
    check_next_start(NULL);
}

static void the_next_start_without_cgroup_kills_lock_holders(void **state) {
    (void)state;
    check_next_start("");
}

int main(int argc, char **argv) {
    int status = world_verbs(argc, argv);
    if (status >= 0)
        return status;
    if (argc > 3 && strcmp(argv[1], "client") == 0)
        client_main(argv[2], argv[3]);
    const struct CMUnitTest tests[] = {
        CASE(grandchildren_in_their_own_sessions_end_with_the_task),
        CASE(grandchildren_that_hold_the_pipe_end_with_the_task),
        CASE(a_daemon_without_descriptors_ends_with_the_task),
        CASE(background_processes_of_the_group_end_with_the_task),
        CASE(a_locked_job_is_reported_as_taken),
        CASE(a_job_whose_file_is_gone_is_reported_as_taken),
        CASE(a_lock_is_held_until_it_is_released),
        CASE(the_death_of_the_guard_is_reported),
        GROUPS(background_processes_of_the_group_end_with_the_task),
        GROUPS(without_cgroup_the_end_reports_survivors),
        GROUPS(the_death_of_the_guard_is_reported),
        CASE(a_guard_that_ends_leaves_no_cgroup),
        cmocka_unit_test(a_killed_client_leaves_no_task),
        cmocka_unit_test(a_killed_client_leaves_no_task_without_cgroup),
        cmocka_unit_test(the_next_start_leaves_no_earlier_task_running),
        cmocka_unit_test(the_next_start_without_cgroup_kills_lock_holders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
