#include "os/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/guard_frame.h"

enum {
    READ_BYTES = 256 << 10,
    SOCKET_BYTES = 1 << 20,
    GUARD_FD = 3, /* control, base, output: 3, 4, 5 in the guard */
    READY_WAIT_MS = 60000
};

struct guard {
    uv_loop_t *loop;
    uv_poll_t poll;
    uv_prepare_t prepare;
    unsigned handles; /* not yet closed */
    int fd;
    pid_t pid; /* 0: reaped */
    bool lost, closing;
    int polled; /* events that the poll handle waits for */
    struct text in, out;
    size_t sent;
    uint64_t *refused; /* ids of starts too large for a frame */
    size_t refused_count;
    struct guard_events events;
    void *ctx;
    void (*closed)(void *ctx);
    void *closed_ctx;
    bool has_cgroup;
    char *mode;
    char *tree; /* path of the cgroup tree, or NULL */
    char *controllers;
};

static int close_guard_fd(int *fd) {
    int ret = *fd >= 0 ? close(*fd) : 0;
    *fd = -1;
    return ret;
}

/* Copies a descriptor so that it is not 3, 4 or 5; closed on exec like all of
 * ours. */
static int copy_fd(int fd) {
    return fcntl(fd, F_DUPFD_CLOEXEC, GUARD_FD + 10);
}

static int spawn_guard(const char *executable, const int fds[3],
                       pid_t *ret_pid) {
    posix_spawn_file_actions_t actions;
    char number[16];
    snprintf(number, sizeof number, "%d", GUARD_FD);
    char name[] = "pointsman", verb[] = "guard", option[] = "--fd";
    char *argv[] = {name, verb, option, number, NULL};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    for (int i = 0; i < 3; i++)
        posix_spawn_file_actions_adddup2(&actions, fds[i], GUARD_FD + i);
    int sys = posix_spawn(ret_pid, executable, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return sys;
}

static bool start_guard(struct guard *guard,
                        const struct guard_options *options, struct err *err) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(err, errno, "cannot create a socket");
    for (int i = 0; i < 2; i++)
        setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &(int){SOCKET_BYTES},
                   sizeof(int));
    guard->fd = pair[0];
    int output_fd =
        options->output_fd > 0 ? options->output_fd : options->base_fd;
    int fds[3] = {copy_fd(pair[1]), copy_fd(options->base_fd),
                  copy_fd(output_fd)};
    close(pair[1]);
    int sys = EBADF;
    const char *executable =
        options->executable != NULL ? options->executable : "/proc/self/exe";
    if (fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0)
        sys = spawn_guard(executable, fds, &guard->pid);
    for (int i = 0; i < 3; i++)
        close_guard_fd(&fds[i]);
    if (sys != 0) {
        guard->pid = 0;
        return err_errno(err, sys, "cannot start '%s'", executable);
    }
    return true;
}

static struct span with_nul(const char *string) {
    return string == NULL || *string == '\0'
               ? (struct span){0}
               : span_make(string, strlen(string) + 1);
}

static bool say_hello(struct guard *guard, const struct guard_options *options,
                      struct err *err) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct guard_hello hello = {.launchers = options->launchers,
                                .slots = options->slots,
                                .any_cgroup = options->cgroup_root == NULL,
                                .leased = options->leased,
                                .role = with_nul(options->role),
                                .cgroup_root = with_nul(options->cgroup_root),
                                .life_path = with_nul(options->life_path)};
    guard_hello_encode(&out, &hello);
    if (send(guard->fd, out.p, out.len, MSG_NOSIGNAL) != (ssize_t)out.len)
        return err_errno(err, errno, "cannot connect to the supervisor");
    return true;
}

