#include "os/guard_life.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/err.h"
#include "os/clock.h"
#include "os/rights.h"
#include "os/spawn.h"

enum { ABOVE_FDS = 10, PACED_PIPE_BYTES = 4096 };

enum child_step {
    STEP_NONE,
    STEP_CGROUP,
    STEP_LIMIT,
    STEP_USER,
    STEP_DIR,
    STEP_EXEC
};

/* Input of the child, and the place where it reports a failure: its memory is
 * ours until exec. */
struct child {
    const struct guard_life *life;
    struct guard_task *task;
    int join_fd; /* cgroup.procs to write to; -1: started there */
    int canary_fd;
    char *path; /* PATH_MAX bytes for building names */
    enum child_step step;
    uint32_t limit; /* that failed, for STEP_LIMIT */
    int sys;
};

static int child_fail(struct child *child, enum child_step step) {
    child->step = step;
    child->sys = errno;
    return 127;
}

/* Not if its first line has a NUL: it is a program of another machine, or data.
 * Nor if it names its interpreter, in a line longer than the kernel reads. A
 * file that cannot be read is none that the shell could execute either. */
static bool is_for_shell(const char *file) {
    char first[256];
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t n = fd < 0 ? -1 : read(fd, first, sizeof first);
    if (fd >= 0)
        close(fd);
    if (n >= 2 && first[0] == '#' && first[1] == '!')
        return false;
    for (ssize_t i = 0; i < n && first[i] != '\n'; i++)
        if (first[i] == '\0')
            return false;
    return n >= 0;
}

/* Like execvp: an executable text that does not begin with "#!" is passed to
 * the shell, which is why argv has a free slot in front. */
static void exec_file(struct guard_task *task, const char *file) {
    execve(file, task->argv, task->envp);
    if (errno != ENOEXEC)
        return;
    if (!is_for_shell(file)) {
        errno = ENOEXEC;
        return;
    }
    char *shell = (char[]){"/bin/sh"};
    char *old = task->argv[0];
    task->argv[-1] = shell;
    task->argv[0] = (char *)(uintptr_t)file;
    execve(shell, task->argv - 1, task->envp);
    task->argv[0] = old;
    errno = ENOEXEC;
}

/* Some errors mean "try the next directory", others end the search. */
static bool look_further(int sys) {
    return sys == ENOENT || sys == ENOTDIR || sys == EACCES ||
           sys == ENAMETOOLONG || sys == ELOOP || sys == ESTALE;
}

static void exec_search(struct child *child) {
    struct guard_task *task = child->task;
    const char *name = task->argv[0];
    if (strchr(name, '/') != NULL || *name == '\0') {
        exec_file(task, name);
        return;
    }
    struct span rest = span_of(
        task->search != NULL ? task->search : "/usr/local/bin:/usr/bin:/bin");
    int denied = 0;
    struct span dir;
    while (span_cut(&rest, ':', &dir)) {
        if (snprintf(child->path, PATH_MAX, "%.*s%s%s", (int)dir.len,
                     dir.len > 0 ? dir.p : "", dir.len > 0 ? "/" : "",
                     name) >= PATH_MAX)
            continue;
        exec_file(task, child->path);
        if (!look_further(errno))
            return;
        if (errno == EACCES)
            denied = EACCES;
    }
    errno = denied != 0 ? denied : ENOENT;
}

/* A child that keeps our account regains all our rights at its exec; before
 * that it may need some of them to get there. */
static void child_rights(const struct child *child) {
    if (child->life->lowered && (child->task->flags & GUARD_START_USER) == 0)
        rights_raise();
}

/* Called while the child has our rights: limits may raise the guard's own. */
static bool child_limits(struct child *child) {
    const struct guard_task *task = child->task;
    for (child->limit = 0; child->limit < task->limit_count; child->limit++) {
        const struct guard_limit *limit = &task->limits[child->limit];
        if (limit->what >= GUARD_MEMORY)
            continue;
        struct rlimit both = {limit->value, limit->value};
        if (syscall(SYS_prlimit64, 0, limit->what, &both, NULL) < 0)
            return false;
    }
    return true;
}

/* Uses the system calls directly: the C library's wrappers act on all threads
 * of a process, and the child only borrows the guard's memory. */
