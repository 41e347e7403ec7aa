#include "serve/checker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/sandbox.h"
#include "wire/set_check.h"
#include "wire/tar.h"

/* A check costs little but may be made to last; two at once keep one bad set
 * from holding up the others, and leave the machine to the work itself. */
enum { CHECKS_AT_ONCE = 2, WALL_FACTOR = 5 };
#define MEMORY_BYTES (UINT64_C(1) << 30)
#define CHECKER_IDS (UINT64_C(1) << 62) /* apart from the worker's */

/* ---- the child ------------------------------------------------------- */

struct child {
    struct set_limits limits;
    uint64_t cpu_s;
};

/* "key=NUMBER" each. */
static bool child_option(struct child *child, struct span option) {
    struct span key;
    uint64_t value;
    if (!span_cut(&option, '=', &key) || !span_u64(option, &value))
        return false;
    struct set_limits *limits = &child->limits;
    if (span_is(key, "unpacked"))
        limits->unpacked_bytes = value;
    else if (span_is(key, "members"))
        limits->members = value;
    else if (span_is(key, "ratio"))
        limits->ratio = value;
    else if (span_is(key, "path"))
        limits->path.path_bytes = value;
    else if (span_is(key, "component"))
        limits->path.component_bytes = value;
    else if (span_is(key, "depth"))
        limits->path.depth = value;
    else if (span_is(key, "symlinks"))
        limits->symlinks = value != 0;
    else if (span_is(key, "cpu"))
        child->cpu_s = value;
    else
        return false;
    return true;
}

static bool child_sandbox(const struct child *child, struct err *err) {
    struct sandbox sandbox = {.cpu_s = child->cpu_s,
                              .memory_bytes =
                                  ADDRESS_SANITIZER ? 0 : MEMORY_BYTES};
    struct sandbox_report report;
    return sandbox_enter(&sandbox, &report, err);
}

static bool write_all(struct span bytes) {
    while (bytes.len > 0) {
        ssize_t put = write(STDOUT_FILENO, bytes.p, bytes.len);
        if (put < 0 && errno != EINTR)
            return false;
        if (put > 0)
            bytes = span_make(bytes.p + put, bytes.len - (size_t)put);
    }
    return true;
}

int checker_main(int argc, char **argv) {
    struct child child = {.limits = SET_LIMITS, .cpu_s = 60};
    struct arena arena = ARENA_INIT;
    struct text out = TEXT_INIT;
    struct set_check check;
    struct err err = {0};
    for (int i = 1; i < argc; i++)
        if (!child_option(&child, span_of(argv[i]))) {
            fprintf(stderr, "pointsman: check-set: unknown '%s'\n", argv[i]);
            return err_exit_status(ERR_USAGE);
        }
    if (!tar_load(&err) || !child_sandbox(&child, &err) ||
        !set_tar_check(STDIN_FILENO, &child.limits, &arena, &check, &err)) {
        fprintf(stderr, "pointsman: check-set: %s\n", err.text);
        _exit(err_exit_status(ERR_TEMPORARY));
    }
    set_check_encode(&check, &out);
    bool ok = write_all(text_span(&out));
    text_clear(&out);
    arena_clear(&arena);
    /* What libraries do at exit (a leak check above all) the sandbox does not
     * let them do. */
    _exit(ok ? 0 : err_exit_status(ERR_TEMPORARY));
}

/* ---- the caller ------------------------------------------------------ */

struct check {
    struct list link;
    uint64_t id;
    int fd;
    bool started;
    char *output; /* file of a long verdict */
    struct set_limits limits;
    checker_done *done;
    void *ctx;
};

struct checker {
    struct base *base;
    struct guard *guard;
    char *executable;
    struct list checks;
    unsigned running, waiting;
    uint64_t last_id;
};

struct checker *checker_new(struct base *base, struct guard *guard,
                            const char *executable) {
    struct checker *checker = mem_alloc(sizeof(*checker));
    checker->base = base;
    checker->guard = guard;
    checker->executable =
        mem_string(executable ? executable : "/proc/self/exe");
    list_init(&checker->checks);
    return checker;
}

