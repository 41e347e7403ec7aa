#include "os/sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/landlock.h"

/* ---- Landlock ---- */

enum { PATHS_MAX = 64 };

static bool add_rules(struct landlock_rule *rules, size_t *count,
                      const char *const *paths, enum landlock_grant grant,
                      struct err *err) {
    for (; paths != NULL && *paths != NULL; paths++) {
        if (*count == PATHS_MAX)
            return err_set(err, ERR_CANNOT, "too many paths for a sandbox");
        rules[(*count)++] = (struct landlock_rule){*paths, grant};
    }
    return true;
}

static bool enter_landlock(const struct sandbox *sandbox,
                           struct sandbox_report *report, struct err *err) {
    struct landlock_rule rules[PATHS_MAX];
    size_t count = 0;
    report->landlock_abi = landlock_abi();
    if (report->landlock_abi == 0)
        return true;
    if (!add_rules(rules, &count, sandbox->readable, LANDLOCK_READ, err) ||
        !add_rules(rules, &count, sandbox->writable, LANDLOCK_CHANGE, err) ||
        !landlock_enter(rules, count, err))
        return false;
    report->in_force |= SANDBOX_LANDLOCK;
    return true;
}

/* ---- seccomp ---- */

#if defined __x86_64__
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#define OUR_ARCH 0 /* no filter then, which the report says */
#endif

/* Reading and writing open files, memory, time, and exit. */
static const int allowed_calls[] = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_close,
    SYS_fstat,
    SYS_lseek,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_brk,
    SYS_madvise,
    SYS_futex,
    SYS_rt_sigreturn,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_sigaltstack,
    SYS_exit,
    SYS_exit_group,
    SYS_getpid,
    SYS_gettid,
    SYS_tgkill,
    SYS_clock_gettime,
    SYS_gettimeofday,
    SYS_getrandom,
    SYS_restart_syscall,
    SYS_sched_yield,
    SYS_ppoll,
    SYS_fcntl,
    SYS_dup,
    SYS_fsync,
    SYS_fdatasync,
    SYS_newfstatat,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_umask,
    SYS_sched_getaffinity,
#ifdef SYS_poll
    SYS_poll,
#endif
};

/* Allowed if there are readable or writable paths; Landlock decides which. */
static const int file_calls[] = {
    SYS_openat,   SYS_getdents64, SYS_readlinkat, SYS_faccessat, SYS_mkdirat,
    SYS_unlinkat, SYS_renameat2,  SYS_ftruncate,  SYS_statx,
#ifdef SYS_open
    SYS_open,     SYS_stat,       SYS_lstat,      SYS_access,    SYS_mkdir,
    SYS_unlink,   SYS_rename,     SYS_readlink,
#endif
};

enum { FILTER_MAX = 200 };

struct filter {
    struct sock_filter code[FILTER_MAX];
    unsigned short count;
};

static void put(struct filter *filter, struct sock_filter line) {
    filter->code[filter->count++] = line;
}

static void put_load(struct filter *filter, size_t offset) {
    put(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             (uint32_t)offset));
}

static void put_return(struct filter *filter, uint32_t what) {
    put(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}

/* If the loaded word equals this, the next line is executed, otherwise skipped.
 */
static void put_if(struct filter *filter, uint32_t word) {
    put(filter,
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word, 0, 1));
}

static void put_calls(struct filter *filter, const int *calls, size_t count) {
    for (size_t i = 0; i < count; i++) {
        put_if(filter, (uint32_t)calls[i]);
        put_return(filter, SECCOMP_RET_ALLOW);
    }
}

/* Memory protection may change, but memory never becomes executable: the low
 * half of the third argument is tested. */
static void put_mprotect(struct filter *filter) {
    put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                             SYS_mprotect, 0, 4));
    put_load(filter, offsetof(struct seccomp_data, args[2]));
    put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
                                             PROT_EXEC, 0, 1));
    put_return(filter, SECCOMP_RET_ERRNO | EPERM);
    put_return(filter, SECCOMP_RET_ALLOW);
}

static void build_filter(struct filter *filter, bool files) {
    put_load(filter, offsetof(struct seccomp_data, arch));
    put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                             OUR_ARCH, 1, 0));
    put_return(filter, SECCOMP_RET_KILL_PROCESS);
    put_load(filter, offsetof(struct seccomp_data, nr));
    put_calls(filter, allowed_calls,
              sizeof allowed_calls / sizeof *allowed_calls);
    if (files)
        put_calls(filter, file_calls, sizeof file_calls / sizeof *file_calls);
    put_if(filter, SYS_ioctl); /* used by stdio to test for a terminal */
    put_return(filter, SECCOMP_RET_ERRNO | ENOTTY);
    put_mprotect(filter);
    put_return(filter, SECCOMP_RET_ERRNO | EPERM);
}

