#include "os/guard_server.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"

enum { READ_BYTES = 256 << 10, FIRST_SLOTS = 256 };

void guard_server_init(struct guard_server *server, struct guard_life *life,
                       struct guard_watch *watch, int fd, int epoll_fd) {
    *server = (struct guard_server){
        .life = life, .watch = watch, .fd = fd, .epoll_fd = epoll_fd};
    server->slot_count = FIRST_SLOTS;
    server->slots = mem_alloc(FIRST_SLOTS * sizeof(struct guard_task *));
}

void guard_server_clear(struct guard_server *server) {
    for (size_t i = 0; i < server->slot_count; i++)
        while (server->slots[i] != NULL) {
            struct guard_task *task = server->slots[i];
            server->slots[i] = task->same_slot;
            guard_task_free(task);
        }
    free(server->slots);
    while (server->fd_count > 0)
        close(server->fds[--server->fd_count]);
    text_clear(&server->in);
    text_clear(&server->out);
}

/* Ids come from our own client, mostly in sequence. */
static struct guard_task **slot_of(struct guard_server *server, uint64_t id) {
    uint64_t mixed = id * UINT64_C(0x9e3779b97f4a7c15);
    return &server->slots[(mixed >> 32) & (server->slot_count - 1)];
}

static void table_grow(struct guard_server *server) {
    struct guard_task **old = server->slots;
    size_t old_count = server->slot_count;
    server->slot_count *= 2;
    server->slots = mem_alloc(server->slot_count * sizeof(struct guard_task *));
    for (size_t i = 0; i < old_count; i++)
        for (struct guard_task *task = old[i], *next; task != NULL;
             task = next) {
            next = task->same_slot;
            struct guard_task **slot = slot_of(server, task->id);
            task->same_slot = *slot;
            *slot = task;
        }
    free(old);
}

static void table_put(struct guard_server *server, struct guard_task *task) {
    if (++server->task_count > server->slot_count)
        table_grow(server);
    struct guard_task **slot = slot_of(server, task->id);
    task->same_slot = *slot;
    *slot = task;
}

static void table_remove(struct guard_server *server, struct guard_task *task) {
    struct guard_task **at = slot_of(server, task->id);
    while (*at != task)
        at = &(*at)->same_slot;
    *at = task->same_slot;
    server->task_count--;
}

/* Finds the live task of that id, or (`held`) the one of which only the lock is
 * left. */
static struct guard_task *table_find(struct guard_server *server, uint64_t id,
                                     bool held) {
    for (struct guard_task *task = *slot_of(server, id); task != NULL;
         task = task->same_slot)
        if (task->id == id && task->held == held)
            return task;
    return NULL;
}

/* Sends a line that came while a launcher had the task, or at its very end. */
static void send_progress(struct guard_server *server,
                          struct guard_task *task) {
    struct guard_report news = {
        .id = task->id, .pid = task->end.pid, .line = task->progress.line};
    if (task->progress.fresh)
        guard_report_encode(&server->out, GUARD_FRAME_PROGRESS, &news);
}

static void report_end(struct guard_server *server, struct guard_task *task) {
    send_progress(server, task);
    guard_end_encode(&server->out, &task->end);
    if (task->lock_fd >= 0) {
        task->held = true;
        guard_task_shrink(task);
        return;
    }
    table_remove(server, task);
    guard_task_free(task);
}

void guard_server_report(struct guard_server *server, struct list *over) {
    struct list *link;
    while ((link = list_pop(over)) != NULL)
        report_end(server, LIST_OF(link, struct guard_task, link));
}

static void withdraw(struct guard_server *server, struct guard_task *task,
                     enum guard_killer killer, const char *why) {
    task->end.killer = killer;
    guard_task_fail(task, GUARD_WITHDRAWN, 0, "%s", why);
    guard_task_finish(task);
    report_end(server, task);
}

static void withdraw_expired(struct guard_server *server,
                             struct guard_task *task) {
    withdraw(server, task, GUARD_LEASE, "the lease of this worker has expired");
}

