/* No process is left over. All ways to kill, all recipients of the signal, all
 * death signals and all shapes of process trees are combined; they are tested
 * with a kill, with the death of the worker, and with the expiry of its lease
 * while it is stopped. The processes of a test carry a mark in their
 * environment, so they are found no matter how they tried to get away. */
#include "support/guard_world.h"

#include <ctype.h>
#include <inttypes.h>

enum {
    METHODS = 3,
    TOS = 3,
    DEATHS = 3,
    BOMB = 1000,
    GRACE_MS = 20,
    LEASE_MS = 5000
};

static const struct {
    const char *name;
    bool deaf;
} shapes[] = {{"plain", false},
              {"setsid", false},
              {"double", false},
              {"deaf", true},
              {"closed", false}};
enum { SHAPES = COUNT(shapes) };

static char *tree_program;
static char mark[128];
static char *const marked_env[] = {env_path, mark, NULL};

static void set_mark(const char *name) {
    snprintf(mark, sizeof mark, "TREE_MARK=%s.%d", name, (int)getpid());
}

/* ---- marked processes ---------------------------------------------------- */

static bool has_mark(const char *pid) {
    char path[64], environ_text[2048];
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, environ_text, sizeof environ_text);
    if (fd >= 0)
        close(fd);
    return n > 0 && memmem(environ_text, (size_t)n, mark, strlen(mark) + 1);
}

/* Counts no zombies, because they have no environment. */
static unsigned count_marked(void) {
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    unsigned count = 0;
    while ((entry = readdir(dir)) != NULL)
        count +=
            isdigit((unsigned char)entry->d_name[0]) && has_mark(entry->d_name);
    closedir(dir);
    return count;
}

static void await_unmarked(void) {
    int64_t until = clock_mono().ns + TIMEOUT_MS * NS_PER_MS;
    while (count_marked() > 0) {
        assert_true(clock_mono().ns < until);
        poll(NULL, 0, 20);
    }
}

/* ---- rows ---------------------------------------------------------------- */

struct row {
    unsigned method, to, death, shape;
};

static uint64_t row_id(const struct row *row) {
    return 1 + row->method +
           METHODS * (row->to + TOS * (row->death + DEATHS * row->shape));
}

static struct row row_of(uint64_t id) {
    unsigned n = (unsigned)id - 1;
    return (struct row){.method = n % METHODS,
                        .to = n / METHODS % TOS,
                        .death = n / METHODS / TOS % DEATHS,
                        .shape = n / METHODS / TOS / DEATHS};
}

static void row_start(struct world *world, const struct row *row, uint64_t id,
                      const char *shape, const char *count) {
    char *const argv[] = {tree_program, (char *)(uintptr_t)shape,
                          (char *)(uintptr_t)count, NULL};
    struct guard_start start = task(id, argv);
    start.envp = marked_env;
    start.progress_fd = true;
    start.canary = true;
    start.kill_to = (enum guard_to)row->to;
    start.death = (enum guard_death)row->death;
    guard_start(world->guard, &start);
}

/* Methods: 0 is TERM alone, 1 is KILL, 2 is TERM and then KILL after the grace
 * period. */
static void row_kill(struct world *world, const struct row *row, uint64_t id) {
    guard_kill(world->guard, id, row->method == 1 ? SIGKILL : SIGTERM,
               row->method == 0 ? GUARD_NO_KILL : GRACE_MS);
}

static void kill_by_row(struct world *world, uint64_t id) {
    struct row row = row_of(id);
    row_kill(world, &row, id);
}

static bool outlives_term(const struct row *row) {
    return row->method == 0 && shapes[row->shape].deaf;
}

static void kill_survivors_of_term(struct world *world) {
    for (uint64_t id = 1; id <= METHODS * TOS * DEATHS * SHAPES; id++) {
        struct row row = row_of(id);
        if (!outlives_term(&row))
            continue;
        assert_int_equal(world->seen[id].times, 0);
        guard_kill(world->guard, id, SIGKILL, 0);
    }
}

static void need_cgroup(struct world *world) {
    if (!guard_has_cgroup(world->guard))
        test_skip(guard_mode(world->guard));
}

static unsigned start_rows(struct world *world) {
    unsigned deaf = 0;
    for (uint64_t id = 1; id <= METHODS * TOS * DEATHS * SHAPES; id++) {
        struct row row = row_of(id);
        assert_int_equal(row_id(&row), id);
        row_start(world, &row, id, shapes[row.shape].name, "3");
        deaf += outlives_term(&row);
    }
    return deaf;
}