static void check_free(struct check *check) {
    list_remove(&check->link);
    if (check->output)
        (void)unlink(check->output);
    free(check->output);
    fd_close(&check->fd);
    free(check);
}

void checker_free(struct checker *checker) {
    if (!checker)
        return;
    LIST_EACH (&checker->checks, link)
        check_free(LIST_OF(link, struct check, link));
    free(checker->executable);
    free(checker);
}

unsigned checker_waiting(const struct checker *checker) {
    return checker->waiting;
}

static void tell_nobody(void *ctx, bool ok, const struct set_check *check,
                        const struct err *err) {
    (void)ctx, (void)ok, (void)check, (void)err;
}

void checker_forget(struct checker *checker, void *ctx) {
    LIST_EACH (&checker->checks, link) {
        struct check *check = LIST_OF(link, struct check, link);
        if (check->ctx == ctx)
            check->done = tell_nobody;
    }
}

static void tell_crash(const struct check *check, const char *how) {
    struct set_check verdict = {0};
    refusal_set(&verdict.why, REFUSAL_INVALID,
                "whatever reads the tarball %s over it", how);
    check->done(check->ctx, true, &verdict, NULL);
}

static void tell_not_now(const struct check *check, const char *why) {
    struct err err;
    err_set(&err, ERR_TEMPORARY, "cannot look through the tarball now: %s",
            why);
    check->done(check->ctx, false, NULL, &err);
}

static void tell_verdict(const struct check *check, struct span bytes) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct set_check verdict;
    struct err err = {0};
    if (set_check_decode(bytes, &check->limits, &arena, &verdict, &err))
        check->done(check->ctx, true, &verdict, NULL);
    else
        tell_crash(check, "answered nonsense");
}

struct child_args {
    char verb[16];
    char options[8][48];
    char *argv[11];
};

static void make_args(const struct checker *checker, const struct check *check,
                      struct child_args *args) {
    const struct set_limits *limits = &check->limits;
    const struct {
        const char *key;
        uint64_t value;
    } values[8] = {
        {"unpacked", limits->unpacked_bytes},
        {"members", limits->members},
        {"ratio", limits->ratio},
        {"path", limits->path.path_bytes},
        {"component", limits->path.component_bytes},
        {"depth", limits->path.depth},
        {"symlinks", limits->symlinks},
        {"cpu", (uint64_t)checker->base->config.queue.check_cpu_s},
    };
    size_t count = 0;
    snprintf(args->verb, sizeof(args->verb), "check-set");
    args->argv[count++] = checker->executable;
    args->argv[count++] = args->verb;
    for (size_t i = 0; i < COUNT(values); i++) {
        snprintf(args->options[i], sizeof(args->options[i]), "%s=%" PRIu64,
                 values[i].key, values[i].value);
        args->argv[count++] = args->options[i];
    }
    args->argv[count] = NULL;
}

static int64_t wall_ms(const struct checker *checker) {
    return checker->base->config.queue.check_cpu_s * WALL_FACTOR * 1000;
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

static int spawn(struct checker *checker, const struct check *check, int out,
                 pid_t *ret_pid) {
    posix_spawn_file_actions_t files;
    struct child_args args;
    char *const envp[] = {(char[]){"LANG=C.UTF-8"}, NULL};
    make_args(checker, check, &args);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, check->fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null",
                                     O_WRONLY, 0);
    int sys = posix_spawn(ret_pid, checker->executable, &files, NULL, args.argv,
                          envp);
    posix_spawn_file_actions_destroy(&files);
    return sys;
}

static void tell_end(const struct check *check, int status, bool whole,
                     struct span answer) {
    if (!whole)
        tell_crash(check, "hung");
    else if (WIFSIGNALED(status))
        tell_crash(check, "was killed");
    else if (WEXITSTATUS(status) == err_exit_status(ERR_TEMPORARY))
        tell_not_now(check, "the checker could not read it");
    else if (WEXITSTATUS(status) != 0)
        tell_crash(check, "failed");
    else
        tell_verdict(check, answer);
}