static bool do_start(struct guard_server *server, struct span body) {
    struct guard_start_frame start;
    struct guard_life *life = server->life;
    if (!guard_start_decode(body, &start))
        return false;
    int stdin_fd = -1;
    if ((start.flags & GUARD_START_STDIN) != 0) {
        if (server->fd_count == 0)
            return false;
        stdin_fd = server->fds[0];
        server->fd_count--;
        memmove(server->fds, server->fds + 1, server->fd_count * sizeof(int));
    }
    struct guard_task *task = guard_task_new(&start, life->output_fd, stdin_fd);
    table_put(server, task);
    if (life->expired) {
        withdraw_expired(server, task);
        return true;
    }
    bool outside = (task->flags & GUARD_START_OUTSIDE) != 0;
    pthread_mutex_lock(&life->lock);
    list_push(outside ? &life->outside : &life->waiting, &task->link);
    life->waiting_count += !outside;
    pthread_mutex_unlock(&life->lock);
    return true;
}

/* A launcher's task must not be touched: the request is stored, and main
 * carries it out when the task is handed over. */
static void do_kill(struct guard_server *server,
                    const struct guard_command *word) {
    struct guard_life *life = server->life;
    struct guard_task *task = table_find(server, word->id, false);
    if (task == NULL || word->number < 0 || word->number >= NSIG)
        return;
    bool kills = word->number > 0; /* 0: only withdraws a task that has not
                                      begun */
    pthread_mutex_lock(&life->lock);
    enum guard_task_state state = task->state;
    if (state == GUARD_TASK_WAITING) {
        list_remove(&task->link);
        life->waiting_count -= (task->flags & GUARD_START_OUTSIDE) == 0;
    }
    if (state == GUARD_TASK_LAUNCHING && kills) {
        guard_task_request_add(&task->request, (int)word->number,
                               word->grace_ms, clock_mono());
        guard_life_nudge(life);
    }
    pthread_mutex_unlock(&life->lock);
    if (state == GUARD_TASK_WAITING) {
        task->end.kill_signal = (int)word->number;
        withdraw(server, task, kills ? GUARD_CALLER : GUARD_NOBODY,
                 "withdrawn before it was started");
    }
    if (state == GUARD_TASK_WATCHED && kills)
        guard_watch_request(server->watch, task, (int)word->number,
                            word->grace_ms);
}

static void do_release(struct guard_server *server,
                       const struct guard_command *word) {
    struct guard_task *task = table_find(server, word->id, true);
    if (task == NULL)
        return;
    table_remove(server, task);
    guard_task_free(task);
}

static void do_slots(struct guard_server *server,
                     const struct guard_command *word) {
    pthread_mutex_lock(&server->life->lock);
    guard_life_set_slots(server->life, word->number < 0 ? 0 : word->number);
    pthread_mutex_unlock(&server->life->lock);
}

static void do_lease(struct guard_server *server,
                     const struct guard_command *word) {
    struct guard_life *life = server->life;
    if (guard_lease_fd(&life->lease) < 0)
        return;
    guard_lease_extend(&life->lease, (struct boot){word->number});
    pthread_mutex_lock(&life->lock);
    life->expired = !guard_lease_runs(&life->lease);
    pthread_mutex_unlock(&life->lock);
}

static void do_ping(struct guard_server *server,
                    const struct guard_command *word) {
    guard_command_encode(&server->out, GUARD_FRAME_PONG, word);
}

static bool do_frame(struct guard_server *server, enum guard_frame_kind kind,
                     struct span body) {
    struct guard_command word;
    if (kind == GUARD_FRAME_START)
        return do_start(server, body);
    if (!guard_command_decode(body, &word))
        return false;
    if (kind == GUARD_FRAME_KILL)
        do_kill(server, &word);
    else if (kind == GUARD_FRAME_RELEASE)
        do_release(server, &word);
    else if (kind == GUARD_FRAME_SLOTS)
        do_slots(server, &word);
    else if (kind == GUARD_FRAME_LEASE)
        do_lease(server, &word);
    else if (kind == GUARD_FRAME_PING)
        do_ping(server, &word);
    else
        return false;
    return true;
}

static void do_frames(struct guard_server *server) {
    struct span rest = text_span(&server->in);
    enum guard_frame_kind kind;
    struct span body;
    enum guard_frame_found found;
    while ((found = guard_frame_take(&rest, &kind, &body)) == GUARD_FRAME_WHOLE)
        if (!do_frame(server, kind, body)) {
            found = GUARD_FRAME_BAD;
            break;
        }
    if (found == GUARD_FRAME_BAD)
        server->gone = true;
    if (rest.len > 0)
        memmove(server->in.p, rest.p, rest.len);
    server->in.len = rest.len;
    pthread_mutex_lock(&server->life->lock);
    guard_life_wake_launchers(server->life);
    pthread_mutex_unlock(&server->life->lock);
}

