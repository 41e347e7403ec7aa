/* The cost of many schedules: a decision, and a server that waits for them, and
 * its start; the import of a crontab; `config check`; how late they fire.
 *
 *     bench_schedules POINTSMAN [COUNT] */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/figure.h"
#include "bench/served.h"
#include "core/schedules.h"
#include "os/clock.h"
#include "schedules/schedule_row.h"
#include "serve/tables.h"

enum { MANY = 100000, FEW = 100, ROUNDS = 5, DECISIONS = 50000, IDLE_S = 20 };

#define NOW INT64_C(1800000000)

/* ---- deciding ------------------------------------------------------------ */

/* Each schedule fires every ten minutes; the seconds are spread evenly. */
static struct schedules *fill_table(size_t count) {
    struct schedules *table = schedules_new(NOW, 0);
    struct schedule_rule rule = {.max_shift_s = 3600, .overlap = OVERLAP_ALLOW};
    struct schedule_place place = {.high_s = NOW};
    struct err err = {0};

    if (!repeat_parse(&rule.repeat, SPAN("*/10 * * * *"), NULL, &err))
        bench_die("%s", err.text);
    for (size_t i = 0; i < count; i++) {
        rule.offset_s = (int64_t)(i % 600);
        schedules_add(table, &rule, &place, NULL);
    }
    repeat_clear(&rule.repeat);
    return table;
}

static double decide(struct schedules *table, int64_t *now_s) {
    struct schedule_decision decision;
    size_t made = 0;
    double begun = bench_cpu_us();

    while (made < DECISIONS) {
        (*now_s)++;
        schedules_tick(table, *now_s, *now_s - NOW);
        while (schedules_decide(table, &decision)) {
            schedules_recorded(table, decision.schedule);
            made++;
        }
    }
    return (bench_cpu_us() - begun) * 1000 / (double)made;
}

static void print_decisions(size_t many) {
    struct schedules *few_table = fill_table(FEW),
                     *many_table = fill_table(many);
    int64_t few_now = NOW, many_now = NOW;
    double few_ns[ROUNDS], many_ns[ROUNDS], ratios[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        few_ns[i] = decide(few_table, &few_now);
        many_ns[i] = decide(many_table, &many_now);
        ratios[i] = many_ns[i] / few_ns[i];
    }
    schedules_free(few_table);
    schedules_free(many_table);
    struct figure figure = {
        .what = bench_text("decision, %zu schedules", many),
        .ours = bench_text("%.0f ns", bench_median(many_ns, ROUNDS)),
        .other = bench_text("%d: %.0f ns", FEW, bench_median(few_ns, ROUNDS)),
        .value = bench_median(ratios, ROUNDS),
        .goal = 6, /* log n, and a table larger than the cache */
        .at_most = true,
        .unit = "x",
    };
    figure_print(&figure);
}

/* ---- waiting ------------------------------------------------------------- */

/* Each schedule fires once a year, on 1 January. */
static void fill_base(const struct served *served, size_t count) {
    struct store_options options = {0};
    struct store *store;
    struct err err = {0};
    int64_t now_s = wall_s(clock_wall());
    char name[32];

    if (!store_sqlite_open(bench_text("%s/ctrl/registry.db", served->base),
                           &options, &store, &err))
        bench_die("%s", err.text);
    struct store_batch *batch = store_batch_new(store);
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "s%zu", i);
        struct schedule_row row = {
            .name = span_of(name),
            .spec = SPAN("{\"item\":\"0 0 1 1 *\",\"zone\":\"Europe/London\","
                         "\"job\":{\"command\":[\"true\"]}}"),
            .origin = SPAN("uid:0"),
            .high_s = now_s,
            .seed = i,
        };
        schedule_row_set(batch, &row, SCHEDULE_ADD);
    }
    if (!store_write(batch, &err))
        bench_die("%s", err.text);
    store_batch_free(batch);
    store_close(store);
}

/* Returns the share of a core that an idle server uses, in percent, the CPU
 * time of its start and its resident memory. */
static double wait_idle(struct served *served, const char *pointsman,
                        double *ret_start_us, double *ret_resident) {
    served_start(served, pointsman);
    *ret_start_us = served_cpu_us(served);
    double begun = bench_wall_us(), cpu_us = served_cpu_us(served);
    while (bench_wall_us() < begun + IDLE_S * 1e6)
        poll(NULL, 0, 1000);
    double share = (served_cpu_us(served) - cpu_us) / (bench_wall_us() - begun);
    *ret_resident = bench_resident_bytes(served->pid);
    served_stop(served);
    return share * 100;
}

