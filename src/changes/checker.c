#include "changes/checker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/list.h"
#include "os/sandbox.h"
#include "api/api_call.h"
#include "base/subprocess.h"
#include "wire/set_check.h"
#include "wire/tar.h"

enum { WALL_FACTOR = 5, KNOWN_MOST = 256, KNOWN_BYTES_MOST = 16 << 20 };
#define MEMORY_BYTES (UINT64_C(1) << 30)

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
    /* Libraries run code at exit (above all a leak check) that the sandbox does
     * not allow. */
    _exit(ok ? 0 : err_exit_status(ERR_TEMPORARY));
}

/* ---- the caller ------------------------------------------------------ */

struct check {
    struct list link;
    struct checker *checker;
    struct set_limits limits;
    checker_done *done;
    void *ctx;
};

/* A verdict and the file it belongs to. Changing or replacing the file changes
 * at least one of these members: ctime cannot be set. */
struct known {
    struct list link;
    struct stat st;
    struct text answer; /* as received from the child */
};

struct checker {
    struct base *base;
    struct subprocesses *subprocesses;
    struct list checks;
    struct list known; /* oldest first */
    size_t known_count, known_bytes;
};

struct checker *checker_new(struct base *base, struct guard *guard,
                            const char *executable) {
    struct checker *checker = mem_alloc(sizeof(*checker));
    checker->base = base;
    checker->subprocesses = subprocesses_new(base, guard, executable);
    list_init(&checker->checks);
    list_init(&checker->known);
    return checker;
}

struct checker *checker_lent_or_own(struct base *base, struct checker *lent,
                                    struct checker **ret_own) {
    *ret_own = lent ? NULL : checker_new(base, NULL, NULL);
    return lent ? lent : *ret_own;
}

struct checker *checker_of_call(struct api_call *call,
                                struct checker **ret_own) {
    const struct api_options *options = &call->api->options;
    return checker_lent_or_own(options->base,
                               options->roles ? options->roles->checker : NULL,
                               ret_own);
}

static void known_free(struct checker *checker, struct known *known) {
    checker->known_count--;
    checker->known_bytes -= known->answer.len;
    list_remove(&known->link);
    text_clear(&known->answer);
    free(known);
}

static void check_free(struct check *check) {
    list_remove(&check->link);
    free(check);
}

void checker_free(struct checker *checker) {
    if (!checker)
        return;
    subprocesses_free(checker->subprocesses);
    LIST_EACH (&checker->checks, link)
        check_free(LIST_OF(link, struct check, link));
    LIST_EACH (&checker->known, link)
        known_free(checker, LIST_OF(link, struct known, link));
    free(checker);
}

struct subprocesses *checker_subprocesses(struct checker *checker) {
    return checker->subprocesses;
}

unsigned checker_waiting(const struct checker *checker) {
    return subprocesses_waiting(checker->subprocesses);
}

static void ignore_result(void *ctx, bool ok, const struct set_check *check,
                          const struct err *err) {
    (void)ctx, (void)ok, (void)check, (void)err;
}

void checker_forget(struct checker *checker, void *ctx) {
    LIST_EACH (&checker->checks, link) {
        struct check *check = LIST_OF(link, struct check, link);
        if (check->ctx == ctx)
            check->done = ignore_result;
    }
}

static void report_crash(const struct check *check, const char *how) {
    struct set_check verdict = {0};
    refusal_set(&verdict.why, REFUSAL_INVALID,
                "the checker of tarballs %s on it", how);
    check->done(check->ctx, true, &verdict, NULL);
}

static void report_not_now(const struct check *check, const char *why) {
    struct err err;
    err_set(&err, ERR_TEMPORARY, "cannot check the tarball now: %s", why);
    check->done(check->ctx, false, NULL, &err);
}

