#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/err.h"
#include "os/clock.h"
#include "os/guard_life.h"
#include "os/rights.h"

enum {
    EOF_WAIT_MS = 5,
    BRIEF_MAX = 64,  /* short tasks in a row; more do not count */
    LASTING_COST = 8 /* a task that lasts counts against so many */
};

bool guard_life_gathers(const struct guard_life *life) {
    return life->over_count < life->waiting_count &&
           life->over_count < GUARD_BATCH && !life->closing;
}

void guard_life_set_slots(struct guard_life *life, int64_t slots) {
    life->slots = slots == 0 || slots > life->slots_most ? life->slots_most
                                                         : (unsigned)slots;
}

static bool may_start(const struct guard_life *life) {
    if (!list_empty(&life->outside))
        return true;
    return !list_empty(&life->waiting) && life->running < life->slots;
}

static void raise_event(int fd) {
    uint64_t one = 1;
    ssize_t n;
    do
        n = write(fd, &one, sizeof one);
    while (n < 0 && errno == EINTR);
}

static void wake(struct guard_life *life) {
    if (life->woken)
        return;
    life->woken = true;
    raise_event(life->wake_fd);
}

void guard_life_wake_launchers(struct guard_life *life) {
    if (!may_start(life))
        return;
    if (life->idle > 0)
        pthread_cond_broadcast(&life->work);
    else if (life->lingering > 0)
        guard_life_nudge(life);
}

void guard_life_nudge(struct guard_life *life) {
    if (life->nudged)
        return;
    life->nudged = true;
    raise_event(life->nudge_fd);
}

static void clear_nudge(struct guard_life *life) {
    uint64_t count;
    if (life->nudged && read(life->nudge_fd, &count, sizeof count) > 0)
        life->nudged = false;
}

/* Keeps a pipe for the next task, once no process can write to it any more. */
static void give_spare(struct guard_life *life, struct pipe_ends *ends) {
    if (ends->ours < 0 || !ends->kept || life->spare_count >= life->spares_most)
        return;
    life->spares[life->spare_count++] = *ends;
    ends->ours = ends->theirs = -1;
}

static void give_spares(struct guard_life *life, struct guard_task *task) {
    if (task->end.survivors)
        return;
    give_spare(life, &task->status.ends);
    give_spare(life, &task->progress.ends);
    if (task->capture.total > 0)
        return;
    give_spare(life, &task->out[STAMP_OUT]);
    give_spare(life, &task->out[STAMP_ERR]);
}

void guard_life_give_leaf(struct guard_life *life, struct guard_task *task) {
    if (task->leaf != NULL && task->leaf->host == 0)
        cgroup_leaf_give(&life->tree, task->leaf);
    task->leaf = NULL;
}

/* Main is woken for the first end, for a full batch, and when the client should
 * send more; in between ends are gathered. */
void guard_life_over(struct guard_life *life, struct guard_task *task) {
    task->state = GUARD_TASK_OVER;
    life->unfinished--;
    if ((task->flags & GUARD_START_OUTSIDE) == 0)
        life->running--;
    give_spares(life, task);
    guard_life_give_leaf(life, task);
    list_push(&life->over, &task->link);
    life->over_count++;
    if (life->over_count == 1 || !guard_life_gathers(life))
        wake(life);
}

/* The queue whose first task may start now, or NULL. */
static struct list *startable(struct guard_life *life) {
    return !list_empty(&life->outside) ? &life->outside
           : may_start(life)           ? &life->waiting
                                       : NULL;
}

static struct guard_task *take_startable(struct guard_life *life) {
    struct list *from = startable(life);
    if (from == NULL)
        return NULL;
    struct list *link = list_pop(from);
    life->waiting_count -= from == &life->waiting;
    struct guard_task *task = LIST_OF(link, struct guard_task, link);
    task->state = GUARD_TASK_LAUNCHING;
    life->unfinished++;
    if ((task->flags & GUARD_START_OUTSIDE) == 0)
        life->running++;
    return task;
}

/* The pipe of a child that is gone may be held for another moment by a child of
 * another launcher that is between clone and exec. */
static void wait_for_end(int fd) {
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    poll(&wait, 1, EOF_WAIT_MS);
}

static bool lines_to_end(struct guard_launcher *launcher,
                         struct line_pipe *pipe) {
    if (pipe->ends.ours < 0 || pipe->ends.kept)
        return true;
    if (guard_task_read_lines(pipe, launcher->buffer) !=
        GUARD_TASK_PIPE_ENDED) {
        wait_for_end(pipe->ends.ours);
        if (guard_task_read_lines(pipe, launcher->buffer) !=
            GUARD_TASK_PIPE_ENDED)
            return false;
    }
    guard_task_end_lines(pipe, launcher->buffer);
    return true;
}

