#include "os/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"

enum { STEP_MS = 2 };

enum { STAT_BYTES = 1024, START_FIELD = 22, EXIT_FIELD = 52, CLIMBS = 10 };

/* Skips `count` fields from p on. NULL: there are fewer. */
static const char *fields_on(const char *p, int count) {
    while (p != NULL && count-- > 0) {
        p = strchr(p, ' ');
        p = p != NULL ? p + 1 : NULL;
    }
    return p;
}

/* The file from its field 3 on. NULL: no such process. */
static const char *stat_read_at(const char *path, char stat[STAT_BYTES]) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    ssize_t n = read(fd, stat, STAT_BYTES - 1);
    close(fd);
    if (n <= 0)
        return NULL;
    stat[n] = '\0';
    /* The second field is the name in parentheses and may hold anything. */
    const char *p = strrchr(stat, ')');
    return p != NULL && p[1] == ' ' ? p + 2 : NULL;
}

static const char *stat_read(pid_t pid, char stat[STAT_BYTES]) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return stat_read_at(path, stat);
}

static unsigned long long number_at(const char *p) {
    return p != NULL ? strtoull(p, NULL, 10) : 0;
}

/* 0: no such process. */
static unsigned long long stat_field(pid_t pid, int number) {
    char stat[STAT_BYTES];
    return number_at(fields_on(stat_read(pid, stat), number - 3));
}

unsigned long long process_start(pid_t pid) {
    return stat_field(pid, START_FIELD);
}

bool process_lives(pid_t pid, unsigned long long start) {
    char stat[STAT_BYTES];
    const char *state = stat_read(pid, stat);
    return start != 0 && state != NULL && *state != 'Z' && *state != 'X' &&
           number_at(fields_on(state, START_FIELD - 3)) == start;
}

static bool thread_is_stopped(pid_t pid, const char *thread) {
    char path[64 + NAME_MAX], stat[STAT_BYTES];
    snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)pid, thread);
    const char *state = stat_read_at(path, stat);
    return state != NULL && (*state == 'T' || *state == 't');
}

bool process_is_stopped(pid_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    bool stopped = false;
    struct dirent *entry;
    while (dir != NULL && !stopped && (entry = readdir(dir)) != NULL)
        stopped = isdigit((unsigned char)entry->d_name[0]) &&
                  thread_is_stopped(pid, entry->d_name);
    if (dir != NULL)
        closedir(dir);
    return stopped;
}

bool process_has_ended(int pidfd) {
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    return poll(&ended, 1, 0) != 0;
}

unsigned long long process_resident_kib(pid_t pid) {
    return stat_field(pid, 24) * (unsigned long long)sysconf(_SC_PAGESIZE) /
           1024;
}

void process_usage(pid_t pid, uint64_t *ret_cpu_us, uint64_t *ret_memory_kib,
                   uint64_t *ret_procs) {
    uint64_t ticks = 0;
    for (int field = 14; field <= 17; field++) /* of the process, of its
                                                  children */
        ticks += stat_field(pid, field);
    *ret_cpu_us = ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    *ret_memory_kib = process_resident_kib(pid);
    *ret_procs = process_start(pid) != 0;
}

pid_t process_parent(pid_t pid) {
    return (pid_t)stat_field(pid, 4);
}

struct parentage {
    pid_t parent;
    unsigned long long start; /* 0: no such process */
};

static struct parentage parentage_of(pid_t pid) {
    char stat[STAT_BYTES];
    const char *state = stat_read(pid, stat);
    return (struct parentage){.parent = (pid_t)number_at(fields_on(state, 1)),
                              .start =
                                  number_at(fields_on(state, START_FIELD - 3))};
}

/* A parent may end at any time, and its pid may be used again. If the child
 * still has the same parent afterwards, the pid meant that parent throughout,
 * so the grandparent that was read in between is the true one. */
static enum process_descent climb(pid_t pid, pid_t ancestor, pid_t *ret_child) {
    struct parentage own = parentage_of(pid);
    while (own.start != 0 && own.parent != 0) {
        if (own.parent == ancestor) {
            *ret_child = pid;
            return PROCESS_DESCENDANT;
        }
        struct parentage above = parentage_of(own.parent);
        struct parentage again = parentage_of(pid);
        if (again.start != own.start)
            return PROCESS_UNREADABLE;
        if (again.parent == own.parent) {
            pid = own.parent;
            own = above;
        } else { /* adopted: its parent has ended */
            own = again;
        }
    }
    return own.start != 0 ? PROCESS_UNRELATED : PROCESS_UNREADABLE;
}

/* If a process on the way ends, its children are adopted: begin again. */
enum process_descent process_descent(pid_t pid, pid_t ancestor,
                                     pid_t *ret_child) {
    enum process_descent found = PROCESS_UNREADABLE;
    for (int round = 0; found == PROCESS_UNREADABLE && round < CLIMBS; round++)
        found = climb(pid, ancestor, ret_child);
    return found;
}

/* The pidfd is opened first: it always refers to the same process. */
void process_kill(pid_t pid, unsigned long long start) {
    if (pid <= 1 || pid == getpid())
        return;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return;
    if (process_start(pid) == start)
        syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    close(fd);
}