static bool has_seccomp(void) {
    uint32_t action = SECCOMP_RET_ERRNO;
    return OUR_ARCH != 0 &&
           syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static bool enter_seccomp(const struct sandbox *sandbox,
                          struct sandbox_report *report, struct err *err) {
    if (!has_seccomp())
        return true;
    struct filter filter = {.count = 0};
    build_filter(&filter,
                 sandbox->readable != NULL || sandbox->writable != NULL);
    struct sock_fprog program = {.len = filter.count, .filter = filter.code};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        return err_errno(err, errno, "cannot set the system call filter");
    report->in_force |= SANDBOX_SECCOMP;
    return true;
}

/* ---- limits ---- */

static bool set_limit(__rlimit_resource_t what, const char *name, uint64_t soft,
                      uint64_t hard, struct err *err) {
    struct rlimit limit;
    if (getrlimit(what, &limit) < 0)
        return err_errno(err, errno, "cannot read the limit of %s", name);
    if (limit.rlim_max < hard)
        hard = limit.rlim_max;
    if (limit.rlim_cur < soft)
        soft = limit.rlim_cur;
    limit = (struct rlimit){.rlim_cur = soft < hard ? soft : hard,
                            .rlim_max = hard};
    if (setrlimit(what, &limit) < 0)
        return err_errno(err, errno, "cannot limit %s", name);
    return true;
}

static bool enter_limits(const struct sandbox *sandbox,
                         struct sandbox_report *report, struct err *err) {
    if (!set_limit(RLIMIT_CORE, "core files", 0, 0, err) ||
        !set_limit(RLIMIT_FSIZE, "the size of files", sandbox->file_bytes,
                   sandbox->file_bytes, err))
        return false;
    if (sandbox->memory_bytes > 0 &&
        !set_limit(RLIMIT_AS, "memory", sandbox->memory_bytes,
                   sandbox->memory_bytes, err))
        return false;
    /* One second between SIGXCPU and SIGKILL. */
    if (sandbox->cpu_s > 0 &&
        !set_limit(RLIMIT_CPU, "processor time", sandbox->cpu_s,
                   sandbox->cpu_s + 1, err))
        return false;
    report->in_force |= SANDBOX_LIMITS;
    return true;
}

/* ---- all ---- */

static void describe(struct sandbox_report *report) {
    unsigned in = report->in_force;
    char landlock[32] = "no landlock";
    if ((in & SANDBOX_LANDLOCK) != 0)
        snprintf(landlock, sizeof landlock, "landlock %d",
                 report->landlock_abi);
    snprintf(report->text, sizeof report->text, "%s, %s, %s, %s",
             (in & SANDBOX_NO_NEW_PRIVS) != 0 ? "no-new-privs"
                                              : "no no-new-privs",
             landlock, (in & SANDBOX_SECCOMP) != 0 ? "seccomp" : "no seccomp",
             (in & SANDBOX_LIMITS) != 0 ? "limits" : "no limits");
}

bool sandbox_enter(const struct sandbox *sandbox,
                   struct sandbox_report *ret_report, struct err *err) {
    struct sandbox_report report = {0};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_errno(err, errno,
                         "cannot forbid new privileges (no_new_privs)");
    report.in_force |= SANDBOX_NO_NEW_PRIVS;
    /* The filter comes last: it forbids calls that the others need. */
    if (!enter_limits(sandbox, &report, err) ||
        !enter_landlock(sandbox, &report, err) ||
        !enter_seccomp(sandbox, &report, err))
        return false;
    describe(&report);
    if (ret_report != NULL)
        *ret_report = report;
    return true;
}

void sandbox_probe(struct sandbox_report *ret_report) {
    *ret_report = (struct sandbox_report){.in_force = SANDBOX_NO_NEW_PRIVS |
                                                      SANDBOX_LIMITS,
                                          .landlock_abi = landlock_abi()};
    if (ret_report->landlock_abi > 0)
        ret_report->in_force |= SANDBOX_LANDLOCK;
    if (has_seccomp())
        ret_report->in_force |= SANDBOX_SECCOMP;
    describe(ret_report);
}
