/* faulty: runs a command and injects a fault at one of its mutating system
 * calls, counted over all processes that the command starts.
 *
 *   faulty [--only WORD] [--kill all|one] [--fail ENOSPC|EIO] [--for N]
 *          [--at K] [--reads DIR] [--log FILE] -- COMMAND...
 *   faulty --interrupt [--at K] [--log FILE] -- COMMAND...
 *
 * At call K, --kill kills all processes or the calling process, and --fail
 * makes the call fail (with --for, N consecutive calls). --fail counts only
 * calls on files and directories that can return such an error. --only WORD
 * counts only the calls of processes whose command line contains WORD, --only
 * ^WORD those whose command line begins with WORD. --reads counts, instead of
 * the mutating calls, those that open files below DIR for reading or read from
 * them; DIR is absolute. Without --at, no fault is injected. The log gets one
 * line for each call, and the total. --interrupt counts all calls of the first
 * process alone, and sends it INT at call K. The exit status is 137 if the
 * fault occurred, 125 if processes cannot be traced, otherwise, and with
 * --interrupt, that of the command.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT = 125, CAME = 137, LINE_BYTES = 4096 };

enum fault { COUNT_ONLY, KILL_ALL, KILL_ONE, FAIL, INTERRUPT };

static const struct {
    int number;
    const char *name;
} calls[] = {
#define CALL(name) \
    { SYS_##name, #name }
#ifdef SYS_rename
    CALL(rename),    CALL(link),     CALL(unlink),    CALL(mkdir),
    CALL(rmdir),
#endif
    CALL(write),     CALL(writev),   CALL(pwrite64),  CALL(fsync),
    CALL(fdatasync), CALL(syncfs),   CALL(renameat2), CALL(renameat),
    CALL(linkat),    CALL(unlinkat), CALL(ftruncate), CALL(mkdirat),
    CALL(openat),    CALL(read),     CALL(pread64),
};
#undef CALL
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static const char *reads; /* the directory of --reads, or NULL */
static bool interrupts;   /* --interrupt */

static bool is_read(long nr) {
    return nr == SYS_read || nr == SYS_pread64;
}

struct trial {
    enum fault fault;
    int error;
    long at, count, row;
    const char *only;
    FILE *log;
    bool came, killing;
    pid_t first;
    int status;
};

/* ---- in the child -------------------------------------------------------- */

static bool filter_install(void) {
    struct sock_filter filter[3 * CALLS + 8];
    size_t n = 0;
#define LOAD(field)                             \
    filter[n++] = (struct sock_filter)BPF_STMT( \
        BPF_LD | BPF_W | BPF_ABS,               \
        (unsigned)offsetof(struct seccomp_data, field))
#define ANSWER(what) \
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what)
    if (interrupts)
        ANSWER(SECCOMP_RET_TRACE);
    LOAD(nr);
    for (size_t i = 0; i < CALLS; i++) {
        bool opens = calls[i].number == SYS_openat && reads == NULL;
        if (is_read(calls[i].number)
                ? reads == NULL
                : reads != NULL && calls[i].number != SYS_openat)
            continue;
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                   (unsigned)calls[i].number, 0,
                                                   opens ? 4 : 1);
        if (opens) { /* only calls that create or truncate a file */
            LOAD(args[2]);
            filter[n++] = (struct sock_filter)BPF_JUMP(
                BPF_JMP | BPF_JSET | BPF_K, O_CREAT | O_TRUNC, 0, 1);
        }
        ANSWER(SECCOMP_RET_TRACE);
        if (opens)
            ANSWER(SECCOMP_RET_ALLOW);
    }
    ANSWER(SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = (unsigned short)n, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) == 0 &&
           prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_FILTER,
                 &program) == 0;
}

/* The thread of the leak check cannot be traced, so our filter would refuse all
 * its calls, even that which ends it. */
static void leaks_ignore(void) {
    const char *given = getenv("ASAN_OPTIONS");
    char options[LINE_BYTES];
    snprintf(options, sizeof options, "%s%sdetect_leaks=0",
             given != NULL ? given : "", given != NULL ? ":" : "");
    setenv("ASAN_OPTIONS", options, 1);
}

static void child(int go, char **argv) {
    char byte;
    if (read(go, &byte, 1) != 1)
        _exit(CANNOT);
    close(go);
    leaks_ignore();
    if (!filter_install())
        _exit(CANNOT);
    execvp(argv[0], argv);
    fprintf(stderr, "faulty: cannot run '%s': %s\n", argv[0], strerror(errno));
    _exit(CANNOT);
}

/* ---- calls and their processes ------------------------------------------- */

static void command_line(pid_t tid, char line[LINE_BYTES]) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, line, LINE_BYTES - 1);
    if (fd >= 0)
        close(fd);
    line[n > 0 ? n : 0] = '\0';
    for (ssize_t i = 0; i < n - 1; i++)
        if (line[i] == '\0' || line[i] == '\n')
            line[i] = ' ';
}