static void no_process_survives_any_kind_of_kill(void **state) {
    struct world *world = *state;
    need_cgroup(world);
    set_mark("kill");
    world->on_progress = kill_by_row;
    unsigned all = METHODS * TOS * DEATHS * SHAPES, deaf = start_rows(world);
    world_run(world, all - deaf, 2);
    assert_true(count_marked() >= deaf);
    kill_survivors_of_term(world);
    world_run(world, deaf, 1);
    assert_int_equal(count_marked(), 0);
    for (uint64_t id = 1; id <= all; id++)
        assert_false(world->seen[id].end.survivors);
}

static void no_process_of_a_thousand_survives(void **state) {
    struct world *world = *state;
    need_cgroup(world);
    set_mark("bomb");
    for (unsigned n = 0; n < 2 * TOS; n++) {
        struct row row = {.method = 1 + n % 2, .to = n / 2, .death = n / 2};
        uint64_t id = 1 + row.method + METHODS * row.to;
        world->on_progress = kill_by_row;
        row_start(world, &row, id, "deaf", "1000");
        struct seen *seen = world_run(world, 1, id);
        assert_false(seen->end.survivors);
        assert_int_equal(count_marked(), 0);
    }
}

/* KILL is sent while the task is still forking: it must not outrun the
 * guard. */
static void a_fork_bomb_is_ended_while_it_grows(void **state) {
    struct world *world = *state;
    need_cgroup(world);
    set_mark("grows");
    struct guard_start start = task(
        1, SH("trap '' TERM; echo ready >&4; i=0; while [ $i -lt 1000 ]; do "
              "setsid sleep 1000 & i=$((i+1)); done; wait"));
    start.envp = marked_env;
    start.progress_fd = true;
    world->on_progress = NULL;
    guard_start(world->guard, &start);
    while (world->progressed == 0)
        uv_run(&world->loop, UV_RUN_ONCE);
    guard_kill(world->guard, 1, SIGKILL, 0);
    struct seen *seen = world_run(world, 1, 1);
    assert_int_equal(seen->end.signal, SIGKILL);
    assert_int_equal(count_marked(), 0);
}

/* ---- a worker in a separate process -------------------------------------- */

static unsigned ready_count;

static void count_ready(struct world *world, uint64_t id) {
    (void)world;
    (void)id;
    ready_count++;
}

static void extend(struct world *world) {
    if (world->leased)
        guard_lease(world->guard,
                    (struct boot){clock_boot().ns + LEASE_MS * NS_PER_MS});
}

static void on_keep(uv_timer_t *timer) {
    extend(timer->data);
}

/* Starts all trees and a fork bomb, prints the guard's pid when they are ready,
 * and does nothing more. */
static void worker_main(const char *dir, const char *root, const char *lease) {
    struct world *world = calloc(1, sizeof *world);
    snprintf(world->dir, sizeof world->dir, "%s", dir);
    world->base_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    world->cgroup_root = *root == '-' ? NULL : "";
    world->leased = atoi(lease) > 0;
    world->on_progress = count_ready;
    uv_loop_init(&world->loop);
    world_open(world, 0);
    uv_timer_t keeper;
    uv_timer_init(&world->loop, &keeper);
    keeper.data = world;
    uv_timer_start(&keeper, on_keep, 0, LEASE_MS / 50);
    extend(world);
    unsigned wanted = 1;
    for (unsigned n = 0; n < TOS * DEATHS * SHAPES; n++, wanted++) {
        struct row row = {.to = n % TOS,
                          .death = n / TOS % DEATHS,
                          .shape = n / TOS / DEATHS};
        row_start(world, &row, row_id(&row), shapes[row.shape].name, "3");
    }
    struct row bomb = {.death = GUARD_DEATH_NONE};
    row_start(world, &bomb, 4000, "deaf", "1000");
    while (ready_count < wanted && !world->lost)
        uv_run(&world->loop, UV_RUN_ONCE);
    extend(world);
    guard_flush(world->guard);
    printf("%d\n", (int)guard_pid(world->guard));
    fflush(stdout);
    sleep_for_ever();
}

struct test_worker {
    pid_t pid, guard;
};

