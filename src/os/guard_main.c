#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/err.h"
#include "os/clock.h"
#include "os/guard_server.h"
#include "os/owner.h"
#include "os/process.h"
#include "os/rights.h"
#include "os/spawn.h"

enum {
    EVENTS = 64,
    /* Descriptors of the guard itself, of tasks outside the slots, and of a
     * launcher while it starts a task. */
    OWN_FDS = 128,
    LAUNCHER_FDS = 8,
    SPARE_SHARE = 32, /* reused pipes hold at most 2/32 of all descriptors */
    LAUNCHERS_MAX = 64,
    LAUNCHERS_A_CORE = 4,
    FORMER_WAIT_MS = 30000, /* until processes of an earlier life are gone */
    REAP_MS = 1000,         /* orphans are reaped this long after an end */
    SWEEP_MS = 10 /* between searches for processes that left their group */
};

/* Values of epoll events that do not belong to a task. */
enum { EVENT_CONTROL = 0, EVENT_WAKE = 1, EVENT_LEASE = 2 };

/* The state of the guard's first thread. */
struct post {
    struct guard_life life;
    struct guard_watch watch;
    struct guard_server server;
    int control_fd, epoll_fd, held_life_fd;
    struct guard_launcher *launchers;
    unsigned launcher_count;
    char mode[PATH_MAX + 256];
    struct mono gather_until; /* ends are sent at this time at the latest */
    struct mono reap_at;
    struct mono sweep_at; /* next search for processes that left their group */
};

/* Resets handlers and blocks all signals: signals from the terminal or a
 * supervisor are for the client, and when it ends, the guard does. Children
 * unblock all before exec. */
static void settle_signals(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    /* The library's function refuses two signals that it uses itself. Zero is
     * the default, in the kernel's order of members. */
    uint64_t plain[4] = {0};
    for (int signal = 1; signal < NSIG; signal++)
        syscall(SYS_rt_sigaction, signal, plain, NULL, sizeof(uint64_t));
}

static void raise_files(struct guard_life *life) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
        limit.rlim_cur == limit.rlim_max)
        return;
    life->child_files = limit;
    limit.rlim_cur = limit.rlim_max;
    life->restore_files = setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/* control, base and output come as three descriptors in a row. */
static void settle_fds(struct post *post, int fd) {
    post->control_fd = fd;
    post->life.base_fd = fd + 1;
    post->life.output_fd = fd + 2;
    syscall(SYS_close_range, fd + 3, ~0U, 0);
    for (int i = 0; i < 3; i++)
        fcntl(fd + i, F_SETFD, FD_CLOEXEC);
}

static bool read_hello(struct post *post, struct text *memory,
                       struct guard_hello *ret_hello, struct err *err) {
    for (;;) {
        struct span rest = text_span(memory), body;
        enum guard_frame_kind kind;
        enum guard_frame_found found = guard_frame_take(&rest, &kind, &body);
        if (found == GUARD_FRAME_WHOLE && kind == GUARD_FRAME_HELLO &&
            guard_hello_decode(body, ret_hello) && rest.len == 0)
            return true;
        if (found != GUARD_FRAME_NONE)
            return err_set(err, ERR_USAGE, "no hello on the control socket");
        text_reserve(memory, 4096);
        struct pollfd wait = {.fd = post->control_fd, .events = POLLIN};
        poll(&wait, 1, -1);
        ssize_t n = read(post->control_fd, memory->p + memory->len, 4096);
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
            return err_set(err, ERR_UNAVAILABLE,
                           "the client has closed the control socket");
        if (n > 0)
            memory->len += (size_t)n;
    }
}

static int do_nothing(void *arg) {
    (void)arg;
    return 0;
}

static int join_cgroup(void *arg) {
    const int *fd = arg;
    return write(*fd, "0", 1) == 1 ? 0 : 1;
}