/* Appends what has arrived. 0: nothing now; -1: the guard is gone. */
static int read_some(struct guard *guard) {
    text_reserve(&guard->in, READ_BYTES);
    ssize_t n =
        recv(guard->fd, guard->in.p + guard->in.len, READ_BYTES, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return -1;
    guard->in.len += (size_t)n;
    return 1;
}

static bool take_ready(struct guard *guard, struct span body,
                       enum guard_frame_kind kind, struct err *err) {
    struct guard_ready ready;
    if (!guard_ready_decode(body, &ready))
        return err_set(err, ERR_INTERNAL,
                       "the supervisor sent an invalid frame");
    if (kind == GUARD_FRAME_FAILED)
        return err_set(err, ERR_UNAVAILABLE, "%.*s", (int)ready.mode.len,
                       ready.mode.len > 0 ? ready.mode.p : "");
    guard->has_cgroup = ready.has_cgroup;
    guard->mode = span_string(ready.mode);
    guard->controllers = span_string(ready.controllers);
    guard->tree = ready.tree.len > 0 ? mem_string(ready.tree.p) : NULL;
    return true;
}

/* The only wait outside the loop: at the start, until earlier lives have ended.
 */
static bool await_ready(struct guard *guard, struct err *err) {
    for (;;) {
        struct span rest = text_span(&guard->in), body;
        enum guard_frame_kind kind;
        enum guard_frame_found found = guard_frame_take(&rest, &kind, &body);
        if (found == GUARD_FRAME_WHOLE &&
            (kind == GUARD_FRAME_READY || kind == GUARD_FRAME_FAILED)) {
            bool ok = take_ready(guard, body, kind, err);
            text_reset(&guard->in);
            return ok;
        }
        if (found != GUARD_FRAME_NONE)
            return err_set(err, ERR_INTERNAL,
                           "the supervisor sent an invalid frame");
        struct pollfd wait = {.fd = guard->fd, .events = POLLIN};
        int n = poll(&wait, 1, READY_WAIT_MS);
        if (n == 0)
            return err_set(err, ERR_TIMEOUT, "it did not answer in time");
        if (n > 0 && read_some(guard) < 0)
            return err_set(err, ERR_UNAVAILABLE, "it ended at once");
    }
}

static void reap_guard(struct guard *guard) {
    if (guard->pid <= 0)
        return;
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    guard->pid = 0;
}

static void free_guard(struct guard *guard) {
    text_clear(&guard->in);
    text_clear(&guard->out);
    free(guard->refused);
    free(guard->mode);
    free(guard->tree);
    free(guard->controllers);
    close_guard_fd(&guard->fd);
    free(guard);
}

/* The guard's tasks: when the guard dies, the kernel kills the processes that
 * it started; we kill the others in its cgroup. */
static void lose(struct guard *guard, const char *why) {
    char path[PATH_MAX + 16];
    if (guard->lost)
        return;
    guard->lost = true;
    uv_poll_stop(&guard->poll);
    if (guard->tree != NULL) {
        snprintf(path, sizeof path, "%s/cgroup.kill", guard->tree);
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd >= 0) {
            UNUSED ssize_t n = write(fd, "1", 1);
            close(fd);
        }
    }
    if (guard->pid > 0)
        kill(guard->pid, SIGKILL);
    reap_guard(guard);
    if (!guard->closing && guard->events.lost != NULL)
        guard->events.lost(guard->ctx, why);
}

static bool report_news(struct guard *guard, enum guard_frame_kind kind,
                        struct span body) {
    struct guard_report news;
    if (!guard_report_decode(body, &news))
        return false;
    if (kind == GUARD_FRAME_STARTED && guard->events.started != NULL)
        guard->events.started(guard->ctx, news.id, news.pid, news.at);
    if (kind == GUARD_FRAME_PROGRESS && guard->events.progress != NULL)
        guard->events.progress(guard->ctx, news.id, news.line);
    return true;
}

static bool report_usage(struct guard *guard, struct span body) {
    struct guard_usage usage;
    if (!guard_usage_decode(body, &usage))
        return false;
    if (guard->events.usage != NULL)
        guard->events.usage(guard->ctx, &usage);
    return true;
}

static bool dispatch(struct guard *guard, enum guard_frame_kind kind,
                     struct span body) {
    struct guard_end end;
    if (kind == GUARD_FRAME_USAGE)
        return report_usage(guard, body);
    if (kind != GUARD_FRAME_ENDED)
        return report_news(guard, kind, body);
    if (!guard_end_decode(body, &end))
        return false;
    if (guard->events.ended != NULL)
        guard->events.ended(guard->ctx, &end);
    return true;
}

