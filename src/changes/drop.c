#include "changes/drop.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/dir.h"

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

static bool make_marker(struct base *base, const char *name, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    char fresh[256];
    enum dir_moved moved;
    dir_fresh_name(span_of(name), fresh);
    if (!dir_open_file(base->dirs[BASE_TMP], fresh, O_WRONLY | O_CREAT | O_EXCL,
                       0600, &fd, err) ||
        !base_give_file(base, fd, err) ||
        !dir_move(base->dirs[BASE_TMP], fresh, base->dirs[BASE_PREQUEUE], name,
                  sync_of(base), &moved, err)) {
        (void)dir_remove(base->dirs[BASE_TMP], fresh, NULL, NULL);
        return err_wrap(err, "cannot put the marker into prequeue/");
    }
    if (moved == DIR_MOVED)
        return sync_lazy(base, fd, err);
    /* It was submitted before and is still being processed. */
    if (!dir_remove(base->dirs[BASE_TMP], fresh, NULL, err))
        return false;
    return base->is_drop ? sync_lazy(base, fd, err)
                         : dir_sync_now(base->dirs[BASE_PREQUEUE], err);
}

bool drop_publish(struct base *base, const char *from, int fd, const char *name,
                  const char *sum, struct err *err) {
    enum dir_moved moved;
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
    return make_marker(base, name, err);
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

/* ---- who submitted it ---------------------------------------------------- */

enum { NOTE_BYTES = 512 };

static void note_name(char ret[NAME_MAX + 1], const char *name) {
    snprintf(ret, NAME_MAX + 1, "by+%s", name);
}

bool drop_caller_note(struct base *base, const char *name,
                      const struct access_owner *caller, struct err *err) {
    CLEANUP(text_clear) struct text note = TEXT_INIT;
    char called[NAME_MAX + 1];
    uid_t maker = geteuid() == 0 ? base->uid : geteuid();
    struct stat st;
    bool waits;
    if (!dir_stat(base->dirs[BASE_PREQUEUE], name, &st, &waits, err))
        return false;
    if (waits) /* the first submitter counts */
        return true;
    if (caller->uid == maker) {
        drop_caller_forget(base, name); /* left by a submission that did not get
                                           this far */
        return true;
    }
    note_name(called, name);
    text_addf(&note, "%s\n%lu\n", name, (unsigned long)caller->uid);
    if (caller->uid == ACCESS_PERSON_UID)
        text_addf(&note, "%.*s\n", (int)caller->actor.len, caller->actor.p);
    return dir_write(base->dirs[BASE_TMP], base->dirs[BASE_TMP], called,
                     text_span(&note), 0400, DIR_DURABLE, err);
}

/* A note is trusted only if written by the owner's process or root's, and only
 * for this set: those who may submit write in tmp/ too. */
static bool note_read(struct base *base, const char *called, struct text *text,
                      struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    struct stat st;
    return dir_open_file(base->dirs[BASE_TMP], called, O_RDONLY | O_NONBLOCK, 0,
                         &fd, err) &&
           fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
           (st.st_uid == base->uid || st.st_uid == 0) &&
           dir_read_file(fd, NOTE_BYTES, text, err);
}

/* A person has no account, and is named in a line of its own. */
static bool note_parse(struct span note, const char *name, struct arena *arena,
                       struct access_owner *ret_caller) {
    struct span of, number, actor;
    uint64_t uid;
    if (!span_cut(&note, '\n', &of) || !span_is(of, name) ||
        !span_cut(&note, '\n', &number) || !span_u64(number, &uid) ||
        uid >= UINT32_MAX)
        return false;
    ret_caller->uid = (uint32_t)uid;
    if (uid != ACCESS_PERSON_UID)
        return true;
    if (!span_cut(&note, '\n', &actor) ||
        access_actor_person_of(actor).len == 0)
        return false;
    ret_caller->actor = arena_span(arena, actor);
    return true;
}

struct access_owner drop_caller(struct base *base, const char *name,
                                const struct stat *marker,
                                struct arena *arena) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    char called[NAME_MAX + 1];
    struct access_owner caller = {.uid = marker->st_uid};
    struct err err = {0};
    note_name(called, name);
    if (marker->st_uid == base->uid && note_read(base, called, &text, &err) &&
        !note_parse(text_span(&text), name, arena, &caller))
        caller = (struct access_owner){.uid = marker->st_uid};
    if (caller.actor.len == 0)
        caller.actor =
            span_of(arena_printf(arena, "uid:%lu", (unsigned long)caller.uid));
    return caller;
}

void drop_caller_forget(struct base *base, const char *name) {
    char called[NAME_MAX + 1];
    note_name(called, name);
    (void)dir_remove(base->dirs[BASE_TMP], called, NULL, NULL);
}