/* Starts a child that only enters the leaf. */
static bool try_leaf(struct cgroup_leaf *leaf, bool born_there, char *stack) {
    int pidfd = -1, procs_fd = -1;
    if (!born_there)
        procs_fd = openat(leaf->dir_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    pid_t pid = born_there
                    ? spawn_child(do_nothing, NULL, stack, LAUNCHER_STACK_BYTES,
                                  leaf->dir_fd, &pidfd)
                    : spawn_child(join_cgroup, &procs_fd, stack,
                                  LAUNCHER_STACK_BYTES, -1, &pidfd);
    int status = 1;
    if (pid > 0) {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
        close(pidfd);
    }
    if (procs_fd >= 0)
        close(procs_fd);
    return status == 0;
}

/* Even if directories can be made, processes may not be allowed to enter them.
 */
static bool try_cgroup(struct guard_life *life, struct err *err) {
    struct cgroup_leaf *leaf = cgroup_leaf_take(&life->tree);
    if (leaf == NULL)
        return err_errno(err, errno, "cannot create a cgroup in '%s'",
                         life->tree.path);
    char *stack = mmap(NULL, LAUNCHER_STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    life->can_clone3 = stack != MAP_FAILED && spawn_has_clone3() &&
                       try_leaf(leaf, true, stack);
    bool ok = life->can_clone3 ||
              (stack != MAP_FAILED && try_leaf(leaf, false, stack));
    if (stack != MAP_FAILED)
        munmap(stack, LAUNCHER_STACK_BYTES);
    cgroup_leaf_give(&life->tree, leaf);
    return ok || err_set(err, ERR_DENIED, "processes may not enter '%s'",
                         life->tree.path);
}

/* ERR_BUSY is about leftovers and final; after any other error the guard works
 * without cgroups. */
static bool open_cgroup(struct post *post, const struct guard_hello *hello,
                        const char *role, struct err *err) {
    struct guard_life *life = &post->life;
    char own[PATH_MAX];
    const char *root = hello->cgroup_root.p;
    if (hello->cgroup_root.len == 0 && !hello->any_cgroup)
        return err_set(err, ERR_CANNOT, "switched off");
    if (hello->cgroup_root.len == 0) {
        if (!cgroup_find(own, err))
            return false;
        root = own;
    }
    struct stat base;
    if (fstat(life->base_fd, &base) < 0)
        return err_errno(err, errno, "cannot check the base");
    if (!cgroup_tree_open(&life->tree, root, &base, role, FORMER_WAIT_MS, err))
        return false;
    if (try_cgroup(life, err)) {
        life->has_cgroup = true;
        return true;
    }
    cgroup_tree_close(&life->tree, LAST_WAIT_MS);
    return false;
}

/* A process that still holds the lock of an earlier life is one of its tasks or
 * its guard: they inherited it, and no other program opens this file. */
static bool lock_life(struct post *post, const struct guard_hello *hello,
                      struct err *err) {
    const char *path = hello->life_path.p;
    if (hello->life_path.len == 0)
        return true;
    int fd = openat(post->life.base_fd, path,
                    O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    post->held_life_fd = fd;
    owner_inherit(fd, post->life.base_fd);
    struct mono until = mono_add_ms(clock_mono(), FORMER_WAIT_MS);
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        struct stat file;
        if (clock_mono().ns >= until.ns || fstat(fd, &file) < 0)
            return err_set(err, ERR_BUSY,
                           "processes of an earlier run are still alive; "
                           "they hold '%s' open",
                           path);
        process_kill_holders(&file, PROCESS_HOLDERS);
        poll(NULL, 0, 10);
    }
    return true;
}

static unsigned count_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : (unsigned)count;
}

/* One for each task that may run at once: a short task that a launcher can stay
 * with costs main nothing. */
static unsigned launchers_for(unsigned slots) {
    unsigned cores = count_cores();
    unsigned most = cores * LAUNCHERS_A_CORE;
    return slots < cores ? cores : slots < most ? slots : most;
}

static unsigned spares_for(uint64_t files) {
    return files / SPARE_SHARE < GUARD_SPARES ? (unsigned)(files / SPARE_SHARE)
                                              : GUARD_SPARES;
}

/* A task that got no descriptor could not start, through no fault of its own:
 * no more are started at once than there are descriptors for. */
static unsigned slots_within(uint64_t files, unsigned launchers) {
    uint64_t ours = OWN_FDS + 2 * spares_for(files) + LAUNCHER_FDS * launchers;
    uint64_t slots = files > ours ? (files - ours) / GUARD_TASK_FDS : 0;
    return slots < 1 ? 1 : slots > INT_MAX ? INT_MAX : (unsigned)slots;
}

unsigned guard_slots_within(uint64_t files, unsigned slots) {
    return slots_within(files, launchers_for(slots));
}

static void decide_slots(struct guard_life *life, unsigned launchers,
                         unsigned slots) {
    struct rlimit limit;
    uint64_t files = getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 0 : limit.rlim_cur;
    life->spares_most = spares_for(files);
    life->slots_most = slots_within(files, launchers);
    guard_life_set_slots(life, slots);
}

static bool start_launchers(struct post *post, const struct guard_hello *hello,
                            struct err *err) {
    unsigned count =
        hello->launchers > 0 ? hello->launchers : launchers_for(hello->slots);
    if (count > LAUNCHERS_MAX)
        count = LAUNCHERS_MAX;
    decide_slots(&post->life, count, hello->slots);
    post->launchers = mem_alloc(count * sizeof *post->launchers);
    for (unsigned i = 0; i < count; i++) {
        post->launchers[i].is_last = i == 0;
        if (!guard_launcher_start(&post->launchers[i], &post->life, err))
            return false;
        post->launcher_count++;
    }
    return true;
}

static bool open_events(struct post *post, struct err *err) {
    struct guard_life *life = &post->life;
    life->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    life->nudge_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    post->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event control = {.events = EPOLLIN, .data.u64 = EVENT_CONTROL};
    struct epoll_event wake = {.events = EPOLLIN, .data.u64 = EVENT_WAKE};
    if (life->wake_fd < 0 || life->nudge_fd < 0 || post->epoll_fd < 0 ||
        epoll_ctl(post->epoll_fd, EPOLL_CTL_ADD, post->control_fd, &control) <
            0 ||
        epoll_ctl(post->epoll_fd, EPOLL_CTL_ADD, life->wake_fd, &wake) < 0)
        return err_errno(err, errno, "cannot set up epoll");
    return true;
}

static bool open_lease(struct post *post, struct err *err) {
    struct guard_life *life = &post->life;
    life->expired = true; /* until a lease is granted */
    life->lease.harmless = life->lowered;
    if (!guard_lease_open(&life->lease, &life->tree, err))
        return false;
    struct epoll_event passed = {.events = EPOLLIN, .data.u64 = EVENT_LEASE};
    return epoll_ctl(post->epoll_fd, EPOLL_CTL_ADD,
                     guard_lease_fd(&life->lease), &passed) == 0 ||
           err_errno(err, errno, "cannot watch the lease");
}

static void init_post(struct post *post) {
    struct guard_life *life = &post->life;
    life->pid = getpid();
    life->life_fd = post->held_life_fd = -1;
    life->tree.dir_fd = life->tree.root_fd = -1;
    pthread_mutex_init(&life->lock, NULL);
    guard_lease_init(&life->lease);
    pthread_cond_init(&life->work, NULL);
    list_init(&life->waiting);
    list_init(&life->outside);
    list_init(&life->handed);
    list_init(&life->over);
    post->gather_until = post->reap_at = post->sweep_at = MONO_NEVER;
}

static bool is_ours(int fd) {
    struct stat stat;
    return fd < 0 || (fstat(fd, &stat) == 0 && stat.st_uid == geteuid());
}

/* A guard running as root only changes users and signals their tasks; without a
 * cgroup it also looks for processes that hold a canary. In a base or a cgroup
 * of another user it needs all rights of root and keeps them.
 *
 * This thread, which parses data from client and tasks, keeps no other right.
 * Launchers use no others either, but can regain all for a task that keeps
 * running as root: before its exec it may have to enter another user's
 * directory, and an exec that gave it additional rights would clear its death
 * signal. */
static void decide_rights(struct guard_life *life) {
    life->rights =
        RIGHTS_OF(CAP_SETUID) | RIGHTS_OF(CAP_SETGID) | RIGHTS_OF(CAP_KILL);
    if (!life->has_cgroup)
        life->rights |= RIGHTS_OF(CAP_SYS_PTRACE);
    life->lowered = geteuid() == 0 && is_ours(life->base_fd) &&
                    is_ours(life->output_fd) && is_ours(life->tree.root_fd);
}

static void describe(struct post *post, const struct err *why) {
    struct guard_life *life = &post->life;
    if (life->has_cgroup)
        snprintf(post->mode, sizeof post->mode, "cgroup %s%s", life->tree.path,
                 life->can_clone3 ? ""
                                  : " (entered after the start: no clone3)");
    else
        snprintf(post->mode, sizeof post->mode,
                 "process groups: a process that calls setsid may outlive its "
                 "task (no cgroup: %s)",
                 why->text);
}

/* Everything up to the READY frame. */
static bool open_post(struct post *post, struct err *err) {
    CLEANUP(text_clear) struct text memory = TEXT_INIT;
    struct guard_hello hello;
    struct guard_life *life = &post->life;
    if (!read_hello(post, &memory, &hello, err))
        return false;
    const char *role = hello.role.len > 0 ? hello.role.p : "task";
    struct err why = {0};
    if (!open_cgroup(post, &hello, role, &why) && why.kind == ERR_BUSY) {
        *err = why;
        return false;
    }
    if (!lock_life(post, &hello, err))
        return false;
    if (!life->has_cgroup)
        life->life_fd = post->held_life_fd;
    describe(post, &why);
    if (!open_events(post, err))
        return false;
    guard_watch_init(&post->watch, life, post->epoll_fd, &post->server.out);
    guard_server_init(&post->server, life, &post->watch, post->control_fd,
                      post->epoll_fd);
    decide_rights(life);
    if ((hello.leased && !open_lease(post, err)) ||
        !start_launchers(post, &hello, err))
        return false;
    return !life->lowered || rights_keep(life->rights) ||
           err_errno(err, errno, "cannot drop privileges");
}

static void send_ready(struct post *post) {
    const char *tree = post->life.has_cgroup ? post->life.tree.path : NULL;
    char controllers[32];
    cgroup_controllers_format(post->life.tree.controllers, controllers);
    struct guard_ready ready = {
        .controllers = span_of(controllers),
        .slots_most = post->life.slots_most,
        .has_cgroup = post->life.has_cgroup,
        .pid = getpid(),
        .mode = span_of(post->mode),
        .tree = span_make(tree, tree == NULL ? 0 : strlen(tree) + 1)};
    guard_ready_encode(&post->server.out, GUARD_FRAME_READY, &ready);
    guard_server_send(&post->server);
}

static void refuse(struct post *post, const struct err *err) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct guard_ready failed = {.mode = span_of(err->text)};
    guard_ready_encode(&out, GUARD_FRAME_FAILED, &failed);
    if (send(post->control_fd, out.p, out.len, MSG_NOSIGNAL) < 0)
        fprintf(stderr, "pointsman: guard: %s\n", err->text);
}