static void print_idle(const char *pointsman, size_t many) {
    struct served none, full;
    double none_start_us, full_start_us, none_resident, full_resident;

    served_make(&none, pointsman, 1);
    served_make(&full, pointsman, 1);
    fill_base(&full, many);
    double none_share =
        wait_idle(&none, pointsman, &none_start_us, &none_resident);
    double share = wait_idle(&full, pointsman, &full_start_us, &full_resident);
    struct figure idle = {
        .what = bench_text("serve idle, %zu schedules", many),
        .ours = bench_text("%.2f %% of a core", share),
        .other = bench_text("none: %.2f %%", none_share),
        .value = share,
        .goal = 1,
        .at_most = true,
        .unit = "%",
    };
    struct figure start = {
        .what = bench_text("serve start, %zu schedules", many),
        .ours = bench_text("%.0f ms CPU", full_start_us / 1e3),
        .other = bench_text("none: %.0f ms", none_start_us / 1e3),
        .value = (full_start_us - none_start_us) / (double)many,
        .unit = "us each",
    };
    struct figure memory = {
        .what = bench_text("serve memory, %zu schedules", many),
        .ours = bench_text("%.1f MiB", full_resident / (1 << 20)),
        .other = bench_text("none: %.1f MiB", none_resident / (1 << 20)),
        .value = (full_resident - none_resident) / (double)many,
        .unit = "B each",
    };
    figure_print(&idle);
    figure_print(&start);
    figure_print(&memory);
}

/* ---- programs that end --------------------------------------------------- */

static double run_us(const char *const argv[]) {
    posix_spawn_file_actions_t actions;
    struct rusage use;
    pid_t pid;
    int status;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid, argv[0], &actions, NULL, (char **)(uintptr_t)argv,
                    environ) != 0 ||
        wait4(pid, &status, 0, &use) != pid || status != 0)
        bench_die("'%s %s' failed", argv[0], argv[1]);
    posix_spawn_file_actions_destroy(&actions);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6 +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static FILE *file_of(const char *path, const char *how) {
    FILE *file = fopen(path, how);

    if (file == NULL)
        bench_die("cannot write '%s'", path);
    return file;
}

/* The import and all that it starts, without a server. */
static double import_us(const char *pointsman, size_t count) {
    struct served served;
    const char *path = bench_text("%s/crontab", bench_dir());
    FILE *file = file_of(path, "w");

    for (size_t i = 0; i < count; i++)
        fprintf(file, "%zu %zu %zu * * /usr/local/bin/job%zu --arg %zu\n",
                i % 60, i / 60 % 24, 1 + i / 1440 % 28, i / 7, i);
    fclose(file);
    served_make(&served, pointsman, 1);
    const char *argv[] = {pointsman, "--base", served.base, "cron",
                          "import",  path,     NULL};
    return run_us(argv);
}

static void print_import(const char *pointsman, size_t many) {
    double part_us = import_us(pointsman, many / 4);
    double us = import_us(pointsman, many);
    struct figure import = {
        .what = bench_text("import of %zu lines", many),
        .ours = bench_text("%.2f s CPU", us / 1e6),
        .other = "limit 10 s for 100,000",
        .value = us / 1e6,
        .goal = 10.0 * (double)many / MANY,
        .at_most = true,
        .unit = "s",
    };
    struct figure growth = {
        .what = "import, four times the lines",
        .ours = bench_text("%.2f s CPU", us / 1e6),
        .other = bench_text("a quarter: %.2f s", part_us / 1e6),
        .value = us / part_us,
        .goal = 6,
        .at_most = true,
        .unit = "x",
    };
    figure_print(&import);
    figure_print(&growth);
}

static double check_us(const char *pointsman, size_t count) {
    struct served served;

    served_make(&served, pointsman, 1);
    FILE *file = file_of(bench_text("%s/pointsman.conf", served.base), "a");
    for (size_t i = 0; i < count; i++)
        fprintf(file, "[schedule \"s%zu\"]\nitem = %zu 4 * * *\nrun = true\n",
                i, i % 60);
    fclose(file);
    const char *argv[] = {pointsman, "--base", served.base,
                          "config",  "check",  NULL};
    return run_us(argv);
}

static void print_check(const char *pointsman) {
    enum { CHECKED = 10000 };
    double part_us = check_us(pointsman, CHECKED / 4);
    double us = check_us(pointsman, CHECKED);
    struct figure growth = {
        .what = bench_text("config check, %d schedules", (int)CHECKED),
        .ours = bench_text("%.0f ms CPU", us / 1e3),
        .other = bench_text("a quarter: %.0f ms", part_us / 1e3),
        .value = us / part_us,
        .goal = 6,
        .at_most = true,
        .unit = "x",
    };
    figure_print(&growth);
}

/* ---- firing -------------------------------------------------------------- */

enum { FIRING = 120, FIRING_PERIOD_S = 60, FIRED_S = 60 };

