/* Launchers that work in processes of their own. What holds for all tasks is
 * tested by other tests of the guard, which run a second time with all
 * tasks started in this way. */
#include "support/guard_world.h"

#include <sched.h>
#include <sys/wait.h>

enum { NESTED = 30, PAUSES = 10 };

static int set_up_brief(void **state) {
    struct world *world = world_new(NULL);
    world->brief_after = GUARD_BRIEF_AT_ONCE;
    world->reply_ms = 300;
    world->launchers = 1;
    world->goes_on = true;
    world_open(world, 1);
    *state = world;
    return 0;
}

static void need_cgroup(struct world *world) {
    if (!guard_has_cgroup(world->guard))
        test_skip(guard_mode(world->guard));
}

static pid_t parent_of_task(struct world *world, uint64_t id) {
    return atoi(run_sh(world, id, "echo $PPID")->output);
}

static void a_short_task_has_a_launcher_as_its_parent(void **state) {
    struct world *world = *state;
    need_cgroup(world);
    pid_t parent = parent_of_task(world, 1);
    assert_int_not_equal(parent, guard_pid(world->guard));
    assert_int_not_equal(parent, 0);
}

static void the_first_tasks_have_the_guard_as_their_parent(void **state) {
    struct world *world = *state;
    world_close_guard(world);
    world->brief_after = 0;
    world_open(world, 1);
    assert_int_equal(parent_of_task(world, 1), guard_pid(world->guard));
}

static void a_task_that_lasts_keeps_its_parent(void **state) {
    struct world *world = *state;
    need_cgroup(world);
    struct seen *seen = run_sh(world, 1,
                               "echo $PPID; sleep 0.1; set -- $(cat "
                               "/proc/$$/stat); echo $4; exit 7");
    int before = 0, after = 0;
    assert_int_equal(sscanf(seen->output, "%d %d", &before, &after), 2);
    assert_int_equal(after, before);
    assert_int_not_equal(before, guard_pid(world->guard));
    assert_int_equal(seen->end.exit_code, 7);
    assert_false(seen->end.leftovers);
    assert_false(still_runs(before));
    assert_int_not_equal(parent_of_task(world, 2), before);
}

static void a_task_with_limits_has_the_guard_as_its_parent(void **state) {
    struct world *world = *state;
    struct guard_limit limit = {.value = 64, .what = RLIMIT_NOFILE};
    struct guard_start start = task(1, SH("echo $PPID"));
    start.limits = &limit;
    start.limit_count = 1;
    guard_start(world->guard, &start);
    assert_int_equal(atoi(world_run(world, 1, 1)->output),
                     guard_pid(world->guard));
}

/* A launcher in a process of its own that waits for the next task: it is still
 * there after a task that it did not have to hand over. */
static pid_t idle_launcher(struct world *world, uint64_t *id) {
    for (;;) {
        pid_t pid = parent_of_task(world, ++*id);
        if (pid != guard_pid(world->guard) && still_runs(pid))
            return pid;
    }
}

/* Its later children would not be in the leaf that is killed to end them. */
static void a_launcher_in_another_cgroup_is_no_parent(void **state) {
    struct world *world = *state;
    need_cgroup(world);
    char path[PATH_MAX + 32], tree[PATH_MAX];
    uint64_t id = 0;
    pid_t before = guard_pid(world->guard), pid = idle_launcher(world, &id);
    assert_int_equal(sscanf(guard_mode(world->guard), "cgroup %4095s", tree),
                     1);
    snprintf(path, sizeof path, "%s/../cgroup.procs", tree);
    FILE *procs = fopen(path, "we");
    fprintf(procs, "%d\n", (int)pid);
    assert_int_equal(fclose(procs), 0);
    struct seen *seen = run_sh(world, ++id, "sleep 1000");
    assert_int_equal(seen->end.result, GUARD_LOST);
    assert_true(world->lost);
    assert_int_not_equal(guard_pid(world->guard), before);
    assert_string_equal(run_sh(world, ++id, "echo goes on")->output,
                        "goes on\n");
}

