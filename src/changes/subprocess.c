#include "changes/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/arena.h"
#include "lib/list.h"
#include "os/clock.h"
#include "os/dir.h"

/* A subprocess costs little but may be made to run long; with two at once, one
 * bad file does not hold up the others, and the machine is left to the jobs. */
enum { SUBPROCESSES_AT_ONCE = 2 };
#define SUBPROCESS_IDS (UINT64_C(1) << 62) /* distinct from the worker's */

struct under_way {
    struct list link;
    struct arena arena; /* holds the words */
    uint64_t id;
    int fd;
    bool started;
    char *output; /* file for a long answer */
    char **argv;
    int64_t timeout_ms;
    uint64_t answer_max;
    subprocess_done *done;
    void *ctx;
};

struct subprocesses {
    struct base *base;
    struct guard *guard;
    char *executable;
    struct list all;
    unsigned running, waiting;
    uint64_t last_id;
};

struct subprocesses *subprocesses_new(struct base *base, struct guard *guard,
                                      const char *executable) {
    struct subprocesses *subprocesses = mem_alloc(sizeof(*subprocesses));
    subprocesses->base = base;
    subprocesses->guard = guard;
    subprocesses->executable =
        mem_string(executable ? executable : "/proc/self/exe");
    list_init(&subprocesses->all);
    return subprocesses;
}

static void subprocess_free(struct under_way *subprocess) {
    list_remove(&subprocess->link);
    if (subprocess->output)
        (void)unlink(subprocess->output);
    free(subprocess->output);
    fd_close(&subprocess->fd);
    arena_clear(&subprocess->arena);
    free(subprocess);
}

void subprocesses_free(struct subprocesses *subprocesses) {
    if (!subprocesses)
        return;
    LIST_EACH (&subprocesses->all, link)
        subprocess_free(LIST_OF(link, struct under_way, link));
    free(subprocesses->executable);
    free(subprocesses);
}

unsigned subprocesses_waiting(const struct subprocesses *subprocesses) {
    return subprocesses->waiting;
}

static void report(const struct under_way *subprocess, enum subprocess_how how,
                   const char *why) {
    subprocess->done(subprocess->ctx,
                     &(struct subprocess_end){.how = how, .why = why});
}

static void report_end(const struct under_way *subprocess, int status,
                       bool whole, struct span answer) {
    struct subprocess_end end = {.how = SUBPROCESS_EXITED, .answer = answer};
    if (!whole || WIFSIGNALED(status)) {
        report(subprocess, SUBPROCESS_FAILED, whole ? "was killed" : "hung");
        return;
    }
    end.exit_code = WEXITSTATUS(status);
    subprocess->done(subprocess->ctx, &end);
}

/* ---- without a loop -------------------------------------------------- */

/* Reads until the end, the limit or the timeout. */
static bool read_answer(int fd, uint64_t limit, int64_t timeout_ms,
                        struct text *out) {
    struct mono end = mono_add_ms(clock_mono(), timeout_ms);
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    for (;;) {
        int64_t left = mono_ms_since(end, clock_mono());
        if (left <= 0 || out->len > limit)
            return false;
        int ready = poll(&poller, 1, left > 60000 ? 60000 : (int)left);
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready <= 0)
            continue;
        text_reserve(out, 65536);
        ssize_t got = read(fd, out->p + out->len, 65536);
        if (got < 0 && errno != EINTR)
            return false;
        if (got == 0)
            return true;
        if (got > 0)
            out->len += (size_t)got;
    }
}

static int spawn(struct subprocesses *subprocesses,
                 const struct under_way *subprocess, int out, pid_t *ret_pid) {
    posix_spawn_file_actions_t files;
    char *const envp[] = {(char[]){"LANG=C.UTF-8"}, NULL};
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, subprocess->fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null",
                                     O_WRONLY, 0);
    int sys = posix_spawn(ret_pid, subprocesses->executable, &files, NULL,
                          subprocess->argv, envp);
    posix_spawn_file_actions_destroy(&files);
    return sys;
}

static void run_here(struct subprocesses *subprocesses,
                     struct under_way *subprocess) {
    CLEANUP(text_clear) struct text answer = TEXT_INIT;
    CLEANUP(fd_close) int in = -1;
    CLEANUP(fd_close) int out = -1;
    int ends[2], status = 0;
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        report(subprocess, SUBPROCESS_NOT_NOW, "cannot create a pipe");
        return;
    }
    in = ends[0];
    out = ends[1];
    if (spawn(subprocesses, subprocess, out, &pid) != 0) {
        report(subprocess, SUBPROCESS_NOT_NOW, "cannot start the checker");
        return;
    }
    fd_close(&out);
    bool whole = read_answer(in, subprocess->answer_max, subprocess->timeout_ms,
                             &answer);
    if (!whole)
        (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    report_end(subprocess, status, whole, text_span(&answer));
}

