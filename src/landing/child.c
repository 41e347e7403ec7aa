#include "landing/child.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/text.h"
#include "os/clock.h"
#include "os/spawn.h"

static sigset_t stop_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGINT);
    return set;
}

void child_stop_init(struct child_stop *stop) {
    sigset_t set = stop_signals();
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error like others */
    signal(SIGCHLD, SIG_DFL);
    prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
    stop->signal = 0;
}

static void stop_note(struct child_stop *stop, int signal) {
    if (stop->signal == 0 && signal != SIGCHLD)
        stop->signal = signal == SIGHUP ? SIGHUP : SIGTERM;
}

int child_stop_requested(struct child_stop *stop) {
    sigset_t set = stop_signals();
    struct timespec now = {0};
    int signal;
    while ((signal = sigtimedwait(&set, NULL, &now)) > 0)
        stop_note(stop, signal);
    return stop->signal;
}

int child_stop_wait(struct child_stop *stop, int64_t ms) {
    sigset_t set = stop_signals();
    struct timespec span = {ms / 1000, ms % 1000 * NS_PER_MS};
    if (stop == NULL) {
        nanosleep(&span, NULL);
        return 0;
    }
    if (stop->signal == 0) {
        int signal = sigtimedwait(&set, NULL, &span);
        if (signal > 0)
            stop_note(stop, signal);
    }
    return stop->signal;
}

static void actions_dup(posix_spawn_file_actions_t *actions, int from, int to) {
    if (from >= 0)
        posix_spawn_file_actions_adddup2(actions, from, to);
}

/* Sets the initial signal mask of a child, and default handlers. */
static void attr_signals(posix_spawnattr_t *attr, bool shielded) {
    sigset_t mask, all;
    sigemptyset(&mask);
    if (shielded)
        mask = stop_signals();
    sigfillset(&all);
    posix_spawnattr_setsigmask(attr, &mask);
    posix_spawnattr_setsigdefault(attr, &all);
    posix_spawnattr_setflags(attr,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static void actions_fill(posix_spawn_file_actions_t *actions,
                         const struct child *child) {
    if (child->in < 0)
        posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    actions_dup(actions, child->in, 0);
    actions_dup(actions, child->out, 1);
    actions_dup(actions, child->err, 2);
    actions_dup(actions, child->status, 3);
    actions_dup(actions, child->progress, 4);
    if (child->dir != NULL)
        posix_spawn_file_actions_addchdir_np(actions, child->dir);
    else if (child->at > 0)
        posix_spawn_file_actions_addfchdir_np(actions, child->at);
}

/* ---- as another user ---- */

enum { STACK_BYTES = 64 << 10 };

/* The child shares our memory until exec and reports a failure there. */
struct newborn {
    const struct child *child;
    pid_t parent;
    bool at_dir;
    int sys;
};

static bool take_place(int from, int to) {
    return from < 0 ||
           (from == to ? fcntl(to, F_SETFD, 0) >= 0 : dup2(from, to) >= 0);
}

static bool take_places(const struct child *child) {
    int in = child->in >= 0 ? child->in : open("/dev/null", O_RDONLY);
    return in >= 0 && take_place(in, 0) && take_place(child->out, 1) &&
           take_place(child->err, 2) && take_place(child->status, 3) &&
           take_place(child->progress, 4);
}

static bool become(const struct account *account) {
    return setgroups(account->group_count, account->groups) == 0 &&
           setresgid(account->gid, account->gid, account->gid) == 0 &&
           setresuid(account->uid, account->uid, account->uid) == 0;
}

static int newborn_main(void *arg) {
    struct newborn *newborn = arg;
    const struct child *child = newborn->child;
    sigset_t mask;
    sigemptyset(&mask);
    if (child->shielded)
        mask = stop_signals();
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    if (take_places(child) && become(child->account) &&
        prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == newborn->parent) {
        /* Changing directory as that user may fail; it is reported as such, not
         * as a missing program. */
        newborn->at_dir = child->dir != NULL
                              ? chdir(child->dir) < 0
                              : child->at > 0 && fchdir(child->at) < 0;
        if (!newborn->at_dir) {
            sigprocmask(SIG_SETMASK, &mask, NULL);
            union {
                const char *const *in;
                char *const *out;
            } argv = {child->argv};
            execvpe(child->argv[0], argv.out, child->envp);
        }
    }
    newborn->sys = errno;
    return 127;
}

static bool start_as(const struct child *child, pid_t *ret_pid,
                     struct err *err) {
    struct newborn newborn = {.child = child, .parent = getpid()};
    const char *user = child->account->name;
    int pidfd = -1;
    char *stack = mem_alloc(STACK_BYTES);
    *ret_pid =
        spawn_child(newborn_main, &newborn, stack, STACK_BYTES, -1, &pidfd);
    int sys = errno;
    free(stack);
    if (*ret_pid < 0)
        return err_errno(err, sys, "cannot start '%s'", child->argv[0]);
    close(pidfd);
    if (newborn.sys == 0)
        return true;
    waitpid(*ret_pid, NULL, 0);
    if (newborn.at_dir) {
        err_errno(err, newborn.sys,
                  "user '%s' cannot enter '%s': all directories on the way "
                  "must be searchable (x) for it",
                  user, child->dir);
        if (err != NULL && err->kind == ERR_CANNOT)
            err->kind = ERR_UNAVAILABLE;
        return false;
    }
    err_errno(err, newborn.sys, "cannot start '%s' as user '%s'",
              child->argv[0], user);
    if (err != NULL && err->kind != ERR_TEMPORARY)
        err->kind = ERR_CONFIG;
    return false;
}

bool child_start(const struct child *child, pid_t *ret_pid, struct err *err) {
    if (child->account != NULL)
        return start_as(child, ret_pid, err);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    actions_fill(&actions, child);
    attr_signals(&attr, child->shielded);
    /* posix_spawnp takes char *const *: it does not write to them. */
    union {
        const char *const *in;
        char *const *out;
    } argv = {child->argv};
    int sys = posix_spawnp(ret_pid, child->argv[0], &actions, &attr, argv.out,
                           child->envp);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    if (sys == 0)
        return true;
    err_errno(err, sys, "cannot start '%s'", child->argv[0]);
    if (err != NULL && err->kind != ERR_TEMPORARY)
        err->kind = ERR_CONFIG;
    return false;
}

/* The parent of a process from /proc/PID/stat, 0 if it is gone. The name in
 * parentheses may hold anything, so the last ')' counts. */
static pid_t process_parent(const char *pid) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, line, sizeof line - 1);
    close(fd);
    line[n > 0 ? n : 0] = '\0';
    const char *end = strrchr(line, ')');
    return end != NULL && strlen(end) > 4 ? (pid_t)atol(end + 4) : 0;
}

