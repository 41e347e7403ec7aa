#include "os/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/owner.h"

enum { READ_BYTES = 64 * 1024 };

static bool is_one_name(const char *name) {
    return name[0] != '\0' && !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

/* For kernels before 5.6, and sandboxes without openat2: opens name by name. */
static int open_stepwise(int dir, const char *path, int flags) {
    CLEANUP(fd_close) int at = -1;
    struct span rest = span_of(path), part;
    if (rest.len == 0 || path[0] == '/') {
        errno = EXDEV;
        return -1;
    }
    while (span_cut(&rest, '/', &part)) {
        CLEANUP(text_free_string) char *name = span_string(part);
        bool last = !rest.p;
        if (strcmp(name, "..") == 0) {
            errno = EXDEV;
            return -1;
        }
        int fd = openat(at < 0 ? dir : at, name[0] ? name : ".",
                        last ? flags
                             : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            return -1;
        fd_close(&at);
        at = fd;
    }
    return take_fd(&at);
}

static int open_beneath(int dir, const char *path, int flags) {
    struct open_how how = {
        .flags = (uint64_t)flags,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        return open_stepwise(dir, path, flags);
    return (int)fd;
}

bool dir_open_file(int dir, const char *path, int flags, mode_t mode,
                   int *ret_fd, struct err *err) {
    flags |= O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
    *ret_fd = -1;
    if ((flags & O_CREAT) && !is_one_name(path))
        return err_set(err, ERR_CANNOT, "cannot create '%s': not a plain name",
                       path);
    *ret_fd = flags & O_CREAT ? disk->openat(dir, path, flags, mode)
                              : open_beneath(dir, path, flags);
    if (*ret_fd < 0)
        return err_errno(err, errno, "cannot %s '%s'",
                         flags & O_CREAT ? "create" : "open", path);
    if (flags & O_CREAT)
        owner_inherit(*ret_fd, dir);
    return true;
}

bool dir_open(int dir, const char *path, int *ret_fd, struct err *err) {
    *ret_fd = open_beneath(dir, path,
                           O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (*ret_fd < 0)
        return err_errno(err, errno, "cannot open directory '%s'", path);
    return true;
}

bool dir_read_file(int fd, uint64_t limit, struct text *out, struct err *err) {
    size_t begin = out->len;
    for (;;) {
        text_reserve(out, READ_BYTES);
        ssize_t got = read(fd, out->p + out->len, READ_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, errno, "cannot read");
        if (got == 0)
            break;
        out->len += (size_t)got;
        if (out->len - begin > limit)
            return err_set(err, ERR_DATA, "larger than %" PRIu64 " bytes",
                           limit);
    }
    out->p[out->len] = '\0';
    return true;
}

bool dir_read(int dir, const char *name, uint64_t limit, struct text *out,
              struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    if (!dir_open_file(dir, name, O_RDONLY | O_NONBLOCK, 0, &fd, err))
        return false;
    if (!dir_read_file(fd, limit, out, err))
        return err_wrap(err, "file '%s'", name);
    return true;
}

bool dir_write_file(int fd, struct span bytes, struct err *err) {
    while (bytes.len > 0) {
        ssize_t put = disk->write(fd, bytes.p, bytes.len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return err_errno(err, errno, "cannot write");
        bytes.p += put;
        bytes.len -= (size_t)put;
    }
    return true;
}

bool dir_file_sealed(const char *name, struct span bytes, int *ret_fd,
                     struct err *err) {
    CLEANUP(fd_close)
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return err_errno(err, errno, "cannot create a memory file");
    if (!dir_write_file(fd, bytes, err))
        return false;
    if (fcntl(fd, F_ADD_SEALS,
              F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0 ||
        lseek(fd, 0, SEEK_SET) != 0)
        return err_errno(err, errno, "cannot seal a memory file");
    *ret_fd = take_fd(&fd);
    return true;
}

void dir_fresh_name(struct span stem, char ret[256]) {
    static atomic_uint count;
    size_t len = stem.len < 200 ? stem.len : 200;
    snprintf(ret, 256, "%.*s.%ld.%u", (int)len, stem.p ? stem.p : "",
             (long)getpid(), ++count);
}

bool dir_sync_now(int dir, struct err *err) {
    if (disk->fsync(dir) < 0)
        return err_errno(err, errno, "cannot sync a directory");
    return true;
}

static bool write_new(int tmp, const char *name, struct span bytes, mode_t mode,
                      enum dir_sync sync, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    if (!dir_open_file(tmp, name, O_WRONLY | O_CREAT | O_EXCL, mode, &fd, err))
        return false;
    if (!dir_write_file(fd, bytes, err))
        return err_wrap(err, "file '%s'", name);
    if (sync == DIR_DURABLE && disk->fsync(fd) < 0)
        return err_errno(err, errno, "cannot sync '%s'", name);
    return true;
}

bool dir_write(int tmp, int dir, const char *name, struct span bytes,
               mode_t mode, enum dir_sync sync, struct err *err) {
    char fresh[256];
    if (!is_one_name(name))
        return err_set(err, ERR_CANNOT, "cannot write '%s': not a plain name",
                       name);
    dir_fresh_name(span_of(name), fresh);
    bool ok = write_new(tmp, fresh, bytes, mode, sync, err);
    if (ok && disk->renameat(tmp, fresh, dir, name) < 0)
        ok = err_errno(err, errno, "cannot rename the new file to '%s'", name);
    if (!ok) {
        (void)disk->unlinkat(tmp, fresh, 0);
        return false;
    }
    return sync == DIR_LAZY || dir_sync_now(dir, err);
}

static bool is_same_inode(int a_dir, const char *a, int b_dir, const char *b) {
    struct stat one, other;
    return fstatat(a_dir, a, &one, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(b_dir, b, &other, AT_SYMLINK_NOFOLLOW) == 0 &&
           one.st_ino == other.st_ino && one.st_dev == other.st_dev;
}

/* For file systems without RENAME_NOREPLACE. Directories cannot have a second
 * name; they come only from users who drop them there, and checking before the
 * rename is enough for them. */
static int move_by_link(int from_dir, const char *from, int to_dir,
                        const char *to) {
    struct stat st;
    if (fstatat(from_dir, from, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if (S_ISDIR(st.st_mode)) {
        if (fstatat(to_dir, to, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            errno = EEXIST;
            return -1;
        }
        return disk->renameat(from_dir, from, to_dir, to);
    }
    if (disk->linkat(from_dir, from, to_dir, to, 0) < 0)
        return -1;
    return disk->unlinkat(from_dir, from, 0);
}

static int move_once(int from_dir, const char *from, int to_dir,
                     const char *to) {
    if (disk->renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno == EINVAL || errno == ENOSYS)
        if (move_by_link(from_dir, from, to_dir, to) == 0)
            return 0;
    /* A process was killed between link and unlink: two names, one file. */
    if (errno == EEXIST && is_same_inode(from_dir, from, to_dir, to))
        return disk->unlinkat(from_dir, from, 0);
    return -1;
}

bool dir_move(int from_dir, const char *from, int to_dir, const char *to,
              enum dir_sync sync, enum dir_moved *ret_moved, struct err *err) {
    *ret_moved = DIR_MOVED;
    if (move_once(from_dir, from, to_dir, to) < 0) {
        if (errno == ENOENT)
            *ret_moved = DIR_ABSENT;
        else if (errno == EEXIST || errno == ENOTEMPTY)
            *ret_moved = DIR_EXISTS;
        else if (errno == EXDEV)
            return err_set(err, ERR_CONFIG,
                           "cannot move '%s': its directories are on two "
                           "file systems, a base must be on one",
                           from);
        else
            return err_errno(err, errno, "cannot move '%s'", from);
        return true;
    }
    return sync == DIR_LAZY ||
           (dir_sync_now(to_dir, err) && dir_sync_now(from_dir, err));
}

bool dir_remove(int dir, const char *name, bool *ret_was, struct err *err) {
    bool was = disk->unlinkat(dir, name, 0) == 0;
    if (ret_was)
        *ret_was = was;
    if (!was && errno != ENOENT)
        return err_errno(err, errno, "cannot remove '%s'", name);
    return true;
}

bool dir_stat(int dir, const char *name, struct stat *ret_stat, bool *ret_there,
              struct err *err) {
    *ret_there = fstatat(dir, name, ret_stat, AT_SYMLINK_NOFOLLOW) == 0;
    if (!*ret_there && errno != ENOENT)
        return err_errno(err, errno, "cannot check '%s'", name);
    return true;
}

static void close_dir(DIR **dir) {
    if (*dir)
        closedir(*dir);
}

static DIR *dir_begin(int dir, struct err *err) {
    CLEANUP(fd_close)
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream)
        (void)err_errno(err, errno, "cannot read a directory");
    else
        (void)take_fd(&fd);
    return stream;
}

bool dir_each(int dir, bool (*each)(void *ctx, struct span name), void *ctx,
              struct err *err) {
    CLEANUP(close_dir) DIR *stream = dir_begin(dir, err);
    if (!stream)
        return false;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(stream);
        if (!entry && errno != 0)
            return err_errno(err, errno, "cannot read a directory");
        if (!entry)
            return true;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (!each(ctx, span_of(entry->d_name)))
            return true;
    }
}

struct listing {
    struct arena *arena;
    struct span *names;
    size_t count, room;
};

static bool listing_add(void *ctx, struct span name) {
    struct listing *listing = ctx;
    if (listing->count == listing->room) {
        listing->room = listing->room ? 2 * listing->room : 64;
        listing->names =
            mem_grow(listing->names, listing->room, sizeof(struct span));
    }
    listing->names[listing->count++] = arena_span(listing->arena, name);
    return true;
}

static int compare_names(const void *a, const void *b) {
    return span_compare(*(const struct span *)a, *(const struct span *)b);
}

bool dir_list(int dir, struct arena *arena, struct span **ret_names,
              size_t *ret_count, struct err *err) {
    struct listing listing = {.arena = arena};
    bool ok = dir_each(dir, listing_add, &listing, err);
    if (listing.count > 0) {
        size_t bytes = listing.count * sizeof(struct span);
        qsort(listing.names, listing.count, sizeof(struct span), compare_names);
        *ret_names = arena_alloc(arena, bytes);
        memcpy(*ret_names, listing.names, bytes);
    } else {
        *ret_names = NULL;
    }
    *ret_count = listing.count;
    free(listing.names);
    return ok;
}

bool dir_make(int dir, const char *name, mode_t mode, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    if (disk->mkdirat(dir, name, mode) < 0) {
        if (errno == EEXIST)
            return true;
        return err_errno(err, errno, "cannot create directory '%s'", name);
    }
    if (!dir_open(dir, name, &fd, err))
        return false;
    if (disk->fchmod(fd, mode) < 0)
        return err_errno(err, errno, "cannot set the mode of '%s'", name);
    owner_inherit(fd, dir);
    return true;
}

bool dir_remove_tree(int dir, const char *name, struct err *err) {
    if (disk->unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return true;
    if (errno != EISDIR && errno != EPERM)
        return err_errno(err, errno, "cannot remove '%s'", name);
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(fd_close) int fd = -1;
    struct span *names;
    size_t count;
    if (!dir_open(dir, name, &fd, err) ||
        !dir_list(fd, &arena, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!dir_remove_tree(fd, names[i].p, err))
            return false;
    if (disk->unlinkat(dir, name, AT_REMOVEDIR) < 0)
        return err_errno(err, errno, "cannot remove '%s'", name);
    return true;
}

bool dir_give_tree(int dir, const char *name, uid_t uid, gid_t gid,
                   struct err *err) {
    struct stat stat;
    if (fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ||
               err_errno(err, errno, "cannot check '%s'", name);
    if (S_ISDIR(stat.st_mode)) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        CLEANUP(fd_close) int fd = -1;
        struct span *names;
        size_t count;
        if (!dir_open(dir, name, &fd, err) ||
            !dir_list(fd, &arena, &names, &count, err))
            return false;
        for (size_t i = 0; i < count; i++)
            if (!dir_give_tree(fd, names[i].p, uid, gid, err))
                return false;
    }
    return fchownat(dir, name, uid, gid, AT_SYMLINK_NOFOLLOW) == 0 ||
           err_errno(err, errno, "cannot change the owner of '%s'", name);
}
