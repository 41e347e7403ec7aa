/* How long callers wait while another program goes on in place of a server with
 * 200 running tasks.
 *
 *     bench_upgrade POINTSMAN [ROUNDS]
 *
 * One process submits a job at a time, each on its own connection, and another
 * one upgrades the server to the same program, again and again. The longest
 * wait of all is compared with the median. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/text.h"
#include "bench/bare.h"
#include "bench/callers.h"
#include "bench/figure.h"
#include "bench/served.h"

enum { TASKS = 200, ROUNDS = 5, ASKED_MOST = 100000 };

struct shared {
    volatile sig_atomic_t enough;
    unsigned asked;
    double waited_us[ASKED_MOST];
};

static void start_tasks(const struct served *served, const char *pointsman) {
    bench_shell_us(
        bench_text("export POINTSMAN_BASE=%s; : >%s.begun\n"
                   "for i in $(seq %d); do printf '{\"command\":[\"sh\",\"-c\","
                   "\"echo >>%s.begun; exec sleep 100000\"]}\\n'; done |"
                   "%s submit --batch >/dev/null\n"
                   "until [ \"$(wc -l <%s.begun)\" -eq %d ]; do :; done",
                   served->base, served->base, TASKS, served->base, pointsman,
                   served->base, TASKS),
        "starting the tasks");
}

static void ask(const struct served *served, struct shared *shared) {
    size_t bytes;
    const char *question =
        callers_post("/api/v1/jobs", bare_spec, strlen(bare_spec), &bytes);
    while (!shared->enough && shared->asked < ASKED_MOST) {
        double begin = bench_wall_us();
        int fd = served_connect(served);
        free(callers_ask(fd, question, bytes));
        close(fd);
        shared->waited_us[shared->asked++] = bench_wall_us() - begin;
    }
}

int main(int argc, char **argv) {
    struct served served;
    int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
    if (argc < 2)
        bench_die("usage: bench_upgrade POINTSMAN [ROUNDS]");
    struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        bench_die("cannot map memory");
    served_make(&served, argv[1], TASKS);
    served_start(&served, argv[1]);
    start_tasks(&served, argv[1]);
    pid_t pid = fork();
    if (pid == 0) {
        ask(&served, shared);
        _exit(0);
    }
    double upgrade_us = 0;
    for (int i = 0; i < rounds; i++)
        upgrade_us += bench_shell_us(bench_text("POINTSMAN_BASE=%s %s upgrade "
                                                "2>/dev/null",
                                                served.base, argv[1]),
                                     "pointsman upgrade");
    shared->enough = 1;
    int status;
    if (waitpid(pid, &status, 0) < 0 || status != 0)
        bench_die("a caller was refused");
    double longest = 0;
    for (unsigned i = 0; i < shared->asked; i++)
        if (shared->waited_us[i] > longest)
            longest = shared->waited_us[i];
    figure_print(&(struct figure){
        .what = "longest wait during upgrades, 200 tasks",
        .ours = bench_text("%.0f ms of %u", longest / 1000, shared->asked),
        .other =
            bench_text("median %.2f ms",
                       bench_median(shared->waited_us, shared->asked) / 1000),
        .value = longest / 1000,
        .goal = 1000,
        .at_most = true,
        .unit = "ms"});
    figure_print(&(struct figure){
        .what = "upgrade, 200 tasks",
        .ours = bench_text("%.0f ms", upgrade_us / rounds / 1000),
        .other = "",
        .value = upgrade_us / rounds / 1000,
        .unit = "ms"});
    kill(served.pid, SIGTERM);
    served_stop(&served);
    return 0;
}