static bool out_to_end(struct guard_launcher *launcher, struct guard_task *task,
                       enum stamp_stream stream) {
    struct pipe_ends *ends = &task->out[stream];
    if (ends->ours < 0 || ends->kept)
        return true;
    if (guard_task_read_out(task, stream, launcher->buffer) !=
        GUARD_TASK_PIPE_ENDED) {
        wait_for_end(ends->ours);
        if (guard_task_read_out(task, stream, launcher->buffer) !=
            GUARD_TASK_PIPE_ENDED)
            return false;
    }
    close(ends->ours);
    ends->ours = -1;
    return true;
}

static bool read_to_end(struct guard_launcher *launcher,
                        struct guard_task *task) {
    if (!out_to_end(launcher, task, STAMP_OUT) ||
        !out_to_end(launcher, task, STAMP_ERR))
        return false;
    if (task->canary_fd >= 0)
        wait_for_end(task->canary_fd);
    return lines_to_end(launcher, &task->status) &&
           lines_to_end(launcher, &task->progress);
}

/* Reads the rest; no process of the task is alive. False: there is more than
 * one turn's worth. */
static bool read_kept(struct guard_launcher *launcher,
                      struct guard_task *task) {
    for (enum stamp_stream i = STAMP_OUT; i <= STAMP_ERR; i++)
        if (task->out[i].kept && task->out[i].ours >= 0 &&
            guard_task_read_out(task, i, launcher->buffer) !=
                GUARD_TASK_PIPE_EMPTY)
            return false;
    guard_task_end_lines(&task->status, launcher->buffer);
    guard_task_end_lines(&task->progress, launcher->buffer);
    return true;
}

/* The children of this process are those of the task that it has started, and
 * their orphans. */
static bool none_left(void) {
    siginfo_t info;
    do
        info.si_pid = 0;
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL) == 0 &&
           info.si_pid != 0);
    return info.si_pid == 0 && errno == ECHILD;
}

/* Inside a process of its own: true if nothing of the task is left. The signal
 * may be an orphan's, or about one that was reaped already. */
static bool look_inside(struct guard_launcher *launcher,
                        struct guard_task *task) {
    struct signalfd_siginfo ended;
    UNUSED ssize_t n = read(launcher->life->ended_fd, &ended, sizeof ended);
    errno = 0;
    return (task->reaped || guard_task_reap(task)) && none_left() &&
           guard_parent_is_alone(launcher->parent);
}

/* Called when nothing of the task is left but, perhaps, its pipes in the hands
 * of others. False: main takes over. */
static bool end_inside(struct guard_launcher *launcher,
                       struct guard_task *task) {
    task->outlived = !read_to_end(launcher, task);
    if (task->outlived || !read_kept(launcher, task))
        return false;
    guard_task_finish(task);
    return true;
}

/* Called when its process is dead. False: something of the task is left, and
 * main takes over. For reused pipes the empty leaf marks the end; until then
 * nothing is reaped: the task's other processes have a moment to end by
 * themselves. */
static bool end_here(struct guard_launcher *launcher, struct guard_task *task) {
    bool kept = task->out[STAMP_OUT].kept;
    if (kept && cgroup_leaf_populated(task->leaf))
        return false;
    if (!read_to_end(launcher, task))
        return false;
    if (task->leaf == NULL)
        guard_task_signal(task, SIGKILL); /* processes left in its group */
    if (!guard_task_reap(task) || (!kept && !guard_task_gone(task)) ||
        !read_kept(launcher, task))
        return false;
    guard_task_finish(task);
    close(task->pidfd);
    task->pidfd = -1;
    return true;
}

/* Reads standard error, and standard output before it: the order of bytes on
 * two pipes cannot be known more exactly. */
static void read_both(struct guard_launcher *launcher,
                      struct guard_task *task) {
    guard_task_read_out(task, STAMP_OUT, launcher->buffer);
    guard_task_read_out(task, STAMP_ERR, launcher->buffer);
}

/* Waits until the task ends, a moment is over, or there is other work. True:
 * its process is dead and, in a process of our own, so are all others. */
