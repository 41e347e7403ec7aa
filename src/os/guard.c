#include "os/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/list.h"
#include "lib/log.h"
#include "lib/map.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/guard_frame.h"
#include "os/guard_outbox.h"
#include "os/guard_process.h"
#include "os/process.h"

enum {
    READ_BYTES = 256 << 10,
    READY_WAIT_MS = 60000,
    CLOSE_WAIT_MS = 30000, /* the guard itself waits for less */
    REPLY_MS = 10000,
    LOOKS = 10,         /* within the reply deadline */
    BUSY_DEADLINES = 6, /* of a guard that is not stopped, but silent */
    STEP_MS = 10,       /* between looks whether a killed guard is gone */
    GONE_WAIT_MS = 30000,
    RESTART_MS = 1000, /* after a short life; doubled each time */
    RESTART_MAX_MS = 30000,
    SHORT_LIFE_MS = 60000
};

/* A guard that is lost is killed; when it is gone, and in case of short lives a
 * while later, the next one is started. */
enum state {
    RUNNING,
    ENDING,
    WAITING,
    STARTING,
    CLOSED /* closing, and the guard is gone */
};

/* A start whose end was not reported yet. */
struct unfinished {
    struct list link;
    uint64_t id;
};

/* A start that is not sent: its end is reported from the loop. */
struct refused {
    uint64_t id;
    enum guard_result result;
};

/* The handle outlives the descriptor that it polls. */
struct guard_poll {
    uv_poll_t handle;
    struct guard *guard;
};

struct guard {
    uv_loop_t *loop;
    struct guard_options options;
    struct guard_events events;
    void *ctx;
    enum state state;
    struct guard_process process;
    struct guard_poll *poll; /* NULL: no socket */
    int polled;              /* events that the handle waits for */
    uv_prepare_t prepare;
    uv_timer_t timer;
    unsigned handles; /* not yet closed */
    struct text in;
    struct guard_outbox out;
    struct refused *refused;
    size_t refused_count;
    struct list unfinished; /* of struct unfinished.link */
    struct list lost;       /* of a guard that is gone */
    struct map by_id;       /* the unfinished ones */
    struct boot lease;
    /* How long there was no sign of life, and how long one of its threads has
     * been stopped: only time in which we ran ourselves. */
    int64_t silent_ms, stopped_ms;
    bool is_heard;     /* since the last look */
    struct mono since; /* when the state began */
    int64_t step_ms;   /* between two looks */
    int64_t pause_ms;  /* before the next guard is started */
    bool closing;
    void (*closed)(void *ctx);
    void *closed_ctx;
    bool has_cgroup;
    unsigned slots_most;
    char *mode, *controllers;
    char *tree_kept; /* of a guard that was handed over */
};

/* ---- the socket ---------------------------------------------------------- */