static bool child_user(const struct guard_task *task) {
    const struct guard_user *user = &task->user;
    if ((task->flags & GUARD_START_USER) == 0)
        return true;
    return syscall(SYS_setgroups, (size_t)user->group_count, user->groups) ==
               0 &&
           syscall(SYS_setresgid, user->gid, user->gid, user->gid) == 0 &&
           syscall(SYS_setresuid, user->uid, user->uid, user->uid) == 0;
}

/* Between clone and exec only system calls are allowed: the memory is the
 * guard's. The guard has no signal handlers and ignores no signals, so only the
 * mask must be reset; other descriptors close themselves. */
static int child_main(void *arg) {
    struct child *child = arg;
    struct guard_task *task = child->task;
    const struct guard_life *life = child->life;
    if ((task->flags & GUARD_START_NO_GROUP) == 0)
        setpgid(0, 0);
    if (child->join_fd >= 0 && write(child->join_fd, "0", 1) != 1)
        return child_fail(child, STEP_CGROUP);
    if (task->stdin_fd >= 0)
        dup2(task->stdin_fd, 0);
    int err_fd = task->out[STAMP_ERR].theirs;
    dup2(task->out[STAMP_OUT].theirs, 1);
    dup2(err_fd >= 0 ? err_fd : 1, 2);
    if (task->status.ends.theirs >= 0)
        dup2(task->status.ends.theirs, GUARD_STATUS_FD);
    if (task->progress.ends.theirs >= 0)
        dup2(task->progress.ends.theirs, GUARD_PROGRESS_FD);
    if (!life->has_cgroup && task->lock_fd >= 0)
        fcntl(task->lock_fd, F_DUPFD, ABOVE_FDS);
    if (life->life_fd >= 0)
        fcntl(life->life_fd, F_DUPFD, ABOVE_FDS);
    if (child->canary_fd >= 0)
        fcntl(child->canary_fd, F_DUPFD, ABOVE_FDS);
    if (life->restore_files)
        setrlimit(RLIMIT_NOFILE, &life->child_files);
    child_rights(child);
    if (!child_limits(child))
        return child_fail(child, STEP_LIMIT);
    umask(task->mask);
    if (!child_user(task))
        return child_fail(child, STEP_USER);
    /* Not earlier: a change of user would reset it. */
    if ((task->flags & GUARD_START_DEATH_NONE) == 0)
        prctl(PR_SET_PDEATHSIG,
              (task->flags & GUARD_START_DEATH_TERM) != 0 ? SIGTERM : SIGKILL);
    if (getppid() != life->pid)
        return 127;
    if (chdir(task->dir != NULL ? task->dir : "/") < 0)
        return child_fail(child, STEP_DIR);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    exec_search(child);
    return child_fail(child, STEP_EXEC);
}

static bool is_short_of_files(int sys) {
    return sys == EMFILE || sys == ENFILE;
}

static bool is_temporary(int sys) {
    return sys == EAGAIN || sys == ENOMEM || is_short_of_files(sys) ||
           sys == ETXTBSY || sys == EIO || sys == EINTR || sys == ENOSPC ||
           sys == EDQUOT || sys == EBUSY;
}

static enum guard_result child_result(int sys) {
    return is_temporary(sys) ? GUARD_TEMPORARY : GUARD_CANNOT;
}

/* A lack of descriptors is ours alone: the task is as if it had not been
 * started. */
static enum guard_result result_of(int sys) {
    return is_short_of_files(sys) ? GUARD_WITHDRAWN : child_result(sys);
}

/* G4: a lock belongs to the inode. A process that gets it late, after the job
 * has moved on, sees that the path refers to another inode, or to none. */
