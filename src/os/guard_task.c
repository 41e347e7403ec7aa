#include "os/guard_task.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/process.h"

enum { READS_A_TURN = 8, NAMED_MAX = 8, LINE_BYTES = 8 << 10 /* of most */ };

static const struct pipe_ends no_pipe = {.ours = -1, .theirs = -1};

/* Makes pointers to `count` consecutive strings. */
static char *point_at(char **pointers, uint32_t count, char *strings) {
    for (uint32_t i = 0; i < count; i++) {
        pointers[i] = strings;
        strings += strlen(strings) + 1;
    }
    pointers[count] = NULL;
    return strings;
}

static const char *search_path(char *const *envp) {
    for (; *envp != NULL; envp++)
        if (strncmp(*envp, "PATH=", 5) == 0)
            return *envp + 5;
    return NULL;
}

static char *put(char **at, struct span span) {
    char *p = *at;
    if (span.len == 0)
        return NULL;
    memcpy(p, span.p, span.len);
    *at += span.len;
    return p;
}

static size_t strings_bytes(const struct guard_start_frame *start) {
    return start->argv.len + start->env.len + start->dir.len +
           start->lock_path.len + start->output_path.len;
}

/* One allocation: struct, pointers, limits, groups, strings, in order of their
 * alignment. */
struct guard_task *guard_task_new(const struct guard_start_frame *start,
                                  int output_fd, int stdin_fd) {
    struct arena arena = ARENA_INIT;
    size_t pointers = (size_t)start->argc + start->envc + 3;
    struct guard_task *task = arena_alloc(
        &arena, sizeof *task + pointers * sizeof(char *) + start->limits.len +
                    start->groups.len + strings_bytes(start));
    task->arena = arena;
    task->status.arena = task->progress.arena = &task->arena;
    task->status.max = GUARD_TASK_STATUS_MAX;
    task->progress.max = GUARD_TASK_PROGRESS_MAX;
    char **argv = (char **)(void *)(task + 1);
    char *at = (char *)(argv + pointers);
    task->limits = (const void *)put(&at, start->limits);
    task->limit_count = start->limit_count;
    task->user =
        (struct guard_user){.uid = start->uid,
                            .gid = start->gid,
                            .groups = (const void *)put(&at, start->groups),
                            .group_count = start->group_count};
    list_init(&task->link);
    task->id = task->end.id = start->id;
    task->flags = start->flags;
    task->mask = (mode_t)start->mask & 0777;
    task->timeout_ms = start->timeout_ms;
    task->grace_ms = start->grace_ms;
    task->request.kill_at = MONO_NEVER;
    task->argv = argv + 1;
    task->envp = argv + 1 + start->argc + 1;
    char *strings = put(&at, start->argv);
    point_at(task->argv, start->argc, strings);
    strings = put(&at, start->env);
    point_at(task->envp, start->envc, strings);
    task->search = search_path(task->envp);
    task->dir = put(&at, start->dir);
    task->lock_path = put(&at, start->lock_path);
    const char *output_path = put(&at, start->output_path);
    guard_capture_init(&task->capture, output_fd, output_path,
                       start->inline_max, start->output_max);
    if ((start->flags & GUARD_START_STREAMS) != 0)
        guard_capture_stamp(&task->capture);
    guard_pace_init(&task->pace, start->output_lines);
    task->stdin_fd = stdin_fd;
    task->lock_fd = task->pidfd = task->canary_fd = -1;
    task->out[STAMP_OUT] = task->out[STAMP_ERR] = no_pipe;
    task->status.ends = task->progress.ends = no_pipe;
    task->end.exit_code = -1;
    task->due = task->timeout_at = task->kill_at = MONO_NEVER;
    task->spill_at = task->courtesy_at = task->give_up_at = MONO_NEVER;
    task->ask_at = task->flush_at = task->sample_at = task->report_at =
        MONO_NEVER;
    return task;
}

static void close_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_ends(struct pipe_ends *ends) {
    close_fd(&ends->ours);
    close_fd(&ends->theirs);
}

void guard_task_shrink(struct guard_task *task) {
    close_fd(&task->stdin_fd);
    close_fd(&task->pidfd);
    close_ends(&task->out[STAMP_OUT]);
    close_ends(&task->out[STAMP_ERR]);
    close_fd(&task->canary_fd);
    close_ends(&task->status.ends);
    close_ends(&task->progress.ends);
    guard_capture_clear(&task->capture);
}

void guard_task_free(struct guard_task *task) {
    if (task == NULL)
        return;
    guard_task_shrink(task);
    close_fd(&task->lock_fd);
    struct arena arena = task->arena; /* the task itself lies in it */
    arena_clear(&arena);
}

