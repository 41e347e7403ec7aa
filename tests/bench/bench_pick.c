/* The cost of a backlog: picking the next job with few and with many waiting
 * jobs, the memory of the server for each waiting job, and the CPU time from a
 * restart to the first start of a job.
 *
 *     bench_pick POINTSMAN [MOST]        default 1000000 waiting */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/callers.h"
#include "bench/figure.h"
#include "bench/served.h"
#include "bench/waiting.h"
#include "os/clock.h"
#include "scheduler/scheduler.h"

enum { PICKS = 1001, ROUNDS = 5, FEW = 10000, TIMEOUT_S = 300 };

static const char spec[] = "{\"command\":[\"/bin/sleep\",\"600\"]}";

/* ---- picking ------------------------------------------------------------ */

/* A simulated machine: each attempt seems to last a second and ends at once. */
struct machine {
    uint64_t handle; /* 0: none runs */
    unsigned starts;
};

static void machine_start(void *ctx, const struct run_start *order) {
    struct machine *machine = ctx;
    machine->handle = order->handle;
    machine->starts++;
}

static void machine_stop(void *ctx, uint64_t handle, enum run_stop how) {
    (void)ctx, (void)handle, (void)how;
}

static void machine_flush(void *ctx) {
    (void)ctx;
}

static struct run_sync machine_settle(void *ctx, bool whole) {
    (void)whole;
    (void)ctx;
    return (struct run_sync){.fd = -1};
}

static void machine_release(void *ctx, uint64_t handle) {
    (void)ctx, (void)handle;
}

static void end_attempt(struct machine *machine, struct scheduler *scheduler) {
    struct wall now = clock_wall();
    struct run_end end = {.handle = machine->handle,
                          .started = wall_add_ms(now, -1000),
                          .ended = now};
    machine->handle = 0;
    scheduler_ended(scheduler, &end);
}

static struct store *open_store(const struct served *served) {
    struct store_options options = {0};
    struct store *store;
    struct err err;
    if (!store_sqlite_open(bench_text("%s/ctrl/registry.db", served->base),
                           &options, &store, &err))
        bench_die("%s", err.text);
    return store;
}

/* Returns the median time of a turn that records an end and picks the next job,
 * without and with the commit. */
static void pick(struct store *store, double *ret_turn_us,
                 double *ret_commit_us) {
    static double turns[PICKS], commits[PICKS];
    struct machine machine = {0};
    struct scheduler_options options = {
        .parts = SCHEDULER_STAGES | SCHEDULER_STARTS,
        .slots = 1,
        .actor = SPAN("daemon:scheduler"),
        .worker = SPAN("local"),
    };
    struct runner runner = {.ctx = &machine,
                            .start = machine_start,
                            .stop = machine_stop,
                            .flush = machine_flush,
                            .write_outputs = machine_settle,
                            .release = machine_release};
    struct scheduler *scheduler = scheduler_new(store, &options, &runner);
    struct wall next;
    struct err err;
    if (!scheduler_start(scheduler, clock_wall(), true, &err))
        bench_die("%s", err.text);
    for (unsigned i = 0; i < PICKS + 1; i++) {
        double begun_us = bench_wall_us();
        if (!scheduler_turn(scheduler, clock_wall(), &next, &err))
            bench_die("%s", err.text);
        double turned_us = bench_wall_us();
        store_turn(store);
        if (machine.handle == 0)
            bench_die("no job was started");
        if (i > 0) { /* the first turn fills the window */
            turns[i - 1] = turned_us - begun_us;
            commits[i - 1] = bench_wall_us() - begun_us;
        }
        end_attempt(&machine, scheduler);
    }
    scheduler_free(scheduler);
    *ret_turn_us = bench_median(turns, PICKS);
    *ret_commit_us = bench_median(commits, PICKS);
}

/* Measures a base with ten thousand waiting jobs and one with more,
 * alternately, so that other load on the machine affects both. */