static void a_killed_launcher_ends_the_guard(void **state) {
    struct world *world = *state;
    need_cgroup(world);
    uint64_t id = 0;
    pid_t before = guard_pid(world->guard), pid = idle_launcher(world, &id);
    kill(pid, SIGKILL);
    while (!world->restored)
        uv_run(&world->loop, UV_RUN_ONCE);
    assert_int_not_equal(guard_pid(world->guard), before);
    assert_string_equal(run_sh(world, ++id, "echo goes on")->output,
                        "goes on\n");
}

static void a_task_that_lasts_is_lost_with_its_parent(void **state) {
    struct world *world = *state;
    need_cgroup(world);
    pid_t before = guard_pid(world->guard);
    struct seen *seen =
        run_sh(world, 1, "sleep 0.1; kill -KILL $PPID; sleep 1000");
    assert_int_equal(seen->end.result, GUARD_LOST);
    assert_int_not_equal(guard_pid(world->guard), before);
    assert_string_equal(run_sh(world, 2, "echo goes on")->output, "goes on\n");
}

static void a_task_that_survives_its_parent_is_not_lost(void **state) {
    struct world *world = *state;
    need_cgroup(world);
    pid_t before = guard_pid(world->guard);
    struct guard_start start =
        task(1, SH("sleep 0.1; kill -KILL $PPID; sleep 0.1; exit 7"));
    start.death = GUARD_DEATH_NONE;
    guard_start(world->guard, &start);
    struct seen *seen = world_run(world, 1, 1);
    assert_int_equal(seen->end.exit_code, 7);
    assert_int_equal(guard_pid(world->guard), before);
}

static void a_stopped_parent_does_not_keep_a_task(void **state) {
    struct world *world = *state;
    need_cgroup(world);
    pid_t before = guard_pid(world->guard);
    struct seen *seen =
        run_sh(world, 1, "sleep 0.1; kill -STOP $PPID; sleep 0.1; exit 7");
    assert_int_equal(seen->end.exit_code, 7);
    assert_int_equal(guard_pid(world->guard), before);
}

static void a_launcher_may_be_stopped_for_a_moment(void **state) {
    struct world *world = *state;
    need_cgroup(world);
    world_close_guard(world);
    world->reply_ms = 0; /* the default */
    world_open(world, 1);
    pid_t before = guard_pid(world->guard);
    for (uint64_t id = 1; id <= PAUSES; id++)
        assert_string_equal(run_sh(world, id,
                                   "kill -STOP $PPID; sleep 0.1; "
                                   "kill -CONT $PPID; echo done")
                                ->output,
                            "done\n");
    assert_int_equal(guard_pid(world->guard), before);
}

static void a_stopped_launcher_does_not_keep_a_task_waiting(void **state) {
    struct world *world = *state;
    need_cgroup(world);
    uint64_t id = 0;
    pid_t before = guard_pid(world->guard), pid = idle_launcher(world, &id);
    kill(pid, SIGSTOP);
    struct seen *seen = run_sh(world, ++id, "echo never");
    assert_int_equal(seen->end.result, GUARD_LOST);
    assert_int_not_equal(guard_pid(world->guard), before);
    assert_string_equal(run_sh(world, ++id, "echo goes on")->output,
                        "goes on\n");
}

/* In the leaves of the guard's tree there are only its own processes. */
static void check_leaves(const struct world *world) {
    char tree[PATH_MAX], path[PATH_MAX + 300];
    assert_int_equal(sscanf(guard_mode(world->guard), "cgroup %4095s", tree),
                     1);
    DIR *dir = opendir(tree);
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        snprintf(path, sizeof path, "%s/%s/cgroup.procs", tree, entry->d_name);
        FILE *procs = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
        int pid;
        while (procs != NULL && fscanf(procs, "%d", &pid) == 1)
            assert_int_equal(process_parent(pid), guard_pid(world->guard));
        if (procs != NULL)
            fclose(procs);
    }
    closedir(dir);
}

