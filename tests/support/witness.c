/* witness DIR KIND FAILS CODE LINES MS: a task that keeps its own account of
 * what it did, which tests/support/storm_judge.py compares with that of the
 * program. It shares no code with the program.
 *
 * DIR/TASK.said gets a line for each thing that happens, "ATTEMPT PID WORD
 * NUMBER". The lines are appended, so their order is that of the events. Each
 * process of the task holds a lock on DIR/TASK.lock: an execution that finds it
 * taken says "overlap".
 *
 * It prints LINES lines over MS milliseconds, each fifth one on standard error,
 * and exits with CODE in its first FAILS attempts, later with 0. KIND says what
 * it does besides:
 *   plain   nothing
 *   once    nothing; it is the task of a job that runs at most once
 *   quiet   it exits while a process of its group goes on
 *   tree    three processes with two children each, which it waits for
 *   session the same in a session of their own, left behind
 *   daemon  a process that leaves the session and closes every descriptor,
 *           left behind
 *   deaf    it ignores TERM
 *   hang    it ignores TERM and never ends
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 64, CHUNK_LINES = 64, STREAMS = 2, STEP_MS = 20 };

static const char *dir;
static char task[128], attempt[24];
static int said = -1;

static void say(const char *word, unsigned long number) {
    char line[128];
    int len = snprintf(line, sizeof line, "%s %ld %s %lu\n", attempt,
                       (long)getpid(), word, number);
    if (write(said, line, (size_t)len) != len)
        abort();
}

static int open_named(const char *kind, int flags) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.%s", dir, task, kind);
    int fd = open(path, flags | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        abort();
    return fd;
}

/* Waits; a task that nobody ends does so after some minutes. */
static void pause_ms(long ms) {
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
    while (nanosleep(&left, &left) != 0)
        continue;
}

/* When this process was started, in clock ticks since the machine was. */
static unsigned long long start_ticks(void) {
    char text[1024] = "";
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        abort();
    close(fd);
    char *at = strrchr(text, ')');
    for (int i = 0; at && i < 20; i++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

/* Proves that no process of another execution is left. The lock is held in a
 * way that later processes of this execution can share. */
static void lock(const char *name, const char *complaint) {
    int fd = open_named(name, O_RDWR);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || flock(fd, LOCK_SH | LOCK_NB) != 0)
        say(complaint, 0);
}

/* ---- other processes of the task ----------------------------------------- */

static void live(const char *word, long ms) {
    for (; ms > 0; ms -= STEP_MS) {
        say(word, 0);
        pause_ms(STEP_MS);
    }
}

static void grow_tree(bool apart, long ms) {
    for (int i = 0; i < 3; i++) {
        if (fork() != 0)
            continue;
        if (apart)
            setsid();
        for (int j = 0; j < 2; j++)
            if (fork() == 0)
                break;
        live("alive", ms);
        while (wait(NULL) > 0)
            continue;
        _exit(0);
    }
}

/* Closes what it may have inherited from anybody. */
static void close_all(void) {
    DIR *fds = opendir("/proc/self/fd");
    if (!fds)
        abort();
    for (struct dirent *entry; (entry = readdir(fds));) {
        int fd = atoi(entry->d_name);
        if (fd != dirfd(fds))
            close(fd);
    }
    closedir(fds);
}

static void leave_daemon(long ms) {
    pid_t child = fork();
    if (child != 0) {
        waitpid(child, NULL, 0);
        return;
    }
    setsid();
    if (fork() != 0)
        _exit(0);
    close_all();
    said = open_named("said", O_WRONLY | O_APPEND);
    int fd = open_named("daemon", O_RDWR);
    flock(fd, LOCK_SH | LOCK_NB);
    live("daemon", ms);
    _exit(0);
}

/* ---- output -------------------------------------------------------------- */

/* Writes lines FROM to TO of the whole output, as far as they belong to the
 * stream, and says how far that stream has come. */
static bool print_lines(int fd, unsigned long from, unsigned long to,
                        unsigned long *bytes) {
    char text[CHUNK_LINES * LINE_BYTES];
    size_t len = 0;
    for (unsigned long i = from; i < to; i++) {
        if ((i % 5 == 4 ? 2 : 1) != fd)
            continue;
        char *line = text + len;
        int head =
            snprintf(line, LINE_BYTES, "%s %s %d %lu ", task, attempt, fd, i);
        memset(line + head, '.', (size_t)(LINE_BYTES - head));
        line[LINE_BYTES - 1] = '\n';
        len += LINE_BYTES;
    }
    for (size_t done = 0; done < len;) {
        ssize_t got = write(fd, text + done, len - done);
        if (got < 0)
            return false;
        done += (size_t)got;
        *bytes += (size_t)got;
        say(fd == 1 ? "out" : "err", *bytes);
    }
    return true;
}

static bool print_all(unsigned long lines, long ms) {
    unsigned long bytes[STREAMS] = {0};
    unsigned long step = lines;
    if (ms > 0)
        step = lines * STEP_MS / (unsigned long)ms + 1;
    if (step > CHUNK_LINES)
        step = CHUNK_LINES;
    for (unsigned long i = 0; i < lines; i += step) {
        unsigned long to = i + step < lines ? i + step : lines;
        for (int fd = 1; fd <= STREAMS; fd++)
            if (!print_lines(fd, i, to, &bytes[fd - 1]))
                return false;
        if (ms > 0)
            pause_ms(STEP_MS);
    }
    return true;
}

int main(int argc, char **argv) {
    const char *name = getenv("POINTSMAN_TASK");
    const char *number = getenv("POINTSMAN_ATTEMPT");
    if (argc < 7 || !name || !number)
        return 64;
    dir = argv[1];
    snprintf(task, sizeof task, "%s", name);
    for (char *slash; (slash = strchr(task, '/'));)
        *slash = '.';
    snprintf(attempt, sizeof attempt, "%s", number);
    const char *kind = argv[2];
    bool fails = strtoul(number, NULL, 10) <= strtoul(argv[3], NULL, 10);
    int code = fails ? atoi(argv[4]) : 0;
    unsigned long lines = strtoul(argv[5], NULL, 10);
    long ms = atol(argv[6]);

    umask(0);
    signal(SIGPIPE, SIG_IGN);
    said = open_named("said", O_WRONLY | O_APPEND);
    say("start", (unsigned long)start_ticks());
    lock("lock", "overlap");
    lock("daemon", "overlap-daemon");

    if (strcmp(kind, "deaf") == 0 || strcmp(kind, "hang") == 0)
        signal(SIGTERM, SIG_IGN);
    if (strcmp(kind, "tree") == 0)
        grow_tree(false, ms);
    if (strcmp(kind, "session") == 0)
        grow_tree(true, 5000);
    if (strcmp(kind, "daemon") == 0)
        leave_daemon(5000);
    if (strcmp(kind, "quiet") == 0 && fork() == 0) {
        live("alive", 5000);
        _exit(0);
    }
    if (!print_all(lines, ms)) {
        say("broken", 0);
        code = 9;
    }
    if (strcmp(kind, "tree") == 0)
        while (wait(NULL) > 0)
            continue;
    while (strcmp(kind, "hang") == 0)
        live("alive", 1000);
    say("end", (unsigned long)code);
    return code;
}
