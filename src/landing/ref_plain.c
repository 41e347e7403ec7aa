#include "landing/ref_plain.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/text.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/fd.h"
#include "os/owner.h"

static const char head_lock[] = "HEAD.lock";

/* The first bytes of a file of the repository, without white space around them.
 * False: it is no regular file, or longer than any that is plain. */
static bool line_read(const struct git *git, const char *name, struct text *out,
                      struct stat *ret_st) {
    char bytes[PATH_MAX];
    CLEANUP(fd_close)
    int fd = openat(git->dir_fd, name,
                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, ret_st) != 0 || !S_ISREG(ret_st->st_mode))
        return false;
    ssize_t n = read(fd, bytes, sizeof bytes);
    if (n <= 0 || (size_t)n == sizeof bytes)
        return false;
    text_addspan(out, span_trim(span_make(bytes, (size_t)n)));
    return true;
}

/* The value of the branch and the file that holds it. */
static bool value_read(const struct ref_plain *plain, struct text *out,
                       struct stat *ret_st) {
    return line_read(plain->git, plain->ref, out, ret_st) &&
           git_oid_is_valid(text_span(out));
}

static int log_open(const struct ref_plain *plain, const char *name) {
    struct stat st;
    CLEANUP(fd_close)
    int fd = openat(plain->git->dir_fd, name,
                    O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? take_fd(&fd)
                                                                 : -1;
}

static bool log_exists(const struct ref_plain *plain, const char *name) {
    CLEANUP(fd_close) int fd = log_open(plain, name);
    return fd >= 0;
}

/* Finds out how things are now; *ret_st is of the branch's file. */
static bool look(struct ref_plain *plain, const struct git *git,
                 const char *branch, struct stat *ret_st) {
    struct stat st;
    CLEANUP(text_clear) struct text head = TEXT_INIT;
    CLEANUP(text_clear) struct text value = TEXT_INIT;
    *plain = (struct ref_plain){.git = git};
    snprintf(plain->ref, PATH_MAX, "refs/heads/%s", branch);
    snprintf(plain->log, PATH_MAX, "logs/refs/heads/%s", branch);
    if (snprintf(plain->lock, PATH_MAX, "refs/heads/%s.lock", branch) >=
            PATH_MAX ||
        faccessat(git->dir_fd, "reftable", F_OK, 0) == 0 ||
        !line_read(git, "HEAD", &head, &st) ||
        !value_read(plain, &value, ret_st) || !log_exists(plain, plain->log))
        return false;
    struct span at = text_span(&head);
    plain->has_head =
        span_starts(at, "ref: ") &&
        span_is(span_trim(span_make(at.p + 5, at.len - 5)), plain->ref);
    return !plain->has_head || log_exists(plain, "logs/HEAD");
}

bool ref_plain_is(const struct git *git, const char *branch) {
    struct ref_plain plain;
    struct stat st;
    return look(&plain, git, branch, &st);
}

/* The file must be what git would have made of the branch's present one. */
static bool is_alike(int fd, const struct stat *old) {
    struct stat st;
    return fchmod(fd, old->st_mode & 0777) == 0 && fstat(fd, &st) == 0 &&
           st.st_uid == old->st_uid && st.st_gid == old->st_gid &&
           st.st_dev == old->st_dev;
}

/* git's gc removes old files that are called tmp_*. */
static bool fresh_write(struct ref_plain *plain, const char *to,
                        const struct stat *old) {
    char name[256];
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    CLEANUP(fd_close)
    int objects = openat(plain->git->dir_fd, "objects",
                         O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dir_fresh_name(SPAN("tmp_obj_pointsman"), name);
    if (objects < 0)
        return false;
    CLEANUP(fd_close)
    int fd =
        openat(objects, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    snprintf(plain->fresh, PATH_MAX, "objects/%s", name);
    owner_inherit(fd, objects);
    text_addf(&line, "%s\n", to);
    return dir_write_file(fd, text_span(&line), NULL) && is_alike(fd, old);
}

bool ref_plain_open(const struct git *git, const char *branch, const char *to,
                    struct ref_plain *ret_plain) {
    struct stat old;
    return look(ret_plain, git, branch, &old) &&
           fresh_write(ret_plain, to, &old);
}

static bool lock_take(const struct ref_plain *plain, const char *name) {
    int dir = plain->git->dir_fd;
    return linkat(dir, plain->fresh, dir, name, 0) == 0;
}

static void name_remove(const struct ref_plain *plain, const char *name) {
    unlinkat(plain->git->dir_fd, name, 0);
}

/* In the order of git. */
bool ref_plain_lock(struct ref_plain *plain, const char *old) {
    struct stat st;
    CLEANUP(text_clear) struct text value = TEXT_INIT;
    plain->locked = lock_take(plain, plain->lock);
    plain->head_locked =
        plain->locked && plain->has_head && lock_take(plain, head_lock);
    return plain->locked && plain->head_locked == plain->has_head &&
           value_read(plain, &value, &st) && span_is(text_span(&value), old);
}

/* While the locks are held, nobody else replaces or shortens the log. */
static void line_add(int log, struct span line, const char *name) {
    struct err err = {0};
    struct stat before;
    if (fstat(log, &before) == 0 && dir_write_file(log, line, &err))
        return;
    printf("cannot write the reflog '%s': %s\n", name, err.text);
    (void)!ftruncate(log, before.st_size);
}

/* The locks stay until ref_plain_end, since `git gc` takes them to rewrite the
 * logs. Unlike git's, the lines follow the rename: after a kill in between, one
 * is missing. A line about a move that never happened would make the next
 * attempt compare its set with a commit that was not on the branch. */
bool ref_plain_commit(struct ref_plain *plain, const char *old, const char *to,
                      const char *message) {
    int dir = plain->git->dir_fd;
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    CLEANUP(fd_close) int log = log_open(plain, plain->log);
    CLEANUP(fd_close)
    int head = plain->has_head ? log_open(plain, "logs/HEAD") : -1;
    text_addf(&line, "%s %s " GIT_NAME " <" GIT_EMAIL "> %lld +0000\t%s\n", old,
              to, (long long)wall_s(clock_wall()), message);
    if (log < 0 || (plain->has_head && head < 0) ||
        strchr(message, '\n') != NULL ||
        renameat(dir, plain->fresh, dir, plain->ref) != 0)
        return false;
    plain->fresh[0] = '\0';
    line_add(log, text_span(&line), plain->log);
    if (plain->has_head)
        line_add(head, text_span(&line), "logs/HEAD");
    return true;
}

void ref_plain_end(struct ref_plain *plain) {
    if (plain->head_locked)
        name_remove(plain, head_lock);
    if (plain->locked)
        name_remove(plain, plain->lock);
    if (plain->fresh[0] != '\0')
        name_remove(plain, plain->fresh);
    *plain = (struct ref_plain){0};
}