static void check_here(struct checker *checker, struct check *check) {
    CLEANUP(text_clear) struct text answer = TEXT_INIT;
    CLEANUP(fd_close) int in = -1;
    CLEANUP(fd_close) int out = -1;
    int ends[2], status = 0;
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        tell_not_now(check, "no pipe");
        return;
    }
    in = ends[0];
    out = ends[1];
    if (spawn(checker, check, out, &pid) != 0) {
        tell_not_now(check, "cannot start the checker");
        return;
    }
    fd_close(&out);
    bool whole = read_answer(in, set_check_bytes_max(&check->limits),
                             wall_ms(checker), &answer);
    if (!whole)
        (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    tell_end(check, status, whole, text_span(&answer));
}

/* ---- through the guard ----------------------------------------------- */

static void check_start(struct checker *checker, struct check *check) {
    struct child_args args;
    CLEANUP(text_clear) struct text output = TEXT_INIT;
    char fresh[256];
    char *const envp[] = {(char[]){"LANG=C.UTF-8"}, NULL};
    make_args(checker, check, &args);
    dir_fresh_name(SPAN("check"), fresh);
    text_addf(&output, "%s/tmp/%s", checker->base->path, fresh);
    check->output = text_take(&output);
    check->started = true;
    checker->running++;
    (void)lseek(check->fd, 0, SEEK_SET);
    struct guard_start start = {
        .id = check->id,
        .argv = args.argv,
        .envp = envp,
        .mask = 077,
        .stdin_fd = check->fd,
        .outside_slots = true,
        .timeout_ms = wall_ms(checker),
        .output_path = check->output,
        .inline_max = 64 * 1024,
        .output_max = set_check_bytes_max(&check->limits) + 1,
    };
    guard_start(checker->guard, &start);
    fd_close(&check->fd);
}

static void start_next(struct checker *checker) {
    LIST_EACH (&checker->checks, link) {
        struct check *check = LIST_OF(link, struct check, link);
        if (checker->running >= CHECKS_AT_ONCE)
            return;
        if (!check->started)
            check_start(checker, check);
    }
}

void checker_check(struct checker *checker, int fd, checker_done *done,
                   void *ctx) {
    struct check *check = mem_alloc(sizeof(*check));
    list_init(&check->link);
    check->limits = config_set_limits(&checker->base->config, NULL);
    /* Who allows them is known once the target is. */
    check->limits.symlinks = true;
    check->done = done;
    check->ctx = ctx;
    check->id = CHECKER_IDS + ++checker->last_id;
    check->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    (void)lseek(fd, 0, SEEK_SET);
    if (check->fd < 0) {
        tell_not_now(check, "too many open files");
        check_free(check);
    } else if (!checker->guard) {
        check_here(checker, check);
        check_free(check);
    } else {
        list_push(&checker->checks, &check->link);
        checker->waiting++;
        start_next(checker);
    }
}

static void tell_guard_end(const struct check *check,
                           const struct guard_end *end) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    CLEANUP(fd_close) int fd = -1;
    if (end->result != GUARD_RAN || end->killer == GUARD_CLOSING ||
        end->killer == GUARD_CALLER || end->output_lost) {
        tell_not_now(check, "the checker could not run");
        return;
    }
    if (end->output_in_file) {
        fd = open(check->output, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 ||
            !file_read(fd, set_check_bytes_max(&check->limits), &text, NULL)) {
            tell_crash(check, "answered too much");
            return;
        }
    }
    int status = end->signal ? end->signal : (end->exit_code & 0xff) << 8;
    tell_end(check, status, !end->timed_out,
             end->output_in_file ? text_span(&text) : end->output);
}

bool checker_ended(struct checker *checker, const struct guard_end *end) {
    LIST_EACH (&checker->checks, link) {
        struct check *check = LIST_OF(link, struct check, link);
        if (check->id != end->id)
            continue;
        list_remove(&check->link);
        checker->running--;
        checker->waiting--;
        guard_release(checker->guard, end->id);
        tell_guard_end(check, end);
        check_free(check);
        start_next(checker);
        return true;
    }
    return false;
}