/* The mode of the link shows how the file was opened. */
static bool holds(int fds_fd, const char *name, const struct stat *file,
                  enum process_holders which) {
    struct stat found, link;
    return fstatat(fds_fd, name, &found, 0) == 0 &&
           found.st_ino == file->st_ino && found.st_dev == file->st_dev &&
           (which == PROCESS_HOLDERS ||
            (fstatat(fds_fd, name, &link, AT_SYMLINK_NOFOLLOW) == 0 &&
             (link.st_mode & S_IWUSR) != 0));
}

static bool process_holds(pid_t pid, const struct stat *file,
                          enum process_holders which) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    if (dir == NULL)
        return false;
    bool found = false;
    struct dirent *entry;
    while (!found && (entry = readdir(dir)) != NULL)
        found = isdigit((unsigned char)entry->d_name[0]) &&
                holds(dirfd(dir), entry->d_name, file, which);
    closedir(dir);
    return found;
}

static void read_name(const char *path, char ret_name[32]) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, ret_name, 31);
    ret_name[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

void process_describe(pid_t pid, struct text *out) {
    char path[64], name[32];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    read_name(path, name);
    name[strcspn(name, "\n")] = '\0';
    text_addf(out, "%d (", (int)pid);
    text_addescaped(out, span_of(name));
    text_addc(out, ')');
}

pid_t process_tracer(pid_t pid) {
    static const char key[] = "\nTracerPid:";
    char path[64], text[2048];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *found = strstr(text, key);
    return found != NULL ? (pid_t)strtol(found + sizeof key - 1, NULL, 10) : 0;
}

/* The kernel shows 0 to those who may not know, and refuses them the link. */
bool process_zombie_status(pid_t pid, int *ret_status) {
    char path[64], stat[STAT_BYTES], target[8];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    if (readlink(path, target, sizeof target) >= 0 || errno != ENOENT)
        return false;
    const char *state = stat_read(pid, stat);
    const char *status = fields_on(state, EXIT_FIELD - 3);
    if (status == NULL || *state != 'Z')
        return false;
    *ret_status = (int)number_at(status);
    return true;
}

/* A child of ours between clone and exec has our descriptors and also our name.
 */
static bool is_copy_of_us(pid_t pid) {
    char path[64], theirs[32], ours[32];
    if (process_parent(pid) != getpid())
        return false;
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    read_name(path, theirs);
    read_name("/proc/self/comm", ours);
    return strcmp(theirs, ours) == 0;
}

unsigned process_kill_holders(const struct stat *file,
                              enum process_holders which) {
    unsigned killed = 0;
    DIR *dir = opendir("/proc");
    if (dir == NULL)
        return 0;
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid <= 1 || pid == getpid())
            continue;
        unsigned long long start = process_start(pid);
        if (!process_holds(pid, file, which) ||
            (which == PROCESS_WRITERS && is_copy_of_us(pid)))
            continue;
        process_kill(pid, start);
        killed++;
    }
    closedir(dir);
    return killed;
}

size_t process_find(pid_t group, const struct stat *file, pid_t *ret_pids,
                    size_t most) {
    size_t count = 0;
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    while (dir != NULL && count < most && (entry = readdir(dir)) != NULL) {
        char stat[STAT_BYTES];
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid <= 1 || pid == getpid())
            continue;
        const char *state = stat_read(pid, stat);
        if (state == NULL || *state == 'Z' || *state == 'X')
            continue;
        bool member = (pid_t)number_at(fields_on(state, 2)) == group;
        if (member || (file != NULL && !is_copy_of_us(pid) &&
                       process_holds(pid, file, PROCESS_WRITERS)))
            ret_pids[count++] = pid;
    }
    if (dir != NULL)
        closedir(dir);
    return count;
}

/* Only this thread reaps them, so their pids are not reused. */
static void kill_children(void) {
    char path[80], list[8192];
    pid_t thread = (pid_t)syscall(SYS_gettid);
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = read(fd, list, sizeof list - 1);
    close(fd);
    if (n <= 0)
        return;
    list[n] = '\0';
    char *end = strrchr(list, ' '); /* the last one may be incomplete */
    if (end != NULL)
        *end = '\0';
    for (char *p = list; *p != '\0';) {
        long pid = strtol(p, &p, 10);
        if (pid > 1)
            kill((pid_t)pid, SIGKILL);
        while (*p == ' ')
            p++;
    }
}

/* __WNOTHREAD: the children of other threads are not ours to reap. */
static bool reap_one(bool *ret_any) {
    siginfo_t info = {0};
    if (syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | __WNOTHREAD,
                NULL) < 0) {
        *ret_any = errno != ECHILD;
        return false;
    }
    *ret_any = true;
    return info.si_pid != 0;
}

void process_reap_orphans(void) {
    bool any;
    while (reap_one(&any))
        continue;
}

bool process_end_orphans(int wait_ms) {
    struct mono until = mono_add_ms(clock_mono(), wait_ms);
    for (;;) {
        bool any;
        kill_children();
        while (reap_one(&any))
            continue;
        if (!any)
            return true;
        if (clock_mono().ns >= until.ns)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * NS_PER_MS}, NULL);
    }
}