/* The number after a word such as "Tgid:" in the status file of the thread. */
static pid_t status_of(pid_t tid, const char *word, pid_t otherwise) {
    char path[64], line[256];
    pid_t number = otherwise;
    snprintf(path, sizeof path, "/proc/%d/status", tid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, word, strlen(word)) == 0) {
            number = (pid_t)atol(line + strlen(word));
            break;
        }
    if (file != NULL)
        fclose(file);
    return number;
}

static pid_t process_of(pid_t tid) {
    return status_of(tid, "Tgid:", tid);
}

static const char *call_name(long number) {
    for (size_t i = 0; i < CALLS; i++)
        if (calls[i].number == number)
            return calls[i].name;
    return "?";
}

/* ---- faults -------------------------------------------------------------- */

static bool call_fail(pid_t tid, int error) {
#if defined(__x86_64__)
    struct user_regs_struct regs;
    if (ptrace(PTRACE_GETREGS, tid, 0L, &regs) != 0)
        return false;
    regs.orig_rax = (unsigned long long)-1;
    regs.rax = (unsigned long long)-(long long)error;
    return ptrace(PTRACE_SETREGS, tid, 0L, &regs) == 0;
#elif defined(__aarch64__)
    int none = -1;
    struct user_regs_struct regs;
    struct iovec call = {&none, sizeof none}, all = {&regs, sizeof regs};
    if (ptrace(PTRACE_SETREGSET, tid, 0x404L, &call) != 0 ||
        ptrace(PTRACE_GETREGSET, tid, 1L, &all) != 0)
        return false;
    regs.regs[0] = (unsigned long long)-(long long)error;
    return ptrace(PTRACE_SETREGSET, tid, 1L, &all) == 0;
#else
    (void)tid;
    (void)error;
    return false;
#endif
}

static void kill_all(void) {
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    while (processes != NULL && (entry = readdir(processes)) != NULL) {
        pid_t pid = (pid_t)atol(entry->d_name);
        if (pid > 0 && status_of(pid, "TracerPid:", 0) == getpid())
            kill(pid, SIGKILL);
    }
    if (processes != NULL)
        closedir(processes);
}

/* A process that starts while the others are killed is killed at its first
 * stop. */
static void strike(struct trial *trial, pid_t tid) {
    trial->came = true;
    if (trial->fault == KILL_ONE) {
        kill(process_of(tid), SIGKILL);
    } else if (trial->fault == INTERRUPT) {
        kill(trial->first, SIGINT);
    } else if (trial->fault == KILL_ALL) {
        trial->killing = true;
        kill_all();
    } else if (!call_fail(tid, trial->error)) {
        fprintf(stderr, "faulty: cannot make a call fail here\n");
        exit(CANNOT);
    }
}

/* Removing a name needs no space. */
static bool is_removal(long nr) {
#ifdef SYS_unlink
    if (nr == SYS_unlink || nr == SYS_rmdir)
        return true;
#endif
    return nr == SYS_unlinkat;
}

