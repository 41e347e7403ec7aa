#include "bench/figure.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"

void bench_die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

double bench_wall_us(void) {
    return (double)clock_mono().ns / 1e3;
}

static double usage_us(int who) {
    struct rusage use;
    getrusage(who, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6 +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

double bench_cpu_us(void) {
    return usage_us(RUSAGE_SELF) + usage_us(RUSAGE_CHILDREN);
}

double bench_cpu_us_of(pid_t pid) {
    char path[64], line[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    const char *at = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : 0;
    unsigned long ticks[4];
    /* utime, stime, cutime and cstime are the words 14 to 17. */
    if (!at || sscanf(at + 2,
                      "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                      "%lu %lu %lu %lu",
                      &ticks[0], &ticks[1], &ticks[2], &ticks[3]) != 4)
        bench_die("cannot read %s", path);
    fclose(f);
    return (double)(ticks[0] + ticks[1] + ticks[2] + ticks[3]) * 1e6 /
           (double)sysconf(_SC_CLK_TCK);
}

double bench_resident_bytes(pid_t pid) {
    char path[64];
    unsigned long size, resident;
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f || fscanf(f, "%lu %lu", &size, &resident) != 2)
        bench_die("cannot read %s", path);
    fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

double bench_median(const double *values, size_t count) {
    double *sorted = calloc(count, sizeof(*sorted));
    if (!sorted || count == 0)
        bench_die("no values");
    memcpy(sorted, values, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare);
    double median = sorted[count / 2];
    free(sorted);
    return median;
}

/* ---- a shell script ----------------------------------------------------- */

double bench_shell_us(const char *script, const char *what) {
    char name[] = "sh", option[] = "-c", *copy = strdup(script);
    char *argv[] = {name, option, copy, NULL};
    pid_t pid;
    int status;
    double begun = bench_wall_us();
    if (copy == NULL ||
        posix_spawnp(&pid, "sh", NULL, NULL, argv, environ) != 0)
        bench_die("cannot start a shell");
    if (waitpid(pid, &status, 0) != pid || status != 0)
        bench_die("'%s' failed", what);
    free(copy);
    return bench_wall_us() - begun;
}

/* ---- the directory ------------------------------------------------------ */

static char dir[PATH_MAX];

static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *where) {
    (void)st, (void)kind, (void)where;
    return remove(path);
}

static void remove_dir(void) {
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *bench_dir(void) {
    if (dir[0])
        return dir;
    const char *where = getenv("TMPDIR");
    char cwd[PATH_MAX - 32];
    if (!where && !(where = getcwd(cwd, sizeof(cwd))))
        bench_die("no working directory");
    snprintf(dir, sizeof(dir), "%s/bench.XXXXXX", where);
    if (!mkdtemp(dir))
        bench_die("cannot create directory '%s'", dir);
    atexit(remove_dir);
    return dir;
}

/* ---- the table ---------------------------------------------------------- */

const char *bench_text(const char *format, ...) {
    char *text;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        bench_die("no memory");
    va_end(args);
    return text;
}

void figure_print(const struct figure *figure) {
    const char *verdict = "";
    char goal[32] = "-";
    if (figure->goal > 0) {
        bool well = figure->at_most ? figure->value <= figure->goal
                                    : figure->value >= figure->goal;
        verdict = well ? "met" : "missed";
        snprintf(goal, sizeof(goal), "%s %g",
                 figure->at_most ? "<=" : ">=", figure->goal);
    }
    printf("%-37s %14s  %-32s %8.2f %-6s %-9s %s\n", figure->what, figure->ours,
           figure->other, figure->value, figure->unit, goal, verdict);
    fflush(stdout);
}