static void report_frames(struct guard *guard) {
    struct span rest = text_span(&guard->in);
    enum guard_frame_kind kind;
    struct span body;
    enum guard_frame_found found;
    bool sane = true;
    while (sane && !guard->closing &&
           (found = guard_frame_take(&rest, &kind, &body)) != GUARD_FRAME_NONE)
        sane = found == GUARD_FRAME_WHOLE && dispatch(guard, kind, body);
    if (guard->closing)
        rest.len = 0;
    if (rest.len > 0)
        memmove(guard->in.p, rest.p, rest.len);
    guard->in.len = rest.len;
    if (!sane)
        lose(guard, "the supervisor sent an invalid frame");
}

static void handle_closed(uv_handle_t *handle) {
    struct guard *guard = handle->data;
    if (--guard->handles > 0)
        return;
    void (*closed)(void *) = guard->closed;
    void *ctx = guard->closed_ctx;
    free_guard(guard);
    if (closed != NULL)
        closed(ctx);
}

static void close_handles(struct guard *guard) {
    if (uv_is_closing((uv_handle_t *)&guard->poll))
        return;
    uv_close((uv_handle_t *)&guard->poll, handle_closed);
    uv_close((uv_handle_t *)&guard->prepare, handle_closed);
}

static void on_poll(uv_poll_t *poll, int status, int events);

static void ask_poll(struct guard *guard, int events) {
    if (guard->polled == events || guard->lost)
        return;
    guard->polled = events;
    uv_poll_start(&guard->poll, events, on_poll);
}

static void on_poll(uv_poll_t *poll, int status, int events) {
    struct guard *guard = poll->data;
    if ((events & UV_WRITABLE) != 0)
        guard_flush(guard);
    if (status < 0 || (events & UV_READABLE) != 0) {
        int n = read_some(guard);
        if (n > 0)
            report_frames(guard);
        else if (n < 0)
            lose(guard, "the supervisor died");
    }
    if (guard->lost && guard->closing)
        close_handles(guard);
}

static void on_prepare(uv_prepare_t *prepare) {
    struct guard *guard = prepare->data;
    while (guard->refused_count > 0 && !guard->closing && !guard->lost) {
        struct guard_end end = {
            .id = guard->refused[--guard->refused_count],
            .result = GUARD_CANNOT,
            .exit_code = GUARD_NOT_EXECUTABLE,
            .error = SPAN("the command and its environment are too long")};
        if (guard->events.ended != NULL)
            guard->events.ended(guard->ctx, &end);
    }
    guard_flush(guard);
}

static void open_handles(struct guard *guard) {
    guard->poll.data = guard->prepare.data = guard;
    uv_poll_init(guard->loop, &guard->poll, guard->fd);
    uv_prepare_init(guard->loop, &guard->prepare);
    guard->handles = 2;
    uv_prepare_start(&guard->prepare, on_prepare);
    uv_unref((uv_handle_t *)&guard->prepare);
    ask_poll(guard, UV_READABLE);
}

bool guard_open(uv_loop_t *loop, const struct guard_options *options,
                const struct guard_events *events, void *ctx,
                struct guard **ret_guard, struct err *err) {
    struct guard *guard = mem_alloc(sizeof *guard);
    guard->loop = loop;
    guard->fd = -1;
    guard->events = *events;
    guard->ctx = ctx;
    if (start_guard(guard, options, err) && say_hello(guard, options, err) &&
        await_ready(guard, err)) {
        open_handles(guard);
        *ret_guard = guard;
        return true;
    }
    close_guard_fd(&guard->fd);
    reap_guard(guard);
    free_guard(guard);
    return err_wrap(err, "cannot start the supervisor");
}

static size_t send_plain(struct guard *guard, size_t bytes) {
    ssize_t n = send(guard->fd, guard->out.p + guard->sent, bytes,
                     MSG_DONTWAIT | MSG_NOSIGNAL);
    return n > 0 ? (size_t)n : 0;
}

