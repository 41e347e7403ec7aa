#include "landing/branch_note.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/text.h"
#include "os/dir.h"
#include "os/fd.h"
#include "os/owner.h"
#include "os/sum.h"
#include "landing/branch_tip.h"
#include "landing/git_file.h"

enum { NOTE_MAX_BYTES = 16384 };

static void note_format(const char *git, const char *branch, struct text *text,
                        char ret_name[SUM_TEXT_BYTES]) {
    text_addf(text, "%s\n%s\n", git, branch);
    sum_bytes(text_span(text), ret_name);
}

struct note {
    struct text path;
    bool exists;
    char commit[OID_BYTES]; /* "": an earlier version did not write it */
    char root[OID_BYTES];   /* "": the same, or it was not known */
};

static void note_clear(struct note *note) {
    text_clear(&note->path);
}

static bool note_read(const char *dir, const char *git, const char *branch,
                      struct note *ret_note, struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    CLEANUP(text_clear) struct text content = TEXT_INIT;
    char name[SUM_TEXT_BYTES];
    struct span line, rest;
    note_format(git, branch, &text, name);
    text_addf(&ret_note->path, "%s/%s", dir, name);
    const char *path = text_string(&ret_note->path);
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ||
               err_errno(err, errno, "cannot look for '%s'", path);
    if (!dir_read_file(fd, NOTE_MAX_BYTES, &content, err))
        return err_wrap(err, "file '%s'", path);
    ret_note->exists = true;
    rest = text_span(&content);
    for (int i = 0; span_cut(&rest, '\n', &line); i++)
        if ((i == 2 || i == 3) && git_oid_is_valid(line))
            snprintf(i == 2 ? ret_note->commit : ret_note->root, OID_BYTES,
                     "%.*s", (int)line.len, line.p);
    return true;
}

/* The directory's own name must be durable before a note in it is. */
static bool notes_make(const char *dir, struct err *err) {
    CLEANUP(text_clear) struct text parent = TEXT_INIT;
    CLEANUP(fd_close) int fd = -1;
    if (mkdir(dir, 0700) != 0)
        return errno == EEXIST ||
               err_errno(err, errno, "cannot create '%s'", dir);
    text_addf(&parent, "%s/..", dir);
    fd = open(text_string(&parent), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(fd_close) int made = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && made >= 0)
        owner_inherit(made, fd);
    return (fd >= 0 && fsync(fd) == 0) ||
           err_errno(err, errno, "cannot sync '%s'", text_string(&parent));
}

static bool note_write(const char *dir, const char *git, const char *branch,
                       const char *commit, const char *root, struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    CLEANUP(fd_close) int fd = -1;
    char name[SUM_TEXT_BYTES];
    note_format(git, branch, &text, name);
    text_addf(&text, "%s\n", commit);
    if (root[0] != '\0')
        text_addf(&text, "%s\n", root);
    if (!notes_make(dir, err))
        return false;
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", dir);
    return dir_write(fd, fd, name, text_span(&text), 0600, DIR_DURABLE, err);
}

/* The commit with which the branch began that `commit` is on: the last of its
 * first parents. Other histories that were merged into it may be in other
 * repositories too. "": that is not known here. */
static bool root_find(struct git *git, const char *commit,
                      char ret_root[OID_BYTES], struct err *err) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    int status = 0;
    ret_root[0] = '\0';
    if (git_file_shallow(git->dir_fd))
        return true;
    if (!git_run(git,
                 GIT_ARGS("rev-list", "--first-parent", "--max-parents=0",
                          commit, "--"),
                 GIT_QUIET | GIT_BLIND, SPAN(""), &out, &status, err))
        return false;
    struct span oid = span_trim(text_span(&out));
    if (status == 0 && git_oid_is_valid(oid))
        snprintf(ret_root, OID_BYTES, "%.*s", (int)oid.len, oid.p);
    return true;
}

/* Adds what the note does not have yet. Of the history of its commit, a part
 * may be gone after a forced push; then that of the tip counts. */
static bool note_complete(const char *dir, struct git *git, const char *branch,
                          const char *tip, const struct note *note,
                          struct err *err) {
    const char *commit = note->commit[0] != '\0' ? note->commit : tip;
    char root[OID_BYTES];
    if (!root_find(git, commit, root, err) ||
        (root[0] == '\0' && commit != tip && !root_find(git, tip, root, err)))
        return false;
    return (root[0] == '\0' && note->commit[0] != '\0') ||
           note_write(dir, git->dir, branch, commit, root, err);
}

/* A repository that has lost all of its history, also after a forced push, is
 * another one. */
static bool is_same(const struct note *note, const char *git,
                    const char *branch, struct git_pipe *objects,
                    struct err *err) {
    const char *const witnesses[] = {note->root, note->commit};
    char oid[OID_BYTES], tree[OID_BYTES];
    bool found = false;
    for (size_t i = 0; i < COUNT(witnesses) && !found; i++)
        if (witnesses[i][0] != '\0' &&
            !git_commit_read(objects, witnesses[i], oid, tree, &found, err))
            return false;
    return found ||
           err_set(err, ERR_UNAVAILABLE,
                   "the repository '%s' is not the one that was used before: "
                   "commit %.12s, with which branch '%s' began here, is not in "
                   "it; put that repository back or, if this one is right, "
                   "remove the file '%s'",
                   git, note->root[0] != '\0' ? note->root : note->commit,
                   branch, text_string(&note->path));
}

/* git removes or renames the reflog together with its branch. A single line may
 * be left by a git that was killed before it had created the branch. */
static bool has_reflog(const struct git *git, const char *branch) {
    enum { LINE_BYTES = 4096 }; /* longer than any line of git */
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    CLEANUP(text_clear) struct text head = TEXT_INIT;
    text_addf(&name, "logs/refs/heads/%s", branch);
    enum git_file found = git_file_read(git->dir_fd, text_string(&name), 0,
                                        LINE_BYTES, &head, NULL);
    struct span rest = text_span(&head), line;
    if (found != GIT_FILE_READ || rest.len == 0)
        return found == GIT_FILE_ODD;
    (void)span_cut(&rest, '\n', &line);
    return rest.len > 0 || !span_starts(line, "00000000");
}

bool branch_note_meet(const char *dir, struct git *git, const char *branch,
                      const char *tip, struct git_pipe *objects,
                      struct err *err) {
    CLEANUP(note_clear) struct note note = {.path = TEXT_INIT};
    if (dir == NULL)
        return true;
    if (!note_read(dir, git->dir, branch, &note, err))
        return false;
    if (tip[0] == '\0')
        return !(note.exists || has_reflog(git, branch)) ||
               err_set(err, ERR_UNAVAILABLE,
                       "branch '%s', which existed before, is missing in "
                       "'%s'; restore it, or remove its reflog and '%s' to "
                       "have it created again",
                       branch, git->dir, text_string(&note.path));
    if (note.commit[0] != '\0' && strcmp(note.commit, tip) != 0 &&
        !is_same(&note, git->dir, branch, objects, err))
        return false;
    return note.root[0] != '\0' ||
           note_complete(dir, git, branch, tip, &note, err);
}

bool branch_note_exists(const char *dir, const char *git, struct span branch) {
    CLEANUP(note_clear) struct note note = {.path = TEXT_INIT};
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    CLEANUP(text_free_string) char *name = span_string(branch);
    struct err ignored;
    if (!branch_tip_directory(git, &path))
        return true;
    CLEANUP(text_free_string) char *real = realpath(text_string(&path), NULL);
    return real == NULL || !note_read(dir, real, name, &note, &ignored) ||
           note.exists;
}