/* Two of them fire in each second, among the many that wait. */
static void fill_firing(const struct served *served) {
    struct store_options options = {0};
    struct store *store;
    struct err err = {0};
    int64_t now_s = wall_s(clock_wall());

    if (!store_sqlite_open(bench_text("%s/ctrl/registry.db", served->base),
                           &options, &store, &err))
        bench_die("%s", err.text);
    struct store_batch *batch = store_batch_new(store);
    for (int i = 0; i < FIRING; i++) {
        struct schedule_row row = {
            .name = span_of(bench_text("firing%d", i)),
            .spec = span_of(
                bench_text("{\"item\":{\"epoch\":{\"start\":%d,\"period\":%d}},"
                           "\"max_shift\":0,\"overlap\":\"allow\","
                           "\"job\":{\"command\":[\"true\"],"
                           "\"at_most_once\":true}}",
                           i % FIRING_PERIOD_S, (int)FIRING_PERIOD_S)),
            .origin = SPAN("uid:0"),
            .high_s = now_s,
        };
        schedule_row_set(batch, &row, SCHEDULE_ADD);
    }
    if (!store_write(batch, &err))
        bench_die("%s", err.text);
    store_batch_free(batch);
    store_close(store);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* From the instant in the id of a job to its start, for instants after
 * `from_s`. Returns the number. */
static size_t read_delays(const struct served *served, int64_t from_s,
                          double *ret_ms, size_t most) {
    struct store_options options = {0};
    struct arena arena = ARENA_INIT;
    struct store_event *events;
    struct store *store;
    struct err err = {0};
    size_t count, delays = 0;

    if (!store_sqlite_open(bench_text("%s/ctrl/registry.db", served->base),
                           &options, &store, &err) ||
        !store_events(store, 0, 0, 1000000, &arena, &events, &count, &err))
        bench_die("%s", err.text);
    for (size_t i = 0; i < count && delays < most; i++) {
        struct span id = events[i].id, name;
        char text[CRON_INSTANT_BYTES];
        int64_t at;
        if (events[i].kind != EVENT_MOVE || events[i].to != STATE_EXECUTING ||
            !span_starts(id, "firing") || !span_cut(&id, '.', &name) ||
            id.len != 16)
            continue;
        snprintf(text, sizeof(text), "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", id.p,
                 id.p + 4, id.p + 6, id.p + 9, id.p + 11, id.p + 13);
        if (cron_instant_parse(text, &at) && at > from_s)
            ret_ms[delays++] = (double)(events[i].at.ns - at * NS_PER_S) / 1e6;
    }
    store_close(store);
    arena_clear(&arena);
    return delays;
}

/* The same delay of a bare timer, a quarter of a second after each. */
static void bare_timer(double *ret_ms, size_t count) {
    struct timespec until, now;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec = 250000000;
    for (size_t i = 0; i < count; i++) {
        until.tv_sec++;
        (void)clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL);
        clock_gettime(CLOCK_REALTIME, &now);
        ret_ms[i] = (double)(now.tv_sec - until.tv_sec) * 1e3 +
                    (double)(now.tv_nsec - until.tv_nsec) / 1e6;
    }
}

static void print_firing(const char *pointsman, size_t many) {
    struct served served;
    enum { DELAYS = 4 * FIRED_S };
    double delays_ms[DELAYS], bare_ms[FIRED_S];

    served_make(&served, pointsman, 4);
    fill_base(&served, many);
    fill_firing(&served);
    served_start(&served, pointsman);
    bare_timer(bare_ms, 2); /* the start is another figure */
    int64_t from_s = wall_s(clock_wall());
    double begun = bench_wall_us(), cpu_us = served_cpu_us(&served);
    bare_timer(bare_ms, FIRED_S);
    double share =
        (served_cpu_us(&served) - cpu_us) / (bench_wall_us() - begun) * 100;
    served_stop(&served);
    size_t count = read_delays(&served, from_s, delays_ms, DELAYS);
    if (count < FIRED_S)
        bench_die("only %zu jobs were fired", count);
    qsort(delays_ms, count, sizeof(*delays_ms), ascending);
    qsort(bare_ms, FIRED_S, sizeof(*bare_ms), ascending);
    struct figure delay = {
        .what = bench_text("firing late, p99, %zu schedules", many),
        .ours =
            bench_text("%.1f ms (median %.1f)",
                       delays_ms[(count - 1) * 99 / 100], delays_ms[count / 2]),
        .other = bench_text("limit 50 ms; a bare timer %.1f",
                            bare_ms[(FIRED_S - 1) * 99 / 100]),
        .value = delays_ms[(count - 1) * 99 / 100] / 50,
        .goal = 1,
        .at_most = true,
        .unit = "of 50 ms",
    };
    struct figure cpu = {
        .what = "serve while two fire each second",
        .ours = bench_text("%.2f %% of a core", share),
        .other = "its no-op tasks included",
        .value = share,
        .goal = 1,
        .at_most = true,
        .unit = "%",
    };
    figure_print(&delay);
    figure_print(&cpu);
}

int main(int argc, char **argv) {
    store_nouns_use(serve_nouns, serve_noun_count);
    if (argc < 2)
        bench_die("usage: bench_schedules POINTSMAN [COUNT]");
    size_t many = argc > 2 ? strtoul(argv[2], NULL, 10) : MANY;
    print_decisions(many);
    print_import(argv[1], many);
    print_check(argv[1]);
    print_idle(argv[1], many);
    print_firing(argv[1], many);
    return 0;
}
