#include "os/guard_watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"

static int compare_due(const void *a, const void *b) {
    const struct guard_task *left = a, *right = b;
    return (left->due.ns > right->due.ns) - (left->due.ns < right->due.ns);
}

void guard_watch_init(struct guard_watch *watch, struct guard_life *life,
                      int epoll_fd, struct text *out) {
    *watch =
        (struct guard_watch){.life = life, .epoll_fd = epoll_fd, .out = out};
    watch->buffer = mem_alloc(GUARD_TASK_READ_BYTES);
    list_init(&watch->requested);
    heap_init(&watch->due, offsetof(struct guard_task, heap_place),
              compare_due);
}

void guard_watch_clear(struct guard_watch *watch) {
    while (watch->unreaped_count > 0)
        close(watch->unreaped[--watch->unreaped_count]);
    free(watch->unreaped);
    heap_clear(&watch->due);
    free(watch->buffer);
}

static bool add_fd(struct guard_watch *watch, struct guard_task *task, int fd,
                   unsigned events, enum guard_watch_kind what) {
    if (fd < 0)
        return true;
    struct epoll_event event = {.events = events,
                                .data.u64 = (uint64_t)(uintptr_t)task | what};
    return epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Always called before close: a child between clone and exec may still hold the
 * description open, and epoll would keep reporting it. */
static void remove_fd(struct guard_watch *watch, int fd) {
    if (fd >= 0)
        epoll_ctl(watch->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void drop_fd(struct guard_watch *watch, int *fd) {
    remove_fd(watch, *fd);
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static struct mono earlier(struct mono a, struct mono b) {
    return a.ns < b.ns ? a : b;
}

static void arm(struct guard_watch *watch, struct guard_task *task) {
    struct mono due = earlier(task->timeout_at, task->kill_at);
    due = earlier(due, earlier(task->spill_at, task->courtesy_at));
    due = earlier(due, earlier(task->give_up_at, task->ask_at));
    due = earlier(due, earlier(task->sample_at, task->report_at));
    due = earlier(due, task->flush_at);
    if (task->paused)
        due = earlier(due, task->read_at);
    if (task->blind)
        due = earlier(due, mono_add_ms(clock_mono(), GUARD_WATCH_BLIND_MS));
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

/* Samples now and then, and at the end; tasks that end soon are not sampled.
 * Processes that come and go in between are missed, but their time is counted.
 */
static void sample(struct guard_watch *watch, struct guard_task *task) {
    const struct cgroup_tree *tree = &watch->life->tree;
    struct guard_usage usage;
    bool first = !task->sampled;
    if (first)
        guard_task_sample_first(task, tree);
    guard_task_sample(task, tree, &usage);
    if (!first && !task->exited)
        guard_usage_encode(watch->out, &usage);
    task->sample_at = mono_add_ms(
        task->began,
        (mono_ms_since(clock_mono(), task->began) / GUARD_WATCH_SAMPLE_MS + 1) *
            GUARD_WATCH_SAMPLE_MS);
}

static void leave_unreaped(struct guard_watch *watch, struct guard_task *task) {
    remove_fd(watch, task->pidfd);
    watch->unreaped = mem_grow(watch->unreaped, watch->unreaped_count + 1,
                               sizeof *watch->unreaped);
    watch->unreaped[watch->unreaped_count++] = task->pidfd;
    task->pidfd = -1;
}

bool guard_watch_reap(struct guard_watch *watch) {
    size_t kept = 0;
    for (size_t i = 0; i < watch->unreaped_count; i++) {
        int fd = watch->unreaped[i];
        siginfo_t info = {0};
        if (waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG) == 0 &&
            info.si_pid == 0)
            watch->unreaped[kept++] = fd;
        else
            close(fd);
    }
    watch->unreaped_count = kept;
    return kept > 0;
}

/* Everything is reported and closed: passes the task on for reporting its end.
 */
static void finish_task(struct guard_watch *watch, struct guard_task *task) {
    struct guard_life *life = watch->life;
    if (task->reaped)
        drop_fd(watch, &task->pidfd);
    else
        leave_unreaped(watch, task);
    drop_fd(watch, &task->out[STAMP_OUT].ours);
    drop_fd(watch, &task->out[STAMP_ERR].ours);
    remove_fd(watch, task->status.ends.ours);
    remove_fd(watch, task->progress.ends.ours);
    guard_task_end_lines(&task->status, watch->buffer);
    guard_task_end_lines(&task->progress, watch->buffer);
    heap_remove(&watch->due, task);
    list_remove(&task->link);
    if (task->leaf_watched)
        remove_fd(watch, task->leaf->events_fd);
    if (task->sampled)
        sample(watch, task);
    guard_task_finish(task);
    pthread_mutex_lock(&life->lock);
    if (task->leaf != NULL && cgroup_leaf_populated(task->leaf)) {
        cgroup_leaf_drop(task->leaf);
        task->leaf = NULL;
    }
    guard_life_over(life, task);
    guard_life_wake_launchers(life);
    pthread_mutex_unlock(&life->lock);
}

static void watch_leaf(struct guard_watch *watch, struct guard_task *task) {
    if (task->leaf != NULL && !task->leaf_watched)
        task->leaf_watched =
            add_fd(watch, task, task->leaf->events_fd, EPOLLPRI, WATCH_LEAF);
}

/* A leaf reports when it is empty; a group must be polled. */
static bool all_gone(struct guard_watch *watch, struct guard_task *task) {
    if (guard_task_gone(task))
        return true;
    task->end.leftovers = true;
    if (task->leaf == NULL) {
        (void)guard_task_kill_strays(task);
        task->ask_at = mono_add_ms(clock_mono(), GUARD_WATCH_ASK_MS);
        return false;
    }
    watch_leaf(watch, task);
    cgroup_leaf_kill(task->leaf);
    return guard_task_gone(task);
}

/* True if neither pipes nor leaf show other processes. */
static bool is_alone(const struct guard_task *task, bool closed) {
    return closed && (task->leaf == NULL || !cgroup_leaf_populated(task->leaf));
}

/* The zombie is traced by another process, which may be one of the task's own:
 * true if it was reaped after all. */
static bool reap_traced(struct guard_watch *watch, struct guard_task *task) {
    struct mono now = clock_mono();
    if (task->give_up_at.ns == MONO_NEVER.ns)
        task->give_up_at = mono_add_ms(now, GUARD_WATCH_GIVE_UP_MS);
    if (task->leaf == NULL && guard_task_kill_strays(task))
        task->end.leftovers = true;
    if (guard_task_reap(task))
        return true;
    if (now.ns < task->give_up_at.ns) {
        task->ask_at = mono_add_ms(now, GUARD_WATCH_ASK_MS);
        arm(watch, task);
        return false;
    }
    task->end.survivors = true;
    task->end.gone_ns = now.ns - task->began.ns;
    guard_task_give_up(task);
    guard_task_name_survivors(task);
    finish_task(watch, task);
    return false;
}

/* The first process is gone: checks whether the whole task is. With a cgroup no
 * process escapes; without one the group gets KILL while the zombie still keeps
 * its id. */
static void settle(struct guard_watch *watch, struct guard_task *task) {
    struct mono now = clock_mono();
    bool closed = guard_task_pipes_closed(task);
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
            guard_task_kill(task);
        /* The descriptor may become readable just before waiting succeeds. */
        if (!guard_task_reap(task) && !reap_traced(watch, task))
            return;
    }
    task->courtesy_at = task->timeout_at = task->kill_at = MONO_NEVER;
    if (task->give_up_at.ns == MONO_NEVER.ns)
        task->give_up_at = mono_add_ms(now, GUARD_WATCH_GIVE_UP_MS);
    bool gone = all_gone(watch, task);
    if (!(closed && gone) && now.ns < task->give_up_at.ns) {
        arm(watch, task);
        return;
    }
    task->end.survivors = !closed || !gone;
    if (task->end.survivors)
        guard_task_name_survivors(task);
    task->end.gone_ns = now.ns - task->began.ns;
    finish_task(watch, task);
}

static void pause_out(struct guard_watch *watch, struct guard_task *task) {
    task->paused = true;
    remove_fd(watch, task->out[STAMP_OUT].ours);
    remove_fd(watch, task->out[STAMP_ERR].ours);
    arm(watch, task);
}

/* The stamps of everything read until then are written together. */
static void flush_later(struct guard_watch *watch, struct guard_task *task) {
    if (!task->capture.stamped || task->flush_at.ns != MONO_NEVER.ns)
        return;
    task->flush_at = mono_add_ms(clock_mono(), GUARD_WATCH_FLUSH_MS);
    arm(watch, task);
}

/* A paused task is read again when its debt is paid, or when it is dead. */
static void read_out(struct guard_watch *watch, struct guard_task *task,
                     enum stamp_stream stream) {
    int *fd = &task->out[stream].ours;
    if (*fd < 0 || (task->paused && !task->exited))
        return;
    flush_later(watch, task);
    if (guard_task_read_out(task, stream, watch->buffer) ==
        GUARD_TASK_PIPE_ENDED)
        drop_fd(watch, fd);
    else if (!task->exited && task->read_at.ns > clock_mono().ns)
        pause_out(watch, task);
}

static bool add_out(struct guard_watch *watch, struct guard_task *task) {
    return add_fd(watch, task, task->out[STAMP_OUT].ours, EPOLLIN, WATCH_OUT) &&
           add_fd(watch, task, task->out[STAMP_ERR].ours, EPOLLIN, WATCH_ERR);
}

static void resume(struct guard_watch *watch, struct guard_task *task) {
    if (!task->paused)
        return;
    task->paused = false;
    if (!add_out(watch, task))
        task->blind = true;
}

static void note_exit(struct guard_watch *watch, struct guard_task *task) {
    if (task->exited)
        return;
    task->exited = true;
    resume(watch, task);
    task->end.exited_ns = clock_mono().ns - task->began.ns;
    task->sample_at = MONO_NEVER;
    remove_fd(watch, task->pidfd);
    /* Processes that it left behind have a moment to end by themselves or, if
     * they were asked to end, the rest of the grace. */
    if (task->kill_at.ns != MONO_NEVER.ns)
        task->courtesy_at = task->kill_at;
    else if (!task->killed)
        task->courtesy_at = mono_add_ms(clock_mono(), GUARD_WATCH_COURTESY_MS);
    else
        task->courtesy_at = clock_mono();
}

static void read_lines(struct guard_watch *watch, struct line_pipe *pipe) {
    if (pipe->ends.ours < 0 ||
        guard_task_read_lines(pipe, watch->buffer) != GUARD_TASK_PIPE_ENDED)
        return;
    remove_fd(watch, pipe->ends.ours);
    guard_task_end_lines(pipe, watch->buffer);
}

/* Reports the task once it has lasted a moment or has progress. */
static void report_started(struct guard_watch *watch, struct guard_task *task) {
    if (task->reported)
        return;
    task->reported = true;
    task->report_at = MONO_NEVER;
    struct guard_report news = {
        .id = task->id, .pid = task->end.pid, .at = task->end.started};
    guard_report_encode(watch->out, GUARD_FRAME_STARTED, &news);
}

static void read_progress(struct guard_watch *watch, struct guard_task *task) {
    read_lines(watch, &task->progress);
    if (!task->progress.fresh)
        return;
    task->progress.fresh = false;
    report_started(watch, task);
    struct guard_report news = {
        .id = task->id, .pid = task->end.pid, .line = task->progress.line};
    guard_report_encode(watch->out, GUARD_FRAME_PROGRESS, &news);
}

static void read_all(struct guard_watch *watch, struct guard_task *task) {
    read_out(watch, task, STAMP_OUT);
    read_out(watch, task, STAMP_ERR);
    read_lines(watch, &task->status);
    read_progress(watch, task);
}

void guard_watch_event(struct guard_watch *watch, struct guard_task *task,
                       enum guard_watch_kind what) {
    if (task->state != GUARD_TASK_WATCHED)
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

static void carry_out(struct guard_watch *watch, struct guard_task *task,
                      int signal, struct mono kill_at,
                      enum guard_killer killer) {
    if (task->end.killer == GUARD_NOBODY && !task->exited) {
        task->end.killer = killer;
        task->end.kill_signal = signal;
    }
    if (task->exited) {
        task->courtesy_at = clock_mono();
    } else if (signal == SIGKILL) {
        guard_task_kill(task);
        task->killed = true;
        task->kill_at = MONO_NEVER;
    } else {
        guard_task_signal_all(task, signal);
        task->kill_at = earlier(task->kill_at, kill_at);
    }
    arm(watch, task);
}

static void grant(struct guard_watch *watch, struct guard_task *task) {
    struct guard_task_request request = task->request;
    task->request = (struct guard_task_request){.kill_at = MONO_NEVER};
    carry_out(watch, task, request.signal, request.kill_at,
              request.expired ? GUARD_LEASE : GUARD_CALLER);
}

static void take_request(struct guard_watch *watch, struct guard_task *task) {
    struct guard_life *life = watch->life;
    pthread_mutex_lock(&life->lock);
    task->state = GUARD_TASK_WATCHED;
    struct guard_task_request request = task->request;
    bool closing = life->closing;
    pthread_mutex_unlock(&life->lock);
    if (closing)
        guard_watch_kill(watch, task, SIGKILL, 0, GUARD_CLOSING);
    else if (request.signal != 0)
        grant(watch, task);
}

void guard_watch_take(struct guard_watch *watch, struct guard_task *task) {
    task->report_at = mono_add_ms(task->began, GUARD_LINGER_MS);
    if (task->timeout_ms > 0)
        task->timeout_at = mono_add_ms(task->began, task->timeout_ms);
    if (task->capture.path != NULL)
        task->spill_at = mono_add_ms(task->began, GUARD_WATCH_SPILL_MS);
    bool added =
        (task->reaped ||
         add_fd(watch, task, task->pidfd, EPOLLIN, WATCH_PROCESS)) &&
        add_out(watch, task) &&
        add_fd(watch, task, task->status.ends.ours, EPOLLIN, WATCH_STATUS) &&
        add_fd(watch, task, task->progress.ends.ours, EPOLLIN, WATCH_PROGRESS);
    task->blind = !added;
    task->sample_at = mono_add_ms(task->began, GUARD_WATCH_FIRST_SAMPLE_MS);
    take_request(watch, task);
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

/* Checks what epoll would have reported. */
static void look(struct guard_watch *watch, struct guard_task *task) {
    read_all(watch, task);
    siginfo_t info = {0};
    if (!task->exited &&
        waitid(P_PIDFD, (id_t)task->pidfd, &info,
               WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid != 0)
        note_exit(watch, task);
}

/* From now on the output can be followed. */
static void spill(struct guard_task *task) {
    guard_capture_spill(&task->capture);
    guard_capture_flush(&task->capture);
}

static void do_due(struct guard_watch *watch, struct guard_task *task) {
    struct mono now = clock_mono();
    if (task->blind)
        look(watch, task);
    if (task->paused && now.ns >= task->read_at.ns)
        resume(watch, task);
    if (passed(&task->report_at, now) && !task->exited)
        report_started(watch, task);
    if (passed(&task->flush_at, now))
        guard_capture_flush(&task->capture);
    if (passed(&task->spill_at, now))
        spill(task);
    if (passed(&task->kill_at, now) && !task->exited) {
        guard_task_kill(task);
        task->killed = true;
    }
    if (passed(&task->timeout_at, now) && !task->exited) {
        task->end.timed_out = true;
        guard_watch_kill(watch, task, SIGTERM, task->grace_ms, GUARD_TIMEOUT);
    }
    if (passed(&task->sample_at, now) && !task->exited)
        sample(watch, task);
    if (task->exited)
        settle(watch, task);
    else
        arm(watch, task);
}

void guard_watch_due(struct guard_watch *watch) {
    struct mono now = clock_mono();
    struct guard_task *task;
    while ((task = heap_first(&watch->due)) != NULL && task->due.ns <= now.ns) {
        heap_remove(&watch->due, task);
        task->due = MONO_NEVER;
        do_due(watch, task);
    }
}

struct mono guard_watch_next(const struct guard_watch *watch) {
    const struct guard_task *task = heap_first(&watch->due);
    return task == NULL ? MONO_NEVER : task->due;
}

void guard_watch_kill(struct guard_watch *watch, struct guard_task *task,
                      int signal, int64_t grace_ms, enum guard_killer killer) {
    struct guard_task_request request = {.kill_at = MONO_NEVER};
    guard_task_request_add(&request, signal, grace_ms, clock_mono());
    carry_out(watch, task, request.signal, request.kill_at, killer);
}

void guard_watch_request(struct guard_watch *watch, struct guard_task *task,
                         int signal, int64_t grace_ms) {
    if (task->request.signal == 0)
        list_push(&watch->requested, &task->link);
    guard_task_request_add(&task->request, signal, grace_ms, clock_mono());
}

void guard_watch_grant(struct guard_watch *watch) {
    struct list *link;
    while ((link = list_pop(&watch->requested)) != NULL)
        grant(watch, LIST_OF(link, struct guard_task, link));
}
