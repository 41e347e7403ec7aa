/* Long tasks: the throughput of their output, the time to kill them, their
 * memory, and the time until they end after a suspend; where possible compared
 * with the kernel alone, alternately.
 *
 *     bench_tasks TREE [ROUNDS]
 *
 * TREE is the program of tests/support/tree.c. */
#include "bench/figure.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "os/cgroup.h"
#include "os/clock.h"
#include "os/guard.h"

enum {
    ROUNDS_MAX = 99,
    INPUT_MIB = 256,
    MANY = 1000,
    LEASE_MS = 400,
    STEP = 1 << 20
};

struct bench {
    uv_loop_t loop;
    struct guard *guard;
    int base_fd;
    char *tree;
    const char *dir;
    uint64_t id;
    unsigned started, ready, ended;
    bool closed;
};

/* ---- a guard ------------------------------------------------------------- */

static void on_started(void *ctx, uint64_t id, pid_t pid, struct wall at) {
    struct bench *bench = ctx;
    (void)id;
    (void)pid;
    (void)at;
    bench->started++;
    uv_stop(&bench->loop);
}

static void on_progress(void *ctx, uint64_t id, struct span line) {
    struct bench *bench = ctx;
    (void)id;
    (void)line;
    bench->ready++;
    uv_stop(&bench->loop);
}

static void on_ended(void *ctx, const struct guard_end *end) {
    struct bench *bench = ctx;
    if (end->result != GUARD_RAN || end->survivors)
        bench_die("task failed: %.*s", (int)end->error.len,
                  end->error.len > 0 ? end->error.p : "");
    if (end->exit_code > 0)
        bench_die("a task exited with %d: its process tree is incomplete",
                  end->exit_code);
    bench->ended++;
    uv_stop(&bench->loop);
}

static void on_lost(void *ctx, const char *why) {
    (void)ctx;
    bench_die("%s", why);
}

static void on_closed(void *ctx) {
    struct bench *bench = ctx;
    bench->closed = true;
}

static void open_guard(struct bench *bench, bool leased) {
    static const struct guard_events events = {.started = on_started,
                                               .progress = on_progress,
                                               .ended = on_ended,
                                               .lost = on_lost};
    struct guard_options options = {
        .base_fd = bench->base_fd, .role = "bench", .leased = leased};
    struct err err = {0};
    if (!guard_open(&bench->loop, &options, &events, bench, &bench->guard,
                    &err))
        bench_die("%s", err.text);
    bench->started = bench->ready = bench->ended = 0;
}

static void close_guard(struct bench *bench) {
    bench->closed = false;
    guard_close(bench->guard, on_closed, bench);
    while (!bench->closed)
        uv_run(&bench->loop, UV_RUN_ONCE);
}

static void start(struct bench *bench, char *const *argv, const char *output) {
    static char path[] = "PATH=/usr/bin:/bin";
    static char *const envp[] = {path, NULL};
    struct guard_start order = {.id = ++bench->id,
                                .argv = argv,
                                .envp = envp,
                                .mask = 022,
                                .stdin_fd = -1,
                                .streams = true,
                                .progress_fd = true,
                                .output_path = output,
                                .output_max = UINT64_MAX / 4};
    guard_start(bench->guard, &order);
}

static void await(struct bench *bench, const unsigned *count, unsigned wanted) {
    while (*count < wanted)
        uv_run(&bench->loop, UV_RUN_ONCE);
}

/* ---- output -------------------------------------------------------------- */

static void write_input(const struct bench *bench) {
    static char block[STEP];
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = i % 80 == 79 ? '\n' : (char)('a' + i % 26);
    int fd = openat(bench->base_fd, "in", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (int i = 0; i < INPUT_MIB; i++)
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block)
            bench_die("cannot write the input: %s", strerror(errno));
    close(fd);
}

/* Returns MB per second. */
static double captured(struct bench *bench) {
    char in[4200], cat[] = "cat";
    snprintf(in, sizeof in, "%s/in", bench->dir);
    char *argv[] = {cat, in, NULL};
    unlinkat(bench->base_fd, "out", 0);
    unlinkat(bench->base_fd, "out.stamps", 0);
    open_guard(bench, false);
    double before_us = bench_wall_us();
    start(bench, argv, "out");
    await(bench, &bench->ended, 1);
    double us = bench_wall_us() - before_us;
    close_guard(bench);
    return INPUT_MIB * 1.048576 / (us / 1e6);
}

static double catted(struct bench *bench) {
    char command[9000];
    unlinkat(bench->base_fd, "out", 0);
    snprintf(command, sizeof command, "cat '%s/in' > '%s/out'", bench->dir,
             bench->dir);
    double before_us = bench_wall_us();
    if (system(command) != 0)
        bench_die("cannot run %s", command);
    return INPUT_MIB * 1.048576 / ((bench_wall_us() - before_us) / 1e6);
}