void guard_flush(struct guard *guard) {
    while (!guard->lost && !guard->closing && guard->sent < guard->out.len) {
        size_t n = send_plain(guard, guard->out.len - guard->sent);
        if (n == 0) {
            /* The socket is full, or the guard is dead: then reading reports
             * it. */
            ask_poll(guard, UV_READABLE | UV_WRITABLE);
            return;
        }
        guard->sent += n;
    }
    guard->sent = 0;
    text_reset(&guard->out);
    ask_poll(guard, UV_READABLE);
}

/* A descriptor is sent with the first byte of its frame: all earlier bytes must
 * be sent first. The wait for this one byte is rare enough to be acceptable. */
static bool send_with_fd(struct guard *guard, const struct text *frame,
                         int fd) {
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = frame->p, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    ssize_t n;
    do
        n = sendmsg(guard->fd, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == 1;
}

static void start_with_stdin(struct guard *guard,
                             const struct guard_start *start) {
    CLEANUP(text_clear) struct text frame = TEXT_INIT;
    if (!guard_start_encode(&frame, start))
        return;
    while (guard->sent < guard->out.len && !guard->lost) {
        size_t n = send_plain(guard, guard->out.len - guard->sent);
        struct pollfd wait = {.fd = guard->fd, .events = POLLOUT};
        if (n == 0 && (poll(&wait, 1, -1) < 0 ||
                       (wait.revents & (POLLHUP | POLLERR)) != 0))
            return;
        guard->sent += n;
    }
    guard->sent = 0;
    text_reset(&guard->out);
    if (send_with_fd(guard, &frame, start->stdin_fd))
        text_add(&guard->out, frame.p + 1, frame.len - 1);
}

static void refuse_start(struct guard *guard, uint64_t id) {
    guard->refused = mem_grow(guard->refused, guard->refused_count + 1,
                              sizeof *guard->refused);
    guard->refused[guard->refused_count++] = id;
}

void guard_start(struct guard *guard, const struct guard_start *start) {
    if (guard->lost || guard->closing)
        return;
    size_t before = guard->out.len;
    if (start->argv == NULL || start->argv[0] == NULL ||
        !guard_start_encode(&guard->out, start)) {
        refuse_start(guard, start->id);
        return;
    }
    if (start->stdin_fd >= 0) {
        guard->out.len = before;
        start_with_stdin(guard, start);
    }
}

static void say(struct guard *guard, enum guard_frame_kind kind, uint64_t id,
                int64_t number, int64_t grace_ms) {
    struct guard_command word = {id, number, grace_ms};
    if (!guard->lost && !guard->closing)
        guard_command_encode(&guard->out, kind, &word);
}

void guard_kill(struct guard *guard, uint64_t id, int signal,
                int64_t grace_ms) {
    say(guard, GUARD_FRAME_KILL, id, signal, grace_ms);
}

void guard_withdraw(struct guard *guard, uint64_t id) {
    say(guard, GUARD_FRAME_KILL, id, 0, 0);
}

void guard_release(struct guard *guard, uint64_t id) {
    say(guard, GUARD_FRAME_RELEASE, id, 0, 0);
}

void guard_set_slots(struct guard *guard, unsigned slots) {
    say(guard, GUARD_FRAME_SLOTS, 0, slots, 0);
}

void guard_lease(struct guard *guard, struct boot until) {
    say(guard, GUARD_FRAME_LEASE, 0, until.ns, 0);
}

void guard_close(struct guard *guard, void (*closed)(void *ctx), void *ctx) {
    if (guard->closing)
        return;
    guard->closing = true;
    guard->closed = closed;
    guard->closed_ctx = ctx;
    if (guard->lost) {
        close_handles(guard);
        return;
    }
    shutdown(guard->fd, SHUT_WR);
    guard->polled = 0;
    ask_poll(guard, UV_READABLE);
}

const char *guard_mode(const struct guard *guard) {
    return guard->mode;
}

bool guard_has_cgroup(const struct guard *guard) {
    return guard->has_cgroup;
}

const char *guard_controllers(const struct guard *guard) {
    return guard->controllers;
}

pid_t guard_pid(const struct guard *guard) {
    return guard->pid;
}
