/* Shared by the benchmarks: clocks, medians, a private directory, and the lines
 * of the table that they print. */
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
/* CPU time of this process and the children it has waited for. */
double bench_cpu_us(void);
/* The same for another process. The resolution is one clock tick (10 ms), so
 * use it for spans of a second and more. */
double bench_cpu_us_of(pid_t pid);
/* Resident memory at this moment. */
double bench_resident_bytes(pid_t pid);

/* Runs a shell script, which must succeed; returns the time it took. `what`
 * names it in the message. */
double bench_shell_us(const char *script, const char *what);

double bench_median(const double *values, size_t count);

/* Returns a new directory under $TMPDIR, or under the working directory, which
 * is more often on a real file system than /tmp. It is removed when the program
 * ends. */
const char *bench_dir(void);

/* One line of the table: its name, our figure, the figure that it is compared
 * with, and the ratio or value that has a goal. */
struct figure {
    const char *what;
    const char *ours;  /* as printed */
    const char *other; /* limit or peer in the same run, as printed */
    double value;
    double goal;      /* 0: none */
    bool at_most;     /* the goal is met if value <= goal, not value >= goal */
    const char *unit; /* of value; "" for a ratio */
};
void figure_print(const struct figure *figure);
/* Returns a string for a figure, valid until the program ends. */
const char *bench_text(const char *format, ...) PRINTF_LIKE(1, 2);

#endif
