#include "os/guard_parent.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/mem.h"
#include "os/spawn.h"

enum { STACK_BYTES = 256 << 10, END_WAIT_MS = 5 };

struct guard_parent {
    pid_t pid, guard;
    int procs_fd;   /* of the leaf, until it stays */
    uint32_t works; /* 0: it does not use the thread's storage any more */
    enum guard_parent_way way;
    bool ending; /* guard_parent_end was called */
    struct cgroup_leaf *leaf;
    char *stack;
    guard_parent_work *work;
    void *arg;
};

/* Nothing of the thread may be used here: it goes on working. All signals are
 * blocked, so only KILL ends this. */
__attribute__((noreturn)) static void stay(struct guard_parent *parent) {
    __atomic_store_n(&parent->works, 0, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &parent->works, FUTEX_WAKE, 1, NULL, NULL, 0);
    for (;;)
        syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
}

static int parent_main(void *arg) {
    struct guard_parent *parent = arg;
    parent->pid = parent->leaf->host = getpid();
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent->guard)
        return 1;
    parent->way = parent->work(parent->arg, parent);
    if (parent->way == GUARD_PARENT_STAYS)
        stay(parent);
    return 0;
}

static void parent_free(struct guard_parent *parent) {
    if (parent->stack != MAP_FAILED)
        munmap(parent->stack, STACK_BYTES);
    free(parent);
}

/* The thread must not even set errno until its process has finished. */
static pid_t start_and_wait(struct guard_parent *parent) {
    pid_t pid = spawn_beside(parent_main, parent, parent->stack, STACK_BYTES,
                             parent->leaf->dir_fd, &parent->works);
    if (pid < 0)
        return -1;
    while (__atomic_load_n(&parent->works, __ATOMIC_SEQ_CST) != 0)
        syscall(SYS_futex, &parent->works, FUTEX_WAIT, 1, NULL, NULL, 0);
    return pid;
}

static bool has_ended(pid_t pid, int wait_ms) {
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    bool over = fd >= 0 && poll(&ended, 1, wait_ms) > 0;
    if (fd >= 0)
        close(fd);
    return over;
}

/* Only a process that is traced cannot be reaped when it has ended; its
 * children are the guard's all the same. */
static bool await_exit(pid_t pid, int wait_ms) {
    siginfo_t info = {0};
    bool over = has_ended(pid, wait_ms);
    if (over)
        waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG);
    return over;
}

enum guard_parent_way guard_parent_run(struct cgroup_leaf *leaf,
                                       guard_parent_work *work, void *arg,
                                       struct guard_parent **ret_parent) {
    struct guard_parent *parent = mem_alloc(sizeof *parent);
    *parent = (struct guard_parent){.guard = getpid(),
                                    .works = 1,
                                    .way = GUARD_PARENT_DIED,
                                    .leaf = leaf,
                                    .work = work,
                                    .arg = arg};
    parent->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    parent->procs_fd = cgroup_leaf_procs(leaf);
    bool opened = parent->stack != MAP_FAILED && parent->procs_fd >= 0;
    pid_t pid = opened ? start_and_wait(parent) : -1;
    enum guard_parent_way way = pid < 0 ? GUARD_PARENT_NONE : parent->way;
    if (parent->procs_fd >= 0)
        close(parent->procs_fd);
    if (way == GUARD_PARENT_STAYS) {
        *ret_parent = parent;
        return way;
    }
    if (pid > 0)
        await_exit(pid, -1);
    leaf->host = 0;
    parent_free(parent);
    return way;
}

pid_t guard_parent_pid(const struct guard_parent *parent) {
    return parent->pid;
}

bool guard_parent_is_alone(const struct guard_parent *parent) {
    return cgroup_leaf_is_left(parent->leaf, parent->procs_fd);
}

bool guard_parent_is_home(const struct guard_parent *parent) {
    return cgroup_leaf_has(parent->leaf, parent->pid);
}

bool guard_parent_was_killed(const struct guard_parent *parent) {
    return !parent->ending && !parent->leaf->killed &&
           has_ended(parent->pid, 0);
}

bool guard_parent_end(struct guard_parent *parent) {
    parent->ending = true;
    kill(parent->pid, SIGKILL);
    if (!await_exit(parent->pid, END_WAIT_MS))
        return false;
    parent->leaf->host = 0;
    parent_free(parent);
    return true;
}
