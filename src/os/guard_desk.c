#include "os/guard_desk.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"

enum { READ_BYTES = 256 << 10, FIRST_SLOTS = 256 };

void desk_init(struct desk *desk, struct guard_life *life, struct watch *watch,
               int fd, int epoll_fd) {
    *desk = (struct desk){
        .life = life, .watch = watch, .fd = fd, .epoll_fd = epoll_fd};
    desk->slot_count = FIRST_SLOTS;
    desk->slots = mem_alloc(FIRST_SLOTS * sizeof(struct task *));
}

void desk_clear(struct desk *desk) {
    for (size_t i = 0; i < desk->slot_count; i++)
        while (desk->slots[i] != NULL) {
            struct task *task = desk->slots[i];
            desk->slots[i] = task->same_slot;
            task_free(task);
        }
    free(desk->slots);
    while (desk->fd_count > 0)
        close(desk->fds[--desk->fd_count]);
    text_clear(&desk->in);
    text_clear(&desk->out);
}

/* Ids are handed out by our own client, mostly one after the other. */
static struct task **slot_of(struct desk *desk, uint64_t id) {
    uint64_t mixed = id * UINT64_C(0x9e3779b97f4a7c15);
    return &desk->slots[(mixed >> 32) & (desk->slot_count - 1)];
}

static void table_grow(struct desk *desk) {
    struct task **old = desk->slots;
    size_t old_count = desk->slot_count;
    desk->slot_count *= 2;
    desk->slots = mem_alloc(desk->slot_count * sizeof(struct task *));
    for (size_t i = 0; i < old_count; i++)
        for (struct task *task = old[i], *next; task != NULL; task = next) {
            next = task->same_slot;
            struct task **slot = slot_of(desk, task->id);
            task->same_slot = *slot;
            *slot = task;
        }
    free(old);
}

static void table_put(struct desk *desk, struct task *task) {
    if (++desk->task_count > desk->slot_count)
        table_grow(desk);
    struct task **slot = slot_of(desk, task->id);
    task->same_slot = *slot;
    *slot = task;
}

static void table_remove(struct desk *desk, struct task *task) {
    struct task **at = slot_of(desk, task->id);
    while (*at != task)
        at = &(*at)->same_slot;
    *at = task->same_slot;
    desk->task_count--;
}

/* The live one of that id, or the one of which only the lock is left. */
static struct task *table_find(struct desk *desk, uint64_t id, bool held) {
    for (struct task *task = *slot_of(desk, id); task != NULL;
         task = task->same_slot)
        if (task->id == id && task->held == held)
            return task;
    return NULL;
}

/* A line that came while a launcher had the task, or with its last breath. */
static void tell_progress(struct desk *desk, struct task *task) {
    struct guard_news news = {
        .id = task->id, .pid = task->end.pid, .line = task->progress.line};
    if (task->progress.fresh)
        guard_news_encode(&desk->out, GUARD_FRAME_PROGRESS, &news);
}

static void tell_end(struct desk *desk, struct task *task) {
    tell_progress(desk, task);
    guard_end_encode(&desk->out, &task->end);
    if (task->lock_fd >= 0) {
        task->held = true;
        task_shrink(task);
        return;
    }
    table_remove(desk, task);
    task_free(task);
}

void desk_tell(struct desk *desk, struct list *over) {
    struct list *link;
    while ((link = list_pop(over)) != NULL)
        tell_end(desk, LIST_OF(link, struct task, link));
}

static void withdraw(struct desk *desk, struct task *task,
                     enum guard_killer killer, const char *why) {
    task->end.killer = killer;
    task_fail(task, GUARD_WITHDRAWN, 0, "%s", why);
    task_finish(task);
    tell_end(desk, task);
}

static void withdraw_lapsed(struct desk *desk, struct task *task) {
    withdraw(desk, task, GUARD_LEASE, "the lease of this worker has run out");
}

static bool do_start(struct desk *desk, struct span body) {
    struct guard_order order;
    struct guard_life *life = desk->life;
    if (!guard_order_decode(body, &order))
        return false;
    int stdin_fd = -1;
    if ((order.flags & GUARD_ORDER_STDIN) != 0) {
        if (desk->fd_count == 0)
            return false;
        stdin_fd = desk->fds[0];
        desk->fd_count--;
        memmove(desk->fds, desk->fds + 1, desk->fd_count * sizeof(int));
    }
    struct task *task = task_new(&order, life->output_fd, stdin_fd);
    table_put(desk, task);
    if (life->lapsed) {
        withdraw_lapsed(desk, task);
        return true;
    }
    bool outside = (task->flags & GUARD_ORDER_OUTSIDE) != 0;
    pthread_mutex_lock(&life->lock);
    list_push(outside ? &life->outside : &life->waiting, &task->link);
    life->waiting_count += !outside;
    pthread_mutex_unlock(&life->lock);
    return true;
}

