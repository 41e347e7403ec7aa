#include "bench/served.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/figure.h"
#include "os/sock.h"

enum { TIMEOUT_MS = 120000 };

static pid_t alive; /* killed if the program ends early */

static void kill_alive(void) {
    if (alive > 0)
        kill(alive, SIGKILL);
}

static pid_t start(const char *pointsman, char **argv, const char *log) {
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log,
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int sys = posix_spawn(&pid, pointsman, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (sys != 0)
        bench_die("cannot start '%s': %s", pointsman, strerror(sys));
    return pid;
}

static char *word(const char *string) {
    return strdup(string);
}

void served_make(struct served *served, const char *pointsman,
                 unsigned concurrency) {
    static int made;
    int status;
    *served = (struct served){
        .base = bench_text("%s/base%d", bench_dir(), made++), .ctrl = -1};
    char *argv[] = {word("pointsman"), word("--base"), word(served->base),
                    word("init"), NULL};
    pid_t pid = start(pointsman, argv, bench_text("%s/init.log", bench_dir()));
    if (waitpid(pid, &status, 0) != pid || status != 0)
        bench_die("cannot create base '%s'", served->base);
    FILE *f = fopen(bench_text("%s/pointsman.conf", served->base), "ae");
    if (!f)
        bench_die("cannot write to the configuration");
    fprintf(f, "[queue]\nconcurrency = %u\n[serve]\nlisten = off\n",
            concurrency);
    if (fclose(f) != 0)
        bench_die("cannot write to the configuration");
}

static int try_connect(struct served *served) {
    int fd = -1;
    if (served->ctrl < 0)
        served->ctrl = open(bench_text("%s/ctrl", served->base),
                            O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return served->ctrl >= 0 && sock_connect(served->ctrl, "sock", &fd, NULL)
               ? fd
               : -1;
}

void served_start(struct served *served, const char *pointsman) {
    char *argv[] = {word("pointsman"), word("--base"), word(served->base),
                    word("serve"), NULL};
    const char *log = bench_text("%s/serve.log", bench_dir());
    if (!alive)
        atexit(kill_alive);
    alive = served->pid = start(pointsman, argv, log);
    for (int waited_ms = 0; waited_ms < TIMEOUT_MS; waited_ms++) {
        int fd = try_connect(served);
        if (fd >= 0) {
            close(fd);
            return;
        }
        if (waitpid(served->pid, NULL, WNOHANG) == served->pid)
            break;
        poll(NULL, 0, 1);
    }
    bench_die("the server does not answer; see %s", log);
}

static pid_t guard_of(pid_t pid) {
    char path[64];
    int child = 0;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
             (int)pid);
    FILE *f = fopen(path, "re");
    if (!f || fscanf(f, "%d", &child) != 1)
        bench_die("the server has no guard");
    fclose(f);
    return child;
}

/* Waits until the process has ended. Returns the CPU time of it and of what it
 * waited for; 0: somebody else has reaped it. */
static double reap_us(pid_t pid) {
    struct rusage use;
    pid_t ended;
    do
        ended = wait4(pid, NULL, 0, &use);
    while (ended < 0 && errno == EINTR);
    if (ended < 0)
        return 0;
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6 +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/* The server may end before its guard has: then the guard is adopted here, and
 * its CPU time is not part of the server's. */
double served_stop(struct served *served) {
    pid_t guard = guard_of(served->pid);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    kill(served->pid, SIGTERM);
    double cpu_us = reap_us(served->pid);
    served->pid = alive = 0;
    close(served->ctrl);
    served->ctrl = -1;
    return cpu_us + reap_us(guard);
}

double served_cpu_us(const struct served *served) {
    return bench_cpu_us_of(served->pid) +
           bench_cpu_us_of(guard_of(served->pid));
}

int served_connect(const struct served *served) {
    int fd = -1;
    if (!sock_connect(served->ctrl, "sock", &fd, NULL))
        bench_die("cannot connect to the server");
    return fd;
}