/* cat | cat > FILE does the same work as the guard: every byte passes through a
 * pipe. */
static double piped(struct bench *bench) {
    char command[9000];
    unlinkat(bench->base_fd, "out", 0);
    snprintf(command, sizeof command, "cat '%s/in' | cat > '%s/out'",
             bench->dir, bench->dir);
    double before_us = bench_wall_us();
    if (system(command) != 0)
        bench_die("cannot run %s", command);
    return INPUT_MIB * 1.048576 / ((bench_wall_us() - before_us) / 1e6);
}

static void bench_output(struct bench *bench, int rounds) {
    double ours[ROUNDS_MAX], file[ROUNDS_MAX], pipe[ROUNDS_MAX];
    write_input(bench);
    for (int i = 0; i < rounds; i++) {
        ours[i] = captured(bench);
        file[i] = catted(bench);
        pipe[i] = piped(bench);
    }
    double mine = bench_median(ours, (size_t)rounds);
    double best = bench_median(file, (size_t)rounds);
    double through = bench_median(pipe, (size_t)rounds);
    unlinkat(bench->base_fd, "out", 0);
    unlinkat(bench->base_fd, "out.stamps", 0);
    unlinkat(bench->base_fd, "in", 0);
    figure_print(
        &(struct figure){.what = "output of a task to its file",
                         .ours = bench_text("%.0f MB/s", mine),
                         .other = bench_text("cat > file: %.0f MB/s", best),
                         .value = mine / best,
                         .goal = 0.7,
                         .unit = ""});
    figure_print(&(struct figure){
        .what = "",
        .ours = "",
        .other = bench_text("cat | cat > file: %.0f MB/s", through),
        .value = mine / through,
        .unit = ""});
}

/* ---- from the kill to an empty cgroup ------------------------------------ */

static double killed_us(struct bench *bench) {
    char shape[] = "deaf", count[] = "1000";
    char *argv[] = {bench->tree, shape, count, NULL};
    unsigned ended = bench->ended, ready = bench->ready;
    start(bench, argv, NULL);
    await(bench, &bench->ready, ready + 1);
    double before_us = bench_wall_us();
    guard_kill(bench->guard, bench->id, SIGKILL, 0);
    await(bench, &bench->ended, ended + 1);
    return bench_wall_us() - before_us;
}

static bool is_populated(int fd) {
    char text[128];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return strstr(text, "populated 1") != NULL;
}

static void write_to(int dir_fd, const char *name, const char *word) {
    int fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, word, strlen(word)) < 0)
        bench_die("cannot write %s: %s", name, strerror(errno));
    close(fd);
}

static pid_t start_tree_in(int cgroup_fd, char *tree) {
    int fds[2];
    char line[8], shape[] = "deaf", count[] = "1000";
    char *argv[] = {tree, shape, count, NULL};
    if (pipe(fds) < 0)
        bench_die("cannot create a pipe");
    pid_t pid = fork();
    if (pid == 0) {
        write_to(cgroup_fd, "cgroup.procs", "0");
        dup2(fds[1], 4);
        execv(tree, argv);
        _exit(127);
    }
    close(fds[1]);
    if (read(fds[0], line, sizeof line) <= 0)
        bench_die("the process tree did not start");
    close(fds[0]);
    return pid;
}