static bool await_end(struct guard_launcher *launcher,
                      struct guard_task *task) {
    bool is_inside = launcher->parent != NULL;
    struct pollfd fds[3] = {
        {.fd = is_inside ? launcher->life->ended_fd : task->pidfd,
         .events = POLLIN},
        {.fd = launcher->life->nudge_fd, .events = POLLIN},
        {.fd = task->pace.line_ns == 0 ? task->out[STAMP_ERR].ours : -1,
         .events = POLLIN}};
    struct mono until = mono_add_ms(task->began, GUARD_LINGER_MS);
    int wait_ms = GUARD_LINGER_MS;
    while (poll(fds, 3, wait_ms) > 0) {
        if (fds[0].revents != 0 && (!is_inside || look_inside(launcher, task)))
            return true;
        if (fds[1].revents != 0)
            return false;
        if ((fds[2].revents & POLLIN) != 0)
            read_both(launcher, task);
        else if (fds[2].revents != 0)
            fds[2].fd = -1; /* closed by all processes */
        wait_ms = (int)mono_ms_since(until, clock_mono());
        if (wait_ms <= 0)
            return false;
    }
    return false;
}

/* The lease kills without involving this thread. */
static void name_killer(struct guard_life *life, struct guard_end *end) {
    if (end->signal != SIGKILL || end->killer != GUARD_NOBODY ||
        guard_lease_fd(&life->lease) < 0 || guard_lease_runs(&life->lease))
        return;
    end->killer = GUARD_LEASE;
    end->kill_signal = SIGKILL;
}

/* Stays with the child for a moment, unless there is other work. */
static bool wait_for_early_end(struct guard_launcher *launcher,
                               struct guard_task *task) {
    struct guard_life *life = launcher->life;
    pthread_mutex_lock(&life->lock);
    bool busy = may_start(life) || task->request.signal != 0;
    if (!busy)
        life->lingering++;
    pthread_mutex_unlock(&life->lock);
    if (busy)
        return false;
    bool is_inside = launcher->parent != NULL;
    bool over = await_end(launcher, task);
    if (is_inside && !over)
        task->outlived = task->reaped;
    over = over &&
           (is_inside ? end_inside(launcher, task) : end_here(launcher, task));
    if (over)
        name_killer(life, &task->end);
    pthread_mutex_lock(&life->lock);
    life->lingering--;
    pthread_mutex_unlock(&life->lock);
    return over;
}

static void give_to_watch(struct guard_life *life, struct guard_task *task) {
    guard_task_loosen(task);
    list_push(&life->handed, &task->link);
    wake(life);
}

/* The directory above our tree may belong to root and be write-protected. */
static void remove_tree(struct guard_life *life) {
    if (life->lowered)
        rights_raise();
    cgroup_tree_close(&life->tree, LAST_WAIT_MS);
}

/* Under the lock. A task with limits needs a leaf of its own. */
static bool suits_process(struct guard_life *life) {
    const struct list *from = startable(life);
    return from == NULL ||
           LIST_OF(from->next, struct guard_task, link)->limit_count == 0;
}

static bool should_enter(const struct guard_launcher *launcher) {
    struct guard_life *life = launcher->life;
    return life->has_parents && !life->closing && !launcher->stays_out &&
           launcher->brief >= life->brief_after && startable(life) != NULL &&
           suits_process(life);
}

static bool should_leave(const struct guard_launcher *launcher) {
    return launcher->life->closing || !suits_process(launcher->life);
}

/* A process costs as much as it saves with a few tasks. */
static void note_length(struct guard_launcher *launcher, bool is_short) {
    if (is_short)
        launcher->brief += launcher->brief < BRIEF_MAX;
    else
        launcher->brief -=
            launcher->brief < LASTING_COST ? launcher->brief : LASTING_COST;
}

/* Starts one task and stays with it for a moment. True: it is over. */
static bool do_task(struct guard_launcher *launcher, struct guard_task *task) {
    if (!guard_launch(launcher->life, launcher, task)) {
        launcher->stays_out = false;
        guard_task_finish(task);
        return true;
    }
    bool over = wait_for_early_end(launcher, task);
    note_length(launcher, over);
    launcher->stays_out = false;
    return over;
}

/* Starts tasks until another process should do so: with a task left in
 * `lasting`, or none. In the guard also until there will be none. */
static void work(struct guard_launcher *launcher) {
    struct guard_life *life = launcher->life;
    bool is_inside = launcher->parent != NULL;
    pthread_mutex_lock(&life->lock);
    while (launcher->lasting == NULL) {
        clear_nudge(life);
        if (is_inside ? should_leave(launcher) : should_enter(launcher))
            break;
        struct guard_task *task = take_startable(life);
        if (task == NULL && !is_inside && life->leaving)
            break;
        if (task == NULL) {
            life->idle++;
            pthread_cond_wait(&life->work, &life->lock);
            life->idle--;
            continue;
        }
        pthread_mutex_unlock(&life->lock);
        bool over = do_task(launcher, task);
        pthread_mutex_lock(&life->lock);
        if (over)
            guard_life_over(life, task);
        else if (is_inside)
            launcher->lasting = task;
        else
            give_to_watch(life, task);
    }
    pthread_mutex_unlock(&life->lock);
}

