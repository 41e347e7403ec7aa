/* Shared by the benchmarks: clocks, medians, a private directory, and the
 * lines of the one table that they all print. */
#ifndef POINTSMAN_TESTS_BENCH_FIGURE_H
#define POINTSMAN_TESTS_BENCH_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/attr.h"

/* Ends the program with a message on stderr. */
void bench_die(const char *format, ...) PRINTF_LIKE(1, 2)
    __attribute__((noreturn));

double bench_wall_us(void);
/* Of this process and the children it has waited for. */
double bench_cpu_us(void);
/* For another process and the children it has waited for; exact to a clock
 * tick (10 ms): for spans of a second and more. */
double bench_cpu_us_of(pid_t pid);
/* Resident, right now. */
double bench_resident_bytes(pid_t pid);

double bench_median(const double *values, size_t count);

/* A fresh directory under $TMPDIR, else the working directory (which lies on a
 * real file system more often than /tmp does); removed when the program
 * ends. */
const char *bench_dir(void);

/* One line of the table: its name, our figure, the figure it is compared
 * with, the ratio or bound that has a goal. */
struct figure {
    const char *what;
    const char *ours;  /* as shown */
    const char *other; /* limit or peer of the same run, as shown */
    double value;
    double goal;      /* 0: shown for comparison only */
    bool at_most;     /* value <= goal is OK; else value >= goal */
    const char *unit; /* of value; "" for a ratio */
};
void figure_print(const struct figure *figure);
/* A string for a figure, good until the program ends. */
const char *bench_text(const char *format, ...) PRINTF_LIKE(1, 2);

#endif
