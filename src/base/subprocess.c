#include "base/subprocess.h"

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
#include "os/stamp.h"

/* A subprocess costs little but may be made to run long; with two at once, one
 * bad file does not hold up the others, and the machine is left to the jobs. */
enum { SUBPROCESSES_AT_ONCE = 2, SUBPROCESS_KINDS = 2, ERRORS_BYTES = 500 };
#define SUBPROCESS_IDS (UINT64_C(1) << 62) /* distinct from the worker's */

struct under_way {
    struct list link;
    enum subprocess_kind kind;
    struct arena arena; /* holds the words */
    uint64_t id;
    int fd;
    bool started;
    char *output; /* file for a long answer */
    char **argv, **envp;
    int64_t timeout_ms;
    uint64_t answer_max;
    subprocess_done *done; /* NULL: dropped */
    void *ctx;
};

struct subprocesses {
    struct base *base;
    struct guard *guard;
    char *executable;
    struct list all;
    unsigned running[SUBPROCESS_KINDS], waiting;
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

static const char *stamps_of(struct under_way *subprocess) {
    return arena_printf(&subprocess->arena, "%s.stamps", subprocess->output);
}

static void subprocess_free(struct under_way *subprocess) {
    list_remove(&subprocess->link);
    if (subprocess->output) {
        (void)unlink(subprocess->output);
        (void)unlink(stamps_of(subprocess));
    }
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
                       bool whole, struct span answer, struct span errors) {
    struct subprocess_end end = {
        .how = SUBPROCESS_EXITED, .answer = answer, .errors = errors};
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

/* A program of the configuration leads a group, which is killed as a whole. */
static int spawn(struct subprocesses *subprocesses,
                 const struct under_way *subprocess, int out, pid_t *ret_pid) {
    bool ours = subprocess->kind == SUBPROCESS_OURS;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&files, subprocess->fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (ours) {
        posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null",
                                         O_WRONLY, 0);
    } else {
        posix_spawn_file_actions_addchdir_np(&files, subprocesses->base->path);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    }
    int sys = posix_spawnp(ret_pid, subprocess->argv[0], &files, &attributes,
                           subprocess->argv, subprocess->envp);
    posix_spawnattr_destroy(&attributes);
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
    int sys = spawn(subprocesses, subprocess, out, &pid);
    if (sys != 0) {
        report(subprocess, SUBPROCESS_NOT_NOW,
               arena_printf(&subprocess->arena, "cannot start '%s': %s",
                            subprocess->argv[0], strerror(sys)));
        return;
    }
    fd_close(&out);
    bool whole = read_answer(in, subprocess->answer_max, subprocess->timeout_ms,
                             &answer);
    bool too_much = answer.len > subprocess->answer_max;
    if (!whole)
        (void)kill(subprocess->kind == SUBPROCESS_OURS ? pid : -pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (too_much)
        report(subprocess, SUBPROCESS_FAILED, "printed too much");
    else
        report_end(subprocess, status, whole, text_span(&answer), SPAN(""));
}

/* ---- through the guard ----------------------------------------------- */

static void subprocess_start(struct subprocesses *subprocesses,
                             struct under_way *subprocess) {
    CLEANUP(text_clear) struct text output = TEXT_INIT;
    char fresh[256];
    bool ours = subprocess->kind == SUBPROCESS_OURS;
    dir_fresh_name(SPAN("check"), fresh);
    text_addf(&output, "%s/tmp/%s", subprocesses->base->path, fresh);
    subprocess->output = text_take(&output);
    subprocess->started = true;
    subprocesses->running[subprocess->kind]++;
    (void)lseek(subprocess->fd, 0, SEEK_SET);
    struct guard_start start = {
        .id = subprocess->id,
        .argv = subprocess->argv,
        .envp = subprocess->envp,
        .dir = ours ? NULL : subprocesses->base->path,
        .streams = !ours,
        .canary = !ours,
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
        if (!subprocess->started &&
            subprocesses->running[subprocess->kind] < SUBPROCESSES_AT_ONCE)
            subprocess_start(subprocesses, subprocess);
    }
}

static void copy_words(struct subprocesses *subprocesses,
                       struct under_way *subprocess,
                       const struct subprocess *asked) {
    struct arena *arena = &subprocess->arena;
    char **argv = arena_alloc(arena, (asked->word_count + 2) * sizeof(char *));
    char **envp = arena_alloc(arena, 4 * sizeof(char *));
    subprocess->argv = argv;
    subprocess->envp = envp;
    if (asked->kind == SUBPROCESS_OURS)
        *argv++ = arena_string(arena, span_of(subprocesses->executable));
    for (size_t i = 0; i < asked->word_count; i++)
        argv[i] = arena_string(arena, span_of(asked->words[i]));
    *envp++ = arena_string(arena, SPAN("LANG=C.UTF-8"));
    if (asked->kind == SUBPROCESS_OURS)
        return;
    *envp++ = arena_string(arena, SPAN("PATH=/usr/local/sbin:/usr/local/bin:"
                                       "/usr/sbin:/usr/bin:/sbin:/bin"));
    *envp = arena_printf(arena, "POINTSMAN_BASE=%s", subprocesses->base->path);
}

void subprocesses_run(struct subprocesses *subprocesses,
                      const struct subprocess *asked, subprocess_done *done,
                      void *ctx) {
    struct under_way *subprocess = mem_alloc(sizeof(*subprocess));
    list_init(&subprocess->link);
    copy_words(subprocesses, subprocess, asked);
    subprocess->kind = asked->kind;
    subprocess->timeout_ms = asked->timeout_ms;
    subprocess->answer_max = asked->answer_max;
    subprocess->done = done;
    subprocess->ctx = ctx;
    subprocess->id = SUBPROCESS_IDS + ++subprocesses->last_id;
    subprocess->fd = asked->stdin_fd < 0
                         ? open("/dev/null", O_RDONLY | O_CLOEXEC)
                         : fcntl(asked->stdin_fd, F_DUPFD_CLOEXEC, 3);
    (void)lseek(subprocess->fd, 0, SEEK_SET);
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

/* The output and its stamps. */
struct printed {
    struct text out, stamps;
};

static bool read_printed(const struct under_way *subprocess, const char *path,
                         struct text *to) {
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 &&
           dir_read_file(fd, subprocess->answer_max * 2 + 65536, to, NULL);
}

/* Cuts `all` into what was printed on the two descriptors. */
static void sort_streams(struct span all, struct span stamps, struct text *out,
                         struct text *errors) {
    struct stamp_walk walk = {0};
    struct stamp stamp;
    while (stamp_take(&walk, &stamps, &stamp) && stamp.bytes <= all.len) {
        struct span piece = span_make(all.p, (size_t)stamp.bytes);
        if (stamp.stream == STAMP_OUT)
            text_addspan(out, piece);
        if (stamp.stream == STAMP_ERR)
            text_addspan(errors, piece);
        all = span_make(all.p + stamp.bytes, all.len - (size_t)stamp.bytes);
    }
}

static void report_sorted(const struct under_way *subprocess, int status,
                          bool whole, struct span all, struct span stamps) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    CLEANUP(text_clear) struct text errors = TEXT_INIT;
    struct span end;
    sort_streams(all, stamps, &out, &errors);
    end = span_trim(text_span(&errors));
    if (end.len > ERRORS_BYTES)
        end = span_make(end.p + end.len - ERRORS_BYTES, ERRORS_BYTES);
    report_end(subprocess, status, whole, text_span(&out), end);
}

static void report_guard_end(struct under_way *subprocess,
                             const struct guard_end *end) {
    CLEANUP(text_clear) struct text all = TEXT_INIT;
    CLEANUP(text_clear) struct text stamps = TEXT_INIT;
    if (end->result != GUARD_RAN || end->killer == GUARD_CLOSING ||
        end->killer == GUARD_CALLER || end->output_lost) {
        report(subprocess, SUBPROCESS_NOT_NOW,
               end->error.len > 0 ? arena_string(&subprocess->arena, end->error)
                                  : "it could not run");
        return;
    }
    if (end->output_total > subprocess->answer_max) {
        report(subprocess, SUBPROCESS_FAILED, "printed too much");
        return;
    }
    if (end->output_in_file) {
        if (!read_printed(subprocess, subprocess->output, &all) ||
            (subprocess->kind == SUBPROCESS_PROGRAM &&
             !read_printed(subprocess, stamps_of(subprocess), &stamps))) {
            report(subprocess, SUBPROCESS_NOT_NOW, "its output was lost");
            return;
        }
    } else {
        text_addspan(&all, end->output);
        text_addspan(&stamps, end->stamps);
    }
    int status = end->signal ? end->signal : (end->exit_code & 0xff) << 8;
    if (subprocess->kind == SUBPROCESS_OURS)
        report_end(subprocess, status, !end->timed_out, text_span(&all),
                   SPAN(""));
    else
        report_sorted(subprocess, status, !end->timed_out, text_span(&all),
                      text_span(&stamps));
}

void subprocesses_drop(struct subprocesses *subprocesses, const void *ctx) {
    LIST_EACH (&subprocesses->all, link) {
        struct under_way *subprocess = LIST_OF(link, struct under_way, link);
        if (subprocess->ctx != ctx || subprocess->done == NULL)
            continue;
        subprocess->done = NULL;
        if (subprocess->started) {
            guard_kill(subprocesses->guard, subprocess->id, SIGKILL, 0);
            continue;
        }
        subprocesses->waiting--;
        subprocess_free(subprocess);
    }
}

bool subprocesses_ended(struct subprocesses *subprocesses,
                        const struct guard_end *end) {
    LIST_EACH (&subprocesses->all, link) {
        struct under_way *subprocess = LIST_OF(link, struct under_way, link);
        if (subprocess->id != end->id)
            continue;
        list_remove(&subprocess->link);
        subprocesses->running[subprocess->kind]--;
        subprocesses->waiting--;
        guard_release(subprocesses->guard, end->id);
        if (subprocess->done != NULL)
            report_guard_end(subprocess, end);
        subprocess_free(subprocess);
        start_next(subprocesses);
        return true;
    }
    return false;
}
