#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/map.h"
#include "os/dir.h"
#include "os/sum.h"
#include "maintenance/backup_parts.h"
#include "maintenance/restored.h"
#include "changes/projection.h"
#include "wire/tar.h"

/* A backup is treated as untrusted input: each member must have one of a few
 * first names, stay below the new base, and agree with the manifest to be
 * accepted. */

enum { MANIFEST_BYTES = 256 << 20, PATH_MOST = 4096 };

struct reading {
    struct archive *tar;
    int into;
    struct map sums; /* path -> "SUM SIZE" as read */
    struct text manifest;
    bool has_manifest;
    struct backup_report *report;
    backup_stopped *stopped;
};

static bool bad(struct reading *reading, struct err *err, const char *what) {
    const char *why = tar.error_string(reading->tar);
    return err_set(err, ERR_DATA, "%s%s%s%s", what, why ? " (" : "",
                   why ? why : "", why ? ")" : "");
}

static bool is_allowed(struct span path) {
    static const char *const dirs[] = {"conf.d/",        "prequeue/", "data/",
                                       "archive/",       "attempts/", "reject/",
                                       BASE_BRANCHES "/"};
    if (path.len > PATH_MOST)
        return false;
    if (span_is(path, BASE_CONFIG) || span_is(path, "registry.db"))
        return true;
    for (size_t i = 0; i < COUNT(dirs); i++)
        if (span_starts(path, dirs[i]))
            return path.len > strlen(dirs[i]);
    return false;
}

/* ---- a member -------------------------------------------------------- */

/* Makes the missing directories on the way, one name after the other. */
static bool open_target(int into, const char *path, mode_t mode, int *ret_fd,
                        struct err *err) {
    CLEANUP(fd_close) int at = -1;
    struct span rest = span_of(path), part;
    if (strcmp(path, "registry.db") == 0)
        rest = SPAN("ctrl/registry.db");
    while (span_cut(&rest, '/', &part)) {
        CLEANUP(text_free_string) char *name = span_string(part);
        int dir = at < 0 ? into : at, next = -1;
        if (!rest.p)
            return dir_open_file(dir, name, O_WRONLY | O_CREAT | O_EXCL,
                                 mode & 0700, ret_fd, err);
        if (!dir_make(dir, name, 0700, err) || !dir_open(dir, name, &next, err))
            return false;
        fd_close(&at);
        at = next;
    }
    return err_set(err, ERR_DATA, "a member has no name");
}

static bool read_content(struct reading *reading, int fd,
                         char ret_sum[SUM_TEXT_BYTES], uint64_t *ret_bytes,
                         struct err *err) {
    struct sum *sum = sum_new();
    const void *bytes;
    size_t count;
    la_int64_t at;
    bool ok = true;
    int got = ARCHIVE_OK;
    *ret_bytes = 0;
    while (ok && (got = tar.read_data_block(reading->tar, &bytes, &count,
                                            &at)) == ARCHIVE_OK) {
        ok = backup_goes_on(reading->stopped, err) &&
             ((uint64_t)at == *ret_bytes ||
              bad(reading, err, "a member is sparse"));
        sum_add(sum, span_make(bytes, count));
        *ret_bytes += count;
        ok = ok && (fd < 0 || dir_write_file(fd, span_make(bytes, count), err));
    }
    sum_end(sum, ret_sum);
    return ok && (got == ARCHIVE_EOF ||
                  bad(reading, err, "it is damaged or truncated"));
}

static bool read_manifest(struct reading *reading, struct err *err) {
    const void *bytes;
    size_t count;
    la_int64_t at;
    int got;
    while ((got = tar.read_data_block(reading->tar, &bytes, &count, &at)) ==
           ARCHIVE_OK) {
        if (reading->manifest.len + count > MANIFEST_BYTES)
            return err_set(err, ERR_DATA, "its manifest is too long");
        text_add(&reading->manifest, bytes, count);
    }
    reading->has_manifest = true;
    return got == ARCHIVE_EOF ||
           bad(reading, err, "it is damaged or truncated");
}