/* Appends what has arrived. 0: nothing now; -1: the guard is gone. */
static int read_some(struct guard *guard) {
    text_reserve(&guard->in, READ_BYTES);
    ssize_t n = recv(guard->process.fd, guard->in.p + guard->in.len, READ_BYTES,
                     MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return -1;
    guard->in.len += (size_t)n;
    guard->is_heard = true;
    return 1;
}

static void on_poll(uv_poll_t *poll, int status, int events);

static void ask_poll(struct guard *guard, int events) {
    if (guard->polled == events || guard->poll == NULL)
        return;
    guard->polled = events;
    uv_poll_start(&guard->poll->handle, events, on_poll);
}

static void poll_open(struct guard *guard) {
    guard->poll = mem_alloc(sizeof *guard->poll);
    guard->poll->guard = guard;
    guard->poll->handle.data = guard->poll;
    uv_poll_init(guard->loop, &guard->poll->handle, guard->process.fd);
    guard->polled = 0;
    ask_poll(guard, UV_READABLE);
}

static void poll_closed(uv_handle_t *handle) {
    free(handle->data);
}

static void poll_close(struct guard *guard) {
    if (guard->poll == NULL)
        return;
    guard->poll->guard = NULL;
    uv_close((uv_handle_t *)&guard->poll->handle, poll_closed);
    guard->poll = NULL;
}

void guard_flush(struct guard *guard) {
    if (guard->state != RUNNING || guard->closing)
        return;
    bool all = guard_outbox_send(&guard->out, guard->process.fd);
    /* If not, the socket is full, or the guard is dead: then reading reports
     * it. */
    ask_poll(guard, UV_READABLE | (all ? 0 : UV_WRITABLE));
}

/* ---- unfinished starts --------------------------------------------------- */

static void on_timer(uv_timer_t *timer);

/* How often to look at a guard that runs: rarely, if nothing depends on it. */
static int64_t look_ms(const struct guard *guard) {
    return list_empty(&guard->unfinished) && !guard->closing
               ? guard->options.reply_ms
               : guard->options.reply_ms / LOOKS;
}

static void arm(struct guard *guard, int64_t ms) {
    guard->step_ms = ms;
    uv_timer_start(&guard->timer, on_timer, (uint64_t)ms, (uint64_t)ms);
}

static void unfinished_add(struct guard *guard, uint64_t id) {
    struct unfinished *it = mem_alloc(sizeof *it);
    bool first = list_empty(&guard->unfinished);
    it->id = id;
    list_push(&guard->unfinished, &it->link);
    map_put(&guard->by_id, map_num_key(&it->id), it);
    if (first && guard->state == RUNNING && guard->poll != NULL)
        arm(guard, look_ms(guard));
}

static void unfinished_free(struct unfinished *it) {
    list_remove(&it->link);
    free(it);
}

static void report_end(struct guard *guard, const struct guard_end *end) {
    struct unfinished *it = map_remove(&guard->by_id, map_num_key(&end->id));
    if (it != NULL)
        unfinished_free(it);
    if (end->result == GUARD_TEMPORARY)
        arm(guard, 1); /* a task may have lowered its limits */
    if (guard->events.ended != NULL)
        guard->events.ended(guard->ctx, end);
}

static void unfinished_clear(struct guard *guard) {
    while (!list_empty(&guard->unfinished))
        unfinished_free(
            LIST_OF(guard->unfinished.next, struct unfinished, link));
    while (!list_empty(&guard->lost))
        unfinished_free(LIST_OF(guard->lost.next, struct unfinished, link));
    map_clear(&guard->by_id);
}

/* Nothing of these tasks is left: the next guard has made sure of it. */
static void report_lost(struct guard *guard) {
    struct list *link;
    while (!guard->closing && (link = list_pop(&guard->lost)) != NULL) {
        struct unfinished *it = LIST_OF(link, struct unfinished, link);
        struct guard_end end = {.id = it->id,
                                .result = GUARD_LOST,
                                .exit_code = -1,
                                .error = SPAN("its supervisor died")};
        free(it);
        if (guard->events.ended != NULL)
            guard->events.ended(guard->ctx, &end);
    }
}

/* ---- lives --------------------------------------------------------------- */

static void enter(struct guard *guard, enum state state,
                  int64_t look_every_ms) {
    guard->state = state;
    guard->since = clock_mono();
    guard->silent_ms = guard->stopped_ms = 0;
    arm(guard, look_every_ms);
}

static void on_handle_closed(uv_handle_t *handle) {
    struct guard *guard = handle->data;
    if (--guard->handles > 0)
        return;
    void (*closed)(void *) = guard->closed;
    void *ctx = guard->closed_ctx;
    unfinished_clear(guard);
    text_clear(&guard->in);
    guard_outbox_clear(&guard->out);
    free(guard->refused);
    free(guard->mode);
    free(guard->controllers);
    free(guard->tree_kept);
    free(guard);
    if (closed != NULL)
        closed(ctx);
}

/* Closing: the guard is gone, or nothing more can be done about it. */
static void close_now(struct guard *guard) {
    if (guard->state == CLOSED)
        return;
    guard->state = CLOSED;
    poll_close(guard);
    guard_process_close(&guard->process);
    guard_outbox_drop(&guard->out);
    guard->handles = 2;
    uv_close((uv_handle_t *)&guard->prepare, on_handle_closed);
    uv_close((uv_handle_t *)&guard->timer, on_handle_closed);
}

/* Ends the guard and, through its cgroup and the death signal, its tasks; what
 * is left is up to the next guard. */
static void kill_guard(struct guard *guard) {
    poll_close(guard);
    guard_process_kill(&guard->process);
    fd_close(&guard->process.fd);
    text_reset(&guard->in);
}

/* A guard that lives only for a moment, because a task kills it or the machine
 * is short of something, is not replaced at once. */
static void choose_pause(struct guard *guard, int64_t lived_ms) {
    bool is_short = lived_ms < SHORT_LIFE_MS;
    guard->pause_ms = !is_short              ? 0
                      : guard->pause_ms == 0 ? 1
                      : guard->pause_ms == 1 ? RESTART_MS
                                             : 2 * guard->pause_ms;
    if (guard->pause_ms > RESTART_MAX_MS)
        guard->pause_ms = RESTART_MAX_MS;
}

static void say_lost(struct guard *guard, const char *why) {
    if (!guard->closing && guard->events.lost != NULL)
        guard->events.lost(guard->ctx, why);
}

/* The guard that runs, or is being started, is of no use any more. */
static void lose(struct guard *guard, const char *why) {
    choose_pause(guard, guard->state == STARTING
                            ? 0
                            : mono_ms_since(clock_mono(), guard->since));
    /* Also of a guard that never became ready: nothing was sent to it. */
    if (guard->state == RUNNING) {
        struct list *link;
        while ((link = list_pop(&guard->unfinished)) != NULL)
            list_push(&guard->lost, link);
        map_clear(&guard->by_id);
        guard_outbox_drop(&guard->out);
    }
    kill_guard(guard);
    enter(guard, ENDING, STEP_MS);
    say_lost(guard, why);
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
    free(guard->mode);
    free(guard->controllers);
    guard->has_cgroup = ready.has_cgroup;
    guard->mode = span_string(ready.mode);
    guard->controllers = span_string(ready.controllers);
    guard->slots_most = ready.slots_most;
    guard->process.tree = ready.tree.len > 0 ? mem_string(ready.tree.p) : NULL;
    return true;
}

/* 1: it is ready; 0: not yet; -1: it never will be. */
static int look_ready(struct guard *guard, struct err *err) {
    struct span rest = text_span(&guard->in), body;
    enum guard_frame_kind kind;
    enum guard_frame_found found = guard_frame_take(&rest, &kind, &body);
    if (found == GUARD_FRAME_NONE)
        return 0;
    bool ok = found == GUARD_FRAME_WHOLE &&
              (kind == GUARD_FRAME_READY || kind == GUARD_FRAME_FAILED);
    if (!ok)
        err_set(err, ERR_INTERNAL, "the supervisor sent an invalid frame");
    ok = ok && take_ready(guard, body, kind, err);
    text_reset(&guard->in);
    return ok ? 1 : -1;
}

static void begin_running(struct guard *guard) {
    guard_process_note_limits(&guard->process);
    enter(guard, RUNNING, look_ms(guard));
    guard->is_heard = false;
}

static void say(struct guard *guard, enum guard_frame_kind kind, uint64_t id,
                int64_t number, int64_t grace_ms) {
    struct guard_command word = {id, number, grace_ms};
    if (!guard->closing)
        guard_command_encode(&guard->out.frames, kind, &word);
}

/* The next guard is ready. */
static void resume(struct guard *guard) {
    begin_running(guard);
    if (guard->lease.ns > 0)
        say(guard, GUARD_FRAME_LEASE, 0, guard->lease.ns, 0);
    if (guard->events.restored != NULL)
        guard->events.restored(guard->ctx);
    report_lost(guard);
    guard_flush(guard);
}

static void start_next(struct guard *guard) {
    struct err err = {0};
    if (!guard_process_start(&guard->options, &guard->process, &err)) {
        enter(guard, STARTING, STEP_MS);
        lose(guard, err.text);
        return;
    }
    poll_open(guard);
    enter(guard, STARTING, guard->options.reply_ms / LOOKS);
}

/* ---- what arrives -------------------------------------------------------- */

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
    struct guard_command answer;
    struct guard_end end;
    if (kind == GUARD_FRAME_PONG) /* reading it was all */
        return guard_command_decode(body, &answer);
    if (kind == GUARD_FRAME_USAGE)
        return report_usage(guard, body);
    if (kind != GUARD_FRAME_ENDED)
        return report_news(guard, kind, body);
    if (!guard_end_decode(body, &end))
        return false;
    report_end(guard, &end);
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

static void read_ready(struct guard *guard) {
    struct err err = {0};
    int ready = look_ready(guard, &err);
    if (ready > 0)
        resume(guard);
    else if (ready < 0)
        lose(guard, err.text);
}

static void read_frames(struct guard *guard) {
    int n = read_some(guard);
    if (n < 0 && guard->closing)
        close_now(guard);
    else if (n < 0)
        lose(guard, guard->state == STARTING
                        ? "the supervisor ended before it was ready"
                        : "the supervisor died");
    else if (n > 0 && guard->state == STARTING)
        read_ready(guard);
    else if (n > 0)
        report_frames(guard);
}

static void on_poll(uv_poll_t *poll, int status, int events) {
    struct guard *guard = ((struct guard_poll *)poll->data)->guard;
    if ((events & UV_WRITABLE) != 0)
        guard_flush(guard);
    if (status < 0 || (events & UV_READABLE) != 0)
        read_frames(guard);
}

/* ---- what does not arrive ------------------------------------------------ */

/* A guard is looked at in steps, and each counts only as long as it should have
 * taken: if this process was stopped, or waited for the disk, the guard had no
 * chance to be heard. One that is only slow, say because its disk is, has more
 * time than one that somebody has stopped. */
static const char *find_fault(struct guard *guard) {
    int64_t reply_ms = guard->options.reply_ms;
    bool is_stopped = process_is_stopped(guard->process.pid);
    guard->silent_ms = guard->is_heard ? 0 : guard->silent_ms + guard->step_ms;
    guard->stopped_ms = is_stopped ? guard->stopped_ms + guard->step_ms : 0;
    guard->is_heard = false;
    if (guard->stopped_ms >= reply_ms)
        return "the supervisor was stopped";
    return guard->silent_ms >= BUSY_DEADLINES * reply_ms
               ? "the supervisor does not answer"
               : NULL;
}

/* What only stands in the way of its tasks is set right, and nothing is lost.
 * The result is what cannot be. */
static const char *mend(const struct guard *guard) {
    const char *fault;
    if (!guard_process_mend(&guard->process, &fault))
        return fault;
    if (fault != NULL)
        log_warning("%s, and has been set right", fault);
    return NULL;
}

static void look_running(struct guard *guard) {
    if (read_some(guard) > 0)
        report_frames(guard);
    if (guard->state != RUNNING || guard->closing)
        return;
    const char *fault = mend(guard);
    if (fault == NULL)
        fault = find_fault(guard);
    if (fault != NULL) {
        lose(guard, fault);
        return;
    }
    if (guard->silent_ms > 0 && guard->out.frames.len == 0)
        say(guard, GUARD_FRAME_PING, 0, 0, 0);
    guard_flush(guard);
    arm(guard, look_ms(guard));
}

static void look_ending(struct guard *guard) {
    if (guard_process_is_over(&guard->process)) {
        guard_process_close(&guard->process);
        enter(guard, WAITING, guard->pause_ms > 0 ? guard->pause_ms : 1);
        return;
    }
    guard_process_kill(&guard->process);
    if (mono_ms_since(clock_mono(), guard->since) >= GONE_WAIT_MS) {
        guard->since = clock_mono();
        say_lost(guard, "the supervisor has been killed but does not end");
    }
}

static void look_starting(struct guard *guard) {
    if (mono_ms_since(clock_mono(), guard->since) >= READY_WAIT_MS)
        lose(guard, "the supervisor was not ready in time");
}

static void look_closing(struct guard *guard) {
    if (guard->state != RUNNING || find_fault(guard) != NULL ||
        mono_ms_since(clock_mono(), guard->since) >= CLOSE_WAIT_MS) {
        kill_guard(guard);
        close_now(guard);
    }
}

static void on_timer(uv_timer_t *timer) {
    struct guard *guard = timer->data;
    if (guard->closing)
        look_closing(guard);
    else if (guard->state == RUNNING)
        look_running(guard);
    else if (guard->state == ENDING)
        look_ending(guard);
    else if (guard->state == WAITING)
        start_next(guard);
    else
        look_starting(guard);
}

/* ---- opening ------------------------------------------------------------- */

static void on_prepare(uv_prepare_t *prepare) {
    struct guard *guard = prepare->data;
    while (guard->refused_count > 0 && !guard->closing) {
        struct refused refused = guard->refused[--guard->refused_count];
        struct guard_end end = {
            .id = refused.id,
            .result = refused.result,
            .exit_code =
                refused.result == GUARD_CANNOT ? GUARD_NOT_EXECUTABLE : -1,
            .error = refused.result == GUARD_CANNOT
                         ? SPAN("the command and its environment are too long")
                         : SPAN("too many open files")};
        if (guard->events.ended != NULL)
            guard->events.ended(guard->ctx, &end);
    }
    guard_flush(guard);
}

static void open_handles(struct guard *guard) {
    guard->prepare.data = guard->timer.data = guard;
    uv_prepare_init(guard->loop, &guard->prepare);
    uv_timer_init(guard->loop, &guard->timer);
    uv_prepare_start(&guard->prepare, on_prepare);
    uv_unref((uv_handle_t *)&guard->prepare);
    poll_open(guard);
    begin_running(guard);
}

/* The only wait outside the loop: at the start, until earlier lives have ended.
 */
static bool await_ready(struct guard *guard, struct err *err) {
    for (;;) {
        int ready = look_ready(guard, err);
        if (ready != 0)
            return ready > 0;
        struct pollfd wait = {.fd = guard->process.fd, .events = POLLIN};
        int n = poll(&wait, 1, READY_WAIT_MS);
        if (n == 0)
            return err_set(err, ERR_TIMEOUT, "it did not answer in time");
        if (n > 0 && read_some(guard) < 0)
            return err_set(err, ERR_UNAVAILABLE, "it ended at once");
    }
}

static struct guard *guard_new(uv_loop_t *loop,
                               const struct guard_options *options,
                               const struct guard_events *events, void *ctx) {
    struct guard *guard = mem_alloc(sizeof *guard);
    *guard = (struct guard){.loop = loop,
                            .options = *options,
                            .events = *events,
                            .ctx = ctx,
                            .process = GUARD_PROCESS_INIT};
    list_init(&guard->unfinished);
    list_init(&guard->lost);
    if (guard->options.reply_ms == 0)
        guard->options.reply_ms = REPLY_MS;
    return guard;
}

bool guard_open(uv_loop_t *loop, const struct guard_options *options,
                const struct guard_events *events, void *ctx,
                struct guard **ret_guard, struct err *err) {
    struct guard *guard = guard_new(loop, options, events, ctx);
    if (guard_process_start(options, &guard->process, err) &&
        await_ready(guard, err)) {
        open_handles(guard);
        *ret_guard = guard;
        return true;
    }
    guard_process_kill(&guard->process);
    guard_process_close(&guard->process);
    text_clear(&guard->in);
    free(guard);
    return err_wrap(err, "cannot start the supervisor");
}

/* ---- another program in this process ------------------------------------- */

bool guard_is_settled(const struct guard *guard) {
    return guard->state == RUNNING && !guard->closing && guard->in.len == 0 &&
           guard->out.frames.len == 0 && guard->refused_count == 0;
}

size_t guard_unfinished(const struct guard *guard) {
    return map_count(&guard->by_id);
}

void guard_hand_over(struct guard *guard, struct guard_handover *ret_handover) {
    struct guard_process *process = &guard->process;
    *ret_handover = (struct guard_handover){
        .fd = process->fd,
        .pid = process->pid,
        .has_cgroup = guard->has_cgroup,
        .mode = span_of(guard->mode),
        .tree = span_of(process->tree),
        .controllers = span_of(guard->controllers),
        .slots_most = guard->slots_most,
    };
    guard->tree_kept = process->tree;
    *process = GUARD_PROCESS_INIT;
    poll_close(guard);
    uv_timer_stop(&guard->timer);
    guard->state = ENDING;
}

bool guard_adopt(uv_loop_t *loop, const struct guard_options *options,
                 const struct guard_handover *handover,
                 const struct guard_events *events, void *ctx,
                 struct guard **ret_guard, struct err *err) {
    unsigned long long born = process_start(handover->pid);
    if (born == 0 || getpid() != process_parent(handover->pid))
        return err_set(err, ERR_UNAVAILABLE,
                       "the supervisor %d is no child of this process",
                       (int)handover->pid);
    struct guard *guard = guard_new(loop, options, events, ctx);
    guard->process = (struct guard_process){
        .fd = handover->fd,
        .pid = handover->pid,
        .born = born,
        .tree = handover->tree.len > 0 ? span_string(handover->tree) : NULL,
    };
    guard->has_cgroup = handover->has_cgroup;
    guard->mode = span_string(handover->mode);
    guard->controllers = span_string(handover->controllers);
    guard->slots_most = handover->slots_most;
    for (size_t i = 0; i < handover->id_count; i++)
        unfinished_add(guard, handover->ids[i]);
    open_handles(guard);
    *ret_guard = guard;
    return true;
}

/* ---- requests ------------------------------------------------------------ */

static void refuse_start(struct guard *guard, uint64_t id,
                         enum guard_result result) {
    guard->refused = mem_grow(guard->refused, guard->refused_count + 1,
                              sizeof *guard->refused);
    guard->refused[guard->refused_count++] = (struct refused){id, result};
}

void guard_start(struct guard *guard, const struct guard_start *start) {
    if (guard->closing)
        return;
    size_t before = guard->out.frames.len;
    if (start->argv == NULL || start->argv[0] == NULL ||
        !guard_start_encode(&guard->out.frames, start)) {
        refuse_start(guard, start->id, GUARD_CANNOT);
        return;
    }
    if (start->stdin_fd >= 0 &&
        !guard_outbox_attach(&guard->out, start->stdin_fd, before)) {
        guard->out.frames.len = before;
        refuse_start(guard, start->id, GUARD_TEMPORARY);
        return;
    }
    unfinished_add(guard, start->id);
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
    guard->options.slots = slots;
    say(guard, GUARD_FRAME_SLOTS, 0, slots, 0);
}

void guard_lease(struct guard *guard, struct boot until) {
    if (until.ns > guard->lease.ns)
        guard->lease = until;
    say(guard, GUARD_FRAME_LEASE, 0, until.ns, 0);
}

void guard_close(struct guard *guard, void (*closed)(void *ctx), void *ctx) {
    if (guard->closing)
        return;
    guard->closing = true;
    guard->closed = closed;
    guard->closed_ctx = ctx;
    if (guard->state != RUNNING) {
        kill_guard(guard);
        close_now(guard);
        return;
    }
    shutdown(guard->process.fd, SHUT_WR);
    guard->polled = 0;
    ask_poll(guard, UV_READABLE);
    enter(guard, RUNNING, look_ms(guard));
}

bool guard_runs(const struct guard *guard) {
    return guard->state == RUNNING;
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

unsigned guard_slots_most(const struct guard *guard) {
    return guard->slots_most;
}

pid_t guard_pid(const struct guard *guard) {
    return guard->process.pid;
}
