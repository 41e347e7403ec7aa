#include "maintenance/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes/drop.h"
#include "core/run_as.h"
#include "os/dir.h"
#include "os/lock.h"
#include "os/sum.h"
#include "maintenance/backup_parts.h"
#include "wire/marker.h"
#include "wire/set_name.h"
#include "wire/tar.h"

enum { PIECE_BYTES = 256 * 1024, DEPTH = 8 };

struct writing {
    struct base *base;
    struct archive *tar;
    struct text manifest;
    struct backup_report *report;
    backup_stopped *stopped;
    char *piece;
};

bool backup_goes_on(backup_stopped *stopped, struct err *err) {
    return stopped == NULL || !stopped() ||
           err_set(err, ERR_INTERRUPTED, "interrupted");
}

static bool tar_failed(struct writing *writing, struct err *err) {
    int sys = tar.error_number(writing->tar);
    const char *why = tar.error_string(writing->tar);
    return err_errno(err, sys > 0 ? sys : EIO, "cannot write the backup (%s)",
                     why ? why : "unknown");
}

/* ---- one file -------------------------------------------------------- */

static bool begin_entry(struct writing *writing, const char *path,
                        const struct stat *st, struct err *err) {
    struct archive_entry *entry = tar.entry_new();
    tar.entry_set_pathname(entry, path);
    tar.entry_set_size(entry, st->st_size);
    tar.entry_set_filetype(entry, AE_IFREG);
    tar.entry_set_perm(entry, st->st_mode & 0777);
    tar.entry_set_mtime(entry, st->st_mtim.tv_sec, 0);
    int got = tar.write_header(writing->tar, entry);
    tar.entry_free(entry);
    return got == ARCHIVE_OK || tar_failed(writing, err);
}

/* Reads the size that the file had when it was opened: it may grow meanwhile.
 */
static bool add_content(struct writing *writing, int fd, off_t size,
                        char ret_sum[SUM_TEXT_BYTES], struct err *err) {
    struct sum *sum = sum_new();
    bool ok = true;
    for (off_t at = 0; ok && at < size;) {
        if (!(ok = backup_goes_on(writing->stopped, err)))
            break;
        size_t want =
            size - at < PIECE_BYTES ? (size_t)(size - at) : (size_t)PIECE_BYTES;
        ssize_t got = pread(fd, writing->piece, want, at);
        if (got <= 0)
            ok = err_errno(err, got < 0 ? errno : EIO, "cannot read it");
        else if (tar.write_data(writing->tar, writing->piece, (size_t)got) !=
                 got)
            ok = tar_failed(writing, err);
        else
            sum_add(sum, span_make(writing->piece, (size_t)got));
        at += got > 0 ? got : 0;
    }
    sum_end(sum, ret_sum);
    return ok;
}

static void list_file(struct writing *writing, const char *path,
                      const char *sum, uint64_t bytes) {
    text_addf(&writing->manifest, "%s %" PRIu64 " ", sum, bytes);
    text_addescaped(&writing->manifest, span_of(path));
    text_addc(&writing->manifest, '\n');
    writing->report->files++;
    writing->report->bytes += bytes;
}

static bool add_fd(struct writing *writing, const char *path, int fd,
                   struct err *err) {
    char sum[SUM_TEXT_BYTES];
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_errno(err, errno, "cannot check '%s'", path);
    if (!begin_entry(writing, path, &st, err))
        return false;
    if (!add_content(writing, fd, st.st_size, sum, err))
        return err_wrap(err, "file '%s'", path);
    list_file(writing, path, sum, (uint64_t)st.st_size);
    return true;
}

static bool add_bytes(struct writing *writing, const char *path,
                      struct span bytes, struct err *err) {
    struct stat st = {.st_mode = 0600, .st_size = (off_t)bytes.len};
    return begin_entry(writing, path, &st, err) &&
           (tar.write_data(writing->tar, bytes.p, bytes.len) ==
                (la_ssize_t)bytes.len ||
            tar_failed(writing, err));
}

/* A file that has disappeared was moved on, to a directory that is read later.
 */
static bool add_file(struct writing *writing, int dir, const char *name,
                     const char *path, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    struct err why = {0};
    if (!dir_open_file(dir, name, O_RDONLY | O_NONBLOCK, 0, &fd, &why))
        return why.sys == ENOENT || err_set(err, why.kind, "%s", why.text);
    return add_fd(writing, path, fd, err);
}