static void take_started_tasks(struct post *post) {
    struct guard_life *life = &post->life;
    for (;;) {
        pthread_mutex_lock(&life->lock);
        struct list *link = list_pop(&life->handed);
        pthread_mutex_unlock(&life->lock);
        if (link == NULL)
            return;
        guard_watch_take(&post->watch, LIST_OF(link, struct guard_task, link));
    }
}

/* While more tasks wait to start, ends are gathered: this saves the client
 * wake-ups and commits. */
static void report_over(struct post *post) {
    struct guard_life *life = &post->life;
    struct mono now = clock_mono();
    struct list over;
    list_init(&over);
    pthread_mutex_lock(&life->lock);
    bool any = life->over_count > 0;
    bool gather = guard_life_gathers(life);
    if (any && gather && post->gather_until.ns == MONO_NEVER.ns)
        post->gather_until = mono_add_ms(now, GUARD_BATCH_MS);
    if (any && (!gather || now.ns >= post->gather_until.ns)) {
        struct list *link;
        while ((link = list_pop(&life->over)) != NULL)
            list_push(&over, link);
        life->over_count = 0;
    }
    pthread_mutex_unlock(&life->lock);
    if (list_empty(&over))
        return;
    post->gather_until = MONO_NEVER;
    post->reap_at = mono_add_ms(now, REAP_MS);
    guard_server_report(&post->server, &over);
}

