/* Tens of thousands of change sets that all touch one path: one queueing pass,
 * from a cold start until all are staged, with a registry in memory and in
 * SQLite.
 *
 *     bench_touch [COUNT]               default 50000 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/figure.h"
#include "bench/waiting.h"
#include "os/clock.h"
#include "scheduler/scheduler.h"
#include "store/simulated.h"

static void nothing(void *ctx) {
    (void)ctx;
}

static struct store *open_store(bool memory) {
    struct store_options options = {.create = true};
    struct store *store;
    struct err err;
    if (memory)
        return store_memory_new();
    if (!store_sqlite_open(bench_text("%s/touch.db", bench_dir()), &options,
                           &store, &err))
        bench_die("%s", err.text);
    return store;
}

/* The first set is pending; every other one waits for another set. */
static void check(struct store *store, uint64_t count) {
    struct store_tally tally;
    if (!store_count(store, &tally, NULL) ||
        tally.count[STATE_STAGED] != count - 1 ||
        tally.count[STATE_PENDING] != 1)
        bench_die("the sets are not staged");
}

static double pass_s(struct store *store, uint64_t count) {
    struct scheduler_target target = {.name = SPAN("main"), .lanes = 1};
    struct scheduler_options options = {
        .parts = SCHEDULER_STAGES,
        .slots = 2,
        .wait_for_dep_ms = 3600 * 1000,
        .actor = SPAN("daemon:queue"),
        .worker = SPAN("local"),
        .targets = &target,
        .target_count = 1,
    };
    struct runner runner = {.flush = nothing};
    struct wall next;
    struct err err;
    double begun_us = bench_wall_us();
    struct scheduler *scheduler = scheduler_new(store, &options, &runner);
    bool ok = scheduler_start(scheduler, clock_wall(), false, &err);
    do {
        ok = ok && scheduler_turn(scheduler, clock_wall(), &next, &err);
        if (!ok)
            bench_die("%s", err.text);
        store_turn(store);
    } while (!scheduler_idle(scheduler));
    double us = bench_wall_us() - begun_us;
    check(store, count);
    scheduler_free(scheduler);
    return us / 1e6;
}

/* Runs in a child process, so that its peak memory can be measured. */
static void run(bool memory, uint64_t count) {
    int fds[2], status;
    struct rusage use;
    double seconds;
    (void)bench_dir();
    if (pipe(fds) < 0)
        bench_die("cannot create a pipe");
    pid_t pid = fork();
    if (pid == 0) {
        struct store *store = open_store(memory);
        waiting_add_sets(store, count, "src/main.c");
        seconds = pass_s(store, count);
        store_close(store);
        _exit(write(fds[1], &seconds, sizeof(seconds)) != sizeof(seconds));
    }
    if (pid < 0 || wait4(pid, &status, 0, &use) != pid || status != 0 ||
        read(fds[0], &seconds, sizeof(seconds)) != sizeof(seconds))
        bench_die("the pass failed");
    const char *store = memory ? "memory" : "SQLite";
    struct figure time = {
        .what = bench_text("%llu sets on one path, %s",
                           (unsigned long long)count, store),
        .ours = bench_text("%.2f s", seconds),
        .other = "one queueing pass",
        .value = seconds,
        .unit = "s",
        .goal = 60,
        .at_most = true,
    };
    struct figure peak = {
        .what = time.what,
        .ours = bench_text("%ld MiB", use.ru_maxrss / 1024),
        .other = "peak, registry included",
        .value = (double)use.ru_maxrss / 1024,
        .unit = "MiB",
        .goal = 1024,
        .at_most = true,
    };
    figure_print(&time);
    figure_print(&peak);
}

int main(int argc, char **argv) {
    uint64_t count = 50000;
    if (argc > 2 || (argc == 2 && !span_u64(span_of(argv[1]), &count)) ||
        count == 0)
        bench_die("usage: bench_touch [COUNT]");
    run(true, count);
    run(false, count);
    return 0;
}
