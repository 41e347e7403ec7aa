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
                     "xorl %%ebp, %%ebp\n\t"
                     "movq %[arg], %%rdi\n\t"
                     "callq *%[child]\n\t"
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

static pid_t by_clone3(int (*child)(void *), void *arg, char *stack,
                       size_t stack_bytes, int cgroup_fd, int *ret_pidfd) {
    struct clone_args args = {
        .flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD |
                 (cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0),
        .pidfd = (uint64_t)(uintptr_t)ret_pidfd,
        .exit_signal = SIGCHLD,
        .stack = (uint64_t)(uintptr_t)stack,
        .stack_size = stack_bytes,
        .cgroup = cgroup_fd >= 0 ? (uint64_t)cgroup_fd : 0,
    };
    long pid = clone3_call(&args, child, arg);
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
    if (cgroup_fd >= 0)
        return by_clone3(child, arg, stack, stack_bytes, cgroup_fd, ret_pidfd);
#endif
    if (cgroup_fd >= 0) {
        errno = ENOSYS;
        return -1;
    }
    return clone(child, stack + stack_bytes,
                 CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, arg,
                 ret_pidfd);
}