static void take_fds(struct guard_server *server, struct msghdr *message) {
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL;
         c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (server->fd_count < GUARD_SERVER_FDS)
                server->fds[server->fd_count++] = fd;
            else
                close(fd);
        }
    }
}

void guard_server_read(struct guard_server *server) {
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control;
    text_reserve(&server->in, READ_BYTES);
    struct iovec part = {.iov_base = server->in.p + server->in.len,
                         .iov_len = READ_BYTES};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t n = recvmsg(server->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        server->gone = true;
        return;
    }
    take_fds(server, &message);
    server->in.len += (size_t)n;
    do_frames(server);
}

static void wait_to_write(struct guard_server *server, bool wait) {
    if (server->waits_to_write == wait)
        return;
    server->waits_to_write = wait;
    struct epoll_event event = {
        .events = EPOLLIN | (wait ? (unsigned)EPOLLOUT : 0), .data.u64 = 0};
    epoll_ctl(server->epoll_fd, EPOLL_CTL_MOD, server->fd, &event);
}

void guard_server_send(struct guard_server *server) {
    while (server->sent < server->out.len) {
        ssize_t n =
            send(server->fd, server->out.p + server->sent,
                 server->out.len - server->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            wait_to_write(server, true);
            return;
        }
        if (n < 0) {
            server->gone = true;
            break;
        }
        server->sent += (size_t)n;
    }
    server->sent = 0;
    text_reset(&server->out);
    wait_to_write(server, false);
}

static void kill_watched(struct guard_server *server,
                         enum guard_killer killer) {
    for (size_t i = 0; i < server->slot_count; i++)
        for (struct guard_task *task = server->slots[i]; task != NULL;
             task = task->same_slot)
            if (task->state == GUARD_TASK_WATCHED)
                guard_watch_kill(server->watch, task, SIGKILL, 0, killer);
}

/* Launchers hand them over with the request to kill them. */
static void kill_launching(struct guard_server *server) {
    for (size_t i = 0; i < server->slot_count; i++)
        for (struct guard_task *task = server->slots[i]; task != NULL;
             task = task->same_slot) {
            if (task->state != GUARD_TASK_LAUNCHING)
                continue;
            guard_task_request_add(&task->request, SIGKILL, 0, clock_mono());
            task->request.expired = true;
        }
    guard_life_nudge(server->life);
}

static void withdraw_all(struct guard_server *server, struct list *list) {
    struct list *link;
    while ((link = list_pop(list)) != NULL)
        withdraw_expired(server, LIST_OF(link, struct guard_task, link));
}

void guard_server_lease_expired(struct guard_server *server) {
    struct guard_life *life = server->life;
    struct list waiting;
    list_init(&waiting);
    pthread_mutex_lock(&life->lock);
    life->expired = true;
    struct list *link;
    while ((link = list_pop(&life->outside)) != NULL ||
           (link = list_pop(&life->waiting)) != NULL)
        list_push(&waiting, link);
    life->waiting_count = 0;
    kill_launching(server);
    pthread_mutex_unlock(&life->lock);
    kill_watched(server, GUARD_LEASE);
    withdraw_all(server, &waiting);
    pthread_mutex_lock(&life->lock);
    life->expired = !guard_lease_runs(&life->lease);
    pthread_mutex_unlock(&life->lock);
}

static void forget(struct guard_server *server, struct list *list) {
    struct list *link;
    while ((link = list_pop(list)) != NULL) {
        struct guard_task *task = LIST_OF(link, struct guard_task, link);
        table_remove(server, task);
        guard_task_free(task);
    }
}

void guard_server_end_all(struct guard_server *server) {
    struct guard_life *life = server->life;
    pthread_mutex_lock(&life->lock);
    life->closing = true;
    forget(server, &life->waiting);
    life->waiting_count = 0;
    forget(server, &life->outside);
    guard_life_nudge(life);
    cgroup_tree_kill(&life->tree);
    pthread_mutex_unlock(&life->lock);
    kill_watched(server, GUARD_CLOSING);
}