static bool read_member(struct reading *reading, struct archive_entry *entry,
                        struct err *err) {
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    CLEANUP(text_clear) struct text shown = TEXT_INIT;
    CLEANUP(fd_close) int fd = -1;
    char sum[SUM_TEXT_BYTES];
    uint64_t bytes;
    const char *path = tar.entry_pathname(entry);
    if (!path || tar.entry_filetype(entry) != AE_IFREG || reading->has_manifest)
        return err_set(err, ERR_DATA, "it is not a backup of this program");
    if (strcmp(path, "MANIFEST") == 0)
        return read_manifest(reading, err);
    text_addescaped(&shown, span_of(path));
    if (!is_allowed(span_of(path)))
        return err_set(err, ERR_DATA,
                       "its member '%s' does not belong in a base", shown.p);
    if (reading->into >= 0 &&
        !open_target(reading->into, path, tar.entry_perm(entry), &fd, err))
        return false;
    if (!read_content(reading, fd, sum, &bytes, err))
        return err_wrap(err, "member '%s'", shown.p);
    text_addf(&line, "%s %" PRIu64, sum, bytes);
    char *old = map_put(&reading->sums, text_span(&shown),
                        span_string(text_span(&line)));
    free(old);
    reading->report->files++;
    reading->report->bytes += bytes;
    return old ? err_set(err, ERR_DATA, "member '%s' occurs twice", shown.p)
               : true;
}

/* ---- the manifest ---------------------------------------------------- */

static bool compare_line(struct reading *reading, struct span line,
                         struct err *err) {
    /* "SUM SIZE PATH" */
    const char *blank = memchr(line.p, ' ', line.len);
    const char *second =
        blank ? memchr(blank + 1, ' ', line.len - (size_t)(blank + 1 - line.p))
              : NULL;
    if (!second)
        return err_set(err, ERR_DATA, "its manifest is damaged");
    struct span said = span_make(line.p, (size_t)(second - line.p));
    struct span path =
        span_make(second + 1, line.len - (size_t)(second + 1 - line.p));
    CLEANUP(text_free_string) char *found = map_remove(&reading->sums, path);
    if (!found)
        return err_set(err, ERR_DATA, "its member '%.*s' is missing",
                       (int)path.len, path.p);
    if (!span_is(said, found))
        return err_set(err, ERR_DATA, "its member '%.*s' is damaged",
                       (int)path.len, path.p);
    return true;
}

static bool compare(struct reading *reading, struct err *err) {
    struct span rest = text_span(&reading->manifest), line;
    if (!reading->has_manifest)
        return err_set(err, ERR_DATA,
                       "it has no manifest: it is truncated, or not a backup "
                       "of this program");
    while (span_cut(&rest, '\n', &line))
        if (line.len > 0 && !compare_line(reading, line, err))
            return false;
    if (map_count(&reading->sums) > 0)
        return err_set(err, ERR_DATA,
                       "it contains members that its manifest does not list");
    return true;
}

static void clear_sums(struct map *sums) {
    size_t cursor = 0;
    struct span key;
    void *value;
    while (map_next(sums, &cursor, &key, &value))
        free(value);
    map_clear(sums);
}

bool backup_read(int fd, int into, backup_stopped *stopped,
                 struct backup_report *report, struct err *err) {
    if (!tar_load(err))
        return false;
    struct reading reading = {.tar = tar.read_new(),
                              .into = into,
                              .report = report,
                              .stopped = stopped};
    struct archive_entry *entry;
    int got = ARCHIVE_OK;
    tar.read_support_format_tar(reading.tar);
    bool ok = tar.read_open_fd(reading.tar, fd, 256 * 1024) == ARCHIVE_OK ||
              bad(&reading, err, "it is not a backup of this program");
    while (ok &&
           (got = tar.read_next_header(reading.tar, &entry)) == ARCHIVE_OK)
        ok = read_member(&reading, entry, err);
    if (ok && got != ARCHIVE_EOF)
        ok = bad(&reading, err, "it is damaged, or not a backup");
    ok = ok && compare(&reading, err);
    tar.read_free(reading.tar);
    clear_sums(&reading.sums);
    text_clear(&reading.manifest);
    return ok;
}

