#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/err.h"
#include "os/clock.h"
#include "os/guard_life.h"
#include "os/rights.h"

enum { EOF_WAIT_MS = 5 };

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

/* Main is woken for the first end, for a full batch, and when the client should
 * send more; in between ends are gathered. */
void guard_life_over(struct guard_life *life, struct guard_task *task) {
    task->state = GUARD_TASK_OVER;
    life->unfinished--;
    if ((task->flags & GUARD_START_OUTSIDE) == 0)
        life->running--;
    give_spares(life, task);
    if (task->leaf != NULL)
        cgroup_leaf_give(&life->tree, task->leaf);
    task->leaf = NULL;
    list_push(&life->over, &task->link);
    life->over_count++;
    if (life->over_count == 1 || !guard_life_gathers(life))
        wake(life);
}

static struct guard_task *take_startable(struct guard_life *life) {
    struct list *from = !list_empty(&life->outside) ? &life->outside
                        : may_start(life)           ? &life->waiting
                                                    : NULL;
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
 * its process is dead. */
static bool await_end(struct guard_launcher *launcher,
                      struct guard_task *task) {
    struct pollfd fds[3] = {
        {.fd = task->pidfd, .events = POLLIN},
        {.fd = launcher->life->nudge_fd, .events = POLLIN},
        {.fd = task->pace.line_ns == 0 ? task->out[STAMP_ERR].ours : -1,
         .events = POLLIN}};
    struct mono until = mono_add_ms(task->began, GUARD_LINGER_MS);
    int wait_ms = GUARD_LINGER_MS;
    while (poll(fds, 3, wait_ms) == 1 && fds[2].revents != 0) {
        if ((fds[2].revents & POLLIN) != 0)
            read_both(launcher, task);
        else
            fds[2].fd = -1; /* closed by all processes */
        wait_ms = (int)mono_ms_since(until, clock_mono());
        if (wait_ms <= 0)
            break;
    }
    return (fds[0].revents & POLLIN) != 0;
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
    bool over = await_end(launcher, task) && end_here(launcher, task);
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

static void *launcher_main(void *arg) {
    struct guard_launcher *launcher = arg;
    struct guard_life *life = launcher->life;
    if (life->lowered)
        rights_lower(life->rights, UINT64_MAX);
    pthread_mutex_lock(&life->lock);
    for (;;) {
        clear_nudge(life);
        struct guard_task *task = take_startable(life);
        if (task == NULL && life->leaving)
            break;
        if (task == NULL) {
            life->idle++;
            pthread_cond_wait(&life->work, &life->lock);
            life->idle--;
            continue;
        }
        pthread_mutex_unlock(&life->lock);
        bool runs = guard_launch(life, launcher, task);
        if (!runs)
            guard_task_finish(task);
        bool over = !runs || wait_for_early_end(launcher, task);
        pthread_mutex_lock(&life->lock);
        if (over)
            guard_life_over(life, task);
        else
            give_to_watch(life, task);
    }
    pthread_mutex_unlock(&life->lock);
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