/* A launcher's task cannot be touched: it gets a wish, and main does it as soon
 * as the task is handed over. */
static void do_kill(struct desk *desk, const struct guard_word *word) {
    struct guard_life *life = desk->life;
    struct task *task = table_find(desk, word->id, false);
    if (task == NULL || word->number < 0 || word->number >= NSIG)
        return;
    bool kills = word->number > 0; /* 0: only takes back what has not begun */
    pthread_mutex_lock(&life->lock);
    enum task_state state = task->state;
    if (state == TASK_WAITING) {
        list_remove(&task->link);
        life->waiting_count -= (task->flags & GUARD_ORDER_OUTSIDE) == 0;
    }
    if (state == TASK_LAUNCHING && kills) {
        task_wish_add(&task->wish, (int)word->number, word->grace_ms,
                      clock_mono());
        guard_life_nudge(life);
    }
    pthread_mutex_unlock(&life->lock);
    if (state == TASK_WAITING) {
        task->end.kill_signal = (int)word->number;
        withdraw(desk, task, kills ? GUARD_CALLER : GUARD_NOBODY,
                 "withdrawn before it was started");
    }
    if (state == TASK_WATCHED && kills)
        watch_wish(desk->watch, task, (int)word->number, word->grace_ms);
}

static void do_stop(struct desk *desk, const struct guard_word *word,
                    bool stop) {
    struct guard_life *life = desk->life;
    struct task *task = table_find(desk, word->id, false);
    if (task == NULL)
        return;
    pthread_mutex_lock(&life->lock);
    task->wish.stop = stop;
    enum task_state state = task->state;
    if (state == TASK_LAUNCHING && stop)
        guard_life_nudge(life);
    pthread_mutex_unlock(&life->lock);
    if (state == TASK_WATCHED && !task->exited)
        task_signal(task, stop ? SIGSTOP : SIGCONT);
}

static void do_release(struct desk *desk, const struct guard_word *word) {
    struct task *task = table_find(desk, word->id, true);
    if (task == NULL)
        return;
    table_remove(desk, task);
    task_free(task);
}

static void do_slots(struct desk *desk, const struct guard_word *word) {
    pthread_mutex_lock(&desk->life->lock);
    desk->life->slots = word->number < 0 ? 0 : (unsigned)word->number;
    pthread_mutex_unlock(&desk->life->lock);
}

static void do_lease(struct desk *desk, const struct guard_word *word) {
    struct guard_life *life = desk->life;
    if (guard_lease_fd(&life->lease) < 0)
        return;
    guard_lease_extend(&life->lease, (struct boot){word->number});
    pthread_mutex_lock(&life->lock);
    life->lapsed = !guard_lease_runs(&life->lease);
    pthread_mutex_unlock(&life->lock);
}

static bool do_frame(struct desk *desk, enum guard_frame_kind kind,
                     struct span body) {
    struct guard_word word;
    if (kind == GUARD_FRAME_START)
        return do_start(desk, body);
    if (!guard_word_decode(body, &word))
        return false;
    if (kind == GUARD_FRAME_KILL)
        do_kill(desk, &word);
    else if (kind == GUARD_FRAME_PAUSE)
        do_stop(desk, &word, true);
    else if (kind == GUARD_FRAME_CONTINUE)
        do_stop(desk, &word, false);
    else if (kind == GUARD_FRAME_RELEASE)
        do_release(desk, &word);
    else if (kind == GUARD_FRAME_SLOTS)
        do_slots(desk, &word);
    else if (kind == GUARD_FRAME_LEASE)
        do_lease(desk, &word);
    else
        return false;
    return true;
}

