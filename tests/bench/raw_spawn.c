/* The limit of the machine for starting processes with captured output: each
 * thread creates a pipe, calls vfork and exec, reads to the end, and waits.
 *
 *     raw_spawn COUNT THREADS PROGRAM
 *
 * Prints "TASKS_PER_S CPU_US_PER_TASK". */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char *program;
static long each;

static void run_one(void) {
    int fds[2];
    char buffer[4096];
    char *const argv[] = {program, NULL}, *const envp[] = {NULL};
    if (pipe2(fds, O_CLOEXEC) < 0)
        exit(1);
    pid_t pid = vfork();
    if (pid == 0) {
        dup2(fds[1], 1);
        dup2(fds[1], 2);
        execve(program, argv, envp);
        _exit(127);
    }
    close(fds[1]);
    while (read(fds[0], buffer, sizeof buffer) > 0)
        continue;
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0)
        exit(1);
    close(fds[0]);
}

static void *run(void *arg) {
    (void)arg;
    for (long i = 0; i < each; i++)
        run_one();
    return NULL;
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_s(int who) {
    struct rusage usage;
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv) {
    enum { THREADS_MAX = 64 };
    pthread_t threads[THREADS_MAX];
    if (argc != 4)
        return 64;
    int count = atoi(argv[2]);
    if (count < 1 || count > THREADS_MAX)
        return 64;
    each = atol(argv[1]) / count;
    program = argv[3];
    double begin = now_s();
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, run, NULL) != 0)
            return 1;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    double tasks = (double)(each * count);
    printf("%.0f %.2f\n", tasks / (now_s() - begin),
           (cpu_s(RUSAGE_SELF) + cpu_s(RUSAGE_CHILDREN)) * 1e6 / tasks);
    return 0;
}
