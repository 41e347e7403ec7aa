/* The guard of a worker whose scheduler is on another machine: nothing runs
 * without a lease, whatever happens to the worker. A process of this test
 * plays the worker. */
#include "support/guard_world.h"

#include <inttypes.h>
#include <sys/timerfd.h>

enum { SHORT_MS = 1000, LONG_MS = 3600000, WORKER_MS = 3000 };

static struct boot in_ms(int64_t ms) {
    return (struct boot){clock_boot().ns + ms * NS_PER_MS};
}

static struct world *leased_world(const char *cgroup_root) {
    struct world *world = world_new(cgroup_root);
    world->leased = true;
    world_open(world, 1);
    return world;
}

static int set_up_leased(void **state) {
    *state = leased_world(NULL);
    return 0;
}

static int set_up_leased_groups(void **state) {
    *state = leased_world("");
    return 0;
}

static void nothing_starts_before_the_first_lease(void **state) {
    struct seen *seen = run_sh(*state, 1, "echo never");
    assert_int_equal(seen->end.result, GUARD_WITHDRAWN);
    assert_int_equal(seen->end.killer, GUARD_LEASE);
    assert_int_equal(seen->end.started.ns, 0);
    assert_string_equal(seen->error, "the lease of this worker has expired");
}

static void tasks_run_with_a_lease(void **state) {
    struct world *world = *state;
    guard_lease(world->guard, in_ms(LONG_MS));
    struct seen *seen = run_sh(world, 1, "echo here");
    assert_string_equal(seen->output, "here\n");
}

static void an_earlier_deadline_does_not_shorten_the_lease(void **state) {
    struct world *world = *state;
    guard_lease(world->guard, in_ms(LONG_MS));
    guard_lease(world->guard, in_ms(-1));
    struct seen *seen = run_sh(world, 1, "sleep 0.05; echo here");
    assert_string_equal(seen->output, "here\n");
}

/* There is one slot, so the second start waits. On a slow machine the first one
 * may also wait for too long; it is then repeated with a longer lease. */
static uint64_t run_past_the_lease(struct world *world) {
    uint64_t id = 1;
    for (int64_t ms = SHORT_MS;; ms *= 2, id += 2) {
        struct guard_start deaf = task(id, TASK("deaf"));
        deaf.progress_fd = true;
        struct guard_start next = task(id + 1, SH("echo never"));
        guard_lease(world->guard, in_ms(ms));
        guard_start(world->guard, &deaf);
        guard_start(world->guard, &next);
        struct seen *seen = world_run(world, 2, id);
        if (seen->end.result != GUARD_WITHDRAWN || ms > TIMEOUT_MS / 4)
            return id;
    }
}

static void all_tasks_are_killed_when_the_lease_expires(void **state) {
    struct world *world = *state;
    uint64_t id = run_past_the_lease(world);
    struct seen *seen = &world->seen[id], *next = &world->seen[id + 1];
    assert_int_equal(seen->end.signal, SIGKILL);
    assert_int_equal(seen->end.killer, GUARD_LEASE);
    assert_false(seen->end.survivors);
    assert_int_equal(next->end.result, GUARD_WITHDRAWN);
    assert_int_equal(next->end.killer, GUARD_LEASE);
    /* A new lease permits new starts, even in the same cgroups. */
    guard_lease(world->guard, in_ms(LONG_MS));
    seen = run_sh(world, id + 2, "echo again");
    assert_string_equal(seen->output, "again\n");
}

/* ---- a worker in a separate process -------------------------------------- */

static unsigned ready_tasks;

static void note_ready(struct world *world, uint64_t id) {
    if (id == 2 || strcmp(world->progress, "staying") == 0)
        ready_tasks |= 1U << id;
}

static bool both_are_ready(const struct world *world) {
    return world->lost || ready_tasks == 6;
}

static void keep_leased(uv_timer_t *timer) {
    struct world *world = timer->data;
    guard_lease(world->guard, in_ms(WORKER_MS));
}