void guard_task_loosen(struct guard_task *task) {
    for (int i = STAMP_OUT; i <= STAMP_ERR; i++) {
        close_fd(&task->out[i].theirs);
        task->out[i].kept = false;
    }
}

/* Wall clock time, derived from when the task began: stamps never go backwards.
 */
static int64_t stamp_ms(const struct guard_task *task, struct mono now) {
    return (task->started.ns + now.ns - task->began.ns) / NS_PER_MS;
}

/* Charges the bytes. True if the task is in debt now. */
static bool charge(struct guard_task *task, struct span bytes,
                   struct mono now) {
    if (task->pace.line_ns == 0 || task->exited)
        return false;
    task->read_at = guard_pace_charge(&task->pace, bytes, now);
    return task->read_at.ns > now.ns;
}

/* Reads once. *ret_bytes > 0 unless the pipe is empty or has ended. */
static enum guard_task_pipe pipe_read(int fd, char *buffer, size_t *ret_bytes) {
    ssize_t n;
    do
        n = read(fd, buffer, GUARD_TASK_READ_BYTES);
    while (n < 0 && errno == EINTR);
    *ret_bytes = n > 0 ? (size_t)n : 0;
    return n > 0                      ? GUARD_TASK_PIPE_OPEN
           : n < 0 && errno == EAGAIN ? GUARD_TASK_PIPE_EMPTY
                                      : GUARD_TASK_PIPE_ENDED;
}

enum guard_task_pipe guard_task_read_out(struct guard_task *task,
                                         enum stamp_stream stream,
                                         char *buffer) {
    int fd = task->out[stream].ours;
    for (int turn = 0; turn < READS_A_TURN; turn++) {
        size_t bytes;
        enum guard_task_pipe state = pipe_read(fd, buffer, &bytes);
        if (state != GUARD_TASK_PIPE_OPEN)
            return state;
        struct mono now = clock_mono();
        guard_capture_add(&task->capture, stream, stamp_ms(task, now), buffer,
                          bytes);
        if (charge(task, span_make(buffer, bytes), now))
            break;
    }
    return GUARD_TASK_PIPE_OPEN;
}

static void take_line(struct line_pipe *pipe) {
    if (pipe->part_bytes == 0)
        return;
    pipe->line = span_make(pipe->buffers[pipe->filling], pipe->part_bytes);
    pipe->filling = !pipe->filling;
    pipe->part_bytes = 0;
    pipe->has_line = pipe->fresh = true;
}

static void buffer_grow(struct line_pipe *pipe, size_t bytes) {
    char **buffer = &pipe->buffers[pipe->filling];
    size_t *room = &pipe->room[pipe->filling];
    if (bytes <= *room)
        return;
    *room = bytes > 2 * *room ? bytes : 2 * *room;
    if (*room < LINE_BYTES)
        *room = LINE_BYTES;
    char *larger = arena_alloc(pipe->arena, *room);
    if (pipe->part_bytes > 0)
        memcpy(larger, *buffer, pipe->part_bytes);
    *buffer = larger;
}

/* Bytes that do not fit are cut off. */
static void add_part(struct line_pipe *pipe, const char *p, size_t bytes) {
    size_t room = pipe->max - pipe->part_bytes;
    if (bytes > room)
        bytes = room;
    if (bytes == 0)
        return;
    buffer_grow(pipe, pipe->part_bytes + bytes);
    memcpy(pipe->buffers[pipe->filling] + pipe->part_bytes, p, bytes);
    pipe->part_bytes += bytes;
}

static void add_lines(struct line_pipe *pipe, const char *p, size_t bytes) {
    while (bytes > 0) {
        const char *feed = memchr(p, '\n', bytes);
        size_t part = feed == NULL ? bytes : (size_t)(feed - p);
        add_part(pipe, p, part);
        if (feed == NULL)
            return;
        take_line(pipe);
        p += part + 1;
        bytes -= part + 1;
    }
}

enum guard_task_pipe guard_task_read_lines(struct line_pipe *pipe,
                                           char *buffer) {
    for (int turn = 0; turn < READS_A_TURN; turn++) {
        size_t bytes;
        enum guard_task_pipe state = pipe_read(pipe->ends.ours, buffer, &bytes);
        if (state != GUARD_TASK_PIPE_OPEN)
            return state;
        add_lines(pipe, buffer, bytes);
    }
    return GUARD_TASK_PIPE_OPEN;
}

void guard_task_end_lines(struct line_pipe *pipe, char *buffer) {
    if (pipe->ends.ours < 0)
        return;
    guard_task_read_lines(pipe, buffer);
    take_line(pipe);
    if (!pipe->ends.kept)
        close_fd(&pipe->ends.ours);
}

