#include "changes/drop.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "core/run_as.h"
#include "os/dir.h"
#include "wire/job_file.h"
#include "wire/marker.h"

enum { COPY_BYTES = 128 << 10 };

bool drop_open(struct base *base, char ret_name[256], int *ret_fd,
               struct err *err) {
    dir_fresh_name(SPAN("drop"), ret_name);
    return dir_open_file(base->dirs[BASE_TMP], ret_name,
                         O_RDWR | O_CREAT | O_EXCL, 0600, ret_fd, err) &&
           base_give_file(base, *ret_fd, err);
}

/* The owner of the base must be able to read what another account submits. */
bool drop_seal(const struct base *base, int fd, struct err *err) {
    if (disk->fchmod(fd, base->is_drop ? 0444 : 0440) < 0)
        return err_errno(err, errno, "cannot make a tarball read-only");
    if (disk->fsync(fd) < 0)
        return err_errno(err, errno, "cannot sync a tarball");
    return true;
}

/* A move is durable when its directories are synced. An account that may not
 * open them syncs the file system, through a file that it has open there. */
static enum dir_sync sync_of(const struct base *base) {
    return base->is_drop ? DIR_LAZY : DIR_DURABLE;
}

static bool sync_lazy(const struct base *base, int fd, struct err *err) {
    return !base->is_drop || disk->syncfs(fd) == 0 ||
           err_errno(err, errno, "cannot sync the base");
}

bool drop_copy(int from, int to, uint64_t most, struct sum *sum,
               struct err *err) {
    CLEANUP(text_free_string) char *bytes = mem_alloc(COPY_BYTES);
    for (;;) {
        ssize_t got = read(from, bytes, COPY_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, errno, "cannot read it");
        if (got == 0)
            return true;
        if ((uint64_t)got > most)
            return err_set(err, ERR_REFUSED, "it is too large");
        most -= (uint64_t)got;
        struct span piece = span_make(bytes, (size_t)got);
        sum_add(sum, piece);
        if (!dir_write_file(to, piece, err))
            return false;
    }
}

bool drop_adopt(struct base *base, const char *name, int *fd, struct err *err) {
    CLEANUP(fd_close) int copy = -1;
    uint64_t most = (uint64_t)base->config.queue.max_unpacked_bytes;
    char fresh[256], sum_text[SUM_TEXT_BYTES];
    if (!drop_open(base, fresh, &copy, err))
        return false;
    struct sum *sum = sum_new();
    bool ok =
        drop_copy(*fd, copy, most, sum, err) && drop_seal(base, copy, err);
    sum_end(sum, sum_text);
    if (ok && disk->renameat(base->dirs[BASE_TMP], fresh, base->dirs[BASE_DATA],
                             name) < 0)
        ok = err_errno(err, errno, "cannot replace it by a copy");
    if (!ok)
        (void)dir_remove(base->dirs[BASE_TMP], fresh, NULL, NULL);
    ok = ok && dir_sync_now(base->dirs[BASE_DATA], err);
    if (!ok || lseek(copy, 0, SEEK_SET) != 0)
        return err_wrap(err, "data of '%s'", name);
    fd_close(fd);
    *fd = take_fd(&copy);
    return true;
}

/* ---- who submitted it ---------------------------------------------------- */

struct names {
    int dir;
    const struct stat *entry;
    nlink_t count;
};

static bool count_name(void *ctx, struct span name) {
    CLEANUP(text_free_string) char *path = span_string(name);
    struct names *names = ctx;
    struct stat st;
    bool there;
    if (dir_stat(names->dir, path, &st, &there, NULL) && there &&
        st.st_ino == names->entry->st_ino && st.st_dev == names->entry->st_dev)
        names->count++;
    return true;
}

bool drop_is_linked(struct base *base, const struct stat *entry,
                    bool *ret_outside, struct err *err) {
    struct names tmp = {base->dirs[BASE_TMP], entry, 0};
    struct names reject = {base->dirs[BASE_REJECT], entry, 0};
    *ret_outside = false;
    if (entry->st_nlink == 1)
        return true;
    bool ok = dir_each(tmp.dir, count_name, &tmp, err) &&
              dir_each(reject.dir, count_name, &reject, err);
    *ret_outside = tmp.count + reject.count + 1 != entry->st_nlink;
    return ok;
}

bool drop_submitter(struct base *base, const char *name,
                    const struct stat *marker, struct arena *arena,
                    struct access_owner *ret_submitter, struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct refusal why = {0};
    *ret_submitter = (struct access_owner){
        .uid = marker->st_uid,
        .actor = span_of(
            arena_printf(arena, "uid:%lu", (unsigned long)marker->st_uid))};
    if (marker->st_size == 0 || !run_as_is_own(base->uid, marker->st_uid))
        return true;
    if (!dir_read(base->dirs[BASE_PREQUEUE], name, JOB_FILE_BYTES, &text, err))
        return false;
    struct span all = arena_span(arena, text_span(&text));
    return !marker_is_meant(all) ||
           marker_parse(all, span_of(name), ret_submitter, &why) ||
           err_set(err, ERR_DATA, "prequeue/%s: %s", name, why.text);
}