/* The same with cgroup.kill and cgroup.events alone. */
static double raw_us(const char *root, char *tree) {
    char path[4200];
    snprintf(path, sizeof path, "%s/bench.%d", root, (int)getpid());
    if (mkdir(path, 0755) < 0)
        bench_die("cannot create '%s': %s", path, strerror(errno));
    int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int events_fd = openat(dir_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
    pid_t pid = start_tree_in(dir_fd, tree);
    double before_us = bench_wall_us();
    write_to(dir_fd, "cgroup.kill", "1");
    while (is_populated(events_fd)) {
        struct pollfd wait = {.fd = events_fd, .events = POLLPRI};
        poll(&wait, 1, 1000);
    }
    double us = bench_wall_us() - before_us;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    close(events_fd);
    close(dir_fd);
    while (rmdir(path) < 0 && errno == EBUSY)
        poll(NULL, 0, 1);
    return us;
}

static int by_size(const void *a, const void *b) {
    const double *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static void bench_kill(struct bench *bench, int rounds) {
    double ours[ROUNDS_MAX], raw[ROUNDS_MAX];
    char root[PATH_MAX];
    struct err err = {0};
    open_guard(bench, false);
    if (!guard_has_cgroup(bench->guard) || !cgroup_find(root, &err)) {
        printf("kill of 1,000 processes: skipped, %s\n",
               guard_mode(bench->guard));
        close_guard(bench);
        return;
    }
    for (int i = 0; i < rounds; i++) {
        ours[i] = killed_us(bench);
        raw[i] = raw_us(root, bench->tree);
    }
    close_guard(bench);
    qsort(ours, (size_t)rounds, sizeof *ours, by_size);
    qsort(raw, (size_t)rounds, sizeof *raw, by_size);
    figure_print(
        &(struct figure){.what = "kill of 1,000 processes, median",
                         .ours = bench_text("%.1f ms", ours[rounds / 2] / 1e3),
                         .other = bench_text("cgroup.kill alone: %.1f ms",
                                             raw[rounds / 2] / 1e3),
                         .value = ours[rounds / 2] / raw[rounds / 2],
                         .unit = ""});
    figure_print(
        &(struct figure){.what = bench_text("the longest of %d", rounds),
                         .ours = bench_text("%.1f ms", ours[rounds - 1] / 1e3),
                         .other = bench_text("cgroup.kill alone: %.1f ms",
                                             raw[rounds - 1] / 1e3),
                         .value = ours[rounds - 1] / 1e3,
                         .goal = 50,
                         .at_most = true,
                         .unit = "ms"});
}

/* ---- many tasks ---------------------------------------------------------- */

static void bench_many(struct bench *bench) {
    char sleep[] = "sleep", time[] = "1000";
    char *argv[] = {sleep, time, NULL};
    open_guard(bench, false);
    start(bench, argv, NULL);
    await(bench, &bench->started, 1);
    double before = bench_resident_bytes(getpid()),
           guard_before = bench_resident_bytes(guard_pid(bench->guard));
    uint64_t first = bench->id;
    for (int i = 0; i < MANY; i++)
        start(bench, argv, NULL);
    await(bench, &bench->started, MANY + 1);
    double each = (bench_resident_bytes(getpid()) - before) / MANY / 1024;
    double guard_each =
        (bench_resident_bytes(guard_pid(bench->guard)) - guard_before) / MANY /
        1024;
    for (uint64_t id = first; id <= bench->id; id++)
        guard_kill(bench->guard, id, SIGKILL, 0);
    await(bench, &bench->ended, MANY + 1);
    close_guard(bench);
    figure_print(&(struct figure){
        .what = "memory per task, 1,000 tasks",
        .ours = bench_text("%.1f KiB", each + guard_each),
        .other = bench_text("in the guard: %.1f KiB", guard_each),
        .value = each + guard_each,
        .goal = 40,
        .at_most = true,
        .unit = "KiB"});
}

/* ---- after a suspend ----------------------------------------------------- */

/* Stops the guard until the lease has expired, continues it, and returns the
 * time until it reports the end of the task. */
static double thawed_us(struct bench *bench) {
    char sleep[] = "sleep", time[] = "1000";
    char *argv[] = {sleep, time, NULL};
    open_guard(bench, true);
    struct boot until = {clock_boot().ns + LEASE_MS * NS_PER_MS};
    guard_lease(bench->guard, until);
    start(bench, argv, NULL);
    guard_flush(bench->guard);
    poll(NULL, 0, 50);
    kill(guard_pid(bench->guard), SIGSTOP);
    while (clock_boot().ns < until.ns + 100 * NS_PER_MS)
        poll(NULL, 0, 10);
    double before_us = bench_wall_us();
    kill(guard_pid(bench->guard), SIGCONT);
    await(bench, &bench->ended, 1);
    double us = bench_wall_us() - before_us;
    close_guard(bench);
    return us;
}

static void bench_thaw(struct bench *bench, int rounds) {
    double us[ROUNDS_MAX];
    for (int i = 0; i < rounds; i++)
        us[i] = thawed_us(bench);
    qsort(us, (size_t)rounds, sizeof *us, by_size);
    figure_print(
        &(struct figure){.what = "end of a task after a suspend",
                         .ours = bench_text("%.1f ms", us[rounds / 2] / 1e3),
                         .other = bench_text("the longest of %d", rounds),
                         .value = us[rounds - 1] / 1e3,
                         .goal = 250,
                         .at_most = true,
                         .unit = "ms"});
}

int main(int argc, char **argv) {
    static struct bench bench;
    if (argc > 1 && strcmp(argv[1], "guard") == 0)
        return guard_main(argc - 1, argv + 1);
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    if (argc < 2 || rounds < 1 || rounds > 20)
        return 64;
    bench.tree = argv[1];
    bench.dir = bench_dir();
    bench.base_fd = open(bench.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uv_loop_init(&bench.loop);
    bench_output(&bench, rounds);
    bench_kill(&bench, rounds * 4);
    bench_many(&bench);
    bench_thaw(&bench, rounds);
    close(bench.base_fd);
    uv_loop_close(&bench.loop);
    return 0;
}