/* What main will need to know of a task that lasts. */
static void prepare_lasting(struct guard_task *task) {
    if (!task->reaped)
        task->pidfd = (int)syscall(SYS_pidfd_open, task->end.pid, 0);
    else if (task->outlived)
        task->end.exited_ns = task->end.run_ns;
}

/* In the process. */
static enum guard_parent_way work_inside(void *arg,
                                         struct guard_parent *parent) {
    struct guard_launcher *launcher = arg;
    __atomic_store_n(&launcher->process, guard_parent_pid(parent),
                     __ATOMIC_RELAXED);
    launcher->parent = parent;
    work(launcher);
    launcher->parent = NULL;
    struct guard_task *task = launcher->lasting;
    launcher->is_away = task != NULL && !guard_parent_is_home(parent);
    if (task != NULL)
        prepare_lasting(task);
    return task == NULL || task->reaped ? GUARD_PARENT_ENDS
                                        : GUARD_PARENT_STAYS;
}

static bool take_home(struct guard_launcher *launcher) {
    struct guard_life *life = launcher->life;
    pthread_mutex_lock(&life->lock);
    launcher->leaf = cgroup_leaf_take(&life->tree);
    if (launcher->leaf != NULL) {
        launcher->leaf->used = true; /* by the launcher itself */
        life->parents++;
    }
    pthread_mutex_unlock(&life->lock);
    return launcher->leaf != NULL;
}

/* The process has ended, or stays with the task, which is main's now. */
static void leave_home(struct guard_launcher *launcher) {
    struct guard_life *life = launcher->life;
    struct guard_task *task = launcher->lasting;
    pthread_mutex_lock(&life->lock);
    life->parents--;
    if (task != NULL)
        give_to_watch(life, task);
    else
        cgroup_leaf_give(&life->tree, launcher->leaf);
    if (life->closing)
        wake(life);
    guard_life_wake_launchers(life);
    pthread_mutex_unlock(&life->lock);
    launcher->lasting = NULL;
    launcher->leaf = NULL;
}

/* Works in a process of its own as long as tasks are short. */
static void enter_process(struct guard_launcher *launcher) {
    struct guard_parent *parent = NULL;
    launcher->stays_out = true;
    if (!take_home(launcher))
        return;
    enum guard_parent_way way =
        guard_parent_run(launcher->leaf, work_inside, launcher, &parent);
    __atomic_store_n(&launcher->process, 0, __ATOMIC_RELAXED);
    if (way == GUARD_PARENT_DIED)
        guard_die("was killed");
    if (launcher->is_away)
        guard_die("was moved to another cgroup");
    if (way == GUARD_PARENT_STAYS)
        launcher->lasting->parent = parent;
    launcher->stays_out = way == GUARD_PARENT_NONE;
    leave_home(launcher);
    if (way == GUARD_PARENT_ENDS)
        note_length(launcher, false);
}

pid_t guard_launcher_process(const struct guard_launcher *launcher) {
    return __atomic_load_n(&launcher->process, __ATOMIC_RELAXED);
}

static bool has_ended(struct guard_life *life) {
    pthread_mutex_lock(&life->lock);
    bool ended = life->leaving && startable(life) == NULL;
    pthread_mutex_unlock(&life->lock);
    return ended;
}

static void *launcher_main(void *arg) {
    struct guard_launcher *launcher = arg;
    struct guard_life *life = launcher->life;
    if (life->lowered)
        rights_lower(life->rights, UINT64_MAX);
    for (;;) {
        work(launcher);
        if (has_ended(life))
            break;
        enter_process(launcher);
    }
    if (launcher->is_last)
        remove_tree(life);
    return NULL;
}

bool guard_launcher_start(struct guard_launcher *launcher,
                          struct guard_life *life, struct err *err) {
    launcher->life = life;
    launcher->buffer = mem_alloc(GUARD_TASK_READ_BYTES);
    launcher->stack = mmap(NULL, LAUNCHER_STACK_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (launcher->stack == MAP_FAILED)
        return err_errno(err, errno, "cannot map a stack");
    int sys = pthread_create(&launcher->thread, NULL, launcher_main, launcher);
    return sys == 0 || err_errno(err, sys, "cannot start a thread");
}

void guard_launcher_join(struct guard_launcher *launcher) {
    pthread_join(launcher->thread, NULL);
    munmap(launcher->stack, LAUNCHER_STACK_BYTES);
    free(launcher->buffer);
}