bool guard_task_pipes_closed(const struct guard_task *task) {
    return task->out[STAMP_OUT].ours < 0 && task->out[STAMP_ERR].ours < 0 &&
           (task->status.ends.ours < 0 || task->status.ends.kept) &&
           (task->progress.ends.ours < 0 || task->progress.ends.kept);
}

/* The pid cannot be reused before the process is reaped: even a zombie keeps
 * it, for itself and as its group id. */
void guard_task_signal(const struct guard_task *task, int signal) {
    pid_t pid = task->end.pid;
    if (task->reaped || pid <= 0)
        return;
    bool own_group = (task->flags & GUARD_START_NO_GROUP) == 0;
    if (own_group)
        kill(-pid, signal);
    /* It may have left its group, as shells with job control do. */
    if (!own_group || getpgid(pid) != pid)
        syscall(SYS_pidfd_send_signal, task->pidfd, signal, NULL, 0);
}

static void signal_child(const struct guard_task *task, int signal) {
    if (!task->reaped && task->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, task->pidfd, signal, NULL, 0);
}

static void ask(const struct guard_task *task, int signal) {
    if ((task->flags & GUARD_START_TO_CHILD) != 0)
        signal_child(task, signal);
    else if ((task->flags & GUARD_START_TO_CGROUP) != 0 && task->leaf != NULL)
        cgroup_leaf_signal(task->leaf, signal);
    else
        guard_task_signal(task, signal);
}

void guard_task_signal_all(const struct guard_task *task, int signal) {
    ask(task, signal);
    ask(task, SIGCONT);
}

void guard_task_request_add(struct guard_task_request *request, int signal,
                            int64_t grace_ms, struct mono now) {
    if (signal == SIGKILL || grace_ms == 0) {
        request->signal = SIGKILL;
        request->kill_at = MONO_NEVER;
    }
    if (request->signal == SIGKILL)
        return;
    request->signal = signal;
    if (grace_ms < 0)
        return;
    struct mono at = mono_add_ms(now, grace_ms);
    if (at.ns < request->kill_at.ns)
        request->kill_at = at;
}

void guard_task_kill(const struct guard_task *task) {
    guard_task_signal(task, SIGKILL);
    if (task->leaf != NULL)
        cgroup_leaf_kill(task->leaf);
}