/* True for descendants at any depth. */
static bool process_is_ours(const char *pid) {
    pid_t self = getpid(), parent = process_parent(pid);
    for (int depth = 0; parent > 1 && parent != self && depth < 64; depth++) {
        char text[24];
        snprintf(text, sizeof text, "%d", parent);
        parent = process_parent(text);
    }
    return parent == self;
}

/* The pidfd is opened before checking the parent: the pid alone might have been
 * reused. */
static void signal_if_ours(const char *pid, int signal) {
    int fd = (int)syscall(SYS_pidfd_open, (pid_t)atol(pid), 0);
    if (fd < 0)
        return;
    if (process_is_ours(pid))
        syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
    close(fd);
}

static void children_signal(int signal) {
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(proc)) != NULL;)
        if (isdigit((unsigned char)entry->d_name[0]))
            signal_if_ours(entry->d_name, signal);
    closedir(proc);
}

/* Waits for a signal until `deadline` at most. False: the deadline has passed.
 */
static bool wait_until(struct mono deadline, struct child_stop *stop) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    if (stop != NULL) {
        sigset_t more = stop_signals();
        sigorset(&set, &set, &more);
    }
    int64_t left_ns = deadline.ns - clock_mono().ns;
    if (left_ns <= 0)
        return false;
    if (left_ns > 3600 * NS_PER_S)
        left_ns = 3600 * NS_PER_S;
    struct timespec left = {left_ns / NS_PER_S, left_ns % NS_PER_S};
    int signal = sigtimedwait(&set, NULL, &left);
    if (signal > 0 && stop != NULL)
        stop_note(stop, signal);
    return true;
}

static struct mono deadline_in(int64_t ms) {
    return ms == 0 ? MONO_NEVER : mono_add_ms(clock_mono(), ms);
}

struct child_end child_wait(pid_t pid, struct child_stop *stop,
                            int64_t timeout_ms, int64_t grace_ms) {
    struct mono deadline = deadline_in(timeout_ms);
    struct child_end end = {CHILD_EXITED, 0};
    bool ending = false, plain = stop == NULL && timeout_ms == 0;
    for (;;) {
        int status = 0;
        pid_t got = waitpid(pid, &status, plain ? 0 : WNOHANG);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == pid || (got < 0 && errno == ECHILD)) {
            if (!ending && WIFSIGNALED(status))
                end.how = CHILD_SIGNALLED;
            end.code =
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
            /* A TERM to the group ends both child and us: the child did not
             * fail. */
            if (stop != NULL && end.how == CHILD_SIGNALLED &&
                child_stop_requested(stop))
                end.how = CHILD_STOPPED;
            return end;
        }
        bool late = !wait_until(deadline, ending ? NULL : stop);
        bool stopped = stop != NULL && stop->signal != 0;
        if (!ending && (late || stopped)) {
            ending = true;
            end.how = stopped ? CHILD_STOPPED : CHILD_LATE;
            children_signal(SIGTERM);
            deadline = mono_add_ms(clock_mono(), grace_ms);
        } else if (ending && late) {
            children_signal(SIGKILL);
            deadline = mono_add_ms(clock_mono(), 1000);
        }
    }
}
