/* tree SHAPE [COUNT]: a task that starts a tree of processes. When all of them
 * exist, it writes "ready" to descriptor 4 and waits. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROGRESS_FD = 4, WIDTH = 20 };

static int ready[2];

static void stay(void) {
    char here = '.';
    if (write(ready[1], &here, 1) != 1)
        _exit(9);
    close(ready[0]);
    close(ready[1]);
    close(PROGRESS_FD);
    for (;;)
        pause();
}

static void close_all(void) {
    int kept = dup2(ready[1], 0);
    if (kept != 0 || close_range(1, ~0U, 0) != 0)
        _exit(9);
    ready[0] = -1;
    ready[1] = 0;
}

static pid_t fork_process(void) {
    pid_t pid = fork();
    if (pid < 0)
        perror("tree: cannot fork");
    return pid;
}

/* Starts `count` grandchildren, with `new_sessions` each in its own session;
 * with `parent_exits`, the process between exits. */
static void start_grandchildren(unsigned count, int parent_exits,
                                int new_sessions) {
    if (fork_process() != 0)
        return;
    for (unsigned i = 0; i < count; i++)
        if (fork_process() == 0) {
            if (new_sessions)
                setsid();
            stay();
        }
    if (parent_exits)
        _exit(0);
    stay();
}

/* Returns the number of processes to wait for. */
static unsigned start_tree(const char *shape, unsigned count) {
    if (strcmp(shape, "plain") == 0) {
        start_grandchildren(count - 1, 0, 0);
        return count;
    }
    if (strcmp(shape, "setsid") == 0) {
        start_grandchildren(count - 1, 0, 1);
        return count;
    }
    if (strcmp(shape, "double") == 0) {
        start_grandchildren(count, 1, 1);
        return count;
    }
    if (strcmp(shape, "closed") == 0) {
        if (fork() == 0) {
            close_all();
            start_grandchildren(count, 1, 1);
            _exit(0);
        }
        return count;
    }
    signal(SIGTERM, SIG_IGN); /* the shape "deaf" */
    for (unsigned i = 0; i < count / WIDTH + 1; i++)
        start_grandchildren(WIDTH - 1, 0, 1);
    return (count / WIDTH + 1) * WIDTH;
}

int main(int argc, char **argv) {
    char one;
    if (argc < 2 || pipe(ready) < 0)
        return 9;
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 3;
    unsigned left = start_tree(argv[1], count);
    close(ready[1]); /* so that a failed fork ends the loop below */
    for (; left > 0; left--)
        if (read(ready[0], &one, 1) != 1)
            return 9;
    if (write(PROGRESS_FD, "ready\n", 6) != 6)
        return 9;
    for (;;)
        pause();
}