/* Starts a tree and a task that ignores TERM, prints the guard's pid, and does
 * nothing more; from then on the lease is not renewed. */
static void worker_main(const char *dir, const char *cgroup_root) {
    struct world *world = calloc(1, sizeof *world);
    snprintf(world->dir, sizeof world->dir, "%s", dir);
    world->base_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    world->cgroup_root = *cgroup_root == '-' ? NULL : "";
    world->leased = true;
    world->on_progress = note_ready;
    uv_loop_init(&world->loop);
    world_open(world, 0);
    uv_timer_t keeper;
    uv_timer_init(&world->loop, &keeper);
    keeper.data = world;
    uv_timer_start(&keeper, keep_leased, 0, WORKER_MS / 30);
    keep_leased(&keeper);
    char file[PATH_MAX + 20];
    snprintf(file, sizeof file, "%s/pids", dir);
    struct guard_start start = task(1, TASK("stay", file));
    start.progress_fd = true;
    guard_start(world->guard, &start);
    start = task(2, TASK("deaf"));
    start.progress_fd = true;
    guard_start(world->guard, &start);
    while (!both_are_ready(world))
        uv_run(&world->loop, UV_RUN_ONCE);
    struct boot until = in_ms(WORKER_MS);
    guard_lease(world->guard, until);
    guard_flush(world->guard);
    printf("%d %" PRId64 "\n", (int)guard_pid(world->guard), until.ns);
    fflush(stdout);
    sleep_for_ever();
}

struct test_worker {
    pid_t pid, guard;
    struct boot until;
};

static struct test_worker start_worker(struct world *world) {
    struct test_worker worker = {0};
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    worker.pid = fork();
    if (worker.pid == 0) {
        dup2(fds[1], 1);
        close(fds[0]);
        close(fds[1]);
        execl(self, self, "worker", world->dir,
              world->cgroup_root == NULL ? "-" : "none", NULL);
        _exit(9);
    }
    close(fds[1]);
    FILE *f = fdopen(fds[0], "r");
    assert_int_equal(fscanf(f, "%d %" SCNd64, &worker.guard, &worker.until.ns),
                     2);
    fclose(f);
    return worker;
}

