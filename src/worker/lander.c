#include "worker/lander.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/list.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/sock.h"
#include "wire/lander.h"

/* Distinct from the attempts' and those of other subprocesses. */
#define LANDER_IDS (UINT64_C(1) << 61)
/* While it runs, the file system of the repository cannot be unmounted. */
enum { IDLE_MS = 10 * 1000 };

struct lander {
    struct list link;
    struct landers *landers;
    uint64_t id;
    char *name;
    int sock;
    uv_poll_t poll;
    uint64_t handle; /* what it carries out; 0: nothing */
    unsigned starts;
    bool is_retired; /* it takes no more starts, and will end */
    bool is_signalled;
    pid_t pid;
    struct mono idle_since;
};

struct landers {
    uv_loop_t *loop;
    struct guard *guard;
    struct landers_events events;
    void *ctx;
    struct list all;
    uint64_t last_id;
    uv_timer_t idle;
    unsigned open; /* handles that are not closed yet */
    bool is_closing;
    void (*closed)(void *ctx);
    void *closed_ctx;
};

static void landers_unref(struct landers *landers) {
    if (--landers->open > 0 || !landers->is_closing)
        return;
    void (*closed)(void *) = landers->closed;
    void *ctx = landers->closed_ctx;
    free(landers);
    closed(ctx);
}

static void on_lander_closed(uv_handle_t *handle) {
    struct lander *lander = handle->data;
    struct landers *landers = lander->landers;
    fd_close(&lander->sock);
    free(lander->name);
    free(lander);
    landers_unref(landers);
}

static void lander_free(struct lander *lander) {
    list_remove(&lander->link);
    list_init(&lander->link);
    uv_close((uv_handle_t *)&lander->poll, on_lander_closed);
}

/* Its process ends when it reads the end of its input. The socket stays open as
 * long as the poll: libuv removes the poll's descriptor from its set once more
 * when the poll is closed, whatever has that number then. */
static void lander_retire(struct lander *lander) {
    uv_poll_stop(&lander->poll);
    (void)shutdown(lander->sock, SHUT_RDWR);
    lander->is_retired = true;
}

static void report(struct lander *lander, struct lander_end *end) {
    struct landers *landers = lander->landers;
    end->handle = lander->handle;
    lander->handle = 0;
    lander->idle_since = clock_mono();
    landers->events.ended(landers->ctx, end);
}

static void answer_free(struct lander_answer **answer) {
    free(*answer);
}

/* True: it has answered. */
static bool answer_take(struct lander *lander) {
    CLEANUP(answer_free)
    struct lander_answer *answer = mem_alloc(sizeof *answer);
    int fds[SOCK_FDS];
    enum { HEAD_BYTES = offsetof(struct lander_answer, line) };
    ssize_t n =
        !lander->is_retired && lander->handle != 0
            ? sock_receive(lander->sock, (char *)answer, sizeof *answer, fds)
            : 0;
    if (n < HEAD_BYTES || answer->line_bytes != (size_t)n - HEAD_BYTES)
        return false;
    if (lander->is_signalled || lander->starts >= LANDER_STARTS)
        lander_retire(lander);
    report(lander, &(struct lander_end){
                       .exit_code = (int)answer->exit_code,
                       .cpu_us = answer->cpu_us,
                       .status = span_make(answer->line, answer->line_bytes)});
    return true;
}

/* Whatever else it sends, and the end of the socket, mean that it is no use any
 * more; the guard then reports how it ended. */
static void on_readable(uv_poll_t *poll, int status, int events) {
    struct lander *lander = poll->data;
    (void)status, (void)events;
    if (!answer_take(lander))
        lander_retire(lander);
}

void landers_retire_idle(struct landers *landers, int64_t idle_ms) {
    struct mono now = clock_mono();
    LIST_EACH (&landers->all, link) {
        struct lander *lander = LIST_OF(link, struct lander, link);
        if (lander->handle == 0 && !lander->is_retired &&
            mono_ms_since(now, lander->idle_since) >= idle_ms)
            lander_retire(lander);
    }
}

static void on_idle(uv_timer_t *timer) {
    struct landers *landers = timer->data;
    landers_retire_idle(landers, IDLE_MS);
    if (list_empty(&landers->all))
        uv_timer_stop(timer);
}

struct landers *landers_new(uv_loop_t *loop, struct guard *guard,
                            const struct landers_events *events, void *ctx) {
    struct landers *landers = mem_alloc(sizeof *landers);
    *landers = (struct landers){.loop = loop,
                                .guard = guard,
                                .events = *events,
                                .ctx = ctx,
                                .last_id = LANDER_IDS,
                                .open = 1};
    list_init(&landers->all);
    uv_timer_init(loop, &landers->idle);
    landers->idle.data = landers;
    uv_unref((uv_handle_t *)&landers->idle);
    return landers;
}