static int wait_ms(const struct post *post) {
    int64_t next = guard_watch_next(&post->watch).ns;
    if (post->gather_until.ns < next)
        next = post->gather_until.ns;
    if (post->reap_at.ns < next)
        next = post->reap_at.ns;
    if (post->sweep_at.ns < next)
        next = post->sweep_at.ns;
    if (next == INT64_MAX)
        return -1;
    int64_t ns = next - clock_mono().ns;
    if (ns <= 0)
        return 0;
    return ns > 3600 * NS_PER_S ? 3600 * 1000 : (int)(ns / NS_PER_MS) + 1;
}

static void clear_wake(struct guard_life *life) {
    uint64_t count;
    pthread_mutex_lock(&life->lock);
    life->woken = false;
    UNUSED ssize_t n = read(life->wake_fd, &count, sizeof count);
    pthread_mutex_unlock(&life->lock);
}

/* A process that left its group becomes our child as soon as its ancestors are
 * gone. Without a cgroup nothing else is known of it: it ends together with the
 * task. */
static void sweep_due(struct post *post) {
    if (clock_mono().ns < post->sweep_at.ns)
        return;
    pthread_mutex_lock(&post->life.lock);
    bool over = post->life.unfinished == 0;
    pthread_mutex_unlock(&post->life.lock);
    bool none = process_end_orphans(0);
    post->sweep_at =
        over && none ? MONO_NEVER : mono_add_ms(clock_mono(), SWEEP_MS);
}

