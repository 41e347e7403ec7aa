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
#include "landing/git_file.h"

static const char head_lock[] = "HEAD.lock";

/* The value of the branch and the file that holds it. */
static bool value_read(const struct ref_plain *plain, char ret_oid[OID_BYTES],
                       struct stat *ret_st) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    if (git_file_read(plain->git->dir_fd, plain->ref, O_NOFOLLOW, 2 * OID_BYTES,
                      &text, ret_st) != GIT_FILE_READ)
        return false;
    struct span oid = span_trim(text_span(&text));
    snprintf(ret_oid, OID_BYTES, "%.*s", (int)oid.len,
             oid.len > 0 ? oid.p : "");
    return git_oid_is_valid(oid);
}

/* *ret_is: HEAD refers to the branch. */
static bool head_read(const struct ref_plain *plain, bool *ret_is) {
    CLEANUP(text_clear) struct text head = TEXT_INIT;
    if (!git_file_head(plain->git->dir_fd, &head))
        return false;
    *ret_is = span_is(text_span(&head), plain->ref);
    return true;
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
    char value[OID_BYTES];
    *plain = (struct ref_plain){.git = git};
    snprintf(plain->ref, PATH_MAX, "refs/heads/%s", branch);
    snprintf(plain->log, PATH_MAX, "logs/refs/heads/%s", branch);
    if (snprintf(plain->lock, PATH_MAX, "refs/heads/%s.lock", branch) >=
            PATH_MAX ||
        faccessat(git->dir_fd, "reftable", F_OK, 0) == 0 ||
        !head_read(plain, &plain->has_head) ||
        !value_read(plain, value, ret_st) || !log_exists(plain, plain->log))
        return false;
    return !plain->has_head || log_exists(plain, "logs/HEAD");
}

bool ref_plain_is(const struct git *git, const char *branch) {
    struct ref_plain plain;
    struct stat st;
    return look(&plain, git, branch, &st);
}

/* The mode of the branch's file, changed as core.sharedRepository asks for.
 * False: only git knows. */
static bool mode_find(const struct git *git, mode_t old, mode_t *ret_mode) {
    static const struct {
        const char *value;
        mode_t more;
    } words[] = {{"", 0},         {"umask", 0},       {"false", 0},
                 {"group", 0660}, {"true", 0660},     {"1", 0660},
                 {"all", 0664},   {"world", 0664},    {"2", 0664},
                 {"0", 0},        {"everybody", 0664}};
    CLEANUP(text_clear) struct text shared = TEXT_INIT;
    unsigned exact;
    char rest;
    if (!git_file_core(git->dir_fd, "sharedrepository", &shared))
        return false;
    for (size_t i = 0; i < COUNT(words); i++)
        if (span_is(text_span(&shared), words[i].value)) {
            *ret_mode = (old & 0777) | words[i].more;
            return true;
        }
    *ret_mode = 0;
    if (shared.len != 4 ||
        sscanf(text_string(&shared), "0%3o%c", &exact, &rest) != 1)
        return false;
    *ret_mode = exact & 0666;
    return true;
}

/* The file must be what git would have made of the branch's present one. */
static bool is_alike(const struct git *git, int fd, const struct stat *old) {
    struct stat st;
    mode_t mode;
    return mode_find(git, old->st_mode, &mode) && fchmod(fd, mode) == 0 &&
           fstat(fd, &st) == 0 && st.st_uid == old->st_uid &&
           st.st_gid == old->st_gid && st.st_dev == old->st_dev;
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
    return dir_write_file(fd, text_span(&line), NULL) &&
           is_alike(plain->git, fd, old);
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

/* In the order of git. HEAD may have changed since the look at the repository:
 * then its reflog is to get a line that was not prepared, or none. */
bool ref_plain_lock(struct ref_plain *plain, const char *old) {
    struct stat st;
    char value[OID_BYTES];
    bool has_head;
    plain->locked = lock_take(plain, plain->lock);
    plain->head_locked =
        plain->locked && plain->has_head && lock_take(plain, head_lock);
    return plain->locked && plain->head_locked == plain->has_head &&
           head_read(plain, &has_head) && has_head == plain->has_head &&
           value_read(plain, value, &st) && strcmp(value, old) == 0;
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