static bool take_lock(struct guard_life *life, struct guard_task *task) {
    const char *path = task->lock_path;
    if (path == NULL)
        return true;
    task->lock_fd =
        openat(life->base_fd, path,
               O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (task->lock_fd < 0 && errno == ENOENT)
        return guard_task_fail(task, GUARD_TAKEN, 0,
                               "'%s' was moved: the job has changed its state",
                               path);
    if (task->lock_fd < 0)
        return guard_task_fail(task, result_of(errno), errno,
                               "cannot open '%s'", path);
    if (flock(task->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK
                   ? guard_task_fail(task, GUARD_TAKEN, 0,
                                     "'%s' is locked by another process", path)
                   : guard_task_fail(task, result_of(errno), errno,
                                     "cannot lock '%s'", path);
    struct stat locked, named;
    if (fstat(task->lock_fd, &locked) == 0 &&
        fstatat(life->base_fd, path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        locked.st_ino == named.st_ino && locked.st_dev == named.st_dev)
        return true;
    return guard_task_fail(task, GUARD_TAKEN, 0,
                           "'%s' was moved: the job has changed its state",
                           path);
}

/* The pipe must belong to the task's user, or the task could not open
 * /dev/stdout. The system calls are used directly: only this thread makes files
 * as another user. */
static int make_pipe(const struct guard_task *task, int fds[2]) {
    bool other = (task->flags & GUARD_START_USER) != 0;
    if (other) {
        syscall(SYS_setfsgid, task->user.gid);
        syscall(SYS_setfsuid, task->user.uid);
    }
    int sys = pipe2(fds, O_CLOEXEC) < 0 ? errno : 0;
    if (other) {
        syscall(SYS_setfsuid, geteuid());
        syscall(SYS_setfsgid, getegid());
    }
    return sys;
}

/* Our end is non-blocking; the task's end is an ordinary pipe. */
static bool open_pipe(struct guard_task *task, int *ret_ours, int *ret_theirs) {
    int fds[2], sys = make_pipe(task, fds);
    if (sys != 0)
        return guard_task_fail(task, result_of(sys), sys,
                               "cannot create a pipe");
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    *ret_ours = fds[0];
    *ret_theirs = fds[1];
    return true;
}

static void close_theirs(struct child *child) {
    struct guard_task *task = child->task;
    struct pipe_ends *all[] = {&task->out[STAMP_OUT], &task->out[STAMP_ERR],
                               &task->status.ends, &task->progress.ends};
    for (size_t i = 0; i < COUNT(all); i++)
        if (!all[i]->kept && all[i]->theirs >= 0) {
            close(all[i]->theirs);
            all[i]->theirs = -1;
        }
    if (child->join_fd >= 0)
        close(child->join_fd);
    if (child->canary_fd >= 0)
        close(child->canary_fd);
}

static bool open_ends(struct guard_life *life, struct guard_task *task,
                      bool wanted, struct pipe_ends *ends) {
    if (!wanted)
        return true;
    /* A reused pipe cannot be opened by name (/dev/fd/3) by another user. */
    bool keeps = life->has_cgroup && (task->flags & GUARD_START_USER) == 0;
    pthread_mutex_lock(&life->lock);
    if (keeps && life->spare_count > 0)
        *ends = life->spares[--life->spare_count];
    pthread_mutex_unlock(&life->lock);
    if (ends->ours < 0 && !open_pipe(task, &ends->ours, &ends->theirs))
        return false;
    ends->kept = keeps;
    return true;
}

/* With a paced reader the pipe must be small: a task writes ahead as much as
 * fits into it. Such pipes are not reused. */
static bool open_out(struct guard_life *life, struct guard_task *task,
                     struct pipe_ends *ends) {
    if (task->pace.line_ns == 0)
        return open_ends(life, task, true, ends);
    if (!open_pipe(task, &ends->ours, &ends->theirs))
        return false;
    fcntl(ends->ours, F_SETPIPE_SZ, PACED_PIPE_BYTES);
    return true;
}

static bool open_pipes(struct guard_life *life, struct guard_task *task,
                       struct child *child) {
    bool canary = (task->flags & GUARD_START_CANARY) != 0 && !life->has_cgroup;
    bool streams = (task->flags & GUARD_START_STREAMS) != 0;
    return open_out(life, task, &task->out[STAMP_OUT]) &&
           (!streams || open_out(life, task, &task->out[STAMP_ERR])) &&
           (!canary || open_pipe(task, &task->canary_fd, &child->canary_fd)) &&
           open_ends(life, task, (task->flags & GUARD_START_STATUS) != 0,
                     &task->status.ends) &&
           open_ends(life, task, (task->flags & GUARD_START_PROGRESS) != 0,
                     &task->progress.ends);
}

static bool limit_whole(struct guard_life *life, struct guard_task *task,
                        const struct guard_limit *limit) {
    static const struct {
        enum cgroup_controller controller;
        const char *name, *what;
    } wholes[] = {{CGROUP_MEMORY, "memory", "its memory"},
                  {CGROUP_PIDS, "pids", "the number of its processes"},
                  {CGROUP_CPU, "cpu", "its share of the CPUs"}};
    size_t i = limit->what - GUARD_MEMORY;
    if (i >= COUNT(wholes) ||
        (task->leaf != NULL &&
         cgroup_leaf_limit(&life->tree, task->leaf, wholes[i].controller,
                           limit->value)) ||
        limit->what == GUARD_CPU_WEIGHT)
        return true;
    if (task->leaf == NULL || !is_temporary(errno))
        task->end.exit_code = GUARD_NOT_STARTED;
    if (task->leaf == NULL || errno == ENOTSUP)
        return guard_task_fail(
            task, GUARD_CANNOT, 0,
            "cannot limit %s: the cgroup controller '%s' is not "
            "available; see pointsman doctor",
            wholes[i].what, wholes[i].name);
    return guard_task_fail(task, result_of(errno), errno, "cannot limit %s",
                           wholes[i].what);
}

/* Called before the task is started in its leaf. */
static bool limit_leaf(struct guard_life *life, struct guard_task *task) {
    for (uint32_t i = 0; i < task->limit_count; i++)
        if (task->limits[i].what >= GUARD_MEMORY &&
            !limit_whole(life, task, &task->limits[i]))
            return false;
    return true;
}

static bool take_leaf(struct guard_life *life, struct guard_task *task,
                      struct child *child) {
    if (!life->has_cgroup)
        return limit_leaf(life, task);
    pthread_mutex_lock(&life->lock);
    task->leaf = cgroup_leaf_take(&life->tree);
    int sys = errno;
    pthread_mutex_unlock(&life->lock);
    if (task->leaf == NULL)
        return guard_task_fail(task, result_of(sys), sys,
                               "cannot create a cgroup");
    if (!limit_leaf(life, task))
        return false;
    if (life->can_clone3)
        return true;
    child->join_fd =
        openat(task->leaf->dir_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    return child->join_fd >= 0 || guard_task_fail(task, result_of(errno), errno,
                                                  "cannot enter a cgroup");
}

static void give_leaf(struct guard_life *life, struct guard_task *task) {
    if (task->leaf == NULL)
        return;
    pthread_mutex_lock(&life->lock);
    cgroup_leaf_give(&life->tree, task->leaf);
    pthread_mutex_unlock(&life->lock);
    task->leaf = NULL;
}

static bool is_there(const struct child *child) {
    const struct guard_task *task = child->task;
    const char *name = task->argv[0];
    if (strchr(name, '/') == NULL)
        return false;
    snprintf(child->path, PATH_MAX, "%s/%s",
             task->dir != NULL && *name != '/' ? task->dir : "", name);
    return access(child->path, F_OK) == 0;
}

/* The most common mistake: a command line meant for a shell that is not there.
 */
static bool is_shell_line(const struct guard_task *task) {
    return task->argv[1] == NULL && strpbrk(task->argv[0], " ;|&<>") != NULL;
}

/* ENOENT for a file that exists means that its interpreter is missing. The exit
 * status is that of shells, env(1) and nohup(1). */
static bool exec_failed(struct guard_task *task, const struct child *child) {
    const char *name = task->argv[0];
    int sys = child->sys;
    if (!is_temporary(sys))
        task->end.exit_code =
            sys == ENOENT ? GUARD_NOT_FOUND : GUARD_NOT_EXECUTABLE;
    if (sys == ENOENT && is_there(child))
        return guard_task_fail(
            task, GUARD_CANNOT, 0,
            "cannot execute '%s': the interpreter it names is "
            "missing",
            name);
    if (sys == ENOENT)
        return guard_task_fail(task, GUARD_CANNOT, 0,
                               "cannot execute '%s': no such program%s", name,
                               is_shell_line(task)
                                   ? "; to run a shell line, write sh -c 'LINE'"
                                   : "");
    if (sys == EACCES)
        return guard_task_fail(task, GUARD_CANNOT, 0,
                               "cannot execute '%s': not executable", name);
    if (sys == E2BIG)
        return guard_task_fail(
            task, GUARD_CANNOT, 0,
            "cannot execute '%s': arguments and environment are "
            "too long",
            name);
    return guard_task_fail(task, child_result(sys), sys, "cannot execute '%s'",
                           name);
}

/* The names of limits as written in a job. */
static const char *limit_name(uint32_t what) {
    static const char *const names[] = {
        [RLIMIT_AS] = "as",         [RLIMIT_CORE] = "core",
        [RLIMIT_CPU] = "cpu",       [RLIMIT_DATA] = "data",
        [RLIMIT_FSIZE] = "fsize",   [RLIMIT_MEMLOCK] = "memlock",
        [RLIMIT_NOFILE] = "nofile", [RLIMIT_NPROC] = "nproc",
        [RLIMIT_STACK] = "stack"};
    return what < COUNT(names) && names[what] != NULL ? names[what] : "?";
}

static bool limit_failed(struct guard_task *task, const struct child *child) {
    const struct guard_limit *limit = &task->limits[child->limit];
    char value[24] = "unlimited";
    if (limit->value != RLIM_INFINITY)
        snprintf(value, sizeof value, "%llu", (unsigned long long)limit->value);
    return guard_task_fail(task, child_result(child->sys), child->sys,
                           "cannot set limit '%s' to %s",
                           limit_name(limit->what), value);
}

static bool child_failed(struct guard_life *life, struct guard_task *task,
                         const struct child *child) {
    siginfo_t info;
    while (waitid(P_PIDFD, (id_t)task->pidfd, &info, WEXITED) < 0 &&
           errno == EINTR)
        continue;
    task->exited = task->reaped = true;
    task->end.pid = 0;
    give_leaf(life, task);
    if (child->step != STEP_EXEC && !is_temporary(child->sys))
        task->end.exit_code = GUARD_NOT_STARTED;
    switch (child->step) {
    case STEP_CGROUP:
        return guard_task_fail(task, child_result(child->sys), child->sys,
                               "cannot enter the task's cgroup");
    case STEP_LIMIT:
        return limit_failed(task, child);
    case STEP_USER:
        return guard_task_fail(task, child_result(child->sys), child->sys,
                               "cannot become user %u",
                               (unsigned)task->user.uid);
    case STEP_DIR:
        return guard_task_fail(task, child_result(child->sys), child->sys,
                               "cannot enter directory '%s'", task->dir);
    case STEP_EXEC:
    case STEP_NONE:
        break;
    }
    return exec_failed(task, child);
}

static bool clone_child(struct guard_life *life,
                        struct guard_launcher *launcher,
                        struct guard_task *task, struct child *child) {
    int cgroup_fd =
        task->leaf != NULL && life->can_clone3 ? task->leaf->dir_fd : -1;
    pid_t pid = spawn_child(child_main, child, launcher->stack,
                            LAUNCHER_STACK_BYTES, cgroup_fd, &task->pidfd);
    if (pid < 0) {
        int sys = errno;
        give_leaf(life, task);
        return guard_task_fail(task, result_of(sys), sys,
                               "cannot start a process");
    }
    task->end.pid = pid;
    return true;
}

bool guard_launch(struct guard_life *life, struct guard_launcher *launcher,
                  struct guard_task *task) {
    struct child child = {.life = life,
                          .task = task,
                          .join_fd = -1,
                          .canary_fd = -1,
                          .path = launcher->buffer};
    bool ok = take_lock(life, task) && open_pipes(life, task, &child);
    if (ok && !take_leaf(life, task, &child)) {
        give_leaf(life, task);
        ok = false;
    }
    task->began = clock_mono();
    task->started = clock_wall();
    ok = ok && clone_child(life, launcher, task, &child);
    close_theirs(&child);
    if (ok && child.step != STEP_NONE)
        ok = child_failed(life, task, &child);
    if (ok)
        task->end.started = task->started;
    else if (task->lock_fd >= 0) {
        close(task->lock_fd);
        task->lock_fd = -1;
    }
    return ok;
}