static void report_verdict(const struct check *check, struct span bytes) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct set_check verdict;
    struct err err = {0};
    if (set_check_decode(bytes, &check->limits, &arena, &verdict, &err))
        check->done(check->ctx, true, &verdict, NULL);
    else
        report_crash(check, "gave an invalid answer");
}

static void on_end(void *ctx, const struct subprocess_end *end) {
    struct check *check = ctx;
    bool not_now = end->how == SUBPROCESS_EXITED &&
                   end->exit_code == err_exit_status(ERR_TEMPORARY);
    if (end->how == SUBPROCESS_NOT_NOW || not_now)
        report_not_now(check,
                       not_now ? "the checker could not read it" : end->why);
    else if (end->how == SUBPROCESS_FAILED)
        report_crash(check, end->why);
    else if (end->exit_code != 0)
        report_crash(check, "failed");
    else
        report_verdict(check, end->answer);
    check_free(check);
}

/* ---- remembered verdicts --------------------------------------------- */

void checker_remember(struct checker *checker, int fd,
                      const struct set_check *check) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return;
    struct known *known = mem_alloc(sizeof(*known));
    known->st = st;
    set_check_encode(check, &known->answer);
    list_push(&checker->known, &known->link);
    checker->known_count++;
    checker->known_bytes += known->answer.len;
    while (checker->known_count > KNOWN_MOST ||
           checker->known_bytes > KNOWN_BYTES_MOST)
        known_free(checker, LIST_OF(checker->known.next, struct known, link));
}

static bool is_same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_size == b->st_size && is_same_time(a->st_mtim, b->st_mtim) &&
           is_same_time(a->st_ctim, b->st_ctim);
}

static bool recall(struct check *check, int fd) {
    struct checker *checker = check->checker;
    struct stat st;
    if (fstat(fd, &st) != 0)
        return false;
    LIST_EACH (&checker->known, link) {
        struct known *known = LIST_OF(link, struct known, link);
        if (!is_same_file(&known->st, &st))
            continue;
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct set_check verdict;
        /* Applies the current limits, which may have become stricter. */
        bool ok = set_check_decode(text_span(&known->answer), &check->limits,
                                   &arena, &verdict, NULL) &&
                  verdict.unpacked_bytes <= check->limits.unpacked_bytes;
        known_free(checker, known);
        if (ok)
            check->done(check->ctx, true, &verdict, NULL);
        return ok;
    }
    return false;
}

static int64_t wall_ms(const struct checker *checker) {
    return checker->base->config.queue.check_cpu_s * WALL_FACTOR * 1000;
}

static void run_check(struct check *check, int fd) {
    const struct set_limits *limits = &check->limits;
    struct checker *checker = check->checker;
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
    char options[8][48];
    const char *words[9] = {"check-set"};
    for (size_t i = 0; i < COUNT(values); i++) {
        snprintf(options[i], sizeof(options[i]), "%s=%" PRIu64, values[i].key,
                 values[i].value);
        words[i + 1] = options[i];
    }
    struct subprocess subprocess = {.words = words,
                                    .word_count = COUNT(words),
                                    .stdin_fd = fd,
                                    .timeout_ms = wall_ms(checker),
                                    .answer_max = set_check_bytes_max(limits)};
    subprocesses_run(checker->subprocesses, &subprocess, on_end, check);
}

void checker_check(struct checker *checker, int fd, checker_done *done,
                   void *ctx) {
    struct check *check = mem_alloc(sizeof(*check));
    check->checker = checker;
    check->limits = config_set_limits(&checker->base->config, NULL);
    /* Whether they are allowed is known once the target is. */
    check->limits.symlinks = true;
    check->done = done;
    check->ctx = ctx;
    list_push(&checker->checks, &check->link);
    if (recall(check, fd))
        check_free(check);
    else
        run_check(check, fd);
}

bool checker_ended(struct checker *checker, const struct guard_end *end) {
    return subprocesses_ended(checker->subprocesses, end);
}
