#include "os/guard_watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"

static int compare_due(const void *a, const void *b) {
    const struct task *left = a, *right = b;
    return (left->due.ns > right->due.ns) - (left->due.ns < right->due.ns);
}

void watch_init(struct watch *watch, struct guard_life *life, int epoll_fd,
                struct text *out) {
    *watch = (struct watch){.life = life, .epoll_fd = epoll_fd, .out = out};
    watch->buffer = mem_alloc(TASK_READ_BYTES);
    list_init(&watch->wishing);
    heap_init(&watch->due, offsetof(struct task, heap_place), compare_due);
}

void watch_clear(struct watch *watch) {
    heap_clear(&watch->due);
    free(watch->buffer);
}

static bool add_fd(struct watch *watch, struct task *task, int fd,
                   unsigned events, enum watch_what what) {
    if (fd < 0)
        return true;
    struct epoll_event event = {.events = events,
                                .data.u64 = (uint64_t)(uintptr_t)task | what};
    return epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Always before close: a child between its birth and its exec may still hold
 * the description open, and epoll would go on speaking of it. */
static void remove_fd(struct watch *watch, int fd) {
    if (fd >= 0)
        epoll_ctl(watch->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void drop_fd(struct watch *watch, int *fd) {
    remove_fd(watch, *fd);
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static struct mono earlier(struct mono a, struct mono b) {
    return a.ns < b.ns ? a : b;
}

static void arm(struct watch *watch, struct task *task) {
    struct mono due = earlier(task->timeout_at, task->kill_at);
    due = earlier(due, earlier(task->spill_at, task->courtesy_at));
    due = earlier(due, earlier(task->give_up_at, task->ask_at));
    due = earlier(due, earlier(task->sample_at, task->tell_at));
    due = earlier(due, task->settle_at);
    if (task->paused)
        due = earlier(due, task->read_at);
    if (task->blind)
        due = earlier(due, mono_add_ms(clock_mono(), WATCH_BLIND_MS));
    if (due.ns == task->due.ns && heap_has(&watch->due, task))
        return;
    task->due = due;
    if (due.ns == MONO_NEVER.ns)
        heap_remove(&watch->due, task);
    else if (heap_has(&watch->due, task))
        heap_changed(&watch->due, task);
    else
        heap_push(&watch->due, task);
}

/* Now and then, and at the end; tasks that end soon are spared it. Processes
 * that come and go in between are not seen, but their time counts. */
static void sample(struct watch *watch, struct task *task) {
    const struct cgroup_tree *tree = &watch->life->tree;
    struct guard_usage usage;
    bool first = !task->sampled;
    if (first)
        task_sample_first(task, tree);
    task_sample(task, tree, &usage);
    if (!first && !task->exited)
        guard_usage_encode(watch->out, &usage);
    task->sample_at = mono_add_ms(
        task->began,
        (mono_ms_since(clock_mono(), task->began) / WATCH_SAMPLE_MS + 1) *
            WATCH_SAMPLE_MS);
}

/* All is told and closed: hand it to those who report it. */
static void let_go(struct watch *watch, struct task *task) {
    struct guard_life *life = watch->life;
    drop_fd(watch, &task->pidfd);
    drop_fd(watch, &task->out[STAMP_OUT].ours);
    drop_fd(watch, &task->out[STAMP_ERR].ours);
    remove_fd(watch, task->status.ends.ours);
    remove_fd(watch, task->progress.ends.ours);
    task_end_lines(&task->status, watch->buffer);
    task_end_lines(&task->progress, watch->buffer);
    heap_remove(&watch->due, task);
    list_remove(&task->link);
    if (task->leaf_watched)
        remove_fd(watch, task->leaf->events_fd);
    if (task->sampled)
        sample(watch, task);
    task_finish(task);
    pthread_mutex_lock(&life->lock);
    if (task->leaf != NULL && cgroup_leaf_populated(task->leaf)) {
        cgroup_leaf_drop(task->leaf);
        task->leaf = NULL;
    }
    guard_life_over(life, task);
    guard_life_rouse(life);
    pthread_mutex_unlock(&life->lock);
}

static void watch_leaf(struct watch *watch, struct task *task) {
    if (task->leaf != NULL && !task->leaf_watched)
        task->leaf_watched =
            add_fd(watch, task, task->leaf->events_fd, EPOLLPRI, WATCH_LEAF);
}

/* A leaf tells when it is empty; a group has to be asked. */
static bool all_gone(struct watch *watch, struct task *task) {
    if (task_gone(task))
        return true;
    task->end.leftovers = true;
    if (task->leaf == NULL) {
        task_kill_strays(task);
        task->ask_at = mono_add_ms(clock_mono(), WATCH_ASK_MS);
        return false;
    }
    watch_leaf(watch, task);
    cgroup_leaf_kill(task->leaf);
    return task_gone(task);
}

/* Neither pipes nor leaf know of others. */
static bool is_alone(const struct task *task, bool closed) {
    return closed && (task->leaf == NULL || !cgroup_leaf_populated(task->leaf));
}

/* The process is gone: is all of it? Where there is a cgroup nobody escapes;
 * else the group gets its KILL while the zombie still guards its number. */
static void settle(struct watch *watch, struct task *task) {
    struct mono now = clock_mono();
    bool closed = task_pipes_closed(task);
    if (closed && task->end.closed_ns == 0)
        task->end.closed_ns = now.ns - task->began.ns;
    task->ask_at = MONO_NEVER;
    if (!task->reaped) {
        bool alone = is_alone(task, closed);
        if (!alone && now.ns < task->courtesy_at.ns) {
            watch_leaf(watch, task);
            arm(watch, task);
            return;
        }
        if (!alone)
            task->end.leftovers = true;
        if (!alone || task->leaf == NULL)
            task_kill(task);
        /* Its descriptor may tell a moment before it can be waited for. */
        if (!task_reap(task)) {
            task->ask_at = mono_add_ms(now, WATCH_ASK_MS);
            arm(watch, task);
            return;
        }
    }
    task->courtesy_at = task->timeout_at = task->kill_at = MONO_NEVER;
    if (task->give_up_at.ns == MONO_NEVER.ns)
        task->give_up_at = mono_add_ms(now, WATCH_GIVE_UP_MS);
    bool gone = all_gone(watch, task);
    if (!(closed && gone) && now.ns < task->give_up_at.ns) {
        arm(watch, task);
        return;
    }
    task->end.survivors = !closed || !gone;
    task->end.gone_ns = now.ns - task->began.ns;
    let_go(watch, task);
}

static void pause_out(struct watch *watch, struct task *task) {
    task->paused = true;
    remove_fd(watch, task->out[STAMP_OUT].ours);
    remove_fd(watch, task->out[STAMP_ERR].ours);
    arm(watch, task);
}

/* The stamps of what is read until then are written together. */
static void settle_later(struct watch *watch, struct task *task) {
    if (!task->capture.stamped || task->settle_at.ns != MONO_NEVER.ns)
        return;
    task->settle_at = mono_add_ms(clock_mono(), WATCH_SETTLE_MS);
    arm(watch, task);
}

/* Who is paused is read again when he has paid, or when he is dead. */
static void read_out(struct watch *watch, struct task *task,
                     enum stamp_stream stream) {
    int *fd = &task->out[stream].ours;
    if (*fd < 0 || (task->paused && !task->exited))
        return;
    settle_later(watch, task);
    if (task_read_out(task, stream, watch->buffer) == TASK_PIPE_ENDED)
        drop_fd(watch, fd);
    else if (!task->exited && task->read_at.ns > clock_mono().ns)
        pause_out(watch, task);
}

static bool add_out(struct watch *watch, struct task *task) {
    return add_fd(watch, task, task->out[STAMP_OUT].ours, EPOLLIN, WATCH_OUT) &&
           add_fd(watch, task, task->out[STAMP_ERR].ours, EPOLLIN, WATCH_ERR);
}

static void resume(struct watch *watch, struct task *task) {
    if (!task->paused)
        return;
    task->paused = false;
    if (!add_out(watch, task))
        task->blind = true;
}

static void note_exit(struct watch *watch, struct task *task) {
    if (task->exited)
        return;
    task->exited = true;
    resume(watch, task);
    task->end.exited_ns = clock_mono().ns - task->began.ns;
    task->sample_at = MONO_NEVER;
    remove_fd(watch, task->pidfd);
    /* Those it left behind have a moment to end by themselves; when they were
     * told to, what is left of the grace. */
    if (task->kill_at.ns != MONO_NEVER.ns)
        task->courtesy_at = task->kill_at;
    else if (!task->killed)
        task->courtesy_at = mono_add_ms(clock_mono(), WATCH_COURTESY_MS);
    else
        task->courtesy_at = clock_mono();
}

static void read_lines(struct watch *watch, struct line_pipe *pipe) {
    if (pipe->ends.ours < 0 ||
        task_read_lines(pipe, watch->buffer) != TASK_PIPE_ENDED)
        return;
    remove_fd(watch, pipe->ends.ours);
    task_end_lines(pipe, watch->buffer);
}

/* Once it has lasted a moment, or has something to say. */
static void tell_started(struct watch *watch, struct task *task) {
    if (task->told)
        return;
    task->told = true;
    task->tell_at = MONO_NEVER;
    struct guard_news news = {
        .id = task->id, .pid = task->end.pid, .at = task->end.started};
    guard_news_encode(watch->out, GUARD_FRAME_STARTED, &news);
}

static void read_progress(struct watch *watch, struct task *task) {
    read_lines(watch, &task->progress);
    if (!task->progress.fresh)
        return;
    task->progress.fresh = false;
    tell_started(watch, task);
    struct guard_news news = {
        .id = task->id, .pid = task->end.pid, .line = task->progress.line};
    guard_news_encode(watch->out, GUARD_FRAME_PROGRESS, &news);
}

static void read_all(struct watch *watch, struct task *task) {
    read_out(watch, task, STAMP_OUT);
    read_out(watch, task, STAMP_ERR);
    read_lines(watch, &task->status);
    read_progress(watch, task);
}

void watch_event(struct watch *watch, struct task *task, enum watch_what what) {
    if (task->state != TASK_WATCHED)
        return;
    if (what == WATCH_OUT)
        read_out(watch, task, STAMP_OUT);
    else if (what == WATCH_ERR)
        read_out(watch, task, STAMP_ERR);
    else if (what == WATCH_STATUS)
        read_lines(watch, &task->status);
    else if (what == WATCH_PROGRESS)
        read_progress(watch, task);
    else if (what == WATCH_PROCESS)
        note_exit(watch, task);
    if (what == WATCH_PROCESS)
        read_all(watch, task);
    if (task->exited)
        settle(watch, task);
}

static void carry_out(struct watch *watch, struct task *task, int signal,
                      struct mono kill_at, enum guard_killer killer) {
    if (task->end.killer == GUARD_NOBODY && !task->exited) {
        task->end.killer = killer;
        task->end.kill_signal = signal;
    }
    if (task->exited) {
        task->courtesy_at = clock_mono();
    } else if (signal == SIGKILL) {
        task_kill(task);
        task->killed = true;
        task->kill_at = MONO_NEVER;
    } else {
        task_ask(task, signal);
        task->kill_at = earlier(task->kill_at, kill_at);
    }
    arm(watch, task);
}

static void grant(struct watch *watch, struct task *task) {
    struct task_wish wish = task->wish;
    task->wish = (struct task_wish){.kill_at = MONO_NEVER};
    carry_out(watch, task, wish.signal, wish.kill_at,
              wish.lapsed ? GUARD_LEASE : GUARD_CALLER);
}

static void take_wish(struct watch *watch, struct task *task) {
    struct guard_life *life = watch->life;
    pthread_mutex_lock(&life->lock);
    task->state = TASK_WATCHED;
    struct task_wish wish = task->wish;
    bool closing = life->closing;
    pthread_mutex_unlock(&life->lock);
    if (wish.stop)
        task_signal(task, SIGSTOP);
    if (closing)
        watch_kill(watch, task, SIGKILL, 0, GUARD_CLOSING);
    else if (wish.signal != 0)
        grant(watch, task);
}

void watch_take(struct watch *watch, struct task *task) {
    task->tell_at = mono_add_ms(task->began, GUARD_LINGER_MS);
    if (task->timeout_ms > 0)
        task->timeout_at = mono_add_ms(task->began, task->timeout_ms);
    if (task->capture.path != NULL)
        task->spill_at = mono_add_ms(task->began, WATCH_SPILL_MS);
    bool added =
        (task->reaped ||
         add_fd(watch, task, task->pidfd, EPOLLIN, WATCH_PROCESS)) &&
        add_out(watch, task) &&
        add_fd(watch, task, task->status.ends.ours, EPOLLIN, WATCH_STATUS) &&
        add_fd(watch, task, task->progress.ends.ours, EPOLLIN, WATCH_PROGRESS);
    task->blind = !added;
    task->sample_at = mono_add_ms(task->began, WATCH_FIRST_SAMPLE_MS);
    take_wish(watch, task);
    if (task->exited)
        settle(watch, task);
    else
        arm(watch, task);
}

static bool passed(struct mono *deadline, struct mono now) {
    if (now.ns < deadline->ns)
        return false;
    *deadline = MONO_NEVER;
    return true;
}

/* What epoll would have told. */
static void look(struct watch *watch, struct task *task) {
    read_all(watch, task);
    siginfo_t info = {0};
    if (!task->exited &&
        waitid(P_PIDFD, (id_t)task->pidfd, &info,
               WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid != 0)
        note_exit(watch, task);
}

/* What there is can be followed from now on. */
static void spill(struct task *task) {
    capture_spill(&task->capture);
    capture_settle(&task->capture);
}

static void do_due(struct watch *watch, struct task *task) {
    struct mono now = clock_mono();
    if (task->blind)
        look(watch, task);
    if (task->paused && now.ns >= task->read_at.ns)
        resume(watch, task);
    if (passed(&task->tell_at, now) && !task->exited)
        tell_started(watch, task);
    if (passed(&task->settle_at, now))
        capture_settle(&task->capture);
    if (passed(&task->spill_at, now))
        spill(task);
    if (passed(&task->kill_at, now) && !task->exited) {
        task_kill(task);
        task->killed = true;
    }
    if (passed(&task->timeout_at, now) && !task->exited) {
        task->end.timed_out = true;
        watch_kill(watch, task, SIGTERM, task->grace_ms, GUARD_TIMEOUT);
    }
    if (passed(&task->sample_at, now) && !task->exited)
        sample(watch, task);
    if (task->exited)
        settle(watch, task);
    else
        arm(watch, task);
}

void watch_due(struct watch *watch) {
    struct mono now = clock_mono();
    struct task *task;
    while ((task = heap_first(&watch->due)) != NULL && task->due.ns <= now.ns) {
        heap_remove(&watch->due, task);
        task->due = MONO_NEVER;
        do_due(watch, task);
    }
}

struct mono watch_next(const struct watch *watch) {
    const struct task *task = heap_first(&watch->due);
    return task == NULL ? MONO_NEVER : task->due;
}

void watch_kill(struct watch *watch, struct task *task, int signal,
                int64_t grace_ms, enum guard_killer killer) {
    struct task_wish wish = {.kill_at = MONO_NEVER};
    task_wish_add(&wish, signal, grace_ms, clock_mono());
    carry_out(watch, task, wish.signal, wish.kill_at, killer);
}

void watch_wish(struct watch *watch, struct task *task, int signal,
                int64_t grace_ms) {
    if (task->wish.signal == 0)
        list_push(&watch->wishing, &task->link);
    task_wish_add(&task->wish, signal, grace_ms, clock_mono());
}

void watch_grant(struct watch *watch) {
    struct list *link;
    while ((link = list_pop(&watch->wishing)) != NULL)
        grant(watch, LIST_OF(link, struct task, link));
}
