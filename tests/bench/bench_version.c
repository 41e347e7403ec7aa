/* The CPU time of `pointsman version`, from exec to exit, which every command
 * line needs before it does any work.
 *
 *     bench_version POINTSMAN */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/figure.h"

enum { TIMES = 51 };

static double run_us(const char *program, char **argv) {
    posix_spawn_file_actions_t actions;
    struct rusage use;
    pid_t pid;
    int status;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid, program, &actions, NULL, argv, environ) != 0)
        bench_die("cannot start '%s'", program);
    posix_spawn_file_actions_destroy(&actions);
    if (wait4(pid, &status, 0, &use) != pid || status != 0)
        bench_die("'%s' failed", program);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6 +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

int main(int argc, char **argv) {
    double ours[TIMES], least[TIMES];
    char name[] = "pointsman", verb[] = "version", nothing[] = "true";
    char *ours_argv[] = {name, verb, NULL}, *true_argv[] = {nothing, NULL};
    if (argc != 2)
        bench_die("usage: bench_version POINTSMAN");
    for (int i = 0; i < TIMES; i++) {
        ours[i] = run_us(argv[1], ours_argv);
        least[i] = run_us("/bin/true", true_argv);
    }
    double ms = bench_median(ours, TIMES) / 1e3;
    struct figure figure = {
        .what = "pointsman version, CPU",
        .ours = bench_text("%.2f ms", ms),
        .other =
            bench_text("/bin/true %.2f ms", bench_median(least, TIMES) / 1e3),
        .value = ms,
        .unit = "ms",
        .goal = 3,
        .at_most = true,
    };
    figure_print(&figure);
    return 0;
}