/* The state in /proc/PID/stat, or 'X' if there is no such process. */
static char state_of(pid_t pid) {
    char path[64], stat[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return 'X';
    if (fread(stat, 1, sizeof stat - 1, f) == 0)
        stat[0] = '\0';
    fclose(f);
    const char *end = strrchr(stat, ')');
    return end == NULL ? 'X' : end[2];
}

static unsigned count_alive(struct world *world) {
    unsigned lines, alive = count_running(world, "pids", &lines);
    assert_int_equal(lines, 6);
    return alive;
}

static void await_none(struct world *world) {
    int64_t until = clock_mono().ns + TIMEOUT_MS * NS_PER_MS;
    while (count_alive(world) > 0) {
        assert_true(clock_mono().ns < until);
        poll(NULL, 0, 2);
    }
}

static void await_guard_gone(pid_t pid) {
    int64_t until = clock_mono().ns + TIMEOUT_MS * NS_PER_MS;
    while (still_runs(pid)) {
        assert_true(clock_mono().ns < until);
        poll(NULL, 0, 2);
    }
}

static void await_moment(struct boot at) {
    uint64_t times;
    int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    struct itimerspec when = {.it_value = {at.ns / NS_PER_S, at.ns % NS_PER_S}};
    timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
    assert_int_equal(read(fd, &times, sizeof times), sizeof times);
    close(fd);
}

static void end_worker(struct test_worker *worker) {
    kill(worker->pid, SIGKILL);
    waitpid(worker->pid, NULL, 0);
    await_guard_gone(worker->guard);
}

static void need_cgroup(const struct world *world) {
    struct world *probe = world_new(world->cgroup_root);
    world_open(probe, 0);
    bool has = guard_has_cgroup(probe->guard);
    char mode[512];
    snprintf(mode, sizeof mode, "%s", guard_mode(probe->guard));
    world_free(probe);
    if (!has)
        test_skip(mode);
}

static void stopped_worker(const char *cgroup_root) {
    struct world *world = world_new(cgroup_root);
    if (cgroup_root == NULL)
        need_cgroup(world);
    struct test_worker worker = start_worker(world);
    kill(worker.pid, SIGSTOP);
    await_none(world);
    assert_true(clock_boot().ns >= worker.until.ns);
    assert_true(still_runs(worker.guard));
    assert_int_equal(state_of(worker.pid), 'T');
    end_worker(&worker);
    world_free(world);
}

static void a_stopped_worker_leaves_no_task(void **state) {
    (void)state;
    stopped_worker(NULL);
}

static void a_stopped_worker_leaves_no_task_without_cgroup(void **state) {
    (void)state;
    stopped_worker("");
}

static void
a_killed_worker_leaves_no_task_even_before_the_deadline(void **state) {
    (void)state;
    struct world *world = world_new(NULL);
    need_cgroup(world);
    struct test_worker worker = start_worker(world);
    end_worker(&worker);
    assert_int_equal(count_alive(world), 0);
    world_free(world);
}

/* Stops both before the lease expires; a run that was too slow for this is
 * repeated. */
static struct test_worker stop_both(struct world *world) {
    int64_t until = clock_mono().ns + TIMEOUT_MS * NS_PER_MS;
    for (;;) {
        struct test_worker worker = start_worker(world);
        kill(worker.guard, SIGSTOP);
        kill(worker.pid, SIGSTOP);
        if (in_ms(WORKER_MS / 10).ns < worker.until.ns)
            return worker;
        assert_true(clock_mono().ns < until);
        kill(worker.guard, SIGCONT);
        end_worker(&worker);
    }
}

/* This looks as if the whole machine had been suspended: the tasks exist until
 * the guard runs again, and the worker is not needed to kill them. */
static void
tasks_past_the_deadline_are_killed_after_a_suspension(void **state) {
    (void)state;
    struct world *world = world_new(NULL);
    need_cgroup(world);
    struct test_worker worker = stop_both(world);
    await_moment(worker.until);
    assert_int_equal(count_alive(world), 6);
    kill(worker.guard, SIGCONT);
    await_none(world);
    assert_int_equal(state_of(worker.pid), 'T');
    end_worker(&worker);
    world_free(world);
}

#define LEASED(name) \
    cmocka_unit_test_setup_teardown(name, set_up_leased, tear_down)
#define LEASED_GROUPS(name) \
    { #name "_without_cgroup", name, set_up_leased_groups, tear_down, NULL }

int main(int argc, char **argv) {
    int status = world_verbs(argc, argv);
    if (status >= 0)
        return status;
    if (argc > 3 && strcmp(argv[1], "worker") == 0)
        worker_main(argv[2], argv[3]);
    const struct CMUnitTest tests[] = {
        LEASED(nothing_starts_before_the_first_lease),
        LEASED(tasks_run_with_a_lease),
        LEASED(an_earlier_deadline_does_not_shorten_the_lease),
        LEASED(all_tasks_are_killed_when_the_lease_expires),
        LEASED_GROUPS(nothing_starts_before_the_first_lease),
        LEASED_GROUPS(tasks_run_with_a_lease),
        LEASED_GROUPS(all_tasks_are_killed_when_the_lease_expires),
        cmocka_unit_test(a_stopped_worker_leaves_no_task),
        cmocka_unit_test(a_stopped_worker_leaves_no_task_without_cgroup),
        cmocka_unit_test(
            a_killed_worker_leaves_no_task_even_before_the_deadline),
        cmocka_unit_test(tasks_past_the_deadline_are_killed_after_a_suspension),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