static int64_t timeval_us(struct timeval time) {
    return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

static void note_end(struct guard_task *task) {
    task->end.ended = clock_wall();
    task->end.run_ns = clock_mono().ns - task->began.ns;
}

/* Calls waitid directly, since only the system call also returns usage. */
bool guard_task_reap(struct guard_task *task) {
    siginfo_t info = {0};
    struct rusage usage;
    struct guard_end *end = &task->end;
    if (syscall(SYS_waitid, P_PIDFD, task->pidfd, &info, WEXITED | WNOHANG,
                &usage) < 0 ||
        info.si_pid == 0)
        return false;
    task->exited = task->reaped = true;
    if (info.si_code == CLD_EXITED) {
        end->exit_code = info.si_status;
    } else {
        end->signal = info.si_status;
        end->core_dumped = info.si_code == CLD_DUMPED;
    }
    end->user_us = timeval_us(usage.ru_utime);
    end->system_us = timeval_us(usage.ru_stime);
    end->max_rss_kib = usage.ru_maxrss;
    end->read_bytes = usage.ru_inblock * 512;
    end->written_bytes = usage.ru_oublock * 512;
    note_end(task);
    return true;
}

void guard_task_give_up(struct guard_task *task) {
    int status = 0;
    struct guard_end *end = &task->end;
    note_end(task);
    if (!process_zombie_status(end->pid, &status))
        end->signal = SIGKILL;
    else if (WIFSIGNALED(status))
        end->signal = WTERMSIG(status);
    else
        end->exit_code = WEXITSTATUS(status);
}

/* True if a process holds the other end of the canary. */
static bool is_held(const struct guard_task *task) {
    struct pollfd canary = {.fd = task->canary_fd, .events = POLLIN};
    return task->canary_fd >= 0 &&
           (poll(&canary, 1, 0) == 0 || (canary.revents & POLLHUP) == 0);
}

static size_t find_survivors(const struct guard_task *task,
                             pid_t pids[NAMED_MAX]) {
    struct stat canary;
    if (task->leaf != NULL)
        return cgroup_leaf_pids(task->leaf, pids, NAMED_MAX);
    bool own_group = (task->flags & GUARD_START_NO_GROUP) == 0;
    bool held = is_held(task) && fstat(task->canary_fd, &canary) == 0;
    return process_find(own_group ? task->end.pid : -1, held ? &canary : NULL,
                        pids, NAMED_MAX);
}

void guard_task_name_survivors(struct guard_task *task) {
    CLEANUP(text_clear) struct text names = TEXT_INIT;
    pid_t pids[NAMED_MAX];
    size_t count = find_survivors(task, pids);
    if (!task->reaped) {
        process_describe(task->end.pid, &names);
        text_adds(&names, ", which ended and is traced by ");
        process_describe(process_tracer(task->end.pid), &names);
    }
    for (size_t i = 0; i < count; i++) {
        if (pids[i] == task->end.pid)
            continue;
        text_adds(&names, names.len > 0 ? ", " : "");
        process_describe(pids[i], &names);
    }
    if (count == NAMED_MAX)
        text_adds(&names, " and perhaps more");
    if (names.len == 0)
        text_adds(&names, "a process that holds its output open");
    task->end.error = arena_span(&task->arena, text_span(&names));
}

/* Orphans of the group are the guard's children by now: dead ones must be
 * reaped before the group is empty. Signal 0 is harmless to a process that
 * might have got the id in the meantime. */
static bool group_gone(pid_t group) {
    siginfo_t info;
    do
        info.si_pid = 0;
    while (waitid(P_PGID, (id_t)group, &info, WEXITED | WNOHANG) == 0 &&
           info.si_pid != 0);
    return kill(-group, 0) < 0 && errno == ESRCH;
}

bool guard_task_gone(const struct guard_task *task) {
    if (!task->reaped)
        return false;
    if (task->leaf != NULL)
        return !cgroup_leaf_populated(task->leaf);
    bool own_group = (task->flags & GUARD_START_NO_GROUP) == 0;
    return (!own_group || group_gone(task->end.pid)) && !is_held(task);
}

bool guard_task_kill_strays(const struct guard_task *task) {
    struct stat canary;
    return is_held(task) && fstat(task->canary_fd, &canary) == 0 &&
           process_kill_holders(&canary, PROCESS_WRITERS) > 0;
}

static void raise_to(int64_t *peak, uint64_t value) {
    if ((int64_t)value > *peak)
        *peak = (int64_t)value;
}

void guard_task_sample_first(struct guard_task *task,
                             const struct cgroup_tree *tree) {
    struct cgroup_usage leaf;
    uint64_t own_us, memory_kib, procs;
    task->sampled = true;
    if (task->leaf == NULL || !task->leaf->used)
        return;
    cgroup_leaf_usage(tree, task->leaf, &leaf);
    process_usage(task->end.pid, &own_us, &memory_kib, &procs);
    task->cpu_before_us = leaf.cpu_us > own_us ? leaf.cpu_us - own_us : 0;
}

void guard_task_sample(struct guard_task *task, const struct cgroup_tree *tree,
                       struct guard_usage *ret_usage) {
    struct guard_end *end = &task->end;
    struct cgroup_usage usage = {0};
    if (task->leaf != NULL)
        cgroup_leaf_usage(tree, task->leaf, &usage);
    else if (!task->reaped)
        process_usage(end->pid, &usage.cpu_us, &usage.memory_kib, &usage.procs);
    if (usage.cpu_us > task->cpu_before_us)
        raise_to(&end->cpu_us, usage.cpu_us - task->cpu_before_us);
    raise_to(&end->peak_kib, usage.memory_kib);
    raise_to(&end->peak_kib, usage.peak_kib);
    raise_to(&end->procs_peak, usage.procs);
    raise_to(&end->procs_peak, usage.procs_peak);
    *ret_usage = (struct guard_usage){.id = task->id,
                                      .cpu_us = end->cpu_us,
                                      .memory_kib = (int64_t)usage.memory_kib,
                                      .procs = (int64_t)usage.procs};
}

void guard_task_finish(struct guard_task *task) {
    struct guard_end *end = &task->end;
    guard_capture_finish(&task->capture);
    end->output_in_file = guard_capture_in_file(&task->capture);
    end->output = guard_capture_inline(&task->capture);
    end->stamps = guard_capture_stamps(&task->capture);
    end->output_bytes =
        end->output_in_file ? task->capture.bytes : end->output.len;
    end->output_total = task->capture.total;
    end->output_lost = task->capture.lost;
    end->lost_bytes = task->capture.refused;
    end->unmarked_bytes = task->capture.gone;
    end->stamps_lost = task->capture.stamps_sys != 0;
    end->lost_sys =
        task->capture.lost ? task->capture.sys : task->capture.stamps_sys;
    end->has_status = task->status.has_line;
    end->status = task->status.line;
}

bool guard_task_fail(struct guard_task *task, enum guard_result result, int sys,
                     const char *format, ...) {
    CLEANUP(text_clear) struct text error = TEXT_INIT;
    va_list args;
    va_start(args, format);
    text_addv(&error, format, args);
    va_end(args);
    if (sys != 0) {
        text_adds(&error, ": ");
        text_adds(&error, strerrordesc_np(sys));
    }
    task->end.error = arena_span(&task->arena, text_span(&error));
    task->end.result = result;
    return false;
}
