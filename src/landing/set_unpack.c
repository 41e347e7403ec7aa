#include "landing/set_unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/arena.h"
#include "os/dir.h"
#include "landing/set_blobs.h"

struct unpack {
    int root; /* lroot/ */
    int file; /* the file being written, or -1 */
};

/* Makes and opens the parent directory of a path; *ret_name is the last
 * component. */
static bool parent_open(int root, struct span path, struct arena *arena,
                        int *ret_dir, char **ret_name, struct err *err) {
    CLEANUP(fd_close) int at = fcntl(root, F_DUPFD_CLOEXEC, 3);
    struct span part;
    while (span_cut(&path, '/', &part) && path.p != NULL) {
        char *name = arena_string(arena, part);
        int next;
        if (!dir_make(at, name, 0700, err) || !dir_open(at, name, &next, err))
            return false;
        fd_close(&at);
        at = next;
    }
    *ret_name = arena_string(arena, part);
    *ret_dir = take_fd(&at);
    return true;
}

static bool unpack_begin(void *context, const struct set_member *member,
                         struct err *err) {
    struct unpack *unpack = context;
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(fd_close) int dir = -1;
    char *name;
    if (!parent_open(unpack->root, member->path, &arena, &dir, &name, err))
        return false;
    if (!member->symlink)
        return dir_open_file(dir, name, O_WRONLY | O_CREAT | O_EXCL,
                             member->executable ? 0700 : 0600, &unpack->file,
                             err);
    if (symlinkat(arena_string(&arena, member->link), dir, name) != 0)
        return err_errno(err, errno, "cannot create link '%s'", name);
    return true;
}

static bool unpack_content(void *context, const void *p, size_t bytes,
                           struct err *err) {
    struct unpack *unpack = context;
    return dir_write_file(unpack->file, span_make(p, bytes), err);
}

static bool unpack_end(void *context, struct err *err) {
    struct unpack *unpack = context;
    (void)err;
    fd_close(&unpack->file);
    return true;
}

static bool meta_write(int dir, struct span meta, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    return dir_open_file(dir, "meta", O_WRONLY | O_CREAT | O_EXCL, 0600, &fd,
                         err) &&
           dir_write_file(fd, meta, err);
}

bool set_unpack(int tarball_fd, const char *dir, struct span sum, bool symlinks,
                struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(fd_close) int top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0 || mkdirat(top, "lroot", 0700) != 0)
        return err_errno(err, errno, "cannot unpack into '%s'", dir);
    CLEANUP(fd_close) int root = -1;
    if (!dir_open(top, "lroot", &root, err))
        return false;
    struct unpack unpack = {.root = root, .file = -1};
    struct set_visitor visitor = {&unpack, unpack_begin, unpack_content,
                                  unpack_end};
    struct set_limits limits = set_limits_admitted(symlinks);
    struct set_check check;
    bool ok = set_tar_walk(tarball_fd, &limits, &visitor, &arena, &check, err);
    fd_close(&unpack.file);
    return ok && set_check_admitted(&check, sum, err) &&
           meta_write(top, check.meta_text, err);
}