static struct test_worker start_worker(struct world *world, const char *lease) {
    struct test_worker worker = {0};
    int fds[2];
    char text[32] = "";
    assert_int_equal(pipe(fds), 0);
    worker.pid = fork();
    if (worker.pid == 0) {
        dup2(fds[1], 1);
        close(fds[0]);
        close(fds[1]);
        execl(self, self, "worker", world->dir,
              world->cgroup_root == NULL ? "-" : "none", lease, mark,
              tree_program, NULL);
        _exit(9);
    }
    close(fds[1]);
    assert_true(read(fds[0], text, sizeof text - 1) > 0);
    close(fds[0]);
    worker.guard = atoi(text);
    assert_true(count_marked() > BOMB);
    return worker;
}

static void end_worker(struct test_worker *worker) {
    kill(worker->pid, SIGKILL);
    waitpid(worker->pid, NULL, 0);
}

static bool probe_cgroup(void) {
    struct world *world = world_new(NULL);
    world_open(world, 0);
    bool has = guard_has_cgroup(world->guard);
    world_free(world);
    return has;
}

static void check_death_of_worker(const char *root) {
    struct world *world = world_new(root);
    set_mark("death");
    struct test_worker worker = start_worker(world, "0");
    end_worker(&worker);
    await_unmarked();
    world_free(world);
}

static void no_process_survives_the_death_of_the_worker(void **state) {
    (void)state;
    if (!probe_cgroup())
        test_skip("cgroup v2 is not available");
    check_death_of_worker(NULL);
}

static void
no_process_survives_the_death_of_the_worker_without_cgroup(void **state) {
    (void)state;
    check_death_of_worker("");
}

static void check_lease_of_stopped_worker(const char *root) {
    struct world *world = world_new(root);
    set_mark("lease");
    struct test_worker worker = start_worker(world, "1");
    kill(worker.pid, SIGSTOP);
    await_unmarked();
    assert_int_equal(kill(worker.pid, 0), 0);
    assert_int_equal(kill(worker.guard, 0), 0);
    end_worker(&worker);
    world_free(world);
}

static void no_process_survives_the_lease_of_a_stopped_worker(void **state) {
    (void)state;
    if (!probe_cgroup())
        test_skip("cgroup v2 is not available");
    check_lease_of_stopped_worker(NULL);
}

static void
no_process_survives_the_lease_of_a_stopped_worker_without_cgroup(void **state) {
    (void)state;
    check_lease_of_stopped_worker("");
}

/* ---- survivors without a cgroup ------------------------------------------ */

/* Without a cgroup, a process that left the group and closed everything is
 * invisible to the guard, but ends with it. All others end with their task. */
static void
without_cgroup_only_detached_processes_outlive_their_task(void **state) {
    struct world *world = *state;
    set_mark("groups");
    world->on_progress = kill_by_row;
    unsigned all = METHODS * TOS * DEATHS * SHAPES, deaf = start_rows(world);
    world_run(world, all - deaf, 2);
    kill_survivors_of_term(world);
    world_run(world, deaf, 1);
    assert_int_equal(count_marked(), METHODS * TOS * DEATHS * 3);
    world_close_guard(world);
    assert_int_equal(count_marked(), 0);
}

int main(int argc, char **argv) {
    int status = world_verbs(argc, argv);
    if (status >= 0)
        return status;
    tree_program = getenv("TREE_PROGRAM");
    if (argc > 6 && strcmp(argv[1], "worker") == 0) {
        snprintf(mark, sizeof mark, "%s", argv[5]);
        tree_program = argv[6];
        worker_main(argv[2], argv[3], argv[4]);
    }
    const struct CMUnitTest tests[] = {
        CASE(no_process_survives_any_kind_of_kill),
        CASE(no_process_of_a_thousand_survives),
        CASE(a_fork_bomb_is_ended_while_it_grows),
        cmocka_unit_test(no_process_survives_the_death_of_the_worker),
        cmocka_unit_test(
            no_process_survives_the_death_of_the_worker_without_cgroup),
        cmocka_unit_test(no_process_survives_the_lease_of_a_stopped_worker),
        cmocka_unit_test(
            no_process_survives_the_lease_of_a_stopped_worker_without_cgroup),
        {"without_cgroup_only_detached_processes_outlive_their_task",
         without_cgroup_only_detached_processes_outlive_their_task,
         set_up_groups, tear_down, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