/* ---- restore --------------------------------------------------------- */

/* Rebuilds what is derived from the registry, and records the restore. */
static bool derive(const char *path, struct wall now, struct err *err) {
    struct base_open how = {.exclusive = true};
    struct projection *projection;
    struct base *base;
    if (!base_open(path, &how, &base, err))
        return false;
    bool ok = store_verify(base->store, err) && restored_hold(base, now, err) &&
              projection_open(base, &projection, err);
    if (ok) {
        ok = projection_remake(projection, now, err);
        projection_close(projection);
    }
    if (ok) {
        struct store_batch *batch = store_batch_new(base->store);
        store_batch_actor(batch, now, SPAN("daemon:restore"));
        store_note(batch, EVENT_RESTORED, 0, SPAN(""), SPAN("restored"),
                   SPAN("from a backup"));
        ok = store_write(batch, err);
        store_batch_free(batch);
    }
    ok = ok && (disk->syncfs(base->fd) == 0 ||
                err_errno(err, errno, "cannot sync base '%s'", path));
    base_close(base);
    return ok;
}

static bool unpack(int fd, const char *path, const struct role *const *roles,
                   struct backup_report *report, struct err *err) {
    CLEANUP(fd_close) int into = -1;
    if (mkdir(path, 0700) < 0)
        return err_errno(err, errno, "cannot create directory '%s'", path);
    into = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (into < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    return base_make(into, roles, err) &&
           backup_read(fd, into, NULL, report, err);
}

/* Removes leftovers of this or an earlier attempt; a missing file is fine. */
static bool remove_leftovers(const char *path, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(fd_close)
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct span *names;
    size_t count;
    if (fd < 0 && errno == ENOENT)
        return true;
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    if (!dir_list(fd, &arena, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!dir_remove_tree(fd, names[i].p, err))
            return false;
    return rmdir(path) == 0 ||
           err_errno(err, errno, "cannot remove '%s'", path);
}

static bool is_free(const char *path, struct err *err) {
    if (rmdir(path) == 0 || errno == ENOENT)
        return true;
    if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR)
        return err_set(err, ERR_REFUSED,
                       "'%s' is not empty: a backup is restored into a new "
                       "directory",
                       path);
    return err_errno(err, errno, "cannot use '%s'", path);
}

/* The new name of the base is on disk when its restore is reported. */
static bool sync_parent(const char *path, struct err *err) {
    CLEANUP(text_free_string) char *copy = mem_string(path);
    const char *parent = dirname(copy);
    CLEANUP(fd_close)
    int dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir >= 0 ? dir_sync_now(dir, err)
                    : err_errno(err, errno, "cannot open '%s'", parent);
}

bool backup_restore(int fd, const char *path, const struct role *const *roles,
                    struct wall now, struct backup_report *ret_report,
                    struct err *err) {
    CLEANUP(text_clear) struct text part = TEXT_INIT;
    *ret_report = (struct backup_report){0};
    if (!is_free(path, err))
        return false;
    text_addf(&part, "%s.restore", path);
    if (!remove_leftovers(part.p, err))
        return false;
    bool ok =
        unpack(fd, part.p, roles, ret_report, err) && derive(part.p, now, err);
    if (ok && renameat2(AT_FDCWD, part.p, AT_FDCWD, path, RENAME_NOREPLACE) < 0)
        ok = err_errno(err, errno, "cannot rename the base to '%s'", path);
    if (ok && !sync_parent(path, err)) {
        ok = false;
        (void)rename(path, part.p);
    }
    if (!ok)
        (void)remove_leftovers(part.p, NULL);
    return ok;
}
