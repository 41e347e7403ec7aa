/* No-op tasks through the guard and its client, compared with plain vfork +
 * exec
 * + pipe, alternately in the same run:
 *
 *     bench_guard NOOP RAW_SPAWN [COUNT [ROUNDS]]
 *
 * Prints the medians of the tasks per second and of the CPU time per task
 * (client, guard and task together), and the CPU time that guard and client
 * add. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "os/clock.h"
#include "os/guard.h"

enum { AHEAD = 256, ROUNDS_MAX = 99 };

struct result {
    double per_s, cpu_us;
};

struct bench {
    uv_loop_t loop;
    struct guard *guard;
    char *noop;
    const char *raw_spawn;
    uint64_t count, started, ended;
    bool closed, pipes; /* pipes: status and progress too */
};

static void start_one(struct bench *bench) {
    char *argv[] = {bench->noop, NULL};
    static char job[] = "POINTSMAN_JOB=j1", path[] = "PATH=/usr/bin:/bin";
    static char *const envp[] = {path, job, NULL};
    struct guard_start start = {.id = ++bench->started,
                                .argv = argv,
                                .envp = envp,
                                .dir = "/",
                                .mask = 022,
                                .stdin_fd = -1,
                                .status_fd = bench->pipes,
                                .progress_fd = bench->pipes,
                                .streams = bench->pipes};
    guard_start(bench->guard, &start);
}

static void on_ended(void *ctx, const struct guard_end *end) {
    struct bench *bench = ctx;
    if (end->result != GUARD_RAN || end->exit_code != 0) {
        fprintf(stderr, "task failed: %.*s\n", (int)end->error.len,
                end->error.len > 0 ? end->error.p : "");
        exit(1);
    }
    bench->ended++;
    if (bench->started < bench->count)
        start_one(bench);
    if (bench->ended == bench->count)
        uv_stop(&bench->loop);
}

static void on_lost(void *ctx, const char *why) {
    (void)ctx;
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static void on_closed(void *ctx) {
    struct bench *bench = ctx;
    bench->closed = true;
}

static double cpu_us(void) {
    struct rusage self, children;
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    return (double)(self.ru_utime.tv_sec + self.ru_stime.tv_sec +
                    children.ru_utime.tv_sec + children.ru_stime.tv_sec) *
               1e6 +
           (double)(self.ru_utime.tv_usec + self.ru_stime.tv_usec +
                    children.ru_utime.tv_usec + children.ru_stime.tv_usec);
}

static void open_guard(struct bench *bench, const char *cgroup_root) {
    static const struct guard_events events = {.ended = on_ended,
                                               .lost = on_lost};
    int base_fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct guard_options options = {.base_fd = base_fd,
                                    .role = "bench",
                                    .cgroup_root = cgroup_root,
                                    .launchers = 2,
                                    .slots = 2};
    struct err err = {0};
    if (!guard_open(&bench->loop, &options, &events, bench, &bench->guard,
                    &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    close(base_fd);
}

/* The CPU time of the guard counts when it is reaped, so the whole life of the
 * guard is measured. */
static struct result run_guard(struct bench *bench, const char *cgroup_root,
                               bool pipes) {
    bench->pipes = pipes;
    double before_us = cpu_us();
    open_guard(bench, cgroup_root);
    struct mono begin = clock_mono();
    bench->started = bench->ended = 0;
    for (int i = 0; i < AHEAD && bench->started < bench->count; i++)
        start_one(bench);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    double seconds = (double)(clock_mono().ns - begin.ns) / NS_PER_S;
    bench->closed = false;
    guard_close(bench->guard, on_closed, bench);
    while (!bench->closed)
        uv_run(&bench->loop, UV_RUN_ONCE);
    /* It is reaped there only if it has ended by then, not just closed its
     * socket. */
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    return (struct result){(double)bench->count / seconds,
                           (cpu_us() - before_us) / (double)bench->count};
}

static struct result run_raw(struct bench *bench) {
    char command[4096];
    struct result result = {0};
    snprintf(command, sizeof command, "'%s' %llu 2 '%s'", bench->raw_spawn,
             (unsigned long long)bench->count, bench->noop);
    FILE *f = popen(command, "r");
    if (f == NULL || fscanf(f, "%lf %lf", &result.per_s, &result.cpu_us) != 2) {
        fprintf(stderr, "cannot run %s\n", command);
        exit(1);
    }
    pclose(f);
    return result;
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(const struct result *results, int count, bool cpu) {
    double sorted[ROUNDS_MAX];
    for (int i = 0; i < count; i++)
        sorted[i] = cpu ? results[i].cpu_us : results[i].per_s;
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    return sorted[count / 2];
}

static void print(const char *name, const struct result *results,
                  const struct result *raw, int count) {
    double per_s = median(results, count, false);
    double cpu = median(results, count, true);
    double raw_per_s = median(raw, count, false);
    double raw_cpu = median(raw, count, true);
    printf("%-22s %7.0f tasks/s  %6.1f us CPU/task  ratio %.2f  "
           "added %+.1f us\n",
           name, per_s, cpu, per_s / raw_per_s, cpu - raw_cpu);
}

int main(int argc, char **argv) {
    static struct bench bench;
    static struct result raw[ROUNDS_MAX], with[ROUNDS_MAX], without[ROUNDS_MAX],
        pipes[ROUNDS_MAX];
    if (argc > 1 && strcmp(argv[1], "guard") == 0)
        return guard_main(argc - 1, argv + 1);
    if (argc < 3)
        return 64;
    bench.noop = argv[1];
    bench.raw_spawn = argv[2];
    bench.count = argc > 3 ? strtoull(argv[3], NULL, 10) : 5000;
    int rounds = argc > 4 ? atoi(argv[4]) : 5;
    if (bench.count == 0 || rounds < 1 || rounds > ROUNDS_MAX)
        return 64;
    uv_loop_init(&bench.loop);
    for (int i = 0; i < rounds; i++) {
        raw[i] = run_raw(&bench);
        with[i] = run_guard(&bench, NULL, false);
        without[i] = run_guard(&bench, "", false);
        pipes[i] = run_guard(&bench, NULL, true);
    }
    printf("no-op tasks, 2 at a time, %d rounds of %llu\n", rounds,
           (unsigned long long)bench.count);
    print("raw vfork+exec+pipe", raw, raw, rounds);
    print("guard, cgroup if any", with, raw, rounds);
    print("guard, groups", without, raw, rounds);
    print("guard, three pipes", pipes, raw, rounds);
    uv_loop_close(&bench.loop);
    return 0;
}