static void expire(struct post *post) {
    guard_server_lease_expired(&post->server);
    if (!post->life.has_cgroup)
        post->sweep_at = clock_mono();
}

static void do_event(struct post *post, const struct epoll_event *event) {
    uint64_t what = event->data.u64;
    if (what == EVENT_CONTROL) {
        if ((event->events & ~(unsigned)EPOLLOUT) != 0)
            guard_server_read(&post->server);
    } else if (what == EVENT_WAKE) {
        clear_wake(&post->life);
    } else if (what != EVENT_LEASE) {
        uint64_t low = what & (WATCH_WHATS - 1);
        guard_watch_event(&post->watch,
                          (struct guard_task *)(uintptr_t)(what - low),
                          (enum guard_watch_kind)low);
    }
}

static void reap_due(struct post *post) {
    if (clock_mono().ns < post->reap_at.ns)
        return;
    process_reap_orphans();
    post->reap_at = guard_watch_reap(&post->watch)
                        ? mono_add_ms(clock_mono(), REAP_MS)
                        : MONO_NEVER;
}

/* Ends are reported, and their tasks freed, only after the whole batch of
 * events: a later event may still refer to them. */
static void turn(struct post *post) {
    struct epoll_event events[EVENTS];
    int n = epoll_wait(post->epoll_fd, events, EVENTS, wait_ms(post));
    /* Handled first: the lease kills before it reports, and the tasks it killed
     * must be recorded as such. */
    if (guard_lease_take_passed(&post->life.lease))
        expire(post);
    for (int i = 0; i < n; i++)
        do_event(post, &events[i]);
    guard_watch_grant(&post->watch);
    guard_watch_due(&post->watch);
    take_started_tasks(post);
    report_over(post);
    guard_server_send(&post->server);
    sweep_due(post);
    reap_due(post);
}

static bool all_over(struct guard_life *life) {
    pthread_mutex_lock(&life->lock);
    bool over = life->unfinished == 0;
    pthread_mutex_unlock(&life->lock);
    return over;
}

/* The client is gone: there is no one to report to, and its tasks must not
 * outlive it. */
static void close_post(struct post *post) {
    struct guard_life *life = &post->life;
    epoll_ctl(post->epoll_fd, EPOLL_CTL_DEL, post->control_fd, NULL);
    guard_server_end_all(&post->server);
    /* A task that does not end must not keep what left the group of another. */
    struct mono until = mono_add_ms(clock_mono(), LAST_WAIT_MS);
    while (!all_over(life) && clock_mono().ns < until.ns)
        turn(post);
    guard_lease_close(&life->lease);
    process_end_orphans(LAST_WAIT_MS);
    pthread_mutex_lock(&life->lock);
    life->leaving = true;
    pthread_cond_broadcast(&life->work);
    pthread_mutex_unlock(&life->lock);
    for (unsigned i = 0; i < post->launcher_count; i++)
        guard_launcher_join(&post->launchers[i]);
    free(post->launchers);
    while (life->spare_count > 0) {
        struct pipe_ends spare = life->spares[--life->spare_count];
        close(spare.ours);
        close(spare.theirs);
    }
    report_over(post);
    guard_server_clear(&post->server);
    guard_watch_clear(&post->watch);
}

static int parse_fd(int argc, char **argv) {
    uint64_t fd;
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--fd") == 0 &&
            span_u64(span_of(argv[i + 1]), &fd) && fd >= 3 && fd < 1000)
            return (int)fd;
    return -1;
}

int guard_main(int argc, char **argv) {
    int fd = parse_fd(argc, argv);
    if (fd < 0 || fcntl(fd + 2, F_GETFD) < 0) {
        fputs(
            "pointsman: guard: this command is started by the program itself\n",
            stderr);
        return err_exit_status(ERR_USAGE);
    }
    struct post *post = mem_alloc(sizeof *post);
    struct err err = {0};
    init_post(post);
    settle_signals();
    settle_fds(post, fd);
    raise_files(&post->life);
    umask(0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "pointsman-guard");
    if (chdir("/") < 0 || !open_post(post, &err)) {
        refuse(post, &err);
        return err_exit_status(err.kind == ERR_NONE ? ERR_CANNOT : err.kind);
    }
    send_ready(post);
    while (!post->server.gone)
        turn(post);
    close_post(post);
    free(post);
    return 0;
}