static void compare_picks(const struct served *few, const struct served *many,
                          uint64_t *few_added, uint64_t waiting) {
    struct store *few_store = open_store(few), *many_store = open_store(many);
    double few_us[ROUNDS], many_us[ROUNDS], few_commit_us, commit_us;
    double ratios[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        pick(few_store, &few_us[i], &few_commit_us);
        pick(many_store, &many_us[i], &commit_us);
        ratios[i] = many_us[i] / few_us[i];
        waiting_add_commands(few_store, *few_added, *few_added + PICKS,
                             SPAN(spec));
        *few_added += PICKS;
    }
    store_close(few_store);
    store_close(many_store);
    struct figure figure = {
        .what = bench_text("pick, %" PRIu64 " waiting", waiting),
        .ours = bench_text("%.1f us", bench_median(many_us, ROUNDS)),
        .other = bench_text("%u: %.1f us (commit: %.0f)", FEW,
                            bench_median(few_us, ROUNDS),
                            commit_us - many_us[ROUNDS - 1]),
        .value = bench_median(ratios, ROUNDS),
        .unit = "x",
        .goal = waiting <= 1000000 ? 1.1 : 1.3,
        .at_most = true,
    };
    figure_print(&figure);
}

/* ---- the serving process ------------------------------------------------ */

static void await_start(struct served *served) {
    static const char counts[] =
        "GET /api/v1/counts HTTP/1.1\r\nHost: pointsman\r\n\r\n";
    int fd = served_connect(served);
    bool started = false;
    for (int i = 0; !started && i < TIMEOUT_S * 1000; i++) {
        char *answer = callers_ask(fd, counts, sizeof(counts) - 1);
        started = strstr(answer, "\"executing\":1") != NULL;
        free(answer);
        if (!started)
            poll(NULL, 0, 1);
    }
    close(fd);
    if (!started)
        bench_die("no job was started");
}

/* Returns the CPU time until the first start, and the resident memory then. */
static void restart(struct served *served, const char *pointsman,
                    double *ret_cpu_us, double *ret_resident) {
    served_start(served, pointsman);
    await_start(served);
    *ret_cpu_us = served_cpu_us(served);
    *ret_resident = bench_resident_bytes(served->pid);
    served_stop(served);
}

/* Runs in a child process, because a heap that has held a million jobs is slow.
 */
static void fill(const struct served *served, uint64_t from, uint64_t to) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct store *store = open_store(served);
        waiting_add_commands(store, from, to, SPAN(spec));
        store_close(store);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        bench_die("cannot fill '%s'", served->base);
}

static void print_serving(struct served *full, const char *pointsman,
                          uint64_t waiting) {
    struct served few;
    double few_cpu_us, cpu_us, few_resident, resident;
    served_make(&few, pointsman, 1);
    fill(&few, 0, 10);
    restart(&few, pointsman, &few_cpu_us, &few_resident);
    restart(full, pointsman, &cpu_us, &resident);
    double each = (resident - few_resident) / (double)waiting;
    struct figure memory = {
        .what = bench_text("serve, %" PRIu64 " waiting, resident", waiting),
        .ours = bench_text("%.1f MiB", resident / (1 << 20)),
        .other = bench_text("10 waiting: %.1f MiB", few_resident / (1 << 20)),
        .value = each,
        .unit = "B each",
        .goal = 100,
        .at_most = true,
    };
    struct figure begin = {
        .what = bench_text("serve, %" PRIu64 " waiting, first start", waiting),
        .ours = bench_text("%.0f ms CPU", cpu_us / 1e3),
        .other = bench_text("10 waiting: %.0f ms", few_cpu_us / 1e3),
        .value = cpu_us / 1e6,
        .unit = "s",
        .goal = 0.5,
        .at_most = true,
    };
    figure_print(&memory);
    figure_print(&begin);
}

int main(int argc, char **argv) {
    uint64_t most = 1000000, filled = 0, few_filled = FEW;
    struct served few, many;
    if (argc < 2 || argc > 3 ||
        (argc == 3 && (!span_u64(span_of(argv[2]), &most) || most < 10 * FEW)))
        bench_die("usage: bench_pick POINTSMAN [MOST]");
    served_make(&few, argv[1], 1);
    served_make(&many, argv[1], 1);
    fill(&few, 0, few_filled);
    for (uint64_t waiting = 10 * FEW; waiting <= most; waiting *= 10) {
        fill(&many, filled, waiting);
        filled = waiting;
        compare_picks(&few, &many, &few_filled, waiting);
    }
    print_serving(&many, argv[1], filled);
    return 0;
}