static struct lander *lander_find(struct landers *landers, const char *name) {
    LIST_EACH (&landers->all, link) {
        struct lander *lander = LIST_OF(link, struct lander, link);
        if (strcmp(lander->name, name) == 0)
            return lander;
    }
    return NULL;
}

static struct lander *lander_new(struct landers *landers,
                                 const struct lander_start *start) {
    int ends[2];
    if (!sock_pair(ends, NULL))
        return NULL;
    struct lander *lander = mem_alloc(sizeof *lander);
    *lander = (struct lander){.landers = landers,
                              .id = ++landers->last_id,
                              .name = mem_string(start->name),
                              .sock = ends[0]};
    list_push(&landers->all, &lander->link);
    (void)fcntl(lander->sock, F_SETFL, O_NONBLOCK);
    uv_poll_init(landers->loop, &lander->poll, lander->sock);
    lander->poll.data = lander;
    landers->open++;
    uv_poll_start(&lander->poll, UV_READABLE, on_readable);
    uv_unref((uv_handle_t *)&lander->poll);
    guard_start(landers->guard, &(struct guard_start){
                                    .id = lander->id,
                                    .argv = start->argv,
                                    .envp = start->envp,
                                    .dir = start->dir,
                                    .mask = start->mask,
                                    .stdin_fd = ends[1],
                                    .outside_slots = true,
                                });
    fd_close(&ends[1]);
    uv_timer_start(&landers->idle, on_idle, IDLE_MS, IDLE_MS);
    return lander;
}

static bool request_send(struct lander *lander,
                         const struct lander_start *start) {
    const int fds[] = {[LANDER_FD_START] = start->start_fd,
                       [LANDER_FD_OUTPUT] = start->output_fd,
                       [LANDER_FD_LOCK] = start->lock_fd};
    return sock_send(lander->sock, SPAN("land"), fds,
                     start->lock_fd >= 0 ? 3 : 2, NULL);
}

bool landers_start(struct landers *landers, const struct lander_start *start) {
    struct lander *lander = lander_find(landers, start->name);
    if (lander == NULL)
        lander = lander_new(landers, start);
    if (lander == NULL || lander->is_retired || lander->handle != 0 ||
        lander->is_signalled || !request_send(lander, start))
        return false;
    lander->handle = start->handle;
    lander->starts++;
    landers->events.started(landers->ctx, lander->handle, lander->pid);
    return true;
}

void landers_kill(struct landers *landers, uint64_t handle, int signal,
                  int64_t grace_ms) {
    LIST_EACH (&landers->all, link) {
        struct lander *lander = LIST_OF(link, struct lander, link);
        if (lander->handle != handle)
            continue;
        lander->is_signalled = true;
        guard_kill(landers->guard, lander->id, signal, grace_ms);
    }
}

void landers_on_started(struct landers *landers, uint64_t id, pid_t pid) {
    LIST_EACH (&landers->all, link) {
        struct lander *lander = LIST_OF(link, struct lander, link);
        if (lander->id != id)
            continue;
        lander->pid = pid;
        if (lander->handle != 0)
            landers->events.started(landers->ctx, lander->handle, pid);
    }
}

/* It may have answered before it ended. */
static void lander_over(struct lander *lander, const struct guard_end *from) {
    (void)answer_take(lander);
    if (lander->handle != 0)
        report(lander, &(struct lander_end){.result = from->result,
                                            .error = from->error,
                                            .exit_code = from->exit_code,
                                            .signal = from->signal});
    lander_free(lander);
}

bool landers_on_ended(struct landers *landers, const struct guard_end *end) {
    LIST_EACH (&landers->all, link) {
        struct lander *lander = LIST_OF(link, struct lander, link);
        if (lander->id != end->id)
            continue;
        lander_over(lander, end);
        return true;
    }
    return false;
}

static void on_idle_closed(uv_handle_t *handle) {
    landers_unref(handle->data);
}

void landers_close(struct landers *landers, void (*closed)(void *ctx),
                   void *ctx) {
    landers->is_closing = true;
    landers->closed = closed;
    landers->closed_ctx = ctx;
    while (!list_empty(&landers->all))
        lander_free(LIST_OF(landers->all.next, struct lander, link));
    uv_close((uv_handle_t *)&landers->idle, on_idle_closed);
}
