#include "os/confine.h"

#include <errno.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/landlock.h"
#include "os/rights.h"

#if defined __x86_64__
#define OUR_ARCH AUDIT_ARCH_X86_64
#define OTHER_CALLS 0x40000000U /* x32: the same calls under other numbers */
#elif defined __aarch64__
#define OUR_ARCH AUDIT_ARCH_AARCH64
#define OTHER_CALLS 0U
#else
#define OUR_ARCH 0U
#define OTHER_CALLS 0U
#endif

/* Root may read files that it does not own, and write them where Landlock
 * allows. Every other right of root is a way out of the sandbox: Landlock does
 * not protect owners, modes and times. */
#define KEPT_RIGHTS \
    (RIGHTS_OF(CAP_DAC_OVERRIDE) | RIGHTS_OF(CAP_DAC_READ_SEARCH))

/* The first version of Landlock that restricts truncate(2). */
enum { TRUNCATE_ABI = 3 };
enum { FILTER_MAX = 200, CANNOT = 100, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

/* Ways out of the sandbox: to other hosts and processes, into the kernel, and
 * to rights by file name. io_uring would bypass the filter for all of these. */
static const int denied_calls[] = {
    SYS_socket,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_syslog,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
    SYS_open_by_handle_at,
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
};

#define NEW_NAMESPACES                                             \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | \
     CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

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

/* Compares the loaded word with this one (equal, at least, or has these bits).
 * If it does not match, `skip` lines are skipped. */
static void put_if(struct filter *filter, unsigned short how, uint32_t word,
                   unsigned char skip) {
    put(filter, (struct sock_filter)BPF_JUMP(
                    (unsigned short)(BPF_JMP | how | BPF_K), word, 0, skip));
}

static void put_nr(struct filter *filter) {
    put_load(filter, offsetof(struct seccomp_data, nr));
}

/* Calls whose input a terminal would take as typed by its owner. */
static void put_ioctl(struct filter *filter) {
    put_if(filter, BPF_JEQ, SYS_ioctl, 6);
    put_load(filter, offsetof(struct seccomp_data, args[1]));
    put_if(filter, BPF_JEQ, TIOCSTI, 1);
    put_return(filter, SECCOMP_RET_ERRNO | EPERM);
    put_if(filter, BPF_JEQ, TIOCLINUX, 1);
    put_return(filter, SECCOMP_RET_ERRNO | EPERM);
    put_return(filter, SECCOMP_RET_ALLOW);
}

static void put_denied(struct filter *filter, uint32_t call) {
    put_if(filter, BPF_JEQ, call, 1);
    put_return(filter, SECCOMP_RET_ERRNO | EPERM);
}

static void build_filter(struct filter *filter) {
    put_load(filter, offsetof(struct seccomp_data, arch));
    put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                             OUR_ARCH, 1, 0));
    put_return(filter, SECCOMP_RET_ERRNO | ENOSYS);
    put_nr(filter);
    if (OTHER_CALLS != 0) {
        put_if(filter, BPF_JGE, OTHER_CALLS, 1);
        put_return(filter, SECCOMP_RET_ERRNO | ENOSYS);
    }
    for (size_t i = 0; i < COUNT(denied_calls); i++)
        put_denied(filter, (uint32_t)denied_calls[i]);
    if (landlock_abi() < TRUNCATE_ABI)
        put_denied(filter, SYS_truncate);
    /* The flags are in memory, where a filter cannot see them; the C library
     * works without the call. */
    put_if(filter, BPF_JEQ, SYS_clone3, 1);
    put_return(filter, SECCOMP_RET_ERRNO | ENOSYS);
    put_if(filter, BPF_JEQ, SYS_clone, 4);
    put_load(filter, offsetof(struct seccomp_data, args[0]));
    put_if(filter, BPF_JSET, NEW_NAMESPACES, 1);
    put_return(filter, SECCOMP_RET_ERRNO | EPERM);
    put_return(filter, SECCOMP_RET_ALLOW);
    put_ioctl(filter);
    put_return(filter, SECCOMP_RET_ALLOW);
}

