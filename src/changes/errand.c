#include "changes/errand.h"

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

/* An errand costs little but may be made to last; two at once keep one bad
 * file from holding up the others, and leave the machine to the work itself. */
enum { ERRANDS_AT_ONCE = 2 };
#define ERRAND_IDS (UINT64_C(1) << 62) /* apart from the worker's */

struct under_way {
    struct list link;
    struct arena arena; /* holds the words */
    uint64_t id;
    int fd;
    bool started;
    char *output; /* file of a long answer */
    char **argv;
    int64_t timeout_ms;
    uint64_t answer_max;
    errand_done *done;
    void *ctx;
};

struct errands {
    struct base *base;
    struct guard *guard;
    char *executable;
    struct list all;
    unsigned running, waiting;
    uint64_t last_id;
};

struct errands *errands_new(struct base *base, struct guard *guard,
                            const char *executable) {
    struct errands *errands = mem_alloc(sizeof(*errands));
    errands->base = base;
    errands->guard = guard;
    errands->executable =
        mem_string(executable ? executable : "/proc/self/exe");
    list_init(&errands->all);
    return errands;
}

static void errand_free(struct under_way *errand) {
    list_remove(&errand->link);
    if (errand->output)
        (void)unlink(errand->output);
    free(errand->output);
    fd_close(&errand->fd);
    arena_clear(&errand->arena);
    free(errand);
}

void errands_free(struct errands *errands) {
    if (!errands)
        return;
    LIST_EACH (&errands->all, link)
        errand_free(LIST_OF(link, struct under_way, link));
    free(errands->executable);
    free(errands);
}

unsigned errands_waiting(const struct errands *errands) {
    return errands->waiting;
}

static void tell(const struct under_way *errand, enum errand_how how,
                 const char *why) {
    errand->done(errand->ctx, &(struct errand_end){.how = how, .why = why});
}

static void tell_end(const struct under_way *errand, int status, bool whole,
                     struct span answer) {
    struct errand_end end = {.how = ERRAND_EXITED, .answer = answer};
    if (!whole || WIFSIGNALED(status)) {
        tell(errand, ERRAND_FAILED, whole ? "was killed" : "hung");
        return;
    }
    end.exit_code = WEXITSTATUS(status);
    errand->done(errand->ctx, &end);
}

/* ---- without a loop -------------------------------------------------- */

/* Reads until the end, the limit or the time is up. */
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

static int spawn(struct errands *errands, const struct under_way *errand,
                 int out, pid_t *ret_pid) {
    posix_spawn_file_actions_t files;
    char *const envp[] = {(char[]){"LANG=C.UTF-8"}, NULL};
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, errand->fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null",
                                     O_WRONLY, 0);
    int sys = posix_spawn(ret_pid, errands->executable, &files, NULL,
                          errand->argv, envp);
    posix_spawn_file_actions_destroy(&files);
    return sys;
}

static void run_here(struct errands *errands, struct under_way *errand) {
    CLEANUP(text_clear) struct text answer = TEXT_INIT;
    CLEANUP(fd_close) int in = -1;
    CLEANUP(fd_close) int out = -1;
    int ends[2], status = 0;
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        tell(errand, ERRAND_NOT_NOW, "no pipe");
        return;
    }
    in = ends[0];
    out = ends[1];
    if (spawn(errands, errand, out, &pid) != 0) {
        tell(errand, ERRAND_NOT_NOW, "cannot start the checker");
        return;
    }
    fd_close(&out);
    bool whole =
        read_answer(in, errand->answer_max, errand->timeout_ms, &answer);
    if (!whole)
        (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    tell_end(errand, status, whole, text_span(&answer));
}

/* ---- through the guard ----------------------------------------------- */

static void errand_start(struct errands *errands, struct under_way *errand) {
    CLEANUP(text_clear) struct text output = TEXT_INIT;
    char fresh[256];
    char *const envp[] = {(char[]){"LANG=C.UTF-8"}, NULL};
    dir_fresh_name(SPAN("check"), fresh);
    text_addf(&output, "%s/tmp/%s", errands->base->path, fresh);
    errand->output = text_take(&output);
    errand->started = true;
    errands->running++;
    (void)lseek(errand->fd, 0, SEEK_SET);
    struct guard_start start = {
        .id = errand->id,
        .argv = errand->argv,
        .envp = envp,
        .mask = 077,
        .stdin_fd = errand->fd,
        .outside_slots = true,
        .timeout_ms = errand->timeout_ms,
        .output_path = errand->output,
        .inline_max = 64 * 1024,
        .output_max = errand->answer_max + 1,
    };
    guard_start(errands->guard, &start);
    fd_close(&errand->fd);
}

static void start_next(struct errands *errands) {
    LIST_EACH (&errands->all, link) {
        struct under_way *errand = LIST_OF(link, struct under_way, link);
        if (errands->running >= ERRANDS_AT_ONCE)
            return;
        if (!errand->started)
            errand_start(errands, errand);
    }
}

void errands_run(struct errands *errands, const struct errand *asked,
                 errand_done *done, void *ctx) {
    struct under_way *errand = mem_alloc(sizeof(*errand));
    list_init(&errand->link);
    errand->argv =
        arena_alloc(&errand->arena, (asked->word_count + 2) * sizeof(char *));
    errand->argv[0] =
        arena_string(&errand->arena, span_of(errands->executable));
    for (size_t i = 0; i < asked->word_count; i++)
        errand->argv[i + 1] =
            arena_string(&errand->arena, span_of(asked->words[i]));
    errand->timeout_ms = asked->timeout_ms;
    errand->answer_max = asked->answer_max;
    errand->done = done;
    errand->ctx = ctx;
    errand->id = ERRAND_IDS + ++errands->last_id;
    errand->fd = fcntl(asked->stdin_fd, F_DUPFD_CLOEXEC, 3);
    (void)lseek(asked->stdin_fd, 0, SEEK_SET);
    if (errand->fd < 0) {
        tell(errand, ERRAND_NOT_NOW, "too many open files");
        errand_free(errand);
    } else if (!errands->guard) {
        run_here(errands, errand);
        errand_free(errand);
    } else {
        list_push(&errands->all, &errand->link);
        errands->waiting++;
        start_next(errands);
    }
}

static void tell_guard_end(const struct under_way *errand,
                           const struct guard_end *end) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    CLEANUP(fd_close) int fd = -1;
    if (end->result != GUARD_RAN || end->killer == GUARD_CLOSING ||
        end->killer == GUARD_CALLER || end->output_lost) {
        tell(errand, ERRAND_NOT_NOW, "the checker could not run");
        return;
    }
    if (end->output_in_file) {
        fd = open(errand->output, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 || !file_read(fd, errand->answer_max, &text, NULL)) {
            tell(errand, ERRAND_FAILED, "answered too much");
            return;
        }
    }
    int status = end->signal ? end->signal : (end->exit_code & 0xff) << 8;
    tell_end(errand, status, !end->timed_out,
             end->output_in_file ? text_span(&text) : end->output);
}

bool errands_ended(struct errands *errands, const struct guard_end *end) {
    LIST_EACH (&errands->all, link) {
        struct under_way *errand = LIST_OF(link, struct under_way, link);
        if (errand->id != end->id)
            continue;
        list_remove(&errand->link);
        errands->running--;
        errands->waiting--;
        guard_release(errands->guard, end->id);
        tell_guard_end(errand, end);
        errand_free(errand);
        start_next(errands);
        return true;
    }
    return false;
}