static void do_frames(struct desk *desk) {
    struct span rest = text_span(&desk->in);
    enum guard_frame_kind kind;
    struct span body;
    enum guard_frame_found found;
    while ((found = guard_frame_take(&rest, &kind, &body)) == GUARD_FRAME_WHOLE)
        if (!do_frame(desk, kind, body)) {
            found = GUARD_FRAME_BAD;
            break;
        }
    if (found == GUARD_FRAME_BAD)
        desk->gone = true;
    if (rest.len > 0)
        memmove(desk->in.p, rest.p, rest.len);
    desk->in.len = rest.len;
    pthread_mutex_lock(&desk->life->lock);
    guard_life_rouse(desk->life);
    pthread_mutex_unlock(&desk->life->lock);
}

static void take_fds(struct desk *desk, struct msghdr *message) {
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL;
         c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (desk->fd_count < DESK_FDS)
                desk->fds[desk->fd_count++] = fd;
            else
                close(fd);
        }
    }
}

void desk_read(struct desk *desk) {
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control;
    text_reserve(&desk->in, READ_BYTES);
    struct iovec part = {.iov_base = desk->in.p + desk->in.len,
                         .iov_len = READ_BYTES};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t n = recvmsg(desk->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        desk->gone = true;
        return;
    }
    take_fds(desk, &message);
    desk->in.len += (size_t)n;
    do_frames(desk);
}

static void wait_to_write(struct desk *desk, bool wait) {
    if (desk->waits_to_write == wait)
        return;
    desk->waits_to_write = wait;
    struct epoll_event event = {
        .events = EPOLLIN | (wait ? (unsigned)EPOLLOUT : 0), .data.u64 = 0};
    epoll_ctl(desk->epoll_fd, EPOLL_CTL_MOD, desk->fd, &event);
}

void desk_send(struct desk *desk) {
    while (desk->sent < desk->out.len) {
        ssize_t n =
            send(desk->fd, desk->out.p + desk->sent, desk->out.len - desk->sent,
                 MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            wait_to_write(desk, true);
            return;
        }
        if (n < 0) {
            desk->gone = true;
            break;
        }
        desk->sent += (size_t)n;
    }
    desk->sent = 0;
    text_reset(&desk->out);
    wait_to_write(desk, false);
}

static void kill_watched(struct desk *desk, enum guard_killer killer) {
    for (size_t i = 0; i < desk->slot_count; i++)
        for (struct task *task = desk->slots[i]; task != NULL;
             task = task->same_slot)
            if (task->state == TASK_WATCHED)
                watch_kill(desk->watch, task, SIGKILL, 0, killer);
}

/* Launchers hand them over with the wish to be killed. */
static void kill_launching(struct desk *desk) {
    for (size_t i = 0; i < desk->slot_count; i++)
        for (struct task *task = desk->slots[i]; task != NULL;
             task = task->same_slot) {
            if (task->state != TASK_LAUNCHING)
                continue;
            task_wish_add(&task->wish, SIGKILL, 0, clock_mono());
            task->wish.lapsed = true;
        }
    guard_life_nudge(desk->life);
}

static void withdraw_all(struct desk *desk, struct list *list) {
    struct list *link;
    while ((link = list_pop(list)) != NULL)
        withdraw_lapsed(desk, LIST_OF(link, struct task, link));
}

void desk_lapse(struct desk *desk) {
    struct guard_life *life = desk->life;
    struct list waiting;
    list_init(&waiting);
    pthread_mutex_lock(&life->lock);
    life->lapsed = true;
    struct list *link;
    while ((link = list_pop(&life->outside)) != NULL ||
           (link = list_pop(&life->waiting)) != NULL)
        list_push(&waiting, link);
    life->waiting_count = 0;
    kill_launching(desk);
    pthread_mutex_unlock(&life->lock);
    kill_watched(desk, GUARD_LEASE);
    withdraw_all(desk, &waiting);
    pthread_mutex_lock(&life->lock);
    life->lapsed = !guard_lease_runs(&life->lease);
    pthread_mutex_unlock(&life->lock);
}

static void forget(struct desk *desk, struct list *list) {
    struct list *link;
    while ((link = list_pop(list)) != NULL) {
        struct task *task = LIST_OF(link, struct task, link);
        table_remove(desk, task);
        task_free(task);
    }
}

void desk_end_all(struct desk *desk) {
    struct guard_life *life = desk->life;
    pthread_mutex_lock(&life->lock);
    life->closing = true;
    forget(desk, &life->waiting);
    life->waiting_count = 0;
    forget(desk, &life->outside);
    guard_life_nudge(life);
    cgroup_tree_kill(&life->tree);
    pthread_mutex_unlock(&life->lock);
    kill_watched(desk, GUARD_CLOSING);
}