static bool link_read(const char *path, char *ret, size_t bytes) {
    ssize_t n = readlink(path, ret, bytes - 1);
    ret[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The path that an openat() names. Symbolic links are not followed. */
static bool opened_path(pid_t tid, const struct __ptrace_syscall_info *info,
                        char *ret, size_t bytes) {
    char link[64], name[1024] = "";
    struct iovec to = {name, sizeof name - 1},
                 from = {(void *)(uintptr_t)info->seccomp.args[1],
                         sizeof name - 1};
    /* The name may lie near the end of a page with nothing behind it. */
    while (process_vm_readv(tid, &to, 1, &from, 1, 0) < 0)
        if ((from.iov_len /= 2) == 0)
            return false;
    if (name[0] == '/')
        return snprintf(ret, bytes, "%s", name) > 0;
    int dir = (int)info->seccomp.args[0];
    if (dir == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/%d/cwd", tid);
    else
        snprintf(link, sizeof link, "/proc/%d/fd/%d", tid, dir);
    if (!link_read(link, ret, bytes))
        return false;
    size_t length = strlen(ret);
    snprintf(ret + length, bytes - length, "/%s", name);
    return true;
}

static bool is_read_below(pid_t tid, const struct __ptrace_syscall_info *info) {
    char link[64], path[4096];
    size_t length = strlen(reads);
    if (info->seccomp.nr == SYS_openat) {
        if ((info->seccomp.args[2] & O_ACCMODE) != O_RDONLY ||
            !opened_path(tid, info, path, sizeof path))
            return false;
    } else {
        snprintf(link, sizeof link, "/proc/%d/fd/%d", tid,
                 (int)info->seccomp.args[0]);
        if (!link_read(link, path, sizeof path))
            return false;
    }
    return strncmp(path, reads, length) == 0 && path[length] == '/';
}

/* A write to a pipe or socket cannot return a disk error. */
static bool is_of_disk(const struct trial *trial, pid_t tid,
                       const struct __ptrace_syscall_info *info) {
    char path[64];
    struct stat st;
    long nr = (long)info->seccomp.nr;
    if (reads != NULL)
        return is_read_below(tid, info);
    if (trial->error == ENOSPC && is_removal(nr))
        return false;
    if (nr != SYS_write && nr != SYS_writev && nr != SYS_pwrite64)
        return true;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", tid,
             (int)info->seccomp.args[0]);
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_meant(const struct trial *trial, const char *line) {
    if (trial->only == NULL)
        return true;
    if (trial->only[0] == '^')
        return strncmp(line, trial->only + 1, strlen(trial->only + 1)) == 0;
    return strstr(line, trial->only) != NULL;
}

static void on_call(struct trial *trial, pid_t tid) {
    char line[LINE_BYTES];
    struct __ptrace_syscall_info info;
    if (interrupts && process_of(tid) != trial->first)
        return;
    command_line(tid, line);
    if (!is_meant(trial, line) ||
        ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof info, &info) <= 0 ||
        ((trial->fault == FAIL || reads != NULL) &&
         !is_of_disk(trial, tid, &info)))
        return;
    trial->count++;
    bool now = trial->at > 0 && trial->count >= trial->at &&
               trial->count < trial->at + trial->row;
    if (trial->log != NULL)
        fprintf(trial->log, "%s%ld %s in %.100s\n", now ? "HERE " : "",
                trial->count, call_name((long)info.seccomp.nr), line);
    if (now)
        strike(trial, tid);
}

/* ---- tracing ------------------------------------------------------------- */

static void on_stop(struct trial *trial, pid_t tid, int status) {
    int signal = WSTOPSIG(status), event = status >> 16;
    if (trial->killing) {
        kill(process_of(tid), SIGKILL);
        ptrace(PTRACE_CONT, tid, 0L, 0L);
        return;
    }
    if (event == PTRACE_EVENT_SECCOMP)
        on_call(trial, tid);
    else if (event == PTRACE_EVENT_STOP &&
             (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN ||
              signal == SIGTTOU)) {
        ptrace(PTRACE_LISTEN, tid, 0L, 0L);
        return;
    }
    ptrace(PTRACE_CONT, tid, 0L, event != 0 ? 0L : (long)signal);
}

static void watch(struct trial *trial) {
    for (;;) {
        int status;
        pid_t tid = waitpid(-1, &status, __WALL);
        if (tid < 0 && errno == EINTR)
            continue;
        if (tid < 0)
            return;
        if (WIFSTOPPED(status))
            on_stop(trial, tid, status);
        else if (tid == trial->first)
            trial->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                                : WEXITSTATUS(status);
    }
}

static void begin(struct trial *trial, char **argv) {
    int go[2];
    long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK |
                   PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                   PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
    if (pipe2(go, O_CLOEXEC) != 0 || (trial->first = fork()) < 0)
        exit(CANNOT);
    if (trial->first == 0) {
        close(go[1]);
        child(go[0], argv);
    }
    close(go[0]);
    if (ptrace(PTRACE_SEIZE, trial->first, 0L, options) != 0 ||
        write(go[1], "g", 1) != 1) {
        fprintf(stderr, "faulty: cannot trace: %s\n", strerror(errno));
        kill(trial->first, SIGKILL);
        exit(CANNOT);
    }
    close(go[1]);
}

static void usage(void) {
    fprintf(stderr, "faulty: usage error, see tests/support/faulty.c\n");
    exit(64);
}

int main(int argc, char **argv) {
    struct trial trial = {.row = 1};
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *option = argv[i];
        if (strcmp(option, "--interrupt") == 0) {
            interrupts = true;
            trial.fault = INTERRUPT;
            continue;
        }
        const char *value = i + 1 < argc ? argv[++i] : "";
        if (strcmp(option, "--at") == 0)
            trial.at = atol(value);
        else if (strcmp(option, "--for") == 0)
            trial.row = atol(value);
        else if (strcmp(option, "--only") == 0)
            trial.only = value;
        else if (strcmp(option, "--reads") == 0)
            reads = value;
        else if (strcmp(option, "--log") == 0)
            trial.log = fopen(value, "we");
        else if (strcmp(option, "--kill") == 0)
            trial.fault = strcmp(value, "one") == 0 ? KILL_ONE : KILL_ALL;
        else if (strcmp(option, "--fail") == 0) {
            trial.fault = FAIL;
            trial.error = strcmp(value, "EIO") == 0 ? EIO : ENOSPC;
        } else
            usage();
    }
    if (i + 1 >= argc)
        usage();
    begin(&trial, argv + i + 1);
    watch(&trial);
    if (trial.log != NULL) {
        fprintf(trial.log, "total %ld\n", trial.count);
        fclose(trial.log);
    }
    return trial.came && !interrupts ? CAME : trial.status;
}
