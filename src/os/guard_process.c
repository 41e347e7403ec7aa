#include "os/guard_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/guard_frame.h"
#include "os/process.h"

enum {
    SOCKET_BYTES = 1 << 20,
    GUARD_FD = 3 /* control, base, output: 3, 4, 5 in the guard */
};

/* Copies a descriptor so that it is not 3, 4 or 5; closed on exec like all of
 * ours. */
static int copy_fd(int fd) {
    return fcntl(fd, F_DUPFD_CLOEXEC, GUARD_FD + 10);
}

/* The child shares our memory until its exec, however much we have (P1). */
static int spawn_guard(const char *executable, const int fds[3],
                       pid_t *ret_pid) {
    posix_spawn_file_actions_t actions;
    char number[16];
    snprintf(number, sizeof number, "%d", GUARD_FD);
    char name[] = "pointsman", verb[] = "guard", option[] = "--fd";
    char *argv[] = {name, verb, option, number, NULL};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    for (int i = 0; i < 3; i++)
        posix_spawn_file_actions_adddup2(&actions, fds[i], GUARD_FD + i);
    int sys = posix_spawn(ret_pid, executable, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return sys;
}

static bool start(const struct guard_options *options,
                  struct guard_process *process, struct err *err) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(err, errno, "cannot create a socket");
    for (int i = 0; i < 2; i++)
        setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &(int){SOCKET_BYTES},
                   sizeof(int));
    process->fd = pair[0];
    int output_fd =
        options->output_fd > 0 ? options->output_fd : options->base_fd;
    int fds[3] = {copy_fd(pair[1]), copy_fd(options->base_fd),
                  copy_fd(output_fd)};
    close(pair[1]);
    int sys = EMFILE;
    const char *executable =
        options->executable != NULL ? options->executable : "/proc/self/exe";
    if (fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0)
        sys = spawn_guard(executable, fds, &process->pid);
    for (int i = 0; i < 3; i++)
        fd_close(&fds[i]);
    if (sys != 0) {
        process->pid = 0;
        return err_errno(err, sys, "cannot start '%s'", executable);
    }
    process->born = process_start(process->pid);
    return true;
}

static struct span with_nul(const char *string) {
    return string == NULL || *string == '\0'
               ? (struct span){0}
               : span_make(string, strlen(string) + 1);
}

static bool say_hello(const struct guard_options *options,
                      const struct guard_process *process, struct err *err) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct guard_hello hello = {.launchers = options->launchers,
                                .slots = options->slots,
                                .any_cgroup = options->cgroup_root == NULL,
                                .leased = options->leased,
                                .role = with_nul(options->role),
                                .cgroup_root = with_nul(options->cgroup_root),
                                .life_path = with_nul(options->life_path)};
    guard_hello_encode(&out, &hello);
    if (send(process->fd, out.p, out.len, MSG_NOSIGNAL) != (ssize_t)out.len)
        return err_errno(err, errno, "cannot connect to the supervisor");
    return true;
}

bool guard_process_start(const struct guard_options *options,
                         struct guard_process *ret_process, struct err *err) {
    *ret_process = GUARD_PROCESS_INIT;
    if (start(options, ret_process, err) &&
        say_hello(options, ret_process, err))
        return true;
    guard_process_kill(ret_process);
    guard_process_close(ret_process);
    return false;
}

static int open_in_tree(const struct guard_process *process, const char *name,
                        int how) {
    char path[PATH_MAX + 16];
    if (process->tree == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/%s", process->tree, name);
    return open(path, how | O_CLOEXEC);
}

static bool write_in_tree(const struct guard_process *process, const char *name,
                          const char *word) {
    CLEANUP(fd_close) int fd = open_in_tree(process, name, O_WRONLY);
    return fd >= 0 && write(fd, word, 1) == 1;
}

void guard_process_kill(struct guard_process *process) {
    if (process->pid > 0)
        kill(process->pid, SIGKILL);
    (void)write_in_tree(process, "cgroup.kill", "1");
}

void guard_process_note_limits(struct guard_process *process) {
    for (int what = 0; what < RLIM_NLIMITS; what++)
        if (prlimit(process->pid, what, NULL, &process->limits[what]) < 0)
            process->limits[what] = (struct rlimit){0};
}

static bool tree_is_frozen(const struct guard_process *process) {
    CLEANUP(fd_close) int fd = open_in_tree(process, "cgroup.freeze", O_RDONLY);
    char word = '0';
    return fd >= 0 && read(fd, &word, 1) == 1 && word == '1';
}

static bool limits_restore(const struct guard_process *process,
                           bool *ret_lowered) {
    bool ok = true;
    *ret_lowered = false;
    for (int what = 0; what < RLIM_NLIMITS; what++) {
        const struct rlimit *noted = &process->limits[what];
        struct rlimit now;
        if (prlimit(process->pid, what, NULL, &now) < 0 ||
            (now.rlim_cur >= noted->rlim_cur &&
             now.rlim_max >= noted->rlim_max))
            continue;
        *ret_lowered = true;
        ok = prlimit(process->pid, what, noted, NULL) == 0 && ok;
    }
    return ok;
}

bool guard_process_mend(const struct guard_process *process,
                        const char **ret_fault) {
    bool lowered;
    *ret_fault = NULL;
    if (tree_is_frozen(process)) {
        *ret_fault = "the cgroup of all tasks was frozen";
        return write_in_tree(process, "cgroup.freeze", "0");
    }
    bool ok = limits_restore(process, &lowered);
    if (lowered)
        *ret_fault = "a limit of the supervisor was lowered";
    return ok;
}

bool guard_process_is_over(struct guard_process *process) {
    if (process->pid <= 0)
        return true;
    pid_t pid = waitpid(process->pid, NULL, WNOHANG);
    if (pid == process->pid || (pid < 0 && errno == ECHILD))
        process->pid = 0;
    return process->pid == 0 || !process_lives(process->pid, process->born);
}

void guard_process_close(struct guard_process *process) {
    (void)guard_process_is_over(process);
    fd_close(&process->fd);
    free(process->tree);
    *process = GUARD_PROCESS_INIT;
}
