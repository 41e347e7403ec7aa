#include "os/spawn.h"

#include <errno.h>
#include <linux/sched.h> /* struct clone_args, CLONE_INTO_CGROUP */
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__ && !defined __ILP32__
#define SPAWN_CLONE3 1

/* The child returns from the system call on an empty stack, so it must not
 * return through any frame: the assembly calls the function and exits. */
static long clone3_call(struct clone_args *args, int (*child)(void *),
                        void *arg) {
    long ret;
    __asm__ volatile("syscall\n\t"
                     "testq %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "movq %[arg], %%rdi\n\t"
                     "movq %[child], %%rax\n\t"
                     "xorl %%ebp, %%ebp\n\t"
                     "callq *%%rax\n\t"
                     "movl %%eax, %%edi\n\t"
                     "movl %[exit], %%eax\n\t"
                     "syscall\n\t"
                     "hlt\n"
                     "1:"
                     : "=a"(ret)
                     : "0"((long)SYS_clone3), "D"(args),
                       "S"(sizeof *args), [child] "r"(child), [arg] "r"(arg),
                       [exit] "i"(SYS_exit_group)
                     : "rcx", "r11", "memory", "cc");
    return ret;
}

static pid_t by_clone3(struct clone_args *args, int (*child)(void *),
                       void *arg) {
    long pid = clone3_call(args, child, arg);
    if (pid < 0) {
        errno = (int)-pid;
        return -1;
    }
    return (pid_t)pid;
}
#else
#define SPAWN_CLONE3 0
#endif

/* A call without arguments fails with EINVAL if clone3 is available, with
 * ENOSYS or EPERM if not. */
bool spawn_has_clone3(void) {
    return SPAWN_CLONE3 && syscall(SYS_clone3, NULL, (size_t)0) < 0 &&
           errno == EINVAL;
}

pid_t spawn_child(int (*child)(void *arg), void *arg, char *stack,
                  size_t stack_bytes, int cgroup_fd, int *ret_pidfd) {
#if SPAWN_CLONE3
    struct clone_args args = {
        .flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | CLONE_INTO_CGROUP,
        .pidfd = (uint64_t)(uintptr_t)ret_pidfd,
        .exit_signal = SIGCHLD,
        .stack = (uint64_t)(uintptr_t)stack,
        .stack_size = stack_bytes,
        .cgroup = (uint64_t)cgroup_fd,
    };
    if (cgroup_fd >= 0)
        return by_clone3(&args, child, arg);
#endif
    if (cgroup_fd >= 0) {
        errno = ENOSYS;
        return -1;
    }
    return clone(child, stack + stack_bytes,
                 CLONE_VM | CLONE_VFORK | SIGCHLD |
                     (ret_pidfd != NULL ? CLONE_PIDFD : 0),
                 arg, ret_pidfd);
}

pid_t spawn_beside(int (*child)(void *arg), void *arg, char *stack,
                   size_t stack_bytes, int cgroup_fd, uint32_t *word) {
#if SPAWN_CLONE3
    struct clone_args args = {
        .flags =
            CLONE_VM | CLONE_FILES | CLONE_INTO_CGROUP | CLONE_CHILD_CLEARTID,
        .child_tid = (uint64_t)(uintptr_t)word,
        .exit_signal = SIGCHLD,
        .stack = (uint64_t)(uintptr_t)stack,
        .stack_size = stack_bytes,
        .cgroup = (uint64_t)cgroup_fd,
    };
    return by_clone3(&args, child, arg);
#else
    (void)child, (void)arg, (void)stack, (void)stack_bytes, (void)cgroup_fd;
    (void)word;
    errno = ENOSYS;
    return -1;
#endif
}
