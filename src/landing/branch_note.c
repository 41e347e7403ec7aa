#include "landing/branch_note.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/text.h"
#include "os/dir.h"
#include "os/owner.h"
#include "os/sum.h"

static void note_format(const char *git, const char *branch, struct text *text,
                        char ret_name[SUM_TEXT_BYTES]) {
    text_addf(text, "%s\n%s\n", git, branch);
    sum_bytes(text_span(text), ret_name);
}

static bool note_exists(const char *dir, const char *git, const char *branch,
                        bool *ret_exists, struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    char name[SUM_TEXT_BYTES];
    note_format(git, branch, &text, name);
    text_addf(&path, "%s/%s", dir, name);
    *ret_exists = access(text_string(&path), F_OK) == 0;
    return *ret_exists || errno == ENOENT ||
           err_errno(err, errno, "cannot look for '%s'", text_string(&path));
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
                       struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    CLEANUP(fd_close) int fd = -1;
    char name[SUM_TEXT_BYTES];
    bool exists;
    if (!note_exists(dir, git, branch, &exists, err) || exists)
        return exists;
    note_format(git, branch, &text, name);
    if (!notes_make(dir, err))
        return false;
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", dir);
    return dir_write(fd, fd, name, text_span(&text), 0600, DIR_DURABLE, err);
}

bool branch_note_meet(const char *dir, const char *git, const char *branch,
                      bool exists, struct err *err) {
    bool existed = false;
    if (dir == NULL)
        return true;
    if (exists)
        return note_write(dir, git, branch, err);
    return note_exists(dir, git, branch, &existed, err) &&
           (!existed ||
            err_set(err, ERR_UNAVAILABLE,
                    "branch '%s' is missing in the repository '%s' and existed "
                    "before; restore it, it is not created again",
                    branch, git));
}
