/* The cost of many schedules: a decision, and a server that waits for them, and
 * its start.
 *
 *     bench_schedules POINTSMAN [COUNT] */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(int argc, char **argv) {
    store_nouns_use(serve_nouns, serve_noun_count);
    if (argc < 2)
        bench_die("usage: bench_schedules POINTSMAN [COUNT]");
    size_t many = argc > 2 ? strtoul(argv[2], NULL, 10) : MANY;
    print_decisions(many);
    print_idle(argv[1], many);
    return 0;
}