static bool enter_seccomp(struct err *err) {
    struct filter filter = {.count = 0};
    if (OUR_ARCH == 0)
        return err_set(err, ERR_CANNOT,
                       "no system call filter for this processor");
    build_filter(&filter);
    struct sock_fprog program = {.len = filter.count, .filter = filter.code};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ||
           err_errno(err, errno, "cannot set the system call filter");
}

static bool enter_landlock(const char *dir, const char *scratch,
                           struct err *err) {
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full",
                                          "/dev/tty"};
    struct landlock_rule rules[8] = {
        {"/", LANDLOCK_RUN}, {dir, LANDLOCK_ALL}, {scratch, LANDLOCK_ALL}};
    size_t count = 3;
    if (landlock_abi() == 0)
        return err_set(err, ERR_CANNOT, "this kernel has no Landlock");
    for (size_t i = 0; i < COUNT(devices); i++)
        if (access(devices[i], F_OK) == 0)
            rules[count++] = (struct landlock_rule){devices[i], LANDLOCK_ALL};
    return landlock_enter(rules, count, err);
}

static bool enter(struct err *err) {
    char dir[PATH_MAX];
    if (getcwd(dir, sizeof dir) == NULL)
        return err_errno(err, errno, "cannot determine the working directory");
    const char *scratch = getenv("TMPDIR");
    if (scratch == NULL || *scratch == '\0') {
        setenv("TMPDIR", dir, 1);
        scratch = dir;
    }
    if (!rights_keep(KEPT_RIGHTS))
        return err_errno(err, errno, "cannot drop privileges");
    return enter_landlock(dir, scratch, err) && enter_seccomp(err);
}

static bool set_limit(__rlimit_resource_t what, uint64_t most,
                      struct err *err) {
    struct rlimit limit;
    if (getrlimit(what, &limit) < 0)
        return err_errno(err, errno, "cannot read a limit");
    if (limit.rlim_max > most)
        limit.rlim_max = most;
    if (limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    return setrlimit(what, &limit) == 0 ||
           err_errno(err, errno, "cannot set a limit");
}

bool confine_reader(const struct confine_reader *limits, struct err *err) {
    static const struct landlock_rule rules[] = {{"/", LANDLOCK_RUN},
                                                 {"/dev/null", LANDLOCK_ALL}};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_errno(err, errno,
                         "cannot forbid new privileges (no_new_privs)");
    if (landlock_abi() > 0 && !landlock_enter(rules, COUNT(rules), err))
        return false;
    if (OUR_ARCH != 0 && !enter_seccomp(err))
        return false;
    return set_limit(RLIMIT_CORE, 0, err) && set_limit(RLIMIT_FSIZE, 0, err) &&
           set_limit(RLIMIT_NOFILE, 64, err) &&
           set_limit(RLIMIT_CPU, limits->cpu_s, err) &&
           set_limit(RLIMIT_AS, limits->memory_bytes, err);
}

int confine_main(int argc, char **argv) {
    struct err err = {0};
    int first = argc > 1 && strcmp(argv[1], "--") == 0 ? 2 : 1;
    if (first >= argc) {
        fputs("pointsman: confine needs a command\n", stderr);
        return err_exit_status(ERR_USAGE);
    }
    if (!enter(&err)) {
        fprintf(stderr, "pointsman: cannot make a sandbox: %s\n", err.text);
        return CANNOT;
    }
    execvp(argv[first], argv + first);
    int sys = errno;
    fprintf(stderr, "pointsman: cannot execute '%s': %s\n", argv[first],
            strerror(sys));
    return sys == ENOENT || sys == ENOTDIR ? NOT_FOUND : NOT_EXECUTABLE;
}