bool drop_is_callers(const char *name, const struct access_owner *submitter,
                     const struct access_owner *caller, struct err *err) {
    struct span who = access_actor_name(submitter->actor);
    return access_owner_is_same(submitter, caller) ||
           err_set(err, ERR_REFUSED,
                   "duplicate-csid: a marker of %.*s for '%s' waits in "
                   "prequeue/; use another id, or wait until it is gone",
                   (int)who.len, who.p, name);
}

/* A marker of somebody else must not become that of this set. */
static bool check_waiting(struct base *base, const char *name,
                          const struct access_owner *caller, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct access_owner submitter;
    struct stat st;
    bool waits;
    if (!dir_stat(base->dirs[BASE_PREQUEUE], name, &st, &waits, err))
        return false;
    return !waits ||
           (drop_submitter(base, name, &st, &arena, &submitter, err) &&
            drop_is_callers(name, &submitter, caller, err));
}

/* ---- a new set ----------------------------------------------------------- */

static bool is_same_data(struct base *base, const char *name, const char *sum,
                         struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    char found[SUM_TEXT_BYTES];
    uint64_t bytes;
    if (!dir_open_file(base->dirs[BASE_DATA], name, O_RDONLY | O_NONBLOCK, 0,
                       &fd, err) ||
        !sum_file(fd, found, &bytes, err))
        return err_wrap(err, "data of '%s'", name);
    if (strcmp(found, sum) == 0)
        return true;
    return err_set(err, ERR_REFUSED,
                   "duplicate-csid: a set '%s' with different content was "
                   "submitted before",
                   name);
}

/* The account that the file of a marker of this process belongs to. */
static uid_t maker_of(const struct base *base) {
    return geteuid() == 0 ? base->uid : geteuid();
}

/* Not durable yet when the marker appears, it would be a marker of its owner
 * after a power cut. */
static bool write_submitter(const struct base *base, int fd, const char *name,
                            const struct access_owner *caller,
                            struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    if (caller->uid == maker_of(base))
        return true;
    marker_format(span_of(name), caller, &text);
    return dir_write_file(fd, text_span(&text), err) &&
           (disk->fsync(fd) == 0 ||
            err_errno(err, errno, "cannot sync a marker"));
}

static bool make_marker(struct base *base, const char *name,
                        const struct access_owner *caller, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    char fresh[256];
    enum dir_moved moved;
    dir_fresh_name(span_of(name), fresh);
    if (!dir_open_file(base->dirs[BASE_TMP], fresh, O_WRONLY | O_CREAT | O_EXCL,
                       0600, &fd, err) ||
        !write_submitter(base, fd, name, caller, err) ||
        !base_give_file(base, fd, err) ||
        !dir_move(base->dirs[BASE_TMP], fresh, base->dirs[BASE_PREQUEUE], name,
                  sync_of(base), &moved, err)) {
        (void)dir_remove(base->dirs[BASE_TMP], fresh, NULL, NULL);
        return err_wrap(err, "cannot put the marker into prequeue/");
    }
    if (moved == DIR_MOVED)
        return sync_lazy(base, fd, err);
    /* It was submitted before and is still being processed. */
    if (!dir_remove(base->dirs[BASE_TMP], fresh, NULL, err) ||
        !check_waiting(base, name, caller, err))
        return false;
    return base->is_drop ? sync_lazy(base, fd, err)
                         : dir_sync_now(base->dirs[BASE_PREQUEUE], err);
}

bool drop_publish(struct base *base, const char *from, int fd, const char *name,
                  const char *sum, const struct access_owner *caller,
                  struct err *err) {
    enum dir_moved moved;
    if (!check_waiting(base, name, caller, err))
        return false;
    if (!dir_move(base->dirs[BASE_TMP], from, base->dirs[BASE_DATA], name,
                  sync_of(base), &moved, err) ||
        !sync_lazy(base, fd, err))
        return err_wrap(err, "cannot move the tarball to data/");
    if (moved == DIR_ABSENT)
        return err_set(
            err, ERR_TEMPORARY,
            "somebody removed '%s' from tmp/ while it was being submitted",
            from);
    if (moved == DIR_EXISTS &&
        (!is_same_data(base, name, sum, err) ||
         !dir_remove(base->dirs[BASE_TMP], from, NULL, err)))
        return false;
    return make_marker(base, name, caller, err);
}

bool drop_approval(struct base *base, struct span csid, struct span bytes,
                   char ret_name[256], struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    char tmp_name[256];
    enum dir_moved moved;
    struct text name = TEXT_INIT;
    text_addf(&name, "approve_%.*s_%016" PRIx64, (int)csid.len, csid.p,
              clock_seed());
    snprintf(ret_name, 256, "%s", text_string(&name));
    text_clear(&name);
    bool ok =
        drop_open(base, tmp_name, &fd, err) && dir_write_file(fd, bytes, err) &&
        drop_seal(base, fd, err) &&
        dir_move(base->dirs[BASE_TMP], tmp_name, base->dirs[BASE_PREQUEUE],
                 ret_name, sync_of(base), &moved, err) &&
        sync_lazy(base, fd, err);
    if (!ok && fd >= 0)
        (void)dir_remove(base->dirs[BASE_TMP], tmp_name, NULL, NULL);
    return ok || err_wrap(err, "cannot put the approval into prequeue/");
}