/* Returns the first process of a new PID namespace, or 0. */
static pid_t new_namespace(void) {
    int report[2];
    pid_t first = 0, pid;
    assert_int_equal(pipe(report), 0);
    if (fork() == 0) {
        pid = unshare(CLONE_NEWPID) == 0 ? fork() : -1;
        if (pid == 0) {
            close_range(0, ~0U, 0);
            for (;;)
                pause();
        }
        if (pid > 0 && write(report[1], &pid, sizeof pid) > 0)
            _exit(0);
        _exit(9);
    }
    close(report[1]);
    UNUSED ssize_t n = read(report[0], &first, sizeof first);
    close(report[0]);
    wait(NULL);
    return first;
}

/* It descends from no process of the guard any more, but it is in the leaf. */
static void what_is_in_another_pid_namespace_is_found(void **state) {
    struct world *world = *state;
    need_cgroup(world);
    char path[64], shape[] = "outside";
    char *argv[] = {getenv("TREE_PROGRAM"), shape, path, NULL};
    pid_t first = new_namespace();
    if (first == 0)
        test_skip("no PID namespace can be made here");
    snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)first);
    for (uint64_t id = 1; id <= NESTED; id++) {
        struct guard_start start = task(id, argv);
        guard_start(world->guard, &start);
        struct seen *seen = world_run(world, 1, id);
        assert_int_equal(seen->end.exit_code, 0);
        assert_true(seen->end.leftovers);
        assert_false(seen->end.survivors);
        check_leaves(world);
    }
    kill(first, SIGKILL);
}

enum { MIXED = 400, KINDS = 6 };

static const char *const mixed[KINDS][4] = {
    {"sh", "-c", "sleep 0.004; exit 5"},
    {"sh", "-c", "sleep 1000 >/dev/null 2>&1 & exit 6"},
    {"/nowhere/nothing"},
    {"sh", "-c", "kill -9 $$"},
    {"sh", "-c", "sleep 1000"},
    {"true"}};

static void check_mixed(const struct seen *seen, uint64_t kind) {
    static const int codes[KINDS] = {5, 6, GUARD_NOT_FOUND, -1, -1, 0};
    assert_int_equal(seen->times, 1);
    assert_int_equal(seen->end.result, kind == 2 ? GUARD_CANNOT : GUARD_RAN);
    assert_int_equal(seen->end.exit_code, codes[kind]);
    assert_int_equal(seen->end.signal, kind == 3 || kind == 4 ? SIGKILL : 0);
    if (kind != 4) /* may be seen in its leaf for a moment after its death */
        assert_int_equal(seen->end.leftovers, kind == 1);
    assert_false(seen->end.survivors);
}

static void tasks_of_all_kinds_end_once(void **state) {
    struct world *world = *state;
    need_cgroup(world);
    guard_set_slots(world->guard, 3);
    for (uint64_t id = 0; id < MIXED; id++) {
        struct guard_start start =
            task(id, (char *const *)(uintptr_t)mixed[id % KINDS]);
        start.timeout_ms = id % KINDS == 4 ? 10 : 0;
        guard_start(world->guard, &start);
    }
    world_run(world, MIXED, 0);
    for (uint64_t id = 0; id < MIXED; id++)
        check_mixed(&world->seen[id], id % KINDS);
    check_leaves(world);
}

int main(int argc, char **argv) {
    int status = world_verbs(argc, argv);
    if (status >= 0)
        return status;
#define BRIEF(test) \
    cmocka_unit_test_setup_teardown(test, set_up_brief, tear_down)
    const struct CMUnitTest tests[] = {
        BRIEF(a_short_task_has_a_launcher_as_its_parent),
        BRIEF(the_first_tasks_have_the_guard_as_their_parent),
        BRIEF(a_task_that_lasts_keeps_its_parent),
        BRIEF(a_task_with_limits_has_the_guard_as_its_parent),
        BRIEF(a_launcher_in_another_cgroup_is_no_parent),
        BRIEF(a_killed_launcher_ends_the_guard),
        BRIEF(a_task_that_lasts_is_lost_with_its_parent),
        BRIEF(a_task_that_survives_its_parent_is_not_lost),
        BRIEF(a_stopped_parent_does_not_keep_a_task),
        BRIEF(a_launcher_may_be_stopped_for_a_moment),
        BRIEF(a_stopped_launcher_does_not_keep_a_task_waiting),
        BRIEF(what_is_in_another_pid_namespace_is_found),
        BRIEF(tasks_of_all_kinds_end_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
