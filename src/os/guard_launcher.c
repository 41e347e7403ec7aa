#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "os/guard_life.h"

enum { EOF_WAIT_MS = 5 };

bool guard_life_gathers(const struct guard_life *life) {
    return life->over_count < life->waiting_count &&
           life->over_count < GUARD_BATCH && !life->closing;
}

bool guard_life_startable(const struct guard_life *life) {
    if (!list_empty(&life->outside))
        return true;
    return !list_empty(&life->waiting) &&
           (life->slots == 0 || life->running < life->slots);
}

static void raise_event(int fd) {
    uint64_t one = 1;
    ssize_t n;
    do
        n = write(fd, &one, sizeof one);
    while (n < 0 && errno == EINTR);
}

void guard_life_wake(struct guard_life *life) {
    if (life->woken)
        return;
    life->woken = true;
    raise_event(life->wake_fd);
}

void guard_life_rouse(struct guard_life *life) {
    if (!guard_life_startable(life))
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

/* For the next task, when nobody can write to it any more. */
static void give_spare(struct guard_life *life, struct line_pipe *pipe) {
    if (pipe->fd < 0 || !pipe->kept || life->spare_count == GUARD_SPARES)
        return;
    life->spares[life->spare_count++] =
        (struct spare_pipe){pipe->fd, pipe->theirs};
    pipe->fd = pipe->theirs = -1;
}

/* Main is woken for the first end, for a full batch, and when the client's turn
 * has come to send more: between these it gathers them. */
void guard_life_over(struct guard_life *life, struct task *task) {
    task->state = TASK_OVER;
    life->unfinished--;
    if ((task->flags & GUARD_ORDER_OUTSIDE) == 0)
        life->running--;
    if (!task->end.survivors) {
        give_spare(life, &task->status);
        give_spare(life, &task->progress);
    }
    if (task->leaf != NULL)
        cgroup_leaf_give(&life->tree, task->leaf);
    task->leaf = NULL;
    list_push(&life->over, &task->link);
    life->over_count++;
    if (life->over_count == 1 || !guard_life_gathers(life))
        guard_life_wake(life);
}

static struct task *take_startable(struct guard_life *life) {
    struct list *from = !list_empty(&life->outside)  ? &life->outside
                        : guard_life_startable(life) ? &life->waiting
                                                     : NULL;
    if (from == NULL)
        return NULL;
    struct list *link = list_pop(from);
    life->waiting_count -= from == &life->waiting;
    struct task *task = LIST_OF(link, struct task, link);
    task->state = TASK_LAUNCHING;
    life->unfinished++;
    if ((task->flags & GUARD_ORDER_OUTSIDE) == 0)
        life->running++;
    return task;
}

/* The pipe of a child that is gone may still be held for a moment by a child
 * of the other launcher between its birth and its exec. */
static void wait_for_end(int fd) {
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    poll(&wait, 1, EOF_WAIT_MS);
}

static bool lines_to_end(struct launcher *launcher, struct line_pipe *pipe) {
    if (pipe->fd < 0 || pipe->kept)
        return true;
    if (task_read_lines(pipe, launcher->buffer) == TASK_PIPE_OPEN) {
        wait_for_end(pipe->fd);
        if (task_read_lines(pipe, launcher->buffer) == TASK_PIPE_OPEN)
            return false;
    }
    task_end_lines(pipe, launcher->buffer);
    return true;
}

static bool read_to_end(struct launcher *launcher, struct task *task) {
    if (task_read_out(task, launcher->buffer) == TASK_PIPE_OPEN) {
        wait_for_end(task->out_fd);
        if (task_read_out(task, launcher->buffer) == TASK_PIPE_OPEN)
            return false;
    }
    close(task->out_fd);
    task->out_fd = -1;
    if (task->canary_fd >= 0)
        wait_for_end(task->canary_fd);
    return lines_to_end(launcher, &task->status) &&
           lines_to_end(launcher, &task->progress);
}

/* Its process is dead. False: something of it is left, main shall see. */
static bool end_here(struct launcher *launcher, struct task *task) {
    if (!read_to_end(launcher, task))
        return false;
    if (task->leaf == NULL)
        task_signal(task, SIGKILL); /* whoever is left in its group */
    if (!task_reap(task) || !task_gone(task))
        return false;
    task_end_lines(&task->status, launcher->buffer);
    task_end_lines(&task->progress, launcher->buffer);
    task_finish(task);
    close(task->pidfd);
    task->pidfd = -1;
    return true;
}

/* Stays with the child for a moment, unless there is something else to do. */
static bool linger(struct launcher *launcher, struct task *task) {
    struct guard_life *life = launcher->life;
    pthread_mutex_lock(&life->lock);
    bool busy =
        guard_life_startable(life) || task->wish.signal != 0 || task->wish.stop;
    if (!busy)
        life->lingering++;
    pthread_mutex_unlock(&life->lock);
    if (busy)
        return false;
    struct pollfd fds[2] = {{.fd = task->pidfd, .events = POLLIN},
                            {.fd = life->nudge_fd, .events = POLLIN}};
    poll(fds, 2, GUARD_LINGER_MS);
    bool over = (fds[0].revents & POLLIN) != 0 && end_here(launcher, task);
    pthread_mutex_lock(&life->lock);
    life->lingering--;
    pthread_mutex_unlock(&life->lock);
    return over;
}

static void hand_over(struct guard_life *life, struct task *task) {
    list_push(&life->handed, &task->link);
    guard_life_wake(life);
}

static void *launcher_main(void *arg) {
    struct launcher *launcher = arg;
    struct guard_life *life = launcher->life;
    pthread_mutex_lock(&life->lock);
    for (;;) {
        clear_nudge(life);
        struct task *task = take_startable(life);
        if (task == NULL && life->closing)
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
            task_finish(task);
        bool over = !runs || linger(launcher, task);
        pthread_mutex_lock(&life->lock);
        if (over)
            guard_life_over(life, task);
        else
            hand_over(life, task);
    }
    pthread_mutex_unlock(&life->lock);
    return NULL;
}

bool launcher_start(struct launcher *launcher, struct guard_life *life,
                    struct err *err) {
    launcher->life = life;
    launcher->buffer = mem_alloc(TASK_READ_BYTES);
    launcher->stack = mmap(NULL, LAUNCHER_STACK_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (launcher->stack == MAP_FAILED)
        return err_errno(err, errno, "cannot map a stack");
    int sys = pthread_create(&launcher->thread, NULL, launcher_main, launcher);
    return sys == 0 || err_errno(err, sys, "cannot start a thread");
}

void launcher_join(struct launcher *launcher) {
    pthread_join(launcher->thread, NULL);
    munmap(launcher->stack, LAUNCHER_STACK_BYTES);
    free(launcher->buffer);
}