static bool add_tree(struct writing *writing, int dir, const char *path,
                     int depth, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span *names;
    size_t count;
    if (!dir_list(dir, &arena, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *name = names[i].p;
        const char *below = arena_printf(&arena, "%s/%s", path, name);
        CLEANUP(fd_close) int sub = -1;
        struct stat st;
        bool there, ok = true;
        if (!dir_stat(dir, name, &st, &there, err))
            return false;
        if (there && S_ISDIR(st.st_mode) && depth < DEPTH)
            ok = dir_open(dir, name, &sub, err) &&
                 add_tree(writing, sub, below, depth + 1, err);
        else if (there && S_ISREG(st.st_mode))
            ok = add_file(writing, dir, name, below, err);
        if (!ok)
            return false;
    }
    return true;
}

static bool add_dir(struct writing *writing, enum base_dir dir,
                    struct err *err) {
    return add_tree(writing, writing->base->dirs[dir], base_dir_name(dir), 0,
                    err);
}

/* Restored, the marker of another account belongs to whoever restores it, so it
 * then says who submitted the set. Markers that do not count yet are left out.
 */
static bool add_marker(struct writing *writing, const char *name,
                       const struct stat *st, const char *path,
                       struct err *err) {
    CLEANUP(text_clear) struct text marker = TEXT_INIT;
    struct access_owner by = {.uid = st->st_uid};
    char sum[SUM_TEXT_BYTES];
    if (!base_has_role(writing->base, st->st_uid, ACCESS_SUBMITTER))
        return true;
    marker_format(span_of(name), &by, &marker);
    sum_bytes(text_span(&marker), sum);
    if (!add_bytes(writing, path, text_span(&marker), err))
        return false;
    list_file(writing, path, sum, marker.len);
    return true;
}

static bool add_prequeue(struct writing *writing, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct base *base = writing->base;
    int dir = base->dirs[BASE_PREQUEUE];
    struct span *names;
    size_t count;
    if (!dir_list(dir, &arena, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *name = names[i].p;
        const char *path =
            arena_printf(&arena, "%s/%s", base_dir_name(BASE_PREQUEUE), name);
        struct set_name parsed;
        struct refusal why;
        struct stat st;
        bool there;
        if (!dir_stat(dir, name, &st, &there, err))
            return false;
        bool is_set = set_name_parse(names[i], &parsed, &why);
        if (!there || !S_ISREG(st.st_mode))
            continue;
        bool is_others = !run_as_is_own(base->uid, st.st_uid), is_linked;
        if (!drop_is_linked(writing->base, &st, &is_linked, err))
            return false;
        if (is_set && is_linked)
            continue;
        if (is_set && is_others ? !add_marker(writing, name, &st, path, err)
                                : !add_file(writing, dir, name, path, err))
            return false;
    }
    return true;
}

/* ---- the whole ------------------------------------------------------- */

static bool add_registry(struct writing *writing, const char *copy,
                         struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    (void)unlink(copy);
    bool ok = store_backup(writing->base->store, copy, err);
    if (ok)
        fd = open(copy, O_RDONLY | O_CLOEXEC);
    if (ok && fd < 0)
        ok = err_errno(err, errno, "cannot open '%s'", copy);
    (void)unlink(copy); /* its content is needed, its name is not */
    return ok && add_fd(writing, "registry.db", fd, err);
}

/* Adds the files of a directory that need not exist. */
static bool add_optional(struct writing *writing, const char *path,
                         struct err *err) {
    CLEANUP(fd_close) int sub = -1;
    struct err why = {0};
    if (!dir_open(writing->base->fd, path, &sub, &why))
        return why.sys == ENOENT || err_set(err, why.kind, "%s", why.text);
    return add_tree(writing, sub, path, DEPTH, err);
}

static bool add_config(struct writing *writing, struct err *err) {
    return add_file(writing, writing->base->fd, BASE_CONFIG, BASE_CONFIG,
                    err) &&
           add_optional(writing, "conf.d", err);
}

static bool add_manifest(struct writing *writing, struct err *err) {
    return add_bytes(writing, "MANIFEST", text_span(&writing->manifest), err);
}

/* Incoming entries come before the registry, so that none is admitted in
 * between and lost; files that the registry refers to come after it. Tarballs
 * come before archive: they move in that direction. */
static bool add_all(struct writing *writing, const char *copy,
                    struct err *err) {
    return add_config(writing, err) && add_prequeue(writing, err) &&
           add_registry(writing, copy, err) &&
           add_optional(writing, BASE_BRANCHES, err) &&
           add_dir(writing, BASE_DATA, err) &&
           add_dir(writing, BASE_ARCHIVE, err) &&
           add_dir(writing, BASE_ATTEMPTS, err) &&
           add_dir(writing, BASE_REJECT, err) && add_manifest(writing, err);
}

static bool write_tar(struct base *base, int fd, const char *copy,
                      backup_stopped *stopped, struct backup_report *report,
                      struct err *err) {
    if (!tar_load(err))
        return false;
    struct writing writing = {
        .base = base,
        .tar = tar.write_new(),
        .report = report,
        .stopped = stopped,
        .piece = mem_alloc(PIECE_BYTES),
    };
    tar.write_set_format_pax_restricted(writing.tar);
    tar.write_add_filter_none(writing.tar);
    bool ok = tar.write_open_fd(writing.tar, fd) == ARCHIVE_OK ||
              tar_failed(&writing, err);
    ok = ok && add_all(&writing, copy, err);
    if (ok && tar.write_close(writing.tar) != ARCHIVE_OK)
        ok = tar_failed(&writing, err);
    tar.write_free(writing.tar);
    text_clear(&writing.manifest);
    free(writing.piece);
    /* EINVAL: a pipe */
    if (ok && fsync(fd) < 0 && errno != EINVAL)
        ok = err_errno(err, errno, "cannot sync the backup");
    return ok;
}

static bool read_back(int fd, backup_stopped *stopped, struct err *err) {
    struct backup_report seen = {0};
    if (lseek(fd, 0, SEEK_SET) < 0)
        return err_errno(err, errno, "cannot read the backup");
    return backup_read(fd, -1, stopped, &seen, err) ||
           (err && err->kind == ERR_INTERRUPTED
                ? false
                : err_wrap(err, "the backup just written is damaged"));
}

/* Splits a path into an open directory and a name in it. */
static bool place_open(const char *file, int *ret_dir, struct text *ret_name,
                       struct err *err) {
    CLEANUP(text_free_string) char *head = mem_string(file);
    CLEANUP(text_free_string) char *tail = mem_string(file);
    const char *dir = dirname(head);
    *ret_dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret_dir < 0)
        return err_errno(err, errno, "cannot open directory '%s'", dir);
    text_adds(ret_name, basename(tail));
    return true;
}

/* Opens FILE.part and locks it: a file left by a dead process is overwritten,
 * and a file that another process holds is not touched. A file that cannot be
 * emptied is removed. *ret_replaced is set only with the lock: until then it
 * may be the file of a backup that is being written. */
static bool part_open(int dir, const char *part, int *ret_fd,
                      bool *ret_replaced, struct err *err) {
    struct stat st;
    bool is_there;
    if (!dir_stat(dir, part, &st, &is_there, err))
        return false;
    if (!lock_take(dir, part, LOCK_EXCLUSIVE, true, false, ret_fd, err))
        return err_wrap(err, "cannot create the backup");
    if (*ret_fd < 0)
        return err_set(
            err, ERR_BUSY,
            "another backup is writing '%s': wait for it, or name another file",
            part);
    *ret_replaced = is_there;
    if (fchmod(*ret_fd, 0600) == 0 && ftruncate(*ret_fd, 0) == 0)
        return true;
    (void)err_errno(err, errno, "cannot empty '%s'", part);
    (void)unlinkat(dir, part, 0);
    return false;
}

static bool publish(int dir, const char *part, const char *name,
                    struct err *err) {
    if (renameat2(dir, part, dir, name, RENAME_NOREPLACE) < 0)
        return err_errno(err, errno, "cannot rename the backup to '%s'", name);
    return dir_sync_now(dir, err);
}

bool backup_stream(struct base *base, int fd, struct backup_report *ret_report,
                   struct err *err) {
    CLEANUP(text_clear) struct text copy = TEXT_INIT;
    *ret_report = (struct backup_report){0};
    text_addf(&copy, "%s/%s/backup.%ld", base->path, base_dir_name(BASE_TMP),
              (long)getpid());
    return write_tar(base, fd, text_string(&copy), NULL, ret_report, err);
}

bool backup_write(struct base *base, const char *file, backup_stopped *stopped,
                  struct backup_report *ret_report, struct err *err) {
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    CLEANUP(text_clear) struct text part = TEXT_INIT;
    CLEANUP(text_clear) struct text copy = TEXT_INIT;
    CLEANUP(fd_close) int dir = -1;
    CLEANUP(fd_close) int fd = -1;
    *ret_report = (struct backup_report){0};
    if (access(file, F_OK) == 0)
        return err_set(err, ERR_CANNOT,
                       "'%s' already exists: choose another name", file);
    if (!place_open(file, &dir, &name, err))
        return err_wrap(err, "cannot create '%s'", file);
    text_addf(&part, "%s.part", text_string(&name));
    text_addf(&copy, "%s.registry", file);
    if (!part_open(dir, part.p, &fd, &ret_report->replaced, err))
        return false;
    bool ok = write_tar(base, fd, copy.p, stopped, ret_report, err) &&
              read_back(fd, stopped, err) && backup_goes_on(stopped, err) &&
              publish(dir, part.p, name.p, err);
    if (!ok)
        (void)unlinkat(dir, part.p, 0);
    return ok;
}
