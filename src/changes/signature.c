#include "changes/signature.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/confine.h"
#include "os/dir.h"
#include "os/sandbox.h"
#include "wire/approval_text.h"

enum {
    CPU_S = 10,
    WALL_MS = 60 * 1000,
    ANSWER_BYTES = 16 << 10,
    TIME_BYTES = 20,
    WHY_BYTES = 400
};
#define MEMORY_BYTES (UINT64_C(512) << 20)

/* ---- the child ----------------------------------------------------------- */

/* Puts the bytes behind a descriptor that a program can open under
 * /proc/self/fd. */
static bool write_memory_file(struct span bytes, int *ret_fd, struct err *err) {
    int fd = memfd_create("approval", 0);
    if (fd < 0)
        return err_errno(err, errno,
                         "cannot create a memory file for an approval");
    *ret_fd = fd;
    return dir_write_file(fd, bytes, err) && lseek(fd, 0, SEEK_SET) == 0;
}

static bool prepare(char ret_signature[40], struct err *err) {
    static const struct confine_reader limits = {
        CPU_S, ADDRESS_SANITIZER ? UINT64_MAX : MEMORY_BYTES};
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    struct approval_file file;
    int text = -1, signature = -1;
    if (!dir_read_file(STDIN_FILENO, APPROVAL_FILE_BYTES, &bytes, err) ||
        !approval_file_parse(text_span(&bytes), &file, err) ||
        !write_memory_file(file.text, &text, err) ||
        !write_memory_file(file.signature, &signature, err))
        return false;
    if (dup2(text, STDIN_FILENO) < 0 || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        return err_errno(err, errno,
                         "cannot redirect standard input and error");
    (void)close(text);
    snprintf(ret_signature, 40, "/proc/self/fd/%d", signature);
    return confine_reader(&limits, err);
}

int signature_main(int argc, char **argv) {
    char signature[40], verify_time[TIME_BYTES + 16];
    struct err err = {0};
    if (argc != 5) {
        fputs("pointsman: check-signature: this command is started by the "
              "program itself\n",
              stderr);
        return err_exit_status(ERR_USAGE);
    }
    if (!prepare(signature, &err)) {
        printf("pointsman: %s\n", err.text);
        return err_exit_status(ERR_TEMPORARY);
    }
    snprintf(verify_time, sizeof(verify_time), "verify-time=%.20s", argv[4]);
    bool revoked = strcmp(argv[2], "-") != 0;
    char *words[] = {(char[]){"ssh-keygen"},
                     (char[]){"-Y"},
                     (char[]){"verify"},
                     (char[]){"-n"},
                     (char[]){APPROVAL_NAMESPACE},
                     (char[]){"-f"},
                     argv[1],
                     (char[]){"-I"},
                     argv[3],
                     (char[]){"-s"},
                     signature,
                     (char[]){"-O"},
                     verify_time,
                     revoked ? (char[]){"-r"} : NULL,
                     argv[2],
                     NULL};
    execvp(words[0], words);
    printf("pointsman: cannot execute ssh-keygen (package openssh-client): "
           "%s\n",
           strerror(errno));
    (void)fflush(stdout);
    _exit(err_exit_status(ERR_TEMPORARY));
}

/* The child has only the system's PATH. */
bool signature_possible(struct err *err) {
    static const char *const places[] = {"/bin/ssh-keygen",
                                         "/usr/bin/ssh-keygen"};
    for (size_t i = 0; i < COUNT(places); i++)
        if (access(places[i], X_OK) == 0)
            return true;
    return err_set(err, ERR_UNAVAILABLE,
                   "signatures cannot be checked: ssh-keygen is missing "
                   "(package openssh-client)");
}

/* ---- who may change the lists -------------------------------------------- */

static bool is_ours(const char *path, const struct stat *st,
                    const struct base *base, struct err *err) {
    if (st->st_uid != 0 && st->st_uid != base->uid)
        return err_set(err, ERR_DENIED,
                       "'%s' belongs to uid %lu, not to the owner of the base "
                       "or root, so no signature is accepted",
                       path, (unsigned long)st->st_uid);
    return (st->st_mode & (S_IWGRP | S_IWOTH)) == 0 ||
           err_set(err, ERR_DENIED,
                   "others than its owner may write to '%s', so no signature "
                   "is accepted; run chmod go-w on it, or move the list of "
                   "signers to a directory that only its owner can change",
                   path);
}

/* Whoever can rename a directory on the way can replace the list, except in a
 * directory like /tmp, where only owners rename. Below the base, the way to the
 * base is trusted like the base itself. */
static bool way_is_ours(const char *file, const struct base *base,
                        struct err *err) {
    CLEANUP(text_free_string) char *path = mem_string(file);
    bool is_first = true;
    struct stat st;
    for (char *slash; (slash = strrchr(path, '/')) != NULL; is_first = false) {
        slash[slash == path ? 1 : 0] = '\0';
        if (stat(path, &st) < 0)
            return err_errno(err, errno, "cannot look at '%s'", path);
        if (!is_first && (st.st_mode & S_ISVTX) != 0)
            st.st_mode &= ~(mode_t)(S_IWGRP | S_IWOTH);
        if (!is_ours(path, &st, base, err))
            return false;
        if (strcmp(path, base->path) == 0 || path[1] == '\0')
            break;
    }
    return true;
}

static bool list_is_ours(const struct base *base, struct span name,
                         struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const char *path = base_resolve(base->path, name, &arena);
    CLEANUP(text_free_string) char *real = realpath(path, NULL);
    struct stat st;
    if (real == NULL || stat(real, &st) < 0)
        return true; /* it cannot be read, which ssh-keygen reports */
    return is_ours(path, &st, base, err) && way_is_ours(path, base, err) &&
           (strcmp(path, real) == 0 || way_is_ours(real, base, err));
}

bool signature_lists_check(const struct base *base, struct err *err) {
    const struct config_queue *queue = &base->config.queue;
    return list_is_ours(base, queue->allowed_signers, err) &&
           (queue->revoked_keys.len == 0 ||
            list_is_ours(base, queue->revoked_keys, err));
}

/* ---- its output ---------------------------------------------------------- */

static struct span last_word(struct span line) {
    size_t at = line.len;
    while (at > 0 && line.p[at - 1] != ' ')
        at--;
    return span_make(line.p + at, line.len - at);
}

/* The key, from: Good "cq-approve" signature for NAME with KIND key SHA256:X */
static struct span key_of(struct span answer) {
    struct span line, none = {0};
    while (span_cut(&answer, '\n', &line))
        if (span_starts(line, "Good \"" APPROVAL_NAMESPACE "\" signature"))
            return span_starts(last_word(line), "SHA256:") ? last_word(line)
                                                           : none;
    return none;
}

static bool has(struct span answer, const char *words) {
    return answer.len > 0 &&
           memmem(answer.p, answer.len, words, strlen(words)) != NULL;
}

/* Our wording for a known message. NULL: ssh-keygen gave no reason, which is
 * the case if no line of the file has that name with that key, or if the key is
 * revoked. */
static const char *reason_of(struct span answer) {
    static const struct {
        const char *theirs, *ours;
    } reasons[] = {
        {"namespace does not match",
         "it was made for another namespace than " APPROVAL_NAMESPACE},
        {"not permitted for use in signature namespace",
         "the key may not sign in namespace " APPROVAL_NAMESPACE},
        {"has expired", "the key has expired (valid-before)"},
        {"not yet valid", "the key is not valid yet (valid-after)"},
        {"incorrect signature", "it does not match the text"},
        {"Couldn't parse signature", "it is not an SSH signature"},
        {"invalid format", "it is not an SSH signature"},
        {"Unable to open allowed keys file",
         "the file of [queue] allowed-signers cannot be read"},
    };
    for (size_t i = 0; i < COUNT(reasons); i++)
        if (has(answer, reasons[i].theirs))
            return reasons[i].ours;
    return NULL;
}

/* ---- the caller ---------------------------------------------------------- */

struct signature_check {
    struct subprocesses *subprocesses;
    const struct base *base;
    int fd;
    char *signers, *revoked, *by;
    char time[TIME_BYTES];
    bool again; /* a run without the revoked keys, to find the reason */
    bool *over; /* flag in signature_check's frame until it returns */
    signature_done *done;
    void *ctx;
};

static void check_free(struct signature_check *check) {
    fd_close(&check->fd);
    free(check->signers);
    free(check->revoked);
    free(check->by);
    free(check);
}

static void ignore_result(void *ctx, const struct signature_verdict *verdict) {
    (void)ctx, (void)verdict;
}

void signature_forget(struct signature_check *check) {
    if (check)
        check->done = ignore_result;
}

static void report(struct signature_check *check, enum signature_how how,
                   struct span key, const char *why) {
    check->done(check->ctx, &(struct signature_verdict){how, key, why});
    if (check->over)
        *check->over = true;
    check_free(check);
}

static void run(struct signature_check *check);

static void judge(struct signature_check *check, struct span answer) {
    CLEANUP(text_clear) struct text why = TEXT_INIT;
    const char *reason = reason_of(answer);
    if (!reason && !check->again && strcmp(check->revoked, "-") != 0) {
        check->again = true;
        run(check);
        return;
    }
    if (reason)
        text_addf(&why, "the signature of '%s' is invalid: %s", check->by,
                  reason);
    else
        text_addf(&why,
                  "the signature of '%s' is invalid: no line of '%s' lists "
                  "this key under that name",
                  check->by, check->signers);
    report(check, SIGNATURE_BAD, (struct span){0}, text_string(&why));
}

static void on_end(void *ctx, const struct subprocess_end *end) {
    struct signature_check *check = ctx;
    CLEANUP(text_clear) struct text why = TEXT_INIT;
    struct span none = {0};
    if (end->how == SUBPROCESS_NOT_NOW) {
        report(check, SIGNATURE_NOT_NOW, none, end->why);
    } else if (end->how == SUBPROCESS_FAILED) {
        text_addf(&why, "ssh-keygen %s on its signature", end->why);
        report(check, SIGNATURE_BAD, none, text_string(&why));
    } else if (end->exit_code == err_exit_status(ERR_TEMPORARY)) {
        struct span said = span_trim(end->answer);
        text_addescaped(
            &why, said.len < WHY_BYTES ? said : span_make(said.p, WHY_BYTES));
        report(check, SIGNATURE_NOT_NOW, none, text_string(&why));
    } else if (end->exit_code == 0 && key_of(end->answer).len > 0) {
        if (check->again)
            report(check, SIGNATURE_BAD, none,
                   "its key is revoked ([queue] revoked-keys)");
        else
            report(check, SIGNATURE_GOOD, key_of(end->answer), NULL);
    } else {
        judge(check, end->answer);
    }
}

static void run(struct signature_check *check) {
    const char *words[] = {"check-signature", check->signers,
                           check->again ? "-" : check->revoked, check->by,
                           check->time};
    struct subprocess subprocess = {.words = words,
                                    .word_count = COUNT(words),
                                    .stdin_fd = check->fd,
                                    .timeout_ms = WALL_MS,
                                    .answer_max = ANSWER_BYTES};
    (void)lseek(check->fd, 0, SEEK_SET);
    subprocesses_run(check->subprocesses, &subprocess, on_end, check);
}

/* "-" if there is none. */
static char *path_of(const struct base *base, struct span path) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    return mem_string(path.len == 0 ? "-"
                                    : base_resolve(base->path, path, &arena));
}

struct signature_check *signature_check(const struct base *base,
                                        struct subprocesses *subprocesses,
                                        int fd, struct span by, struct wall now,
                                        signature_done *done, void *ctx) {
    struct signature_check *check = mem_alloc(sizeof(*check));
    time_t seconds = (time_t)wall_s(now);
    struct err err = {0};
    bool over = false;
    struct tm utc;
    check->over = &over;
    check->subprocesses = subprocesses;
    check->base = base;
    check->signers = path_of(base, base->config.queue.allowed_signers);
    check->revoked = path_of(base, base->config.queue.revoked_keys);
    check->by = span_string(by);
    (void)strftime(check->time, sizeof(check->time), "%Y%m%d%H%M%SZ",
                   gmtime_r(&seconds, &utc));
    check->done = done;
    check->ctx = ctx;
    check->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (!signature_lists_check(base, &err)) {
        report(check, SIGNATURE_BAD, (struct span){0}, err.text);
        return NULL;
    }
    if (check->fd < 0) {
        report(check, SIGNATURE_NOT_NOW, (struct span){0},
               "too many open files");
        return NULL;
    }
    run(check);
    if (over)
        return NULL;
    check->over = NULL;
    return check;
}