/* ---- through the guard ----------------------------------------------- */

static void subprocess_start(struct subprocesses *subprocesses,
                             struct under_way *subprocess) {
    CLEANUP(text_clear) struct text output = TEXT_INIT;
    char fresh[256];
    char *const envp[] = {(char[]){"LANG=C.UTF-8"}, NULL};
    dir_fresh_name(SPAN("check"), fresh);
    text_addf(&output, "%s/tmp/%s", subprocesses->base->path, fresh);
    subprocess->output = text_take(&output);
    subprocess->started = true;
    subprocesses->running++;
    (void)lseek(subprocess->fd, 0, SEEK_SET);
    struct guard_start start = {
        .id = subprocess->id,
        .argv = subprocess->argv,
        .envp = envp,
        .mask = 077,
        .stdin_fd = subprocess->fd,
        .outside_slots = true,
        .timeout_ms = subprocess->timeout_ms,
        .output_path = subprocess->output,
        .inline_max = 64 * 1024,
        .output_max = subprocess->answer_max + 1,
    };
    guard_start(subprocesses->guard, &start);
    fd_close(&subprocess->fd);
}

static void start_next(struct subprocesses *subprocesses) {
    LIST_EACH (&subprocesses->all, link) {
        struct under_way *subprocess = LIST_OF(link, struct under_way, link);
        if (subprocesses->running >= SUBPROCESSES_AT_ONCE)
            return;
        if (!subprocess->started)
            subprocess_start(subprocesses, subprocess);
    }
}

void subprocesses_run(struct subprocesses *subprocesses,
                      const struct subprocess *asked, subprocess_done *done,
                      void *ctx) {
    struct under_way *subprocess = mem_alloc(sizeof(*subprocess));
    list_init(&subprocess->link);
    subprocess->argv = arena_alloc(&subprocess->arena,
                                   (asked->word_count + 2) * sizeof(char *));
    subprocess->argv[0] =
        arena_string(&subprocess->arena, span_of(subprocesses->executable));
    for (size_t i = 0; i < asked->word_count; i++)
        subprocess->argv[i + 1] =
            arena_string(&subprocess->arena, span_of(asked->words[i]));
    subprocess->timeout_ms = asked->timeout_ms;
    subprocess->answer_max = asked->answer_max;
    subprocess->done = done;
    subprocess->ctx = ctx;
    subprocess->id = SUBPROCESS_IDS + ++subprocesses->last_id;
    subprocess->fd = fcntl(asked->stdin_fd, F_DUPFD_CLOEXEC, 3);
    (void)lseek(asked->stdin_fd, 0, SEEK_SET);
    if (subprocess->fd < 0) {
        report(subprocess, SUBPROCESS_NOT_NOW, "too many open files");
        subprocess_free(subprocess);
    } else if (!subprocesses->guard) {
        run_here(subprocesses, subprocess);
        subprocess_free(subprocess);
    } else {
        list_push(&subprocesses->all, &subprocess->link);
        subprocesses->waiting++;
        start_next(subprocesses);
    }
}

static void report_guard_end(const struct under_way *subprocess,
                             const struct guard_end *end) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    CLEANUP(fd_close) int fd = -1;
    if (end->result != GUARD_RAN || end->killer == GUARD_CLOSING ||
        end->killer == GUARD_CALLER || end->output_lost) {
        report(subprocess, SUBPROCESS_NOT_NOW, "the checker could not run");
        return;
    }
    if (end->output_in_file) {
        fd = open(subprocess->output, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 || !dir_read_file(fd, subprocess->answer_max, &text, NULL)) {
            report(subprocess, SUBPROCESS_FAILED, "printed too much");
            return;
        }
    }
    int status = end->signal ? end->signal : (end->exit_code & 0xff) << 8;
    report_end(subprocess, status, !end->timed_out,
               end->output_in_file ? text_span(&text) : end->output);
}

bool subprocesses_ended(struct subprocesses *subprocesses,
                        const struct guard_end *end) {
    LIST_EACH (&subprocesses->all, link) {
        struct under_way *subprocess = LIST_OF(link, struct under_way, link);
        if (subprocess->id != end->id)
            continue;
        list_remove(&subprocess->link);
        subprocesses->running--;
        subprocesses->waiting--;
        guard_release(subprocesses->guard, end->id);
        report_guard_end(subprocess, end);
        subprocess_free(subprocess);
        start_next(subprocesses);
        return true;
    }
    return false;
}
